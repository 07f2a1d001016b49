"""The registration of IOPDDL, a contest that limits the sum of live memory: a reader of its problems."""

from __future__ import annotations

import re

from memplan.planner.formats.memplan_json import IOPDDL
from memplan.planner.systems import FileReader, System

_PROBLEM = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{\s*" + IOPDDL)


def is_iopddl(data: bytes) -> bool:
    """Return True if the bytes start like an IOPDDL problem."""
    return _PROBLEM.match(data) is not None


SYSTEM = System(
    name="iopddl",
    title="IOPDDL",
    files="problems of the contest, with a solution or without",
    readers=(FileReader("iopddl", is_iopddl, "memplan.extensions.systems.iopddl.reader"),),
)
