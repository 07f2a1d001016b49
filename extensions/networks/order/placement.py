"""Order and placement together: the order whose verified plan needs the fewest bytes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from memplan.extensions.networks.lifetimes.ordered import problem_of_order
from memplan.extensions.networks.operations.graph import OperationGraph
from memplan.extensions.networks.operations.order_check import moves_of, peak_of
from memplan.extensions.networks.order.answer import OrderAnswer
from memplan.extensions.networks.order.options import Goal
from memplan.extensions.networks.order.search.nearness import nearby_orders
from memplan.extensions.networks.order.search.regions import OrderedRegions
from memplan.extensions.networks.order.search.solve import LARGE, WORK_PER_S, OrderSearch, order_regions
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.questions.inputs import PlanAndProblem
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control

Pose = Callable[[Sequence[int]], Problem]
_ORDER_SHARE = 0.8
"""The share of the time for the search of orders; less is used if it ends with a proof."""
_QUICK_S, _LONG_SHARE = 0.25, 0.5
"""The time for a first plan of each order, and the share of the remaining time for better plans of the best ones."""
_LEAST_S = 3.0
"""The least time for plans if live bytes choose the order: this, or as long as ordering took."""
_SHORTEST_S = 0.02
_WITH_NEAREST, _ONE = 2, 1
_PLANNED_PER_S = 50_000
"""A lower bound on the operations whose order is planned in a second."""
_SEEDS, _LONG = 8, 2
"""The number of random orders to plan (half if live bytes are the goal), and of orders planned for longer."""


def order_and_place(
    graph: OperationGraph,
    control: Control,
    *,
    alignment: int = 1,
    goal: Goal = "alive",
    on_order: Callable[[OrderAnswer], None] = lambda _: None,
) -> OrderAnswer:
    """Find an order and a plan for it with the least peak; independent code checks both.

    Regions are ordered first, inside, for half of the time at most; planned is the graph with these orders.
    The `goal` is the least peak of the bytes alive, and of such orders one whose plan needs no more; or, with `placed`,
    the least peak of the plan, whatever is alive: plans are made for as long as the limit allows, also of orders with
    slightly more alive. Among equals the order with the fewest moves from the given one is preferred. `on_order` is
    called with the best order before plans are made. Raises OperationsError for an alignment below 1, InvalidPlanError
    for an order that a check rejects.
    """
    inside = order_regions(graph, control)

    def pose(order: Sequence[int]) -> Problem:
        return problem_of_order(inside.graph, order, alignment=alignment)

    return order_and_pose(inside, pose, goal, control, on_order)


def order_and_pose(
    inside: OrderedRegions,
    pose: Pose,
    goal: Goal,
    control: Control,
    on_order: Callable[[OrderAnswer], None] = lambda _: None,
) -> OrderAnswer:
    """Find an order and a plan as `order_and_place` does, with `pose` making the problem of an order."""
    began = time.monotonic()
    limit_s = control.remaining_s
    for_plans = (1 - _ORDER_SHARE) * limit_s
    if goal == "alive":
        # No order with more live bytes is answered then, so plans only choose among equals.
        for_plans = min(for_plans, _LEAST_S)
    if not control.counts_work:
        for_plans = max(for_plans, _ONE * len(inside.graph.ops) / _PLANNED_PER_S)
    with control.limit_to(limit_s - for_plans).search_control(WORK_PER_S) as watched:
        search = OrderSearch(inside, watched)
        search.run()
    order = search.best_order()
    on_order(search.answer(order, control))
    passed = time.monotonic() - began
    # If the search of orders ends early with a proof, its remaining time is used for the plans.
    rest = for_plans if control.counts_work else max(limit_s - passed, 0.0)
    if goal == "alive":
        rest = min(rest, max(_LEAST_S, passed))
    with control.limit_to(rest).search_control(WORK_PER_S) as watched:
        search.use(watched)
        best = PlannedOrders(inside.graph, search, order, pose, watched, rest).best_order(goal)
    return search.answer(best.order, control, PlanAndProblem(problem=best.problem, plan=best.plan))


class _PlannedOrder(NamedTuple):
    order: tuple[int, ...]
    problem: Problem
    plan: Plan

    @property
    def quality(self) -> tuple[int, int]:
        return self.plan.peak or 0, moves_of(self.order)


@dataclass(eq=False)
class PlannedOrders:
    """The orders planned so far, and their best plan; `own` is the order found by the search.

    `rest_s` is what a deterministic search may spend yet, `least` the peak of the best plan; one of `enough` ends it.
    """

    graph: OperationGraph
    search: OrderSearch
    own: tuple[int, ...]
    pose: Pose
    left: Control
    rest_s: float
    enough: int = 0
    planned: list[_PlannedOrder] = field(default_factory=list)
    seen: set[tuple[int, ...]] = field(default_factory=set)
    least: float = inf

    def __post_init__(self) -> None:
        self.peak = peak_of(self.graph, self.own)

    def best_order(self, goal: Goal) -> _PlannedOrder:
        """Plan one order after another until a plan needs only the live bytes, or the time is over."""
        given_order = tuple(range(len(self.graph.ops)))
        is_near = self.own == given_order or self._is_late(_WITH_NEAREST)
        preferred = [] if is_near else nearby_orders(self.graph, self.own, self.peak, self.left.raised)
        # The search's own order is more often easy to plan than preferred or random orders.
        self._take_each([*preferred[:1], self.own, *([given_order] if goal == "placed" else ())])
        self._take_each(self._random_orders(goal))
        for planned in sorted(self.planned, key=lambda planned: planned.quality)[:_LONG]:
            if not (self.least <= max(self.peak, self.enough) or self._is_over):
                self._improve(planned)
        near = min((row.plan.peak or 0 for row in self.planned if row.order in preferred), default=inf)
        # The order of the search has a perfect plan, but the quick look found none for the nearest equal: look at the
        # next.
        for order in preferred[1:] if self.least <= self.peak < near else ():
            if self._is_over or ((peak := self._take(order)) is not None and peak <= self.peak):
                break
        if not self.planned:
            return _PlannedOrder(self.own, self.pose(self.own), Plan(status="unknown"))
        return min(self.planned, key=lambda planned: planned.quality)

    @property
    def _remaining_s(self) -> float:
        """Return the seconds left, by the clock or by counted work."""
        return self.rest_s if self.left.counts_work else max(0.0, self.left.deadline.remaining_s)

    def _is_late(self, plans: float) -> bool:
        """Return True if there is no time left for `plans` plans of a large graph."""
        n = len(self.own)
        return n > LARGE and not self.left.counts_work and self._remaining_s < plans * n / _PLANNED_PER_S

    @property
    def _is_over(self) -> bool:
        return self.left.is_over or self._remaining_s <= 0

    def _take_each(self, orders: Iterable[tuple[int, ...]]) -> None:
        """Plan orders, at least one, until a plan needs only the live bytes."""
        for order in orders:
            if self.least <= max(self.peak, self.enough) or self._is_late(_ONE) or (self.planned and self._is_over):
                return
            self._take(order)

    def _take(self, order: tuple[int, ...]) -> int | None:
        """Plan an order briefly, unless it was planned or cannot improve on the best; return its peak."""
        if order in self.seen or (self.least < inf and peak_of(self.graph, order) > self.least):
            return None
        self.seen.add(order)
        problem = self.pose(order)
        plan = self._solve_within(problem, min(_QUICK_S, self._remaining_s))
        if plan.peak is not None:
            self.planned.append(_PlannedOrder(order, problem, plan))
            self.least = min(self.least, plan.peak)
        return plan.peak

    def _improve(self, planned: _PlannedOrder) -> None:
        """Plan an order again, with more time."""
        plan = self._solve_within(planned.problem, _LONG_SHARE * self._remaining_s, planned.plan)
        if plan.peak is not None and plan.peak < (planned.plan.peak or 0):
            self.planned[self.planned.index(planned)] = planned._replace(plan=plan)
            self.least = min(self.least, plan.peak)

    def _solve_within(self, problem: Problem, limit_s: float, start: Plan | None = None) -> Plan:
        """Return a plan made within a limit; without a start, by greedy orders and local search alone.

        The first plan is made even if all has been cancelled.
        """
        limit_s = max(limit_s, _SHORTEST_S)
        self.rest_s -= limit_s
        return solve(
            problem,
            time_limit_s=limit_s,
            deterministic=self.left.counts_work,
            start=start,
            is_quick=start is None,
            control=Control(cancelled=self.left.cancelled) if self.planned else Control(),
        )

    def _random_orders(self, goal: Goal) -> Iterator[tuple[int, ...]]:
        """Yield other orders with the least live peak and, if plans are the goal, some with slightly more."""
        n = _SEEDS if goal == "placed" else _SEEDS // 2
        for seed in range(1, n + 1):
            above = int(self.least) - 1 - self.peak if self.planned and goal == "placed" else 0
            # The first half keeps to the least peak; the rest may have more alive, up to what the best plan needs.
            budget = self.peak + above * max(0, seed - _SEEDS // 2) // _SEEDS
            other = self.search.random_order(budget, seed)
            if other is not None and peak_of(self.graph, other) <= budget:
                yield other
