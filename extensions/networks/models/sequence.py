"""The operations of a file in a new order: which places a graph has them in, and the file that is written."""

from __future__ import annotations

from dataclasses import dataclass

from memplan.extensions.networks.operations.graph import OperationGraph
from memplan.planner.errors import FormatError
from memplan.planner.extensions import import_object
from memplan.planner.foreign.reading import detect
from memplan.planner.systems import system_of, systems

Where = tuple[int, ...]
"""The place of a list of operations in a file; the empty one is the place of the main list."""


@dataclass(frozen=True)
class ReorderedFile:
    """The bytes of a model in another order, and sentences about its omitted parts."""

    data: bytes
    left_out: tuple[str, ...] = ()


def orders_in_file(graph: OperationGraph) -> dict[Where, list[int]]:
    """Return, for each list of operations in a file, the positions of the operations of a graph, in the graph's order.

    A list that several operations run is in the order of the first of them.
    """
    orders: dict[Where, dict[int, None]] = {}
    stack = [graph]
    while stack:
        rows = stack.pop().ops
        for row in rows:
            if row.source:
                orders.setdefault(row.source[:-1], {}).setdefault(row.source[-1])
        stack += [region.graph for row in reversed(rows) for region in reversed(row.regions)]
    return {where: list(positions) for where, positions in orders.items()}


def write_reordered(data: bytes, name: str | None, graph: OperationGraph) -> ReorderedFile:
    """Return a model's file with its operations as the graph lists them, and as its regions list the inner operations.

    The graph was read from this file and put in another order. Operations that it lacks, such as views and constants,
    run right before their first use. Raises FormatError for a format of fixed order, and OperationsError.
    """
    system = system_of(detect(data, name))
    if system is None or system.reorders is None:
        names = ", ".join(each.name for each in systems() if each.reorders)
        raise FormatError(f"must be of a format whose order is free ({names}), got {system.name if system else 'none'}")
    written: ReorderedFile = import_object(system.reorders)(data, orders_in_file(graph))
    return written
