"""ONNX models with their nodes in another order, also in the graphs inside of nodes: bytes move, and none changes.

The file is taken apart as a protocol buffer, without the package onnx: the nodes of a graph are put into each other's
places, and everything between them stays.
Source: onnx.proto3; the wire format, https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from memplan.planner.errors import FormatError, InvalidPlanError
from memplan.systems.onnx.facts import BY_CHANCE
from memplan.systems.protobuf import fields_of
from memplan.systems.sequence import ReorderedFile, Where, full_order, refuse_wrong

# Numbers of fields in onnx.proto, of ModelProto, then NodeProto and AttributeProto.
_GRAPH, _FUNCTIONS = 7, 25
_NODE = 1
_INPUT, _OUTPUT, _OP_TYPE, _ATTRIBUTE = 1, 2, 4, 5
_ATTRIBUTE_GRAPH, _ATTRIBUTE_GRAPHS = 6, 11
_DEEPEST = 50


def with_orders(data: bytes, orders: Mapping[Where, Sequence[int]]) -> ReorderedFile:
    """Return a model whose nodes are in the orders given by graph; the file keeps its length.

    The main graph is at (), the k-th graph of its node v at (v, k), and so on. Raises FormatError for a model with
    functions, whose nodes are in several places, and OperationsError for orders that are wrong.
    """
    found = [(number, start, end) for number, _, start, end in fields_of(data, 0, len(data), "model")]
    if any(number == _FUNCTIONS for number, _, _ in found):
        raise FormatError("model.functions: must be empty where nodes get another order: inline them first")
    graphs = [(start, end) for number, start, end in found if number == _GRAPH]
    if len(graphs) != 1:
        raise FormatError(f"model.graph: must be there once, got {len(graphs)}")
    ((start, end),) = graphs
    graph = _Graph(data, start, end, ())
    written = data[:start] + graph.reordered(orders) + data[end:]
    if _Graph(written, start, end, ()).outline != graph.outline:
        raise InvalidPlanError("model.graph: must have the same nodes in another order")
    return ReorderedFile(written)


@dataclass(frozen=True)
class _Graph:
    """A graph in the bytes of a file, at a place among those inside of each other."""

    data: bytes
    start: int
    end: int
    where: Where

    @cached_property
    def nodes(self) -> list[_Node]:
        """The nodes, in the order of the file."""
        if len(self.where) > 2 * _DEEPEST:
            raise FormatError(f"model.graph: must have at most {_DEEPEST} graphs inside each other, got more")
        spans = [
            (key, start, end)
            for number, key, start, end in fields_of(self.data, self.start, self.end, "model.graph")
            if number == _NODE
        ]
        return [_Node(self.data, *span, (*self.where, v)) for v, span in enumerate(spans)]

    @cached_property
    def outline(self) -> tuple[bytes, list[object]]:
        """What no order changes: the bytes beside the nodes, and the nodes, sorted."""
        rest = _spliced(self.data, self.start, self.end, [(node.key, node.end, b"") for node in self.nodes])
        return rest, sorted((node.outline for node in self.nodes), key=repr)

    def names(self) -> Iterator[str]:
        """Yield the names that nodes read, here and inside."""
        for node in self.nodes:
            yield from node.reads

    def reordered(self, orders: Mapping[Where, Sequence[int]]) -> bytes:
        """Return the graph's bytes with nodes in another order; the bytes between two nodes stay between them."""
        maker = {name: v for v, node in enumerate(self.nodes) for name in node.makes}
        needs = [
            frozenset(maker[name] for name in node.reads if maker.get(name, v) != v)
            for v, node in enumerate(self.nodes)
        ]
        order = full_order(orders.get(self.where, ()), needs)
        refuse_wrong(order, needs, {v: "chance" for v, node in enumerate(self.nodes) if node.is_by_chance})
        placed = zip(self.nodes, order, strict=True)
        parts = [(slot.key, slot.end, self.nodes[v].reordered(orders)) for slot, v in placed]
        return _spliced(self.data, self.start, self.end, parts)


@dataclass(frozen=True)
class _Node:
    """A node in the bytes of a file, from its key on."""

    data: bytes
    key: int
    start: int
    end: int
    where: Where
    _fields: list[tuple[int, int, int, int]] = field(init=False, repr=False, default_factory=list)

    def __post_init__(self) -> None:
        self._fields.extend(fields_of(self.data, self.start, self.end, "model.graph.node"))

    @cached_property
    def graphs(self) -> list[_Graph]:
        """The graphs that the node runs: those of each attribute in turn, the single one of it first."""
        found: list[tuple[int, int]] = []
        for number, _, start, end in self._fields:
            if number == _ATTRIBUTE:
                inner = list(fields_of(self.data, start, end, "model.graph.node.attribute"))
                for wanted in (_ATTRIBUTE_GRAPH, _ATTRIBUTE_GRAPHS):
                    found += [(low, high) for one, _, low, high in inner if one == wanted]
        return [_Graph(self.data, *span, (*self.where, k)) for k, span in enumerate(found)]

    @property
    def outline(self) -> tuple[bytes, list[object]]:
        """What no order changes: the bytes beside the graphs inside, and what no order changes in these."""
        rest = _spliced(self.data, self.key, self.end, [(graph.start, graph.end, b"") for graph in self.graphs])
        return rest, [graph.outline for graph in self.graphs]

    @property
    def makes(self) -> list[str]:
        """The names that it writes."""
        return [name for name in self._texts(_OUTPUT) if name]

    @cached_property
    def reads(self) -> frozenset[str]:
        """The names that it reads, and those that graphs inside of it read, which may be of this graph."""
        inside = (name for graph in self.graphs for name in graph.names())
        return frozenset((*self._texts(_INPUT), *inside)) - {""}

    @property
    def is_by_chance(self) -> bool:
        """True for one that draws random numbers, or runs one that does."""
        own = not BY_CHANCE.isdisjoint(self._texts(_OP_TYPE))
        return own or any(node.is_by_chance for graph in self.graphs for node in graph.nodes)

    def reordered(self, orders: Mapping[Where, Sequence[int]]) -> bytes:
        """Return the node's bytes with the graphs inside in another order."""
        parts = [(graph.start, graph.end, graph.reordered(orders)) for graph in self.graphs]
        return _spliced(self.data, self.key, self.end, parts)

    def _texts(self, wanted: int) -> list[str]:
        return [
            self.data[start:end].decode(errors="backslashreplace")
            for number, _, start, end in self._fields
            if number == wanted
        ]


def _spliced(data: bytes, start: int, end: int, parts: Iterable[tuple[int, int, bytes]]) -> bytes:
    """Return a range of bytes with others in place of some parts of it."""
    out, at = [], start
    for first, behind, content in sorted(parts):
        out += [data[at:first], content]
        at = behind
    return b"".join((*out, data[at:end]))
