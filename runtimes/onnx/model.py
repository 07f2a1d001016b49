"""Access to the protobuf messages of ONNX models: nested graphs, node names, shapes of values, element types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from memplan.planner.errors import excerpt
from memplan.programs.operations.graph_facts import bits_of
from memplan.programs.readers.vocabulary import types_by_number

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto, TypeProto

DTYPES = types_by_number("""
- float32 uint8 int8 uint16 int16 int32 int64 - bool float16 float64 uint32 uint64 complex64 complex128 bfloat16
float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz uint4 int4 float4_e2m1 float8_e8m0 uint2 int2
""")
"""Maps the numbers of TensorProto.DataType to names of element types; strings (8) are absent."""
BITS = {number: bits_of(name) or 0 for number, name in DTYPES.items()}
_TAKEN = "memplan_taken"


FORM = "="
"""The prefix that marks a dimension name as an expression over symbols; no model uses this prefix."""


def is_form(size: str) -> bool:
    """Return True if the name of a dimension is the text of an expression over symbols, marked by a prefix."""
    return size.startswith(FORM)


def node_name(node: NodeProto, k: int) -> str:
    """Return the text by which messages refer to node `k`: its operator, and its name or else its position."""
    op = node.op_type if node.op_type.isprintable() and len(node.op_type) <= 60 else excerpt(node.op_type)
    return f"node {excerpt(node.name)} ({op})" if node.name else f"node[{k}] ({op})"


def subgraphs(node: NodeProto) -> Iterator[tuple[str, GraphProto]]:
    """Yield the graphs in a node's attributes, each with the attribute's name."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.name, attribute.g
        for graph in attribute.graphs:
            yield attribute.name, graph


def mark_branch_taken(node: NodeProto, label: str) -> None:
    """Store in an If node which branch always runs; `label` is the attribute of that branch."""
    node.attribute.add(name=_TAKEN, s=label.encode())


def branch_taken(node: NodeProto) -> str | None:
    """Return the attribute that contains the branch of an If node that always runs; None if it is unknown."""
    return next((row.s.decode() for row in node.attribute if row.name == _TAKEN), None)


def graphs_of(graph: GraphProto) -> Iterator[GraphProto]:
    """Yield a graph and all graphs nested in it."""
    stack = [graph]
    while stack:
        top_graph = stack.pop()
        yield top_graph
        stack += [inner for node in top_graph.node for _, inner in subgraphs(node)]


def shape_of(kind: TypeProto) -> tuple[int | str | None, ...] | None:
    """Return a tensor type's dimensions, each a size, a name or None (unknown); None for a type without shape."""
    if not kind.HasField("tensor_type") or not kind.tensor_type.HasField("shape"):
        return None
    dims = kind.tensor_type.shape.dim
    return tuple(dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in dims)


def type_of(data_type: int, dims: Sequence[int | str]) -> TypeProto:
    """Return the tensor type with element type number `data_type`; `dims` has a size or a name for each dimension."""
    from onnx import helper

    rows = [size if isinstance(size, str) else int(size) for size in dims]
    kind: TypeProto = helper.make_tensor_type_proto(data_type, rows)
    return kind


def stacked_type(kind: TypeProto, first: int | str | None, *, is_apart: bool = False) -> TypeProto:
    """Return the type of a stack of `first` tensors, each of type `kind`.

    With `is_apart`, do the reverse: `kind` is the type of a stack, and the type of one of its tensors is returned.
    """
    from onnx import helper

    shape = shape_of(kind)
    rows = None if shape is None else list(shape[1:]) if is_apart else [first, *shape]
    kind_of_rows: TypeProto = helper.make_tensor_type_proto(kind.tensor_type.elem_type, rows)
    return kind_of_rows


def is_known(kind: TypeProto | None) -> bool:
    """Return True for a tensor type whose sizes are all known, and for any other type, such as a sequence."""
    if kind is None or kind.WhichOneof("value") is None:
        return False
    shape = shape_of(kind)
    if shape is None:
        return not kind.HasField("tensor_type")
    return all(size is not None and (size >= 0 if isinstance(size, int) else is_form(size)) for size in shape)
