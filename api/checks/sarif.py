"""Checks as SARIF 2.1.0, which code hosts show beside a change."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic_core import to_json

from memplan.capabilities.check.check import Check
from memplan.capabilities.check.pools import RULES, CheckedPool, Failure
from memplan.planner import __version__

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_MOST_RELATED = 20


def sarif(*checks: Check) -> bytes:
    """Return a run of each check: a result for each rule that a pool breaks, and what made its peak grow."""
    return to_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": list(map(_run, checks))}, indent=2) + b"\n"


def _run(check: Check) -> dict[str, Any]:
    rules = [{"id": rule, "shortDescription": {"text": text}} for rule, text in RULES.items()]
    pools = {pool.name: pool for pool in check.pools}
    results = [_result(check, failure, pools.get(failure.pool or "")) for failure in check.failures]
    driver = {"name": "memplan", "semanticVersion": __version__, "rules": rules}
    return {
        "tool": {"driver": driver},
        # Code hosts keep the results of runs with different ids apart: a build may check several problems.
        "automationDetails": {"id": f"memplan/{check.subject}/"},
        "invocations": [{"executionSuccessful": True}],
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {"pools": check.pools},
    }


def _result(check: Check, failure: Failure, pool: CheckedPool | None) -> dict[str, Any]:
    place: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": _uri(check.subject)}, "region": {"startLine": 1}}
    }
    if failure.pool is not None:
        place["logicalLocations"] = [{"name": failure.pool, "kind": "pool"}]
    # The same pool and rule are the same result in every run, for any number of bytes.
    mark = sha256(f"{check.subject}\0{failure.rule}\0{failure.pool}".encode()).hexdigest()
    result: dict[str, Any] = {
        "ruleId": failure.rule,
        "ruleIndex": list(RULES).index(failure.rule),
        "level": "error",
        "message": {"text": failure.message},
        "locations": [place],
        "partialFingerprints": {"memplanPool/v1": mark},
    }
    if failure.rule == "grown" and pool is not None and pool.causes is not None:
        causes = [cause for cause in pool.causes if cause.bytes > 0][:_MOST_RELATED]
        result["relatedLocations"] = [
            {
                "id": number,
                "logicalLocations": [{"name": str(cause.buffer), "kind": "buffer"}],
                "message": {"text": f"{cause.bytes:+,} bytes, {cause.kind.replace('-', ' ')}"},
            }
            for number, cause in enumerate(causes)
        ]
    return result


def _uri(subject: str) -> str:
    """Return where the problem is: relative to where the build runs, if its path is."""
    path = Path(subject)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
