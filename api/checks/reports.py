"""Reports of a check, by how the name of their file ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic_core import to_json

from memplan.api.checks.check import CheckResult
from memplan.api.checks.junit import junit
from memplan.api.checks.markdown import markdown
from memplan.api.checks.rows import as_rows
from memplan.api.checks.sarif import sarif


def _json(check: CheckResult) -> bytes:
    return to_json(as_rows(check)) + b"\n"


REPORTS: Mapping[str, Callable[[CheckResult], bytes]] = {
    ".md": markdown,
    ".sarif": sarif,
    ".xml": junit,
    ".json": _json,
}
