"""The orders of the regions inside operations, each of which is searched as a separate graph."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from memplan.programs.operations.graph import GraphOperation, OperationGraph, Region
from memplan.programs.operations.graph_variants import replace_fields
from memplan.programs.operations.order_check import peak_of
from memplan.programs.order.answer import RegionOrder

Path = tuple[int, ...]


@dataclass(frozen=True)
class OrderedRegions:
    """A graph whose regions are in the best orders found; `orders` lists the regions whose order has changed.

    With optimal orders of its regions, no operation's work would fall by more than `slack` bytes. A region that several
    operations run has a single order. `given` is the graph before its regions were ordered.
    """

    graph: OperationGraph
    slack: int = 0
    orders: tuple[RegionOrder, ...] = ()
    given: OperationGraph | None = None


OrderOf = Callable[[OrderedRegions, Path], tuple[Sequence[int], int]]
"""The type of a function that returns a valid order of a graph, and a lower bound on the peaks of all its orders."""


def order_inner_regions(graph: OperationGraph, order_of: OrderOf) -> OrderedRegions:
    """Find an order for the operations of each region, innermost first, and return the graph with these orders.

    The work of operations with regions is recomputed. A region that several operations run is ordered once.
    """
    done: dict[int, tuple[OperationGraph, int]] = {}
    orders: list[RegionOrder] = []

    def ordered_region(inner: OperationGraph, path: Path) -> tuple[OperationGraph, int]:
        if id(inner) not in done:
            inside = nested_regions(inner, path)
            order, least = order_of(inside, path)
            done[id(inner)] = permute(inside.graph, order), least
            if list(order) != list(range(len(inner.ops))):
                orders.append(RegionOrder(path, tuple(order)))
        return done[id(inner)]

    def nested_regions(outer: OperationGraph, path: Path) -> OrderedRegions:
        """Return `outer` with its regions ordered at all depths; `path` leads to it from the outermost graph."""
        if not any(row.regions for row in outer.ops):
            return OrderedRegions(outer)
        rows: list[GraphOperation] = []
        slack = 0
        for v, row in enumerate(outer.ops):
            orders = [ordered_region(each.graph, (*path, v, k)) for k, each in enumerate(row.regions)]
            more = row.work - _work_of_regions(outer, row.regions, [_peak_of_given(each.graph) for each in row.regions])
            fewest = -sum(outer.working_bytes[tensor] for tensor in outer.new_tensors[v]) if row.regions else 0
            work = max(
                fewest, more + _work_of_regions(outer, row.regions, [_peak_of_given(inner) for inner, _ in orders])
            )
            least = max(fewest, more + _work_of_regions(outer, row.regions, [bound for _, bound in orders]))
            slack = max(slack, work - least)
            regions = tuple(
                each.model_copy(update={"graph": inner}) for each, (inner, _) in zip(row.regions, orders, strict=True)
            )
            rows.append(row.model_copy(update={"regions": regions, "work": work}) if orders else row)
        return OrderedRegions(replace_fields(outer, ops=tuple(rows)), slack)

    all_ordered = nested_regions(graph, ())
    return OrderedRegions(
        all_ordered.graph, all_ordered.slack, tuple(sorted(orders, key=lambda each: each.path)), graph
    )


def set_region_orders(graph: OperationGraph, orders: Iterable[RegionOrder]) -> OperationGraph:
    """Return a graph with the given orders of its regions; raises OperationsError if an order is invalid.

    The work of its operations is recomputed, as in the graph that `order_inner_regions` returns.
    """
    order_of_path = {each.path: each.order for each in orders}

    def order_of(inside: OrderedRegions, path: Path) -> tuple[Sequence[int], int]:
        return order_of_path.get(path, range(len(inside.graph.ops))), 0

    return order_inner_regions(graph, order_of).graph if order_of_path else graph


def permute(graph: OperationGraph, order: Sequence[int]) -> OperationGraph:
    """Return the graph with its operations listed in another valid order; raises OperationsError for an invalid one."""
    peak_of(graph, order)
    place = {operation: k for k, operation in enumerate(order)}
    rows = (graph.ops[operation] for operation in order)
    ops = [row.model_copy(update={"after": tuple(place[earlier] for earlier in row.after)}) for row in rows]
    return replace_fields(graph, ops=tuple(ops))


def _peak_of_given(graph: OperationGraph) -> int:
    return peak_of(graph, range(len(graph.ops)))


def _work_of_regions(graph: OperationGraph, regions: Sequence[Region], peaks: Sequence[int]) -> int:
    """Return an operation's work: the largest of its regions' peaks, minus the bytes that the regions count.

    The result is negative if these tensors are not all alive at once.
    """
    counted = {outside for region in regions for inside, outside in region.outer if inside not in region.graph.resident}
    return max(peaks, default=0) - sum(graph.size[tensor] for tensor in counted)
