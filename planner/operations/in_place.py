"""In place: which outputs of an operation are written over which of its inputs, when it runs after certain others."""

from __future__ import annotations

from collections.abc import Container, Iterable

from memplan.planner.operations.graph import OperationGraph


def written_over(graph: OperationGraph, operation: int, before: Container[int]) -> dict[int, int]:
    """Return the outputs of an operation that take bytes of an input: from each output to that input.

    The pairs are those of `may_overwrite` where the operation makes the output, which needs no more bytes than the
    input has, and nothing else needs the input any more: all its other readers ran `before`, the operation does not
    make it again, and it is neither kept nor resident. No input is written over twice. Of all such choices it is one
    with the most bytes.
    """
    row = graph.ops[operation]
    if not row.may_overwrite:
        return {}
    wanted: dict[int, list[int]] = {}
    for k, j in row.may_overwrite:
        output, tensor = row.outputs[k], row.inputs[j]
        if (
            output in graph.made[operation]
            and 0 < graph.counted[output] <= graph.counted[tensor]
            and tensor not in row.outputs
            and tensor not in graph.lasting
            and all(reader in before or reader == operation for reader in graph.readers[tensor])
        ):
            wanted.setdefault(output, []).append(tensor)
    taken: dict[int, int] = {}
    for output in sorted(wanted, key=lambda one: (-graph.size[one], one)):
        _take(output, wanted, taken, set())
    return {output: tensor for tensor, output in taken.items()}


def written_over_along(graph: OperationGraph, order: Iterable[int]) -> dict[int, int]:
    """Return the outputs that are written over inputs when the operations run in an order: from each to its input."""
    found: dict[int, int] = {}
    ran: set[int] = set()
    for operation in order:
        found.update(written_over(graph, operation, ran))
        ran.add(operation)
    return found


def _take(output: int, wanted: dict[int, list[int]], taken: dict[int, int], tried: set[int]) -> bool:
    """Find an input for an output, moving others on if need be; the largest come first, so the bytes are the most."""
    for tensor in wanted[output]:
        if tensor in tried:
            continue
        tried.add(tensor)
        if tensor not in taken or _take(taken[tensor], wanted, taken, tried):
            taken[tensor] = output
            return True
    return False
