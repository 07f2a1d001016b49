"""The formats of problems and plans, with one module per format that converts between bytes and values.

No function opens a file. Unreadable bytes raise FormatError, ProblemError or PlanError.
"""

from collections.abc import Mapping
from typing import Protocol

from memplan.planner.errors import FormatError
from memplan.planner.formats import memplan_json, minimalloc_csv
from memplan.planner.formats.other_files import refuse_other_files, refuse_unknown
from memplan.planner.model.intervals import Interval
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem


class Format(Protocol):
    """The interface of a format's module: `SUFFIX` is its files' suffix, and `MEDIA_TYPE` their type over HTTP."""

    SUFFIX: str
    MEDIA_TYPE: str

    def recognises(self, data: bytes, /) -> bool:
        """Return True if the bytes start like a file of this format."""

    def read_problem(self, data: bytes, interval: Interval | None = None, /) -> Problem:
        """Return the problem in a file; `interval` applies if the file does not state whether ends are inclusive."""

    def write_problem(self, problem: Problem, /) -> bytes:
        """Return a problem as bytes; raises FormatError if the format cannot express it completely."""

    def read_plan(self, data: bytes, problem: Problem, /) -> Plan:
        """Return the plan of the problem that a file contains; the plan is not verified."""

    def write_plan(self, plan: Plan, problem: Problem, /) -> bytes:
        """Return a plan of `problem` as bytes."""


FORMATS: Mapping[str, Format] = {"json": memplan_json, "csv": minimalloc_csv}
"""The formats that memplan both reads and writes, by name; all entrances use this table."""


def is_own(data: bytes) -> bool:
    """Return True if the first bytes can occur only in a format of memplan itself."""
    return minimalloc_csv.is_own(data) or memplan_json.is_own(data)


def read_problem(data: bytes, name: str | None = None, interval: Interval | None = None) -> Problem:
    """Parse the bytes of a problem's file; the file's name only helps to detect the format."""
    return FORMATS[detect(data, name)].read_problem(data, interval)


def read_plan(data: bytes, problem: Problem, name: str | None = None) -> Plan:
    """Parse the bytes of a plan's file for `problem`; the file's name only helps to detect the format."""
    return FORMATS[detect(data, name)].read_plan(data, problem)


def detect(data: bytes, name: str | None = None) -> str:
    """Return the name of a file's format, by its content or else its suffix; raises FormatError if it is unknown."""
    for format_name, module in FORMATS.items():
        if module.recognises(data):
            return format_name
    refuse_other_files(data, name)
    return _format_of_suffix(name or "") or refuse_unknown(data)


def format_of_name(name: str) -> str:
    """Return the name of the format that a file name's suffix denotes; raises FormatError if none matches."""
    by_name = _format_of_suffix(name)
    if by_name is None:
        raise FormatError(f"must end in {' or '.join(module.SUFFIX for module in FORMATS.values())}")
    return by_name


def _format_of_suffix(name: str) -> str | None:
    """Return the name of the format whose suffix the file name has; None if no format has it."""
    return next((format_name for format_name, module in FORMATS.items() if name.lower().endswith(module.SUFFIX)), None)
