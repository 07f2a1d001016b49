"""The joint search for an order and a plan, which finds the order whose verified plan needs the fewest bytes."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.programs.lifetimes.ordered import problem_of_order
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.order_check import move_count, peak_of
from memplan.programs.order.answer import OrderAnswer
from memplan.programs.order.options import Goal
from memplan.programs.order.search.nearness import nearby_orders
from memplan.programs.order.search.regions import OrderedRegions
from memplan.programs.order.search.solve import LARGE, WORK_PER_S, OrderSearch, order_regions
from memplan.questions.inputs import PlanAndProblem
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control

Pose = Callable[[Sequence[int]], Problem]
_ORDER_SHARE = 0.8
"""The fraction of the time for the search for orders, which ends earlier if optimality is proved."""
_QUICK_S, _LONG_SHARE = 0.25, 0.5
"""The seconds for the first plan of each order, and the fraction of the remaining time for better plans of the best."""
_LEAST_S = 3.0
"""The minimum time for plans, in seconds, if live bytes determine the order; plans get at least the search's time."""
_SHORTEST_S = 0.02
_WITH_NEAREST, _ONE = 2, 1
_PLANNED_PER_S = 50_000
"""A lower bound on the number of operations of an order that are planned per second."""
_SEEDS, _LONG = 8, 2
"""The number of random orders to plan (half of it if live bytes are the goal), and of orders to plan for longer."""


def order_and_place(
    graph: OperationGraph,
    control: Control,
    *,
    alignment: int = 1,
    goal: Goal = "alive",
    on_order: Callable[[OrderAnswer], None] = lambda _: None,
) -> OrderAnswer:
    """Find an order and a plan with the lowest possible peak; independent code checks both.

    Regions are ordered first, for at most half of the time, and the graph with these orders is planned. With the goal
    `alive`, the order must have the lowest live peak; among such orders, the one whose plan has the lowest peak is
    returned. With the goal `placed`, only the peak of the plan counts: orders with slightly more live bytes are planned
    as well, until the time limit. Of equally good orders, the one with the fewest moves from the given order is
    preferred. `on_order` receives the best order before plans are computed. Raises OperationsError for an alignment
    below 1, and InvalidPlanError if a check rejects the order.
    """
    inside = order_regions(graph, control)

    def problem_in_order(order: Sequence[int]) -> Problem:
        return problem_of_order(inside.graph, order, alignment=alignment)

    return order_and_plan(inside, problem_in_order, goal, control, on_order)


def order_and_plan(
    inside: OrderedRegions,
    pose: Pose,
    goal: Goal,
    control: Control,
    on_order: Callable[[OrderAnswer], None] = lambda _: None,
) -> OrderAnswer:
    """Find an order and a plan as `order_and_place` does; `pose` maps an order to the problem of its buffers."""
    began = time.monotonic()
    limit_s = control.remaining_s
    for_plans = (1 - _ORDER_SHARE) * limit_s
    if goal == "alive":
        # With the goal `alive`, plans only choose among orders of equal live peak, so little time suffices for them.
        for_plans = min(for_plans, _LEAST_S)
    if not control.counts_work:
        for_plans = max(for_plans, _ONE * len(inside.graph.ops) / _PLANNED_PER_S)
    with control.limit_to(limit_s - for_plans).search_control(WORK_PER_S) as watched:
        search = OrderSearch(inside, watched)
        search.run()
    order = search.best_order()
    on_order(search.answer(order, control))
    passed = time.monotonic() - began
    # The search for orders may end early with a proof, so give its remaining time to plans.
    rest = for_plans if control.counts_work else max(limit_s - passed, 0.0)
    if goal == "alive":
        rest = min(rest, max(_LEAST_S, passed))
    with control.limit_to(rest).search_control(WORK_PER_S) as watched:
        search.set_control(watched)
        best = PlannedOrders(inside.graph, search, order, pose, watched, rest).best_order(goal)
    return search.answer(best.order, control, PlanAndProblem(problem=best.problem, plan=best.plan))


