"""Graphs whose splits are slices: an operation for each part, which then runs in stripes like any other."""

from __future__ import annotations

from itertools import accumulate

from memplan.planner.operations.graph import GraphOperation, OperationGraph
from memplan.planner.operations.graph_facts import Shape


def split_apart(graph: OperationGraph) -> OperationGraph:
    """Return the graph in which each output of a split is a slice of its input; the same graph where there is none.

    Tensors keep their positions. Where other operations run before one for no tensor's sake, nothing is changed.
    """
    if not graph.tensors or any(row.after for row in graph.ops):
        return graph
    parts = [_slices(graph, row) for row in graph.ops]
    if not any(parts):
        return graph
    ops = tuple(one for row, slices in zip(graph.ops, parts, strict=True) for one in slices or (row,))
    return graph.model_copy(update={"ops": ops})


def _slices(graph: OperationGraph, row: GraphOperation) -> tuple[GraphOperation, ...]:
    """Return the slices that a split along one axis is; none for another operation."""
    apart = set(graph.resident)
    reads = [k for k, tensor in enumerate(row.inputs) if tensor not in apart]
    if row.kind != "split" or len(reads) != 1 or len(row.outputs) < 2 or row.work or row.regions:
        return ()
    whole = _seen(graph, row.inputs[reads[0]], row.in_shapes, reads[0])
    shapes = [_seen(graph, tensor, row.out_shapes, k) for k, tensor in enumerate(row.outputs)]
    sizes = [shape for shape in shapes if whole is not None and shape is not None and len(shape) == len(whole)]
    if whole is None or len(sizes) < len(shapes):
        return ()
    cut = [axis for axis in range(len(whole)) if any(shape[axis] != whole[axis] for shape in sizes)]
    if len(cut) != 1 or sum(shape[cut[0]] for shape in sizes) != whole[cut[0]]:
        return ()
    starts = [0, *accumulate(shape[cut[0]] for shape in sizes)]
    layout = {"layout": row.attributes["layout"]} if "layout" in row.attributes else {}
    return tuple(
        row.model_copy(
            update={
                "kind": "slice",
                "inputs": (row.inputs[reads[0]],),
                "outputs": (tensor,),
                "may_overwrite": (),
                "in_shapes": (whole,),
                "out_shapes": (shape,),
                "attributes": {"starts": (start,), "axes": (cut[0],), **layout},
            }
        )
        for tensor, shape, start in zip(row.outputs, sizes, starts, strict=False)
    )


def _seen(graph: OperationGraph, tensor: int, shapes: tuple[Shape | None, ...], k: int) -> Shape | None:
    return (shapes[k] if shapes else None) or graph.tensors[tensor].shape
