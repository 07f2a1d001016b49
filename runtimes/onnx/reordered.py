"""Writer of ONNX models whose nodes, also those in subgraphs, are reordered; all other content is preserved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from memplan.planner.errors import FormatError, InvalidPlanError
from memplan.programs.models.sequence import ReorderedFile, Where
from memplan.runtimes.new_order import new_order
from memplan.runtimes.onnx.facts import BY_CHANCE
from memplan.runtimes.onnx.loading import parse
from memplan.runtimes.onnx.model import graphs_of, subgraphs

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto


def set_orders(data: bytes, orders: Mapping[Where, Sequence[int]]) -> ReorderedFile:
    """Return a model file in which the nodes of each graph are in the given order.

    Unknown protobuf fields are preserved. In `orders`, the main graph has the key (), and the k-th graph of its node v
    the key (v, k), and so on. Raises FormatError for a model with functions, because their nodes run at several places,
    and OperationsError for an invalid order.
    """
    model = parse(data)
    if model.functions:
        raise FormatError("model.functions: must be empty to reorder nodes: inline the functions first")
    if not _reorder(model.graph, orders, ()):
        return ReorderedFile(data)
    written: bytes = model.SerializeToString()
    if _sorted_bytes(parse(written)) != _sorted_bytes(parse(data)):
        raise InvalidPlanError("model.graph: must have the same nodes before and after the change of their order")
    return ReorderedFile(written)


def _reorder(graph: GraphProto, orders: Mapping[Where, Sequence[int]], where: Where) -> bool:
    """Reorder the nodes of a graph and of its subgraphs by `orders`; return True if a node changed its position."""
    reads, writes = [[*_names_read(node)] for node in graph.node], [[*filter(None, node.output)] for node in graph.node]
    by_chance = {v for v, node in enumerate(graph.node) if any(each.op_type in BY_CHANCE for each in _nodes_in(node))}
    order = new_order(orders.get(where, ()), reads, writes, by_chance)
    inside = [
        _reorder(inner, orders, (*where, v, k))
        for v, node in enumerate(graph.node)
        for k, (_, inner) in enumerate(subgraphs(node))
    ]
    rank = {v: place for place, v in enumerate(order)}
    places = iter([rank[v] for v in range(len(order))])
    graph.node.sort(key=lambda _: next(places))
    return any(inside) or list(order) != list(range(len(order)))


def _nodes_in(node: NodeProto) -> Iterator[NodeProto]:
    yield node
    for _, inner in subgraphs(node):
        for graph in graphs_of(inner):
            yield from graph.node


def _names_read(node: NodeProto) -> Iterator[str]:
    for each in _nodes_in(node):
        yield from filter(None, each.input)
    for _, inner in subgraphs(node):
        for graph in graphs_of(inner):
            yield from (value.name for value in graph.output)


def _sorted_bytes(model: ModelProto) -> bytes:
    for graph in reversed([*graphs_of(model.graph)]):
        graph.node.sort(key=lambda node: node.SerializeToString(deterministic=True))
    content: bytes = model.SerializeToString(deterministic=True)
    return content
