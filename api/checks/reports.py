"""Reports of checks as Markdown, SARIF, JUnit or JSON; the suffix of the report's file selects the format."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

from pydantic_core import to_json

from memplan.api.checks.arenas import HEAD, arena_rows
from memplan.planner import __version__
from memplan.planner.errors import excerpt
from memplan.planner.model.sizes import size_text
from memplan.questions.check.check import QUESTION, Check
from memplan.questions.check.pools import RULES, CheckedPool, Failure, Rule

_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~&-])")
_MOST_CAUSES = 20


def markdown_report(*checks: Check) -> bytes:
    """Return a Markdown report: for each check a verdict, a table of pools, and causes for each pool that grew.

    If several checks are of processors or boards, a table of all arenas comes first.
    """
    rows = [list(map(_escape_markdown, row)) for row in arena_rows(check for check in checks if _target_of(check))]
    table = [f"## Arenas, in bytes\n\n{_markdown_table([list(HEAD), *rows])}"] if len(rows) > 1 else []
    return "\n".join([*table, *map(_check_section, checks)]).encode()


def _target_of(check: Check) -> str:
    return "" if check.arena is None else check.arena.target


def _title(check: Check) -> str:
    return f"{check.subject} on {target}" if (target := _target_of(check)) else check.subject


def _check_section(check: Check) -> str:
    """Return the Markdown section of a check: the verdict, the failures, and tables of the pools."""
    verdict = "within limits" if check.passed else "**not within limits**"
    parts = [f"## Memory of {_escape_markdown(_title(check))}: {verdict}\n"]
    parts += [f"- {_escape_markdown(failure.message)}\n" for failure in check.failures]
    if check.pools:
        parts.append("\n" + _pool_table(check.pools))
    for pool in check.pools:
        if pool.growth_bytes and pool.causes:
            parts.append("\n" + _cause_table(pool))
    if check.placements is not None:
        now = check.placements
        same, moved, new, gone = now.same, now.moved, now.new, now.gone
        parts.append(f"\nPlacements: {same:,} as before, {moved:,} moved, {new:,} new, {gone:,} gone.\n")
    return "".join(parts)


def _pool_table(pools: Iterable[CheckedPool]) -> str:
    """Return a Markdown table of pools: their use, budget, growth since the baseline, lower bound, and a check mark."""
    rows = [["pool", "used", "budget", "before", "change", "lower bound", ""]]
    for pool in pools:
        change = "" if pool.growth is None else f"{pool.growth:+,}"
        is_wrong = pool.over_budget or pool.is_beyond_tolerance
        counts = (pool.used, pool.budget, pool.before)
        rows.append(
            [
                _escape_markdown(pool.name),
                *map(_bytes_text, counts),
                change,
                _bytes_text(pool.lower_bound),
                "✗" if is_wrong else "✓",
            ]
        )
    return _markdown_table(rows)


def _cause_table(pool: CheckedPool) -> str:
    """Return a Markdown table of the buffers that made a pool's peak grow, below a sentence on the live bytes."""
    causes, live = pool.causes or (), pool.live_set
    when = "" if live.time is None else f" at {live.time}"
    rows = [["buffer", "bytes more", "why", "size before", "size now"]]
    for cause in causes[:_MOST_CAUSES]:
        why = cause.kind.replace("-", " ")
        sizes = ("" if size is None else f"{size:,}" for size in (cause.before, cause.after))
        rows.append([_escape_markdown(excerpt(cause.buffer)), f"{cause.bytes:+,}", why, *sizes])
    n_left = len(causes) - _MOST_CAUSES
    more = f"\nand {n_left:,} others.\n" if n_left > 0 else ""
    alive = f"{live.bytes:,} bytes are alive at the peak of {_escape_markdown(pool.name)}{when}"
    return f"{alive}, {pool.live_bytes_before or 0:,} of the like before:\n\n{_markdown_table(rows)}{more}"


def _markdown_table(rows: list[list[str]]) -> str:
    rule = ["---", *["---:"] * (len(rows[0]) - 1)]
    return "".join(f"| {' | '.join(row)} |\n" for row in (rows[0], rule, *rows[1:]))


def _bytes_text(count: int | None) -> str:
    """Return a number of bytes as text; "" for None. From 1 KiB on, the text also has a larger unit."""
    if count is None:
        return ""
    return f"{count:,}" if count < 1024 else f"{count:,} ({size_text(count)})"


