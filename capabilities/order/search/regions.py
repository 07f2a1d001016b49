"""Regions of operations, ordered inside, each as a graph of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from memplan.planner.operations.graph import GraphOperation, OperationGraph, Region
from memplan.planner.operations.graph_variants import replaced
from memplan.planner.operations.order_check import peak_of


@dataclass(frozen=True)
class RegionOrder:
    """The order of a region's operations; it and the `path` to the region are positions as in the input.

    The path is an operation and one of its regions, then an operation in there and one of its regions, and so on.
    """

    path: tuple[int, ...]
    order: tuple[int, ...]


@dataclass(frozen=True)
class OrderedRegions:
    """A graph with its regions in the orders that were found; `orders` are those that differ from the given ones.

    `slack` is, for each operation, the bytes of its work that better orders of its regions might save. The order of a
    region that several operations run is stated once.
    """

    graph: OperationGraph
    slack: tuple[int, ...]
    orders: tuple[RegionOrder, ...] = ()


OrderOf = Callable[[OrderedRegions], tuple[Sequence[int], int]]
"""What orders a graph whose regions are in order: a legal order, and a peak that no order, inside or here, is below."""


def with_regions_ordered(graph: OperationGraph, order_of: OrderOf) -> OrderedRegions:
    """Return a graph in which the operations of each region, of those inside first, are in the order that is found.

    An operation's work is what is left to it with its regions in these orders. The order of a region that several
    operations run is found once.
    """
    ordering = _Ordering(order_of)
    found = ordering.graph(graph)
    return OrderedRegions(found.graph, found.slack, tuple(ordering.changed(graph, (), set())))


def with_orders_inside(graph: OperationGraph, orders: Iterable[RegionOrder]) -> OperationGraph:
    """Return a graph with its regions in orders that were found for them; raises OperationsError for one that is none.

    Its operations need what is left of their work, as in the graph that `with_regions_ordered` returns.
    """
    known = {each.path: tuple(each.order) for each in orders}
    return _Known(dict(_by_graph(graph, known, ()))).graph(graph).graph if known else graph


def _by_graph(
    graph: OperationGraph, known: Mapping[tuple[int, ...], tuple[int, ...]], path: tuple[int, ...]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the identity of each region's graph that has another order than the given one, and that order."""
    for v, row in enumerate(graph.ops):
        for k, region in enumerate(row.regions):
            if (*path, v, k) in known:
                yield id(region.graph), known[*path, v, k]
            yield from _by_graph(region.graph, known, (*path, v, k))


def permuted(graph: OperationGraph, order: Sequence[int]) -> OperationGraph:
    """Return the same graph with its operations listed in an order, which must be legal; raises OperationsError."""
    peak_of(graph, order)
    place = {operation: k for k, operation in enumerate(order)}
    rows = (graph.ops[operation] for operation in order)
    ops = [row.model_copy(update={"after": tuple(place[earlier] for earlier in row.after)}) for row in rows]
    return replaced(graph, ops=tuple(ops))


@dataclass(frozen=True)
class _OrderedRegion:
    given: OperationGraph
    graph: OperationGraph
    order: tuple[int, ...]
    least: int


class _Ordering:
    def __init__(self, order_of: OrderOf) -> None:
        self._order_of = order_of
        self._done: dict[int, _OrderedRegion] = {}

    def graph(self, graph: OperationGraph) -> OrderedRegions:
        """Order the regions of a graph, not the graph itself."""
        if not any(row.regions for row in graph.ops):
            return OrderedRegions(graph, (0,) * len(graph.ops))
        done = [self._operation(graph, row) if row.regions else (row, 0) for row in graph.ops]
        return OrderedRegions(replaced(graph, ops=tuple(row for row, _ in done)), tuple(slack for _, slack in done))

    def changed(self, graph: OperationGraph, path: tuple[int, ...], seen: set[int]) -> Iterator[RegionOrder]:
        """Yield the orders of a graph's regions that are not the given ones, each of them once."""
        inside = ((v, k, region) for v, row in enumerate(graph.ops) for k, region in enumerate(row.regions))
        for v, k, region in inside:
            if id(region.graph) not in seen:
                seen.add(id(region.graph))
                order = self._done[id(region.graph)].order
                if order != tuple(range(len(order))):
                    yield RegionOrder((*path, v, k), order)
                yield from self.changed(region.graph, (*path, v, k), seen)

    def _operation(self, graph: OperationGraph, row: GraphOperation) -> tuple[GraphOperation, int]:
        """Return an operation with its regions ordered, and its slack."""
        found = [self._region(region.graph) for region in row.regions]
        more = row.work - _work_of(graph, row.regions, [_given_peak(region.graph) for region in row.regions])
        work, least = (
            max(0, more + _work_of(graph, row.regions, peaks))
            for peaks in ([_given_peak(region.graph) for region in found], [region.least for region in found])
        )
        regions = tuple(
            region.model_copy(update={"graph": done.graph}) for region, done in zip(row.regions, found, strict=True)
        )
        return row.model_copy(update={"regions": regions, "work": work}), work - least

    def _region(self, inner: OperationGraph) -> _OrderedRegion:
        # A graph that is called in several places is ordered once.
        known = self._done.get(id(inner))
        if known is None:
            drawn = self.graph(inner)
            order, least = self._found(inner, drawn)
            known = _OrderedRegion(inner, permuted(drawn.graph, order), tuple(order), least)
            self._done[id(inner)] = known
        return known

    def _found(self, _inner: OperationGraph, drawn: OrderedRegions) -> tuple[Sequence[int], int]:
        """Return the order of a region whose own regions are in order, and what no order of it is below."""
        return self._order_of(drawn)


class _Known(_Ordering):
    """Puts regions in orders that are known by the identities of their graphs."""

    def __init__(self, orders: Mapping[int, tuple[int, ...]]) -> None:
        super().__init__(lambda _: ((), 0))
        self._orders = orders

    def _found(self, inner: OperationGraph, drawn: OrderedRegions) -> tuple[Sequence[int], int]:
        return self._orders.get(id(inner), range(len(drawn.graph.ops))), 0


def _given_peak(graph: OperationGraph) -> int:
    return peak_of(graph, range(len(graph.ops)))


def _work_of(graph: OperationGraph, regions: Sequence[Region], peaks: Sequence[int]) -> int:
    """Return the bytes that an operation needs for regions with these peaks, beside the tensors that count for it."""
    counted = {outside for region in regions for inside, outside in region.outer if inside not in region.graph.resident}
    return max(0, max(peaks, default=0) - sum(graph.size[tensor] for tensor in counted))
