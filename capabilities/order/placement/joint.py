"""Order and placement together: the order whose verified plan needs the fewest bytes, near the given one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from memplan.capabilities.order.search.allowance import Allowance, allowance
from memplan.capabilities.order.search.nearness import nearby
from memplan.capabilities.order.search.solve import TIME_LIMIT_S, OrderResult, OrderSearch, check_limit, order_regions
from memplan.planner.liveness.ordered import problem_of_order
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.operations.order_check import peak_of
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control

Pose = Callable[[Sequence[int]], Problem]
Goal = Literal["alive", "placed"]
_ORDER_SHARE = 0.8
"""The part of the time for the search of orders, which needs less where it ends with a proof."""
_QUICK_S, _LONG_SHARE = 0.25, 0.5
"""The time for a first plan of each order; the part of the time left for a longer look at the best ones."""
_LEAST_S = 3.0
"""The time for plans where the order is chosen by what is alive: so long, or as long as the order took."""
_SHORTEST_S = 0.02
_SEEDS, _LONG = 8, 2
"""The orders by chance that are planned, half of them where few bytes alive count; those that get a longer look."""


@dataclass(frozen=True)
class PlacedOrder:
    """An order, and the plan of its tensors and workspaces; buffers are named as in `problem_of_order`."""

    result: OrderResult
    problem: Problem
    plan: Plan
    orders: int

    @property
    def placed_peak(self) -> int | None:
        """Return the peak of the plan, in bytes; None where the time was too short for any."""
        return self.plan.peak

    @property
    def status(self) -> Literal["optimal", "feasible"]:
        """Say whether no order has a plan with a smaller peak: the plan needs no more than the bound for all orders."""
        return "optimal" if self.placed_peak == self.result.lower_bound else "feasible"


def order_and_place(
    graph: OperationGraph,
    *,
    time_limit_s: float = TIME_LIMIT_S,
    control: Control = Control(),
    alignment: int = 1,
    goal: Goal = "alive",
    on_order: Callable[[OrderResult], None] = lambda _: None,
) -> PlacedOrder:
    """Find an order and a plan for it with the least peak; each is checked by code that did not make it.

    Regions are ordered first, inside, for half of the time at most; planned is the graph in `result`.
    The `goal` is the least peak of the bytes alive, and of such orders one whose plan needs no more; or, with `placed`,
    the least peak of the plan, whatever is alive: plans are made for as long as the limit allows, also of orders with
    slightly more alive. Among equals the order with the fewest moves from the given one is preferred. `on_order` is
    called with the best order before plans are made. Raises OptionError for a time limit below 0, OperationsError for
    an alignment below 1, InvalidPlanError for an order that a check rejects.
    """
    began = time.monotonic()
    inside = order_regions(graph, time_limit_s, control.counts_work, control.cancelled)
    ordered = inside.ordered.graph

    def pose(order: Sequence[int]) -> Problem:
        return problem_of_order(ordered, order, alignment=alignment)

    found = order_and_pose(
        ordered, pose, inside.rest_s, control, goal, lambda result: on_order(inside.result_of(result, began))
    )
    return replace(found, result=inside.result_of(found.result, began))


def order_and_pose(
    graph: OperationGraph,
    pose: Pose,
    time_limit_s: float,
    control: Control,
    goal: Goal,
    on_order: Callable[[OrderResult], None] = lambda _: None,
) -> PlacedOrder:
    """Find an order and a plan for it as `order_and_place` does, where `pose` says what is planned for an order."""
    check_limit(time_limit_s)
    began = time.monotonic()
    for_plans = (1 - _ORDER_SHARE) * time_limit_s
    if goal == "alive":
        # No order with more alive is answered then, so plans only choose among equals.
        for_plans = min(for_plans, _LEAST_S)
    with allowance(time_limit_s - for_plans, control.counts_work, control.cancelled) as left:
        search = OrderSearch(graph, left)
        search.run()
    result = search.result()
    on_order(result)
    passed = time.monotonic() - began
    # Time that the search of orders did not need, as it ended with a proof, goes to the plans.
    rest = for_plans if control.counts_work else max(time_limit_s - passed, 0.0)
    if goal == "alive":
        rest = min(rest, max(_LEAST_S, passed))
    with allowance(rest, control.counts_work, control.cancelled) as left:
        search.use(left)
        joint = _Joint(graph, search, result, _Planning(pose, control, left, rest))
        found = joint.best(goal)
    wall_time_s = None if control.counts_work else round(time.monotonic() - began, 6)
    return replace(found, result=replace(found.result, wall_time_s=wall_time_s))


@dataclass(eq=False)
class _Planning:
    """How plans are made, and what is left for that; `rest_s` is what a deterministic search may spend yet."""

    pose: Pose
    control: Control
    left: Allowance
    rest_s: float

    @property
    def left_s(self) -> float:
        """The seconds left, those of a clock or those that count work."""
        return self.rest_s if self.control.counts_work else self.left.left_s

    @property
    def is_over(self) -> bool:
        """True if no more orders should be planned."""
        return self.left.is_over or self.left_s <= 0

    def plan(self, problem: Problem, limit: float, start: Plan | None = None, *, is_first: bool = False) -> Plan:
        """Return a plan made within a limit, in seconds; without a start, by greedy orders and local search alone.

        The first plan is made even if all has been cancelled.
        """
        limit = max(limit, _SHORTEST_S)
        self.rest_s -= limit
        control = Control() if is_first else Control(cancelled=self.control.cancelled)
        return solve(
            problem,
            time_limit_s=limit,
            deterministic=self.control.counts_work,
            start=start,
            is_quick=start is None,
            control=control,
        )


class _Joint:
    """The orders that have been planned, and the best of their plans."""

    def __init__(self, graph: OperationGraph, search: OrderSearch, result: OrderResult, planning: _Planning) -> None:
        self._graph, self._search, self._result, self._planning = graph, search, result, planning
        self._found: list[PlacedOrder] = []
        self._seen: set[tuple[int, ...]] = set()

    def best(self, goal: Goal) -> PlacedOrder:
        """Plan one order after the other until a plan needs only what is alive, or the time is over."""

        def quality(placed: PlacedOrder) -> tuple[int, int]:
            return placed.plan.peak or 0, placed.result.moves

        given, own = tuple(range(len(self._graph.ops))), self._result.order
        preferred = self._preferred()
        # The search's own order is easy to plan more often than those that are preferred, then those by chance.
        self._take_each([*preferred[:1], own, *([given] if goal == "placed" else ())])
        self._take_each(self._by_chance(goal))
        for placed in sorted(self._found, key=quality)[:_LONG]:
            if not (self._is_closed or self._planning.is_over):
                self._improve(placed)
        # The order of the search has a perfect plan, but its nearest equal had none within the quick look: look at the
        # next.
        if self._is_closed and not self._closes(preferred[:1]):
            for order in preferred[1:]:
                if not (self._planning.is_over or self._closes(preferred)):
                    self._take(order)
        if not self._found:
            return PlacedOrder(self._result, self._planning.pose(own), Plan(status="unknown"), 0)
        return replace(min(self._found, key=quality), orders=len(self._seen))

    def _take_each(self, orders: Iterable[tuple[int, ...]]) -> None:
        """Plan orders until a plan needs only what is alive, one at the least."""
        for order in orders:
            if self._is_closed or (self._found and self._planning.is_over):
                return
            self._take(order)

    def _closes(self, orders: Sequence[tuple[int, ...]]) -> bool:
        """Return True if the plan of one of these orders needs only what is alive."""
        least = self._result.peak
        return any((placed.plan.peak or 0) <= least and placed.result.order in orders for placed in self._found)

    @property
    def _is_closed(self) -> bool:
        """True if a plan needs only what is alive."""
        return bool(self._found) and self._least <= self._result.peak

    @property
    def _least(self) -> int:
        return min(placed.plan.peak or 0 for placed in self._found)

    def _take(self, order: tuple[int, ...]) -> None:
        """Plan an order in short, if that was not done."""
        if order in self._seen:
            return
        self._seen.add(order)
        peak = self._result.peak if order == self._result.order else peak_of(self._graph, order)
        # More is alive than the best plan needs in all.
        if self._found and peak > self._least:
            return
        problem = self._planning.pose(order)
        plan = self._planning.plan(problem, min(_QUICK_S, self._planning.left_s), is_first=not self._found)
        if plan.peak is not None:
            self._found.append(PlacedOrder(replace(self._result, order=order, peak=peak), problem, plan, 1))

    def _improve(self, placed: PlacedOrder) -> None:
        """Plan an order again, for longer."""
        plan = self._planning.plan(placed.problem, _LONG_SHARE * self._planning.left_s, placed.plan)
        if plan.peak is not None and plan.peak < (placed.plan.peak or 0):
            self._found[self._found.index(placed)] = replace(placed, plan=plan)

    def _preferred(self) -> list[tuple[int, ...]]:
        """Return orders with the least peak, those with the fewest moves first."""
        graph, result = self._graph, self._result
        is_given = result.order == tuple(range(len(graph.ops)))
        return [] if is_given else nearby(graph, result.order, result.peak, self._planning.left.flag)

    def _by_chance(self, goal: Goal) -> Iterator[tuple[int, ...]]:
        """Yield other orders with the least peak; where the plan is what counts, also some with slightly more alive."""
        peak = self._result.peak
        n = _SEEDS if goal == "placed" else _SEEDS // 2
        for seed in range(1, n + 1):
            above = self._least - 1 - peak if self._found and goal == "placed" else 0
            # The first half keeps to the least peak; the rest may have more alive, up to what the best plan needs.
            budget = peak + above * max(0, seed - _SEEDS // 2) // _SEEDS
            other = self._search.another(budget, seed)
            if other is not None and peak_of(self._graph, other) <= budget:
                yield other
