"""In-place execution: which outputs of an operation are written over which inputs, depending on what ran before."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from memplan.extensions.networks.operations.graph import OperationGraph


def overwritable_inputs(graph: OperationGraph, operation: int) -> dict[int, list[int]]:
    """Return the inputs that each output of an operation may overwrite if no later operation reads them.

    The operation makes the output, which needs no more bytes than the input has, and does not make the input again; the
    input is neither kept nor resident.
    """
    row, size = graph.ops[operation], graph.working_bytes
    candidates: dict[int, list[int]] = {}
    for k, j in row.may_overwrite:
        output, tensor = row.outputs[k], row.inputs[j]
        is_dead = tensor not in graph.permanent_tensors and tensor not in row.outputs
        # An output larger than its input would break the proof for commits from the end (decision 055).
        if is_dead and output in graph.new_tensors[operation] and 0 < size[output] <= size[tensor]:
            candidates.setdefault(output, []).append(tensor)
    return candidates


def input_of_output(graph: OperationGraph, operation: int, before: Container[int]) -> dict[int, int]:
    """Return the outputs of an operation that are written over an input, each mapped to that input.

    Each is an overwritable input all of whose other readers ran `before`, and none is written over twice. Of all such
    choices, one with the most bytes is returned.
    """
    if not graph.ops[operation].may_overwrite:  # true of nearly all operations
        return {}
    wanted = {
        output: [
            tensor
            for tensor in tensors
            if all(reader in before or reader == operation for reader in graph.readers[tensor])
        ]
        for output, tensors in overwritable_inputs(graph, operation).items()
    }
    rows = sorted(wanted.items(), key=lambda row: (-graph.size[row[0]], row[0]))
    return {rows[k][0]: tensor for tensor, k in match_rows([tensors for _, tensors in rows]).items()}


def input_of_output_in_order(graph: OperationGraph, order: Iterable[int]) -> dict[int, int]:
    """Return the outputs that are written over inputs when operations run in an order, each mapped to its input."""
    targets: dict[int, int] = {}
    ran: set[int] = set()
    for operation in order:
        targets.update(input_of_output(graph, operation, ran))
        ran.add(operation)
    return targets


def match_rows(wanted: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return a maximum matching of rows and the tensors that each may take, as a map from tensors to rows.

    Earlier rows take precedence, and others are moved on if needed; so the largest outputs, which come first, save
    most.
    """
    holder: dict[int, int] = {}

    def take(k: int, tried: set[int]) -> bool:
        for tensor in wanted[k]:
            if tensor not in tried:
                tried.add(tensor)
                if tensor not in holder or take(holder[tensor], tried):
                    holder[tensor] = k
                    return True
        return False

    for k in range(len(wanted)):
        take(k, set())
    return holder
