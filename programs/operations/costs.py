"""The cost of running an operation again: the stated cost, its multiplications, or the size of its outputs."""

from collections.abc import Sequence
from math import prod

from memplan.programs.operations.graph import GraphOperation, OperationGraph

_PRODUCTS = ("matmul", "fully_connected", "gemm", "dense", "linear")
_CONVOLUTION = "conv"


def costs_of(graph: OperationGraph) -> tuple[int, ...]:
    """Return the cost of each operation: its stated cost, else its multiplications, else the elements of its outputs.

    Multiplications are known for convolutions and matrix products of known shapes. Without shapes, output bytes count
    instead of elements. An operation without inputs creates a constant and costs nothing.
    """
    return tuple(_operation_cost(graph, v, row) for v, row in enumerate(graph.ops))


def _operation_cost(graph: OperationGraph, v: int, row: GraphOperation) -> int:
    """Return the cost of operation v: its stated cost, its multiplications, or the elements of its new tensors."""
    if row.cost is not None:
        return row.cost
    if not row.inputs:
        return 0
    made = sum(_element_count(graph, t) for t in graph.new_tensors[v])
    kind = row.kind or ""
    shapes = [_tensor_shape(graph, t) for t in row.inputs[:2]]
    result = _tensor_shape(graph, row.outputs[0]) if row.outputs else None
    if len(shapes) < 2 or shapes[0] is None or shapes[1] is None or not result:
        return made
    if _CONVOLUTION in kind and len(shapes[1]) > 2:
        return prod(result) * _filter_taps(kind, shapes[1])
    if any(word in kind for word in _PRODUCTS):
        return prod(shapes[0]) * result[-1]
    return made


def _filter_taps(kind: str, filter_shape: Sequence[int]) -> int:
    channels = filter_shape[-1] if "depthwise" in kind and filter_shape[0] == 1 else filter_shape[0]
    return prod(filter_shape) // max(1, channels)


def _tensor_shape(graph: OperationGraph, tensor: int) -> tuple[int, ...] | None:
    """Return the shape of a tensor, or None if the graph does not state it."""
    return graph.tensors[tensor].shape if graph.tensors else None


def _element_count(graph: OperationGraph, tensor: int) -> int:
    shape = _tensor_shape(graph, tensor)
    return graph.size[tensor] if shape is None else prod(shape)
