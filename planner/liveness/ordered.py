"""The problem of a graph of operations in a chosen order: each tensor is a buffer, each step of the order a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from memplan.planner.errors import OperationsError
from memplan.planner.model.problem import Problem
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.operations.in_place import written_over_along
from memplan.planner.operations.order_check import peak_of


def problem_of_order(graph: OperationGraph, order: Sequence[int], *, alignment: int = 1) -> Problem:
    """Return the problem of placing a graph's tensors and workspaces when the operations run in an order.

    Tensor k is the buffer `tensor_k`, the workspace of operation k is `work_k`. What takes no bytes is left out, and so
    is what is resident, or given while nothing reads or keeps it. Step k of the order is the time step k, offsets are
    multiples of `alignment`. An output that is written over an input is an alias of it; if it is smaller, the bytes of
    the input, tensor j, that it leaves free are the buffer `rest_j`, and `tensor_j` has those below only. Raises
    OperationsError for an order that is not legal, or an alignment below 1.
    """
    if alignment < 1:
        raise OperationsError(f"alignment: must be at least 1, got {alignment}")
    peak_of(graph, order)
    alive = _lifetimes(graph, order)
    over = written_over_along(graph, order)
    under = {tensor: output for output, tensor in over.items()}
    # Rows as JSON has them: where all have the same fields, they become columns at once.
    rows: list[dict[str, Any]] = []
    for tensor, life in alive.items():
        if tensor in over:
            continue
        chain = [tensor]
        while chain[-1] in under:
            chain.append(under[chain[-1]])
        if len(chain) == 1:
            rows.append(_buffer(f"tensor_{tensor}", graph.size[tensor], life, alignment))
        else:
            rows += _chained(graph, chain, alive, alignment)
    for k, operation in enumerate(order):
        if graph.ops[operation].work:
            rows.append(_buffer(f"work_{operation}", graph.ops[operation].work, (k, k + 1), alignment))
    return Problem(buffers=rows)


def _lifetimes(graph: OperationGraph, order: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Return when each tensor is alive that takes bytes."""
    position = {operation: k for k, operation in enumerate(order)}
    results = set(graph.kept)
    lifetimes: dict[int, tuple[int, int]] = {}
    for tensor, size in enumerate(graph.counted):
        maker, readers = graph.maker[tensor], graph.readers[tensor]
        if size == 0 or (maker is None and not readers and tensor not in results):
            continue
        start = 0 if maker is None else position[maker]
        last = max((position[reader] for reader in readers), default=start)
        lifetimes[tensor] = start, max(1, len(order)) if tensor in results else last + 1
    return lifetimes


def _chained(
    graph: OperationGraph, chain: list[int], alive: dict[int, tuple[int, int]], alignment: int
) -> Iterator[dict[str, Any]]:
    """Yield the buffers of tensors that are written over each other, the first one first, no one larger than before."""
    first, low = f"tensor_{chain[0]}", graph.size[chain[-1]]
    yield _buffer(first, low, alive[chain[0]], alignment)
    for tensor in chain[1:]:
        start, end = alive[tensor]
        yield {"id": f"tensor_{tensor}", "size": low, "start": start, "end": end, "alias_of": first}
    for tensor, output in pairwise(chain):
        rest = graph.size[tensor] - graph.size[output]
        if rest:
            above = {"to": first, "offset": graph.size[output]}
            start, end = alive[chain[0]][0], alive[tensor][1]
            yield {"id": f"rest_{tensor}", "size": rest, "start": start, "end": end, "relative": above}


def _buffer(name: str, size: int, life: tuple[int, int], alignment: int) -> dict[str, Any]:
    return {"id": name, "size": size, "start": life[0], "end": life[1], "alignment": alignment}
