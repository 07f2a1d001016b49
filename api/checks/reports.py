"""Reports of a check, by how the name of their file ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from memplan.api.checks.junit import junit
from memplan.api.checks.markdown import markdown
from memplan.api.checks.sarif import sarif
from memplan.capabilities.plans.check import CAPABILITY, Check

REPORTS: Mapping[str, Callable[[Check], bytes]] = {
    ".md": markdown,
    ".sarif": sarif,
    ".xml": junit,
    ".json": CAPABILITY.write,
}
