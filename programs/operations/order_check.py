"""The checks of an order, and of the state that proves a lower bound, from the graph alone.

This module shares no code with the searches for orders and plans, so that no error of a search is repeated here.
"""

from bisect import bisect_left
from collections.abc import Collection, Sequence

from memplan.planner.errors import OperationsError
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.in_place import input_of_output


def peak_of(graph: OperationGraph, order: Sequence[int]) -> int:
    """Return the live peak in bytes if the operations run in the given order of their positions.

    Raises OperationsError for an order that omits or repeats an operation, or runs one before its predecessors.
    """
    if len(order) != len(graph.ops):
        raise OperationsError(f"order: must name each of the {len(graph.ops)} operations once, got {len(order)}")
    return max([bytes_after(graph, ()), *live_bytes_by_operation(graph, order)])


def live_bytes_by_operation(graph: OperationGraph, order: Sequence[int]) -> list[int]:
    """Return the live bytes while each operation of an order runs; the order may omit operations at its end.

    Raises OperationsError if an operation does not exist, is repeated, or runs before its predecessors.
    """
    position: dict[int, int] = {}
    if order == range(len(graph.ops)):  # The graph's validation has checked the given order, so do not check it again.
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
    """Return the live bytes after exactly the operations in `done` have run, and before the next one runs.

    Raises OperationsError if `done` lacks a predecessor of its operations, because no order reaches such a state.
    """
    ran = set(done)
    for operation in sorted(ran):
        for earlier in graph.predecessors[operation]:
            if earlier not in ran:
                raise OperationsError(f"done: must contain operation {earlier}, a predecessor of {operation}")
    results = set(graph.kept)
    alive = 0
    for tensor, bytes_ in enumerate(graph.working_bytes):
        maker = graph.maker[tensor]
        is_there = maker is None or maker in ran
        is_needed = tensor in results or any(reader not in ran for reader in graph.readers[tensor])
        alive += bytes_ if is_there and is_needed else 0
    return alive


def bytes_during(graph: OperationGraph, done: Collection[int], operation: int) -> int:
    """Return the live bytes while an operation runs after exactly the operations in `done`.

    Raises OperationsError if `done` lacks a predecessor of its operations or of the running operation, or contains the
    running operation itself.
    """
    for earlier in graph.predecessors[operation]:
        if earlier not in done:
            raise OperationsError(f"done: must contain operation {earlier}, a predecessor of {operation}")
    if operation in done:
        raise OperationsError(f"done: must not contain operation {operation}, which runs next")
    made = sum(graph.working_bytes[tensor] for tensor in graph.new_tensors[operation])
    return bytes_after(graph, done) + made + graph.ops[operation].work - _bytes_saved(graph, operation, done)


def bytes_needed(graph: OperationGraph, operation: int) -> int:
    """Return the bytes of an operation's inputs, outputs and work: a lower bound on the live bytes while it runs."""
    row = graph.ops[operation]
    own = sum(graph.working_bytes[tensor] for tensor in {*row.inputs, *row.outputs})
    return own + row.work - _bytes_saved(graph, operation, range(len(graph.ops)))


def _bytes_saved(graph: OperationGraph, operation: int, ran: Collection[int]) -> int:
    return sum(graph.working_bytes[output] for output in input_of_output(graph, operation, ran))


def move_count(order: Sequence[int]) -> int:
    """Return the minimum number of operations to move to turn the graph's given order into `order`.

    It is the number of operations minus the length of the longest ascending subsequence of the order.
    """
    ends: list[int] = []
    for operation in order:
        at = bisect_left(ends, operation)
        ends[at : at + 1] = [operation]
    return len(order) - len(ends)
