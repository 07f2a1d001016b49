"""Models written with their operations in another order, in the formats whose order is free."""

from __future__ import annotations

from memplan.planner.errors import FormatError
from memplan.planner.errors.extras import imported
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.systems import system_of, systems
from memplan.systems.reading import detect
from memplan.systems.sequence import ReorderedFile, orders_in_file


def write_reordered(data: bytes, name: str | None, graph: OperationGraph) -> ReorderedFile:
    """Return a model's file with its operations as the graph lists them, and as its regions list those inside.

    The graph is one that was read of this file, put in another order. What it has not, such as views and constants,
    runs right before what needs it. Raises FormatError for a format whose order is not free, and OperationsError.
    """
    found = system_of(detect(data, name))
    if found is None or found.reorders is None:
        known = ", ".join(each.name for each in systems() if each.reorders)
        raise FormatError(f"must be of a format whose order is free ({known}), got {found.name if found else 'none'}")
    written: ReorderedFile = imported(found.reorders)(data, orders_in_file(graph))
    return written
