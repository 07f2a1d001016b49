"""The frontier of recompute: less memory for more work, each point a program that is ordered, checked and planned."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memplan.capabilities.order.recompute.placing import PlacedProgram, placed
from memplan.capabilities.order.recompute.rewrite import Rewritten, rewritten
from memplan.capabilities.order.recompute.search import Drops, DropSearch, floor_of, peak_steps
from memplan.capabilities.order.recompute.stays import Stays
from memplan.capabilities.order.search.allowance import Allowance, allowance
from memplan.capabilities.order.search.regions import RegionOrder
from memplan.capabilities.order.search.solve import TIME_LIMIT_S, OrderResult, order_operations
from memplan.planner.errors import InputError, OptionError
from memplan.planner.operations.costs import costs_of
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.operations.order_check import peak_of
from memplan.solvers.search.control import Control

MOST_POINTS = 1000
POINTS = 16
_BISECTIONS = 8
_ORDER_SHARE, _SEARCH_SHARE = 0.2, 0.5
"""The parts of the time for the order without clones, and for the search of drops; the rest orders and plans."""
_FURTHER, _MOST_FURTHER = 0.97, 8
"""Below the peak that is reached at once, going down by small steps may come further."""
_SETTLED_AFTER = 3


@dataclass(frozen=True)
class RecomputePoint:
    """A program in which some operations run again: its peak in bytes, as planned, and what running again costs.

    `order` are positions of operations as they run, those in `clones` more than once; a reader takes what was made
    last. `live_peak` are the bytes alive at once, and `lower_bound` holds for these clones in any order.
    """

    peak: int
    live_peak: int
    lower_bound: int
    extra_cost: int
    order: tuple[int, ...]
    clones: tuple[int, ...]
    rewritten: Rewritten
    placed: PlacedProgram

    @property
    def status(self) -> Literal["optimal", "feasible"]:
        """Say whether no order of these clones has a plan with a smaller peak."""
        return "optimal" if self.peak == self.lower_bound else "feasible"


@dataclass(frozen=True)
class RecomputeFrontier:
    """Points with falling peaks and rising costs; the first has no clones, and none is worse than another in both.

    `cost` is that of running every operation once. `is_within` says whether the last point is within what was
    requested. `regions` are the orders inside operations that differ from the given ones, the same for all points.
    """

    points: tuple[RecomputePoint, ...]
    given_peak: int
    cost: int
    is_within: bool
    wall_time_s: float | None
    regions: tuple[RegionOrder, ...] = ()


@dataclass(frozen=True)
class _FrontierRequest:
    budget: int | None
    extra_cost: int | None
    points: int
    control: Control


def recompute_frontier(
    graph: OperationGraph,
    *,
    budget: int | None = None,
    extra_cost: float | None = None,
    points: int = POINTS,
    time_limit_s: float = TIME_LIMIT_S,
    deterministic: bool = False,
    cancelled: threading.Event | None = None,
) -> RecomputeFrontier:
    """Find programs that need fewer bytes because operations run again instead of keeping what they make.

    `budget` is a peak in bytes to come within at the least cost, `extra_cost` a part of the cost of all operations that
    is not to be exceeded; without both, the points go down to the lowest peak that is found. Each point is ordered,
    planned, and run on its addresses by a check that shares no code with the search. Raises OptionError for a budget,
    a part, a number of points or a time limit that is none.
    """
    _refuse(budget, extra_cost, points, time_limit_s)
    started = time.monotonic()
    costs = costs_of(graph)
    limit = None if extra_cost is None else int(extra_cost * sum(costs))
    control = Control.of(time_limit_s, deterministic, cancelled)
    request = _FrontierRequest(budget, limit, points, control)
    base = order_operations(
        graph, time_limit_s=_ORDER_SHARE * time_limit_s, deterministic=deterministic, cancelled=cancelled
    )
    graph = base.graph
    with allowance(_SEARCH_SHARE * time_limit_s, deterministic, cancelled) as left:
        found = _searched(graph, base, costs, request, left)
    spent = 0.0 if deterministic else time.monotonic() - started
    rest = max(0.0, time_limit_s - spent) if not deterministic else (1 - _ORDER_SHARE - _SEARCH_SHARE) * time_limit_s
    made = _made(graph, base, costs, found, request, rest)
    chosen = _not_dominated(made, request)
    last = chosen[-1]
    is_within = budget is None or last.peak <= budget
    wall_time_s = None if deterministic else round(time.monotonic() - started, 6)
    return RecomputeFrontier(tuple(chosen), base.given_peak, sum(costs), is_within, wall_time_s, base.regions)


def _refuse(budget: int | None, extra_cost: float | None, points: int, time_limit_s: float) -> None:
    if budget is not None and extra_cost is not None:
        raise OptionError("budget: must not be given together with extra_cost")
    if budget is not None and budget < 0:
        raise OptionError(f"budget: must be at least 0, got {budget}")
    if extra_cost is not None and not 0 <= extra_cost < float("inf"):
        raise OptionError(f"extra_cost: must be at least 0 and finite, got {extra_cost}")
    if not 1 <= points <= MOST_POINTS:
        raise OptionError(f"points: must be from 1 to {MOST_POINTS}, got {points}")
    if not 0 <= time_limit_s < float("inf"):
        raise OptionError(f"time_limit_s: must be at least 0 and finite, got {time_limit_s}")


def _searched(
    graph: OperationGraph, base: OrderResult, costs: Sequence[int], request: _FrontierRequest, left: Allowance
) -> list[list[int]]:
    """Return sequences of operations with ever lower peaks."""
    stays = Stays(graph, base.order, costs, left.flag)
    search = DropSearch(stays, left)
    start = search.nothing()
    lowest = search.within(start, floor_of(stays)) if request.budget is None else start
    least = lowest.peak
    if request.budget is not None:
        if request.budget >= start.peak:
            return []
        budgets = [budget for budget in peak_steps(start.peak, request.budget, 4) if budget > request.budget]
        budgets.append(request.budget)
    else:
        budgets = peak_steps(start.peak, least, request.points)
        # Small steps beyond what the large one reached: each starts from drops that already fit nearly.
        budgets += [int(least * _FURTHER**k) for k in range(1, _MOST_FURTHER + 1)]
    most = None if request.extra_cost is None else request.extra_cost // stays.cost_unit + stays.once
    swept = _swept(search, start, budgets, most)
    if most is None and swept and lowest.peak < swept[-1].peak:
        swept.append(lowest)
    if most is not None:
        swept += _bisected(search, swept or [start], least, most)
    return [stays.run(drops.is_dropped) for drops in swept]


def _swept(search: DropSearch, start: Drops, budgets: Sequence[int], most: int | None) -> list[Drops]:
    """Go down from budget to budget; end where one cannot be met, or costs too much."""
    found: list[Drops] = []
    last = start
    for budget in budgets:
        # From the last budget's drops and from none: greedy drops made for a higher budget may stand in the way.
        tried = [search.within(last, budget), search.within(start, budget)]
        best = min(tried, key=lambda drops: (max(drops.peak, budget), drops.cost))
        if most is not None and best.cost > most:
            break
        if best.peak < last.peak:
            found.append(best)
            last = best
        if best.peak > budget:
            break
    return found


def _bisected(search: DropSearch, swept: Sequence[Drops], least: int, most: int) -> list[Drops]:
    """Look for the lowest peak that costs no more than allowed, below the last one that was found."""
    last, low = swept[-1], least
    found = []
    for _ in range(_BISECTIONS):
        budget = (low + last.peak) // 2
        if budget <= low or budget >= last.peak:
            break
        tried = search.within(last, budget)
        if tried.peak <= budget and tried.cost <= most:
            found.append(tried)
            last = tried
        else:
            low = budget
    return found


def _made(
    graph: OperationGraph,
    base: OrderResult,
    costs: Sequence[int],
    found: Sequence[Sequence[int]],
    request: _FrontierRequest,
    time_limit_s: float,
) -> list[RecomputePoint]:
    """Order, plan and check each sequence; what cannot be written as a graph is left out."""
    every = [list(base.order), *reversed(found)]
    deadline = time.monotonic() + time_limit_s
    points = []
    for k, runs in enumerate(every):
        if k > 0 and request.control.cancelled.is_set():
            break
        # Counted work has no clock to share, so every point gets the same.
        share = time_limit_s / len(every)
        if not request.control.counts_work:
            share = max(0.0, deadline - time.monotonic()) / (len(every) - k)
            if k > 1 and share <= 0:
                break
        try:
            points.append(_point(graph, costs, runs, request, share))
        # A sequence that cannot be written as a graph is left out; without clones there is always one.
        except InputError:
            if k == 0:
                raise
    return points


def _point(
    graph: OperationGraph, costs: Sequence[int], runs: Sequence[int], request: _FrontierRequest, time_limit_s: float
) -> RecomputePoint:
    """Order the operations and their clones until no reader would rather take what another clone has made."""
    form = rewritten(graph, runs)
    for _ in range(_SETTLED_AFTER):
        # A quarter for each of three orders at most, and one for the plan.
        result = order_operations(
            form.graph,
            time_limit_s=time_limit_s / 4,
            deterministic=request.control.counts_work,
            cancelled=request.control.cancelled,
        )
        again = rewritten(graph, [form.runs[k] for k in result.order])
        is_settled = again.runs == form.runs
        form = again
        if is_settled:
            break
    order = tuple(range(len(form.runs)))
    live_peak = peak_of(form.graph, order)
    # The bound is of another graph than the one that is planned, unless readers stayed with their clones.
    bound = result.lower_bound if is_settled else 0
    place = placed(graph, form, time_limit_s / 4, request.control)
    extra = sum(costs[v] for v in form.runs) - sum(costs)
    seen: set[int] = set()
    clones = [v for v in form.runs if v in seen or seen.add(v)]  # type: ignore[func-returns-value]
    return RecomputePoint(place.plan.peak or 0, live_peak, bound, extra, form.runs, tuple(clones), form, place)


def _not_dominated(points: Sequence[RecomputePoint], request: _FrontierRequest) -> list[RecomputePoint]:
    """Return the points that no other one beats, the cheapest first; the first has no clones."""
    first = points[0]
    chosen = [first]
    for point in sorted(points[1:], key=lambda point: (point.extra_cost, point.peak)):
        if request.extra_cost is not None and point.extra_cost > request.extra_cost:
            continue
        if point.peak < chosen[-1].peak:
            # The program without clones stays, whatever costs no more.
            if point.extra_cost <= chosen[-1].extra_cost and len(chosen) > 1:
                chosen.pop()
            chosen.append(point)
            if request.budget is not None and point.peak <= request.budget:
                break
    return chosen
