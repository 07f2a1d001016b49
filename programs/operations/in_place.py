"""Execution in place: the inputs that an operation's outputs overwrite, given the operations that ran before it."""

from collections.abc import Container, Iterable, Sequence

from memplan.programs.operations.graph import OperationGraph


def overwritable_inputs(graph: OperationGraph, operation: int) -> dict[int, list[int]]:
    """Return, for each output of an operation, the inputs that it may overwrite if no later operation reads them.

    The operation must be the first to write the output, whose bytes must fit into the input. The input must not be an
    output of the operation as well, and must be neither kept nor resident.
    """
    row, size = graph.ops[operation], graph.working_bytes
    candidates: dict[int, list[int]] = {}
    for k, j in row.may_overwrite:
        output, tensor = row.outputs[k], row.inputs[j]
        is_dead = tensor not in graph.permanent_tensors and tensor not in row.outputs
        # Commits at the end of an order are proved only for outputs no larger than their inputs (decision 055).
        if is_dead and output in graph.new_tensors[operation] and 0 < size[output] <= size[tensor]:
            candidates.setdefault(output, []).append(tensor)
    return candidates


def input_of_output(graph: OperationGraph, operation: int, before: Container[int]) -> dict[int, int]:
    """Return which input each output overwrites, as a map from output to input, after the operations in `before`.

    All other readers of the input must be in `before`, and each input is overwritten at most once. Among all such maps,
    the result saves the most bytes.
    """
    if not graph.ops[operation].may_overwrite:  # Nearly all operations overwrite nothing, so return early for them.
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
    """Return which input each output overwrites, as a map from output to input, if operations run in this order."""
    targets: dict[int, int] = {}
    ran: set[int] = set()
    for operation in order:
        targets.update(input_of_output(graph, operation, ran))
        ran.add(operation)
    return targets


def match_rows(wanted: Sequence[Sequence[int]]) -> dict[int, int]:
    """Match as many rows as possible with tensors; return a map from tensor to row.

    Row k accepts the tensors `wanted[k]`. Earlier rows take precedence but may be assigned to another tensor later. If
    rows are in descending order of bytes, the matching saves the most bytes.
    """
    holder: dict[int, int] = {}

    def assign_row(k: int, tried: set[int]) -> bool:
        for tensor in wanted[k]:
            if tensor not in tried:
                tried.add(tensor)
                if tensor not in holder or assign_row(holder[tensor], tried):
                    holder[tensor] = k
                    return True
        return False

    for k in range(len(wanted)):
        assign_row(k, set())
    return holder
