"""Reports of checks, by how the name of their file ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pydantic_core import to_json

from memplan.api.checks.junit import junit
from memplan.api.checks.markdown import markdown
from memplan.api.checks.sarif import sarif
from memplan.capabilities.check.check import CAPABILITY, Check

REPORTS: Mapping[str, Callable[..., bytes]] = {
    ".md": markdown,
    ".sarif": sarif,
    ".xml": junit,
    ".json": CAPABILITY.write,
}


def report_of_many(checks: Sequence[Check], ending: str) -> bytes:
    """Return the report of the checks of a folder; as JSON, they are `checks` beside whether all passed."""
    if ending == ".json":
        return to_json({"passed": all(check.passed for check in checks), "checks": checks}) + b"\n"
    return REPORTS[ending](*checks)
