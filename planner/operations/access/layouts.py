"""Where the channels of each tensor are: from the operations that say it, along those that keep the order of axes."""

from __future__ import annotations

from collections import deque

from memplan.planner.operations.access.facts import axes_of
from memplan.planner.operations.graph import GraphOperation, OperationGraph

_MIXING = frozenset({"reshape", "fully_connected", "matmul", "gather", ""})
"""The kinds whose output may have other axes than their inputs."""


def layouts_of(graph: OperationGraph) -> list[str]:
    """Return NHWC or NCHW for each tensor: channels behind rows and columns, or before them.

    An operation with an attribute `layout` says it for what it reads and makes; others, of the same number of axes,
    pass it on; a transposition changes it. Where nothing says it, four axes are those of the first operation that has a
    layout, and three are batch, rows and channels.
    """
    said = next((str(row.attributes["layout"]) for row in graph.ops if "layout" in row.attributes), "NHWC")
    around = _images(graph)
    touching: dict[int, list[int]] = {}
    found: dict[int, str] = {}
    for position, row in enumerate(graph.ops):
        for tensor in around[position]:
            touching.setdefault(tensor, []).append(position)
        if "layout" in row.attributes:
            makes = [t for t in around[position] if t in row.outputs]
            found.update((t, str(row.attributes["layout"])) for t in (*around[position][:1], *makes) if t not in found)
    waiting = deque(found)
    while waiting:
        tensor = waiting.popleft()
        for position in touching[tensor]:
            for other in around[position]:
                layout = _passed_on(graph, graph.ops[position], tensor, other, found[tensor])
                if layout is not None and other not in found:
                    found[other] = layout
                    waiting.append(other)
    return [found.get(t, said if len(_shape(graph, t)) == 4 else "NHWC") for t in range(len(graph.size))]


def transposed_layout(layout: str, axes: tuple[int, ...]) -> str | None:
    """Return the layout behind a transposition: axis k of its output is axis axes[k] of its input; None if neither."""
    order = axes_of(len(axes), layout)
    if order is None or sorted(axes) != list(range(len(axes))):
        return None
    moved = tuple(order[axis] for axis in axes)
    return next((name for name in ("NHWC", "NCHW") if axes_of(len(axes), name) == moved), None)


def permutation_of(row: GraphOperation) -> tuple[int, ...]:
    """Return the axes of a transposition; none where they are not known."""
    for name in ("perm", "axes", "dims"):
        value = row.attributes.get(name)
        if isinstance(value, tuple) and all(isinstance(one, int) for one in value):
            return tuple(int(one) + (len(value) if one < 0 else 0) for one in value)
    return ()


def _shape(graph: OperationGraph, tensor: int) -> tuple[int, ...]:
    return (graph.tensors[tensor].shape if graph.tensors else None) or ()


def _images(graph: OperationGraph) -> list[list[int]]:
    """Return for each operation the tensors of three or four axes that it reads or makes, without constants."""
    apart = set(graph.resident)
    images = {t for t in range(len(graph.size)) if len(_shape(graph, t)) in (3, 4) and t not in apart}
    return [[t for t in dict.fromkeys((*row.inputs, *row.outputs)) if t in images] for row in graph.ops]


def _passed_on(graph: OperationGraph, row: GraphOperation, known: int, other: int, layout: str) -> str | None:
    """Return the layout of another tensor of an operation; None where that does not follow."""
    if other == known or len(_shape(graph, other)) != len(_shape(graph, known)) or (row.kind or "") in _MIXING:
        return None
    if row.kind != "transpose":
        return layout
    axes = permutation_of(row)
    if len(axes) != len(_shape(graph, known)) or sorted(axes) != list(range(len(axes))):
        return None
    if known in row.inputs and other in row.outputs:
        return transposed_layout(layout, axes)
    if known in row.outputs and other in row.inputs:
        back = tuple(axes.index(k) for k in range(len(axes)))
        return transposed_layout(layout, back)
    return None
