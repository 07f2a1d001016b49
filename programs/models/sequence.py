"""The reordering of a model file: the new order of its operations, and the file in this order."""

from dataclasses import dataclass

from memplan.planner.errors import FormatError
from memplan.planner.extensions import import_object
from memplan.planner.foreign.reading import detect
from memplan.planner.systems import system_of, systems
from memplan.programs.operations.graph import OperationGraph

Where = tuple[int, ...]
"""The path to a list of operations inside a file; the empty path denotes the main list."""


@dataclass(frozen=True)
class ReorderedFile:
    """The bytes of a model file with reordered operations, and messages about parts of the file that were omitted."""

    data: bytes
    left_out: tuple[str, ...] = ()


def orders_in_file(graph: OperationGraph) -> dict[Where, list[int]]:
    """Return, for each list of operations in a file, the list's present positions in the order of the graph.

    If several operations of the graph run the same list, the first of these operations determines its order.
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
    """Return a model file whose operations, also inside regions, are in the order of a graph.

    The graph was read from this file and then reordered. Operations of the file that the graph lacks, such as views and
    constants, run directly before their first use. Raises OperationsError, or FormatError if the format fixes the
    order.
    """
    system = system_of(detect(data, name))
    if system is None or system.reorders is None:
        names = ", ".join(each.name for each in systems() if each.reorders)
        raise FormatError(f"must be of a format with a free order ({names}), got {system.name if system else 'none'}")
    written: ReorderedFile = import_object(system.reorders)(data, orders_in_file(graph))
    return written
