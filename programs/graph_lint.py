"""Warnings about probable mistakes in a graph of operations."""

from collections.abc import Iterator

from memplan.planner.errors import excerpt
from memplan.planner.model.finding import Finding
from memplan.programs.operations.graph import OperationGraph


def repeated_outputs(graph: OperationGraph) -> Iterator[Finding]:
    """Yield one finding if operations write tensors that earlier operations wrote, without reading them.

    The finding names the first such operation and counts the others. Such a write counts as a change in place. In a
    graph written by hand, it is usually a wrong tensor number.
    """
    repeats = [
        (position, tensor)
        for position, row in enumerate(graph.ops)
        for tensor in row.outputs
        if graph.maker[tensor] not in (None, position) and tensor not in row.inputs
    ]
    if repeats:
        position, tensor = repeats[0]
        names = [
            f"ops[{k}]" + (f" ({excerpt(row.name)})" if (row := graph.ops[k]).name else "")
            for k in (graph.maker[tensor] or 0, position)
        ]
        more = f" (and {len(repeats) - 1} more cases)" if len(repeats) > 1 else ""
        message = f"tensor {tensor} is made by {names[0]} and by {names[1]}, which does not read it{more}"
        yield Finding("made-again", f"{message}: this counts as a change in place")