class _PlannedOrder(NamedTuple):
    """An order of operations, the problem of placing its buffers, and their plan."""

    order: tuple[int, ...]
    problem: Problem
    plan: Plan

    @property
    def quality(self) -> tuple[int, int]:
        """The peak of the plan and the number of moved operations; lower is better."""
        return self.plan.peak or 0, move_count(self.order)


@dataclass(eq=False)
class PlannedOrders:
    """The planned orders of a graph, from which the best one is chosen; `own` is the order that the search found.

    `rest_s` is the remaining time, in seconds, of a search with counted work, and `least` the lowest peak of a plan.
    The planning ends at a peak of at most `enough`.
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
        """Plan orders until a plan's peak equals the order's live peak, or the time is over; return the best order."""
        given_order = tuple(range(len(self.graph.ops)))
        is_near = self.own == given_order or self._is_late(_WITH_NEAREST)
        preferred = [] if is_near else nearby_orders(self.graph, self.own, self.peak, self.left.raised)
        # The search's own order has a plan without gaps more often than random orders do, so plan this order first.
        self._plan_each([*preferred[:1], self.own, *([given_order] if goal == "placed" else ())])
        self._plan_each(self._random_orders(goal))
        for planned in sorted(self.planned, key=lambda planned: planned.quality)[:_LONG]:
            if not (self.least <= max(self.peak, self.enough) or self._is_over):
                self._improve_plan(planned)
        near = min((row.plan.peak or 0 for row in self.planned if row.order in preferred), default=inf)
        # The found order has a plan without gaps, but the nearest to the given order has none: try others nearby.
        for order in preferred[1:] if self.least <= self.peak < near else ():
            if self._is_over or ((peak := self._plan_briefly(order)) is not None and peak <= self.peak):
                break
        if not self.planned:
            return _PlannedOrder(self.own, self.pose(self.own), Plan(status="unknown"))
        return min(self.planned, key=lambda planned: planned.quality)

    @property
    def _remaining_s(self) -> float:
        return self.rest_s if self.left.counts_work else max(0.0, self.left.deadline.remaining_s)

    def _is_late(self, plans: float) -> bool:
        n = len(self.own)
        return n > LARGE and not self.left.counts_work and self._remaining_s < plans * n / _PLANNED_PER_S

    @property
    def _is_over(self) -> bool:
        return self.left.is_over or self._remaining_s <= 0

    def _plan_each(self, orders: Iterable[tuple[int, ...]]) -> None:
        for order in orders:
            if self.least <= max(self.peak, self.enough) or self._is_late(_ONE) or (self.planned and self._is_over):
                return
            self._plan_briefly(order)

    def _plan_briefly(self, order: tuple[int, ...]) -> int | None:
        """Plan an order briefly; return the peak, or None if the order was planned before or cannot be the best one."""
        if order in self.seen or (self.least < inf and peak_of(self.graph, order) > self.least):
            return None
        self.seen.add(order)
        problem = self.pose(order)
        plan = self._solve_within(problem, min(_QUICK_S, self._remaining_s))
        if plan.peak is not None:
            self.planned.append(_PlannedOrder(order, problem, plan))
            self.least = min(self.least, plan.peak)
        return plan.peak

    def _improve_plan(self, planned: _PlannedOrder) -> None:
        plan = self._solve_within(planned.problem, _LONG_SHARE * self._remaining_s, planned.plan)
        if plan.peak is not None and plan.peak < (planned.plan.peak or 0):
            self.planned[self.planned.index(planned)] = planned._replace(plan=plan)
            self.least = min(self.least, plan.peak)

    def _solve_within(self, problem: Problem, limit_s: float, start: Plan | None = None) -> Plan:
        """Return a plan computed within a time limit; without a `start`, use greedy orders and local search only.

        The first plan is computed even if the search is cancelled.
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
        n = _SEEDS if goal == "placed" else _SEEDS // 2
        for seed in range(1, n + 1):
            above = int(self.least) - 1 - self.peak if self.planned and goal == "placed" else 0
            # The first half of the random orders must have the lowest live peak; the others may need more bytes.
            budget = self.peak + above * max(0, seed - _SEEDS // 2) // _SEEDS
            other = self.search.random_order(budget, seed)
            if other is not None and peak_of(self.graph, other) <= budget:
                yield other
