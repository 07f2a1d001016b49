"""Documents of memplan that are given where a problem or a plan is wanted: recognized by what they are.

In the commands that read them, FILE stands for the document itself; whoever knows its name writes that there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memplan.planner.errors import FormatError


def refuse_unless_problem(value: object) -> None:
    """Raise FormatError for a document that is surely meant as something else than a problem."""
    if isinstance(value, list):
        raise FormatError('must be an object, {"buffers": [...]}, got a list')
    if isinstance(value, Mapping) and ("buffers" not in value or "symbols" in value):
        kind = _kind(value)
        if kind is not None:
            raise FormatError(f"must be a problem, got {kind}")


def refuse_unless_plan(value: object) -> None:
    """Raise FormatError for a document that is surely meant as something else than a plan."""
    if isinstance(value, Mapping) and "placements" not in value:
        is_list = bool(value) and all(isinstance(offset, int) for offset in value.values())
        offsets = "a list of offsets, which `memplan verify PROBLEM FILE` reads" if is_list else _kind(value)
        kind = "a problem, which `memplan plan FILE` plans" if "buffers" in value else offsets
        if kind is not None:
            raise FormatError(f"must be a plan, which has placements, got {kind}")


def refuse_unless_operations(value: object) -> None:
    """Raise FormatError for a document that is surely meant as something else than operations."""
    if isinstance(value, Mapping) and "functions" not in value:
        _refuse(value, "operations, which have functions")


def refuse_unless_graph(value: object) -> None:
    """Raise FormatError for a document that is surely meant as something else than a graph of operations."""
    if isinstance(value, Mapping) and "ops" not in value:
        _refuse(value, "a model, operations, or a graph of operations, which has ops")


def _refuse(value: Mapping[str, Any], wanted: str) -> None:
    is_problem = "buffers" in value
    kind = "a problem, which tells no operations and which `memplan plan FILE` reads" if is_problem else _kind(value)
    if kind is not None:
        raise FormatError(f"must be {wanted}, got {kind}")


def _kind(value: Mapping[str, Any]) -> str | None:
    """Return what a document is, and the command that reads it; None where that is not known."""
    if "symbols" in value and "buffers" in value:
        return "a problem whose sizes are expressions, which `memplan shapes` plans for all values"
    if "placements" in value:
        return "a plan, which `memplan verify PROBLEM FILE` checks, and shows with --open"
    if "functions" in value:
        return "operations, which `memplan liveness FILE` and `memplan plan FILE` read"
    if "ops" in value:
        return "a graph of operations, which `memplan order FILE` and `memplan plan FILE --reorder` read"
    if "problem" in value:
        return "a request to the service, whose problem is in the field problem"
    return None
