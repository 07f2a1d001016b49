"""The checks of an order and of a cut: everything is computed again from the graph alone.

This module shares no code with the makers of orders or plans.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence

from memplan.extensions.networks.operations.graph import OperationGraph
from memplan.extensions.networks.operations.in_place import input_of_output
from memplan.planner.errors import OperationsError


def peak_of(graph: OperationGraph, order: Sequence[int]) -> int:
    """Return the most bytes alive at once when the operations run in an order, given by their positions.

    Raises OperationsError for an order that leaves an operation out, names one twice, or runs one too early.
    """
    if len(order) != len(graph.ops):
        raise OperationsError(f"order: must name each of the {len(graph.ops)} operations once, got {len(order)}")
    return max([bytes_after(graph, ()), *bytes_along(graph, order)])


def bytes_along(graph: OperationGraph, order: Sequence[int]) -> list[int]:
    """Return the bytes alive while each operation of an order runs; the order may end early.

    Raises OperationsError if an operation is named twice, does not exist or runs too early.
    """
    position: dict[int, int] = {}
    if order == range(len(graph.ops)):  # the given order, which was checked when the graph was made
        position = dict(enumerate(order))
    for k, operation in enumerate(order if not position else ()):
        if not 0 <= operation < len(graph.ops) or operation in position:
            raise OperationsError(f"order[{k}]: must be an operation that has not run yet, got {operation}")
        for earlier in graph.predecessors[operation]:
            if earlier not in position:
                raise OperationsError(f"order[{k}]: must come after operation {earlier}, got {operation}")
        position[operation] = k
    results = set(graph.kept)
    change = [0] * (len(order) + 1)
    for tensor, bytes_ in enumerate(graph.working_bytes):
        maker, readers = graph.maker[tensor], graph.readers[tensor]
        if (maker is None and not readers and tensor not in results) or (maker is not None and maker not in position):
            continue
        start = 0 if maker is None else position[maker]
        stays = tensor in results or any(reader not in position for reader in readers)
        last = len(order) - 1 if stays else max((position[reader] for reader in readers), default=start)
        change[start] += bytes_
        change[last + 1] -= bytes_
    alive, totals = 0, []
    ran: set[int] = set()
    for k, operation in enumerate(order):
        alive += change[k]
        totals.append(alive + graph.ops[operation].work - _bytes_saved(graph, operation, ran))
        ran.add(operation)
    return totals


def bytes_after(graph: OperationGraph, done: Collection[int]) -> int:
    """Return the bytes alive after exactly the operations in `done` have run, before the next one.

    Raises OperationsError where no order has that state: `done` must be closed under predecessors.
    """
    ran = set(done)
    for operation in sorted(ran):
        for earlier in graph.predecessors[operation]:
            if earlier not in ran:
                raise OperationsError(f"done: must hold operation {earlier}, which comes before {operation}")
    results = set(graph.kept)
    alive = 0
    for tensor, bytes_ in enumerate(graph.working_bytes):
        maker = graph.maker[tensor]
        is_there = maker is None or maker in ran
        is_needed = tensor in results or any(reader not in ran for reader in graph.readers[tensor])
        alive += bytes_ if is_there and is_needed else 0
    return alive


def bytes_beside(graph: OperationGraph, done: Collection[int], operation: int) -> int:
    """Return the bytes alive while an operation runs after exactly the operations in `done` have run.

    Raises OperationsError where no order has that state: `done` must be closed under predecessors, hold those of the
    operation, and not the operation itself.
    """
    for earlier in graph.predecessors[operation]:
        if earlier not in done:
            raise OperationsError(f"done: must hold operation {earlier}, which comes before {operation}")
    if operation in done:
        raise OperationsError(f"done: must not hold operation {operation}, which runs after it")
    made = sum(graph.working_bytes[tensor] for tensor in graph.new_tensors[operation])
    return bytes_after(graph, done) + made + graph.ops[operation].work - _bytes_saved(graph, operation, done)


def bytes_needed(graph: OperationGraph, operation: int) -> int:
    """Return the bytes of all that an operation reads and makes, plus its work: a lower bound while it runs."""
    row = graph.ops[operation]
    own = sum(graph.working_bytes[tensor] for tensor in {*row.inputs, *row.outputs})
    return own + row.work - _bytes_saved(graph, operation, range(len(graph.ops)))


def _bytes_saved(graph: OperationGraph, operation: int, ran: Collection[int]) -> int:
    """Return the bytes saved by outputs of an operation that overwrite inputs, given the operations that ran before."""
    return sum(graph.working_bytes[output] for output in input_of_output(graph, operation, ran))


def moves_of(order: Sequence[int]) -> int:
    """Return the least number of operations that must move to turn the given order into this one.

    That is the number of operations less the length of the longest ascending subsequence of the order.
    """
    ends: list[int] = []
    for operation in order:
        at = bisect_left(ends, operation)
        ends[at : at + 1] = [operation]
    return len(order) - len(ends)
