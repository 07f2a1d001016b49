"""The problem of a graph of operations in a chosen order: each tensor is a buffer, each step of the order a time."""

from __future__ import annotations

from collections.abc import Sequence

from memplan.planner.errors import OperationsError
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Buffer
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.operations.order_check import peak_of


def problem_of_order(graph: OperationGraph, order: Sequence[int], *, alignment: int = 1) -> Problem:
    """Return the problem of placing a graph's tensors and workspaces when the operations run in an order.

    Tensor k is the buffer `tensor_k`, the workspace of operation k is `work_k`. What takes no bytes is left out, and so
    is what is resident, or given while nothing reads or keeps it. Step k of the order is the time step k, offsets are
    multiples of `alignment`. Raises OperationsError for an order that is not legal, or an alignment below 1.
    """
    if alignment < 1:
        raise OperationsError(f"alignment: must be at least 1, got {alignment}")
    peak_of(graph, order)
    position = {operation: k for k, operation in enumerate(order)}
    end = max(1, len(order))
    kept = set(graph.kept)
    rows = []
    for tensor, size in enumerate(graph.counted):
        maker, readers = graph.maker[tensor], graph.readers[tensor]
        if size == 0 or (maker is None and not readers and tensor not in kept):
            continue
        start = 0 if maker is None else position[maker]
        last = end if tensor in kept else 1 + max((position[reader] for reader in readers), default=start)
        rows.append(Buffer(id=f"tensor_{tensor}", size=size, start=start, end=last, alignment=alignment))
    for operation, row in enumerate(graph.ops):
        if row.work:
            at = position[operation]
            rows.append(Buffer(id=f"work_{operation}", size=row.work, start=at, end=at + 1, alignment=alignment))
    return Problem(buffers=rows)
