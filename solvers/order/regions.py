"""Regions of operations, ordered inside, each as a graph of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from memplan.planner.operations.graph import GraphOperation, OperationGraph, Region
from memplan.planner.operations.graph_variants import replaced
from memplan.planner.operations.order_check import peak_of
from memplan.solvers.order.placement.joint import Goal, PlacedOrder, order_and_place
from memplan.solvers.order.solve import TIME_LIMIT_S, check_limit, order_operations

OrderOf = Callable[[OperationGraph], Sequence[int]]


def with_regions_ordered(graph: OperationGraph, order_of: OrderOf) -> OperationGraph:
    """Return a graph in which the operations of each region, of those inside first, are in the order that is found.

    An operation's work is what is left to it with its regions in these orders. `order_of` gives a legal order of a
    graph; the orders of a region that several operations run are found once.
    """
    return _Ordering(order_of).graph(graph)


def order_with_regions(
    graph: OperationGraph,
    *,
    time_limit_s: float = TIME_LIMIT_S,
    deterministic: bool = False,
    cancelled: threading.Event | None = None,
    alignment: int = 1,
    goal: Goal = "alive",
) -> tuple[OperationGraph, PlacedOrder]:
    """Order the regions of a graph, for half of the time at most, then the graph, and plan it; see `order_and_place`.

    Returns the graph with its regions in their new orders as well; that is the graph which is planned.
    """
    check_limit(time_limit_s)
    began = time.monotonic()

    def order_of(inner: OperationGraph) -> Sequence[int]:
        left = max(0.0, (time_limit_s / 2 - (time.monotonic() - began)) / 2)
        found = order_operations(inner, time_limit_s=left, deterministic=deterministic, cancelled=cancelled)
        return found.order if found.peak < found.given_peak else range(len(inner.ops))

    ordered = with_regions_ordered(graph, order_of)
    rest = max(0.0, time_limit_s - (time.monotonic() - began))
    placed = order_and_place(
        ordered,
        time_limit_s=time_limit_s if deterministic else rest,
        deterministic=deterministic,
        cancelled=cancelled,
        alignment=alignment,
        goal=goal,
    )
    given = peak_of(graph, range(len(graph.ops)))
    return ordered, replace(placed, result=replace(placed.result, given_peak=given))


def permuted(graph: OperationGraph, order: Sequence[int]) -> OperationGraph:
    """Return the same graph with its operations listed in an order, which must be legal; raises OperationsError."""
    peak_of(graph, order)
    place = {operation: k for k, operation in enumerate(order)}
    rows = (graph.ops[operation] for operation in order)
    ops = [row.model_copy(update={"after": tuple(place[earlier] for earlier in row.after)}) for row in rows]
    return replaced(graph, ops=tuple(ops))


class _Ordering:
    def __init__(self, order_of: OrderOf) -> None:
        self._order_of = order_of
        self._done: dict[int, tuple[OperationGraph, OperationGraph]] = {}

    def graph(self, graph: OperationGraph) -> OperationGraph:
        """Order the regions of a graph, not the graph itself."""
        if not any(row.regions for row in graph.ops):
            return graph
        return replaced(graph, ops=tuple(self._operation(graph, row) if row.regions else row for row in graph.ops))

    def _operation(self, graph: OperationGraph, row: GraphOperation) -> GraphOperation:
        regions = tuple(region.model_copy(update={"graph": self._region(region.graph)}) for region in row.regions)
        work = row.work - _work_of(graph, row.regions) + _work_of(graph, regions)
        return row.model_copy(update={"regions": regions, "work": max(0, work)})

    def _region(self, inner: OperationGraph) -> OperationGraph:
        known = self._done.get(id(inner))
        if known is None:
            drawn = self.graph(inner)
            known = self._done[id(inner)] = inner, permuted(drawn, self._order_of(drawn))
        return known[1]


def _work_of(graph: OperationGraph, regions: Sequence[Region]) -> int:
    """Return the bytes that an operation needs for its regions, beside the tensors that they count for it."""
    counted = {outside for region in regions for inside, outside in region.outer if inside not in region.graph.resident}
    peak = max((peak_of(region.graph, range(len(region.graph.ops))) for region in regions), default=0)
    return max(0, peak - sum(graph.size[tensor] for tensor in counted))
