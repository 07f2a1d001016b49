"""Repairs of a graph of operations: a swap of neighbours, another order, operations that run again; each planned."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from memplan.planner.audit import verify
from memplan.planner.errors import OptionError, shown
from memplan.planner.liveness.ordered import problem_of_order
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.operations.order_check import bytes_along, peak_of
from memplan.solvers.order.placement.joint import order_and_place
from memplan.solvers.order.recompute.frontier import recompute_frontier
from memplan.solvers.portfolio.options import SolveControl
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.deadline import Deadline
from memplan.solvers.studies.questions.parts import remade

OrderChange = Literal["none", "swap", "reorder", "recompute"]
_MOST_SWAPS = 200
_CALL_S = 1.0


@dataclass(frozen=True)
class OrderRepair:
    """A change of the order with which a graph fits: its plan passed the verifier.

    `swap`: the operations at two neighbouring places of the given order change places. `reorder`: `moves` operations
    run at another place. `recompute`: some operations run again, at an `extra_cost`. `order` has positions of
    operations as they run; of the last kind, some of them more than once.
    """

    kind: OrderChange
    order: tuple[int, ...]
    operations: tuple[int, ...]
    moves: int
    extra_cost: int
    live_peak: int
    peak: int
    problem: Problem
    plan: Plan


@dataclass(frozen=True)
class OrderRepairs:
    """The repairs of a graph, the smallest change first; `least` is a peak that no order is below, in bytes.

    `proved`: where there is none, no order of the operations fits, each run once.
    """

    repairs: tuple[OrderRepair, ...]
    least: int
    proved: bool


def repairs_of_graph(
    graph: OperationGraph,
    capacity: int,
    *,
    wanted: int = 3,
    time_limit_s: float = 5.0,
    deterministic: bool = False,
    cancelled: threading.Event | None = None,
) -> OrderRepairs:
    """Return orders with which a graph fits so many bytes: the given one, with one swap, another one, with clones.

    Raises OptionError for a capacity below 0, fewer than one repair wanted, or a time limit that is none.
    """
    if capacity < 0:
        raise OptionError(f"capacity: must be at least 0, got {shown(capacity)}")
    if wanted < 1:
        raise OptionError(f"wanted: must be at least 1, got {shown(wanted)}")
    if not 0 < time_limit_s < float("inf"):
        raise OptionError(f"time_limit_s: must be above 0 and finite, got {shown(time_limit_s)}")
    search = _Orders(graph, capacity, Deadline.after(time_limit_s), deterministic, cancelled)
    given = search.planned("none", list(range(len(graph.ops))), ())
    if given is not None:
        return OrderRepairs((given,), given.live_peak, proved=True)
    found = []
    for repair in search.swaps():
        found.append(repair)
        if len(found) >= wanted:
            break
    placed = order_and_place(
        graph, time_limit_s=0.4 * time_limit_s, deterministic=deterministic, cancelled=cancelled, goal="placed"
    )
    order = list(placed.result.order)
    other = search.planned("reorder", order, tuple(k for k, operation in enumerate(order) if operation != k))
    if other is not None and len(found) < wanted and all(other.order != repair.order for repair in found):
        found.append(other)
    least = placed.result.lower_bound
    if len(found) < wanted:
        found += search.clones(0.4 * time_limit_s)
    return OrderRepairs(tuple(found[:wanted]), least, proved=not found and least > capacity)


@dataclass(frozen=True)
class _Orders:
    """The orders of one graph, planned in a pool of one size."""

    graph: OperationGraph
    capacity: int
    deadline: Deadline
    deterministic: bool
    cancelled: threading.Event | None

    def planned(self, kind: OrderChange, order: Sequence[int], operations: tuple[int, ...]) -> OrderRepair | None:
        """Return the repair that an order is, or None where its bytes or its plan do not fit."""
        live = peak_of(self.graph, order)
        if live > self.capacity:
            return None
        problem = self._sized(problem_of_order(self.graph, order))
        plan = self._fitting(problem)
        if plan is None:
            return None
        moves = sum(operation != k for k, operation in enumerate(order))
        return OrderRepair(kind, tuple(order), operations, moves, 0, live, plan.peak or 0, problem, plan)

    def swaps(self) -> Iterator[OrderRepair]:
        """Yield the swaps of neighbours that are enough, those that leave fewest bytes alive first."""
        count, tried = len(self.graph.ops), []
        along = bytes_along(self.graph, range(count))
        worst = [k for k, alive in enumerate(along) if alive > self.capacity]
        near = {k for at in worst for k in (at - 1, at, at + 1) if 0 <= k < count - 1}
        for k in sorted(near)[:_MOST_SWAPS] if len(worst) <= 3 else ():
            if k in self.graph.predecessors[k + 1]:
                continue
            order = [*range(k), k + 1, k, *range(k + 2, count)]
            tried.append((peak_of(self.graph, order), k, order))
        for live, k, order in sorted(tried):
            if live > self.capacity or self.deadline.left_s <= 0:
                return
            if (repair := self.planned("swap", order, (k, k + 1))) is not None:
                yield repair

    def clones(self, limit_s: float) -> Iterator[OrderRepair]:
        """Yield the cheapest program that fits because operations run again."""
        frontier = recompute_frontier(
            self.graph,
            budget=self.capacity,
            time_limit_s=limit_s,
            deterministic=self.deterministic,
            cancelled=self.cancelled,
        )
        for point in frontier.points:
            if point.peak > self.capacity or not point.clones:
                continue
            problem = self._sized(point.placed.problem)
            plan = self._fitting(problem)
            if plan is not None:
                peak = plan.peak or 0
                yield OrderRepair(
                    "recompute", point.order, point.clones, 0, point.extra_cost, point.live_peak, peak, problem, plan
                )
                return

    def _sized(self, problem: Problem) -> Problem:
        pools = (problem.pools[0].model_copy(update={"size": self.capacity}), *problem.pools[1:])
        return remade(problem, {"pools": pools})

    def _fitting(self, problem: Problem) -> Plan | None:
        limit_s = _CALL_S if self.deterministic else max(0.05, min(_CALL_S, self.deadline.left_s))
        control = SolveControl(cancelled=self.cancelled)
        plan = solve(problem, time_limit_s=limit_s, accept="fit", deterministic=self.deterministic, control=control)
        is_found = plan.status in ("optimal", "feasible") and not verify(problem, plan)
        return plan if is_found else None