def _escape_markdown(text: str) -> str:
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_MOST_RELATED = 20


def sarif_log(*checks: Check) -> bytes:
    """Return a SARIF log with one run per check. Broken rules are results; causes of growth are related locations."""
    return to_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": list(map(_sarif_run, checks))}, indent=2) + b"\n"


def _sarif_run(check: Check) -> dict[str, Any]:
    """Return the SARIF run of one check, whose results are the check's failures."""
    rules = [{"id": rule, "shortDescription": {"text": text}} for rule, text in RULES.items()]
    pools = {pool.name: pool for pool in check.pools}
    results = [_sarif_result(check, failure, pools.get(failure.pool or "")) for failure in check.failures]
    driver = {"name": "memplan", "semanticVersion": __version__, "rules": rules}
    return {
        "tool": {"driver": driver},
        # Code hosts replace a run's results by those of a later run with the same id, so each check has a separate id.
        "automationDetails": {"id": f"memplan/{_title(check)}/"},
        "invocations": [{"executionSuccessful": True}],
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {"pools": check.pools},
    }


def _sarif_result(check: Check, failure: Failure, pool: CheckedPool | None) -> dict[str, Any]:
    """Return the SARIF result for a failed check, with the buffers that made the pool grow."""
    place: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": _subject_uri(check.subject)}, "region": {"startLine": 1}}
    }
    if failure.pool is not None:
        place["logicalLocations"] = [{"name": failure.pool, "kind": "pool"}]
    # A fingerprint without byte counts lets code hosts recognise a failure again after its numbers have changed.
    mark = sha256(f"{_title(check)}\0{failure.rule}\0{failure.pool}".encode()).hexdigest()
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


def _subject_uri(subject: str) -> str:
    path = Path(subject)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_report(*checks: Check) -> bytes:
    """Return a JUnit report with one test suite per check and one failed test case per broken rule."""
    root = ET.Element("testsuites", {"name": "memplan"})
    suites = [_add_suite(root, check) for check in checks]
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.attrib[name]) for suite in suites)))
    root.set("time", f"{sum(check.wall_time_s or 0 for check in checks):.3f}")
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _add_suite(root: ET.Element, check: Check) -> ET.Element:
    """Add the JUnit test suite of a check to an XML element, and return the suite."""
    cases = list(_test_cases(check))
    failures = sum(failure is not None for _, _, failure in cases)
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": "0", "skipped": "0"}
    time = {"time": f"{check.wall_time_s or 0:.3f}"}
    suite = ET.SubElement(root, "testsuite", {"name": _xml_text(f"memplan check {_title(check)}"), **counts, **time})
    for name, rule, failure in cases:
        case = ET.SubElement(suite, "testcase", {"classname": "memplan.check", "name": _xml_text(name), "time": "0"})
        if failure is not None:
            failure_tag = ET.SubElement(case, "failure", {"type": rule, "message": _xml_text(failure.message)})
            failure_tag.text = f"{RULES[rule]}\n{_xml_text(failure.message)}"
    return suite


def _test_cases(check: Check) -> Iterator[tuple[str, Rule, Failure | None]]:
    """Yield each test case of a check as (name, rule, failure); the failure is None if the test case passes."""
    broken = {(failure.rule, failure.pool): failure for failure in check.failures}
    nothing = next((failure for failure in check.failures if failure.rule == "no-plan"), None)
    yield "there is a plan", "no-plan", nothing
    for pool in check.pools:
        if pool.budget is not None:
            yield f"{pool.name} is within its budget", "over-budget", broken.get(("over-budget", pool.name))
        if pool.before is not None:
            yield f"{pool.name} has not grown", "grown", broken.get(("grown", pool.name))


def _xml_text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


REPORTS: Mapping[str, Callable[..., bytes]] = {
    ".md": markdown_report,
    ".sarif": sarif_log,
    ".xml": junit_report,
    ".json": QUESTION.write,
}


def report_of_many(checks: Sequence[Check], ending: str) -> bytes:
    """Return one report for all checks of a folder; in JSON it has `checks`, and `passed` if all checks passed."""
    if ending == ".json":
        return to_json({"passed": all(check.passed for check in checks), "checks": checks}) + b"\n"
    return REPORTS[ending](*checks)
