"""Models written with their operations in another order, in the formats whose order is free."""

from __future__ import annotations

from importlib import import_module

from memplan.planner.errors import FormatError
from memplan.planner.operations.graph import OperationGraph
from memplan.systems.reading import detect
from memplan.systems.sequence import ReorderedFile, orders_in_file

WRITERS = ("onnx", "tflite")


def write_reordered(data: bytes, name: str | None, graph: OperationGraph) -> ReorderedFile:
    """Return a model's file with its operations as the graph lists them, and as its regions list those inside.

    The graph is one that was read of this file, put in another order. What it has not, such as views and constants,
    runs right before what needs it. Raises FormatError for a format whose order is not free, and OperationsError.
    """
    found = detect(data, name)
    if found not in WRITERS:
        raise FormatError(f"must be of a format whose order is free ({', '.join(WRITERS)}), got {found or 'none'}")
    written: ReorderedFile = import_module(f"memplan.systems.{found}.reordered").with_orders(
        data, orders_in_file(graph)
    )
    return written
