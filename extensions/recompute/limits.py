"""The search for programs whose peaks are within a limit, with lower bounds on the cost of all such programs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil, inf

from memplan.extensions.recompute.away import RemovalBounds, peak_lower_bound
from memplan.extensions.recompute.descent import Descent
from memplan.extensions.recompute.least import LARGEST_BOUNDED, removal_bounds, search_min_work
from memplan.extensions.recompute.points import PLANNED_S, points_of
from memplan.extensions.recompute.rewrite import clone_graph
from memplan.planner.errors import InputError
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.order_check import peak_of
from memplan.programs.order.answer import RecomputedPoint
from memplan.programs.order.options import OrderOptions
from memplan.programs.order.search.solve import WORK_PER_S
from memplan.solvers.search.control import Control

_AIMS, _AIM_SHARE, _FIRST_SHARE, _PLAN_SHARE, _MARGIN = 8, 0.25, 0.15, 0.35, 0.005
"""The maximum number of programs that are planned to meet a limit; the shares of the remaining time to search each, to
plan the first and to plan each other; and the fraction of the limit that each further program aims lower."""
_CLOSE = 0.002
"""The distance of two live peaks, as a fraction of the limit, between which no further program is searched."""
_BISECTIONS = 8
_REPLANNED_S = 2.0
"""The minimum time, in seconds, for a better plan of a point."""
_STATES_OF_A_POINT, _STATES_SHARE = 20_000, 0.2
"""The states searched for each point without a limit, and the share of the remaining time for a point within a cost."""
_QUICK_S, _QUICK_SHARE, _LONG, _LONG_SHARE = 0.25, 0.5, 4, 0.4
"""The seconds for a quick plan, the share of the remaining time for all quick plans, the number of programs that are
planned for longer, and the share of the remaining time for each of these."""


@dataclass(frozen=True)
class FrontierFacts:
    """Lower bounds on extra cost by peak in bytes, and programs found; `is_none`: no program is within the limit."""

    bounds: dict[int, int]
    programs: list[list[int]] = field(default_factory=list)
    is_none: bool = False

    def proves_cost(self, limit: int) -> bool:
        """Return True if it is proved that programs within the limit repeat an operation or do not exist."""
        return self.is_none or self.bounds.get(limit, 0) > 0


def _peak_and_runs(graph: OperationGraph, runs: Sequence[int]) -> tuple[int, tuple[int, ...]] | None:
    """Return (peak, runs without useless ones) of a program; None if its tensors have too many bytes together."""
    try:
        program = clone_graph(graph, runs)
    except InputError:
        return None
    return peak_of(program.graph, range(len(program.runs))), program.runs


def search_cheapest(
    graph: OperationGraph,
    costs: Sequence[int],
    budget: int,
    programs: Sequence[Sequence[int]],
    control: Control,
    away: RemovalBounds | None,
) -> FrontierFacts:
    """Search for the cheapest program within a budget in bytes, starting from the best of the given programs."""
    if away is None and control.is_over:
        # Comparing programs of a large graph takes long, so use only the quick bound from single operations.
        return FrontierFacts({budget: 0}, is_none=peak_lower_bound(graph) > budget)
    written = [found for runs in programs if (found := _peak_and_runs(graph, runs)) is not None and found[0] <= budget]
    known = min((runs for _, runs in written), key=lambda runs: sum(costs[v] for v in runs), default=None)
    least = search_min_work(graph, costs, budget, known, control, away=away)
    return FrontierFacts({budget: least.bound}, [] if least.runs is None else [list(least.runs)], least.is_none)


def settle_points(
    graph: OperationGraph,
    costs: Sequence[int],
    programs: Sequence[Sequence[int]],
    control: Control,
    away: RemovalBounds | None,
) -> FrontierFacts:
    """Return the cheapest program, and a lower bound on its cost, for the peak of each given program.

    The first given program has no clones. Each peak gets little time, so only states are searched and no engines run.
    Programs of lower peaks, found by bisection, are appended.
    """
    known = FrontierFacts({})
    count = len(programs) + _BISECTIONS
    low, peak = peak_lower_bound(graph), peak_of(graph, programs[0])
    for k, runs in enumerate(programs[1:]):
        written = _peak_and_runs(graph, runs)
        if written is None:
            continue
        peak = written[0]
        share = control.child(1 / (count if control.counts_work else count - k))
        found = search_min_work(graph, costs, peak, written[1], share, away=away, states=_STATES_OF_A_POINT)
        known.programs.append(list(found.runs or runs))
        known.bounds[peak] = found.bound
    for k in range(_BISECTIONS):
        if low >= peak:
            break
        budget = (low + peak) // 2
        share = control.child(1 / (count if control.counts_work else _BISECTIONS - k))
        found = search_min_work(graph, costs, budget, None, share, away=away, states=_STATES_OF_A_POINT)
        written = None if found.runs is None else _peak_and_runs(graph, found.runs)
        if written is not None:
            peak = written[0]
            known.programs.append(list(written[1]))
            known.bounds[budget] = found.bound
        elif found.is_none:
            low = budget + 1
        else:
            break
    return known


def points_within(
    graph: OperationGraph,
    costs: Sequence[int],
    programs: Sequence[Sequence[int]],
    control: Control,
    within: int,
    descent: Descent,
) -> list[RecomputedPoint]:
    """Plan the given programs; while plans exceed the limit, also plan programs of lower live peaks, and then cheaper
    ones between those and the limit. Return the points."""
    counts_work = control.counts_work
    points = points_of(graph, costs, programs[:1], control.child(0.5 if counts_work else _FIRST_SHARE))
    # A point has a lower live peak than the program that was searched, as its runs are ordered again.
    aims = [written[0] for runs in programs[: len(points)] if (written := _peak_and_runs(graph, runs)) is not None]
    tried = {tuple(runs) for runs in programs[:1]}
    low, share, planned_s = 0, 0.5 / (len(programs) + 1) if counts_work else _PLAN_SHARE, 0.0
    for _ in range(_AIMS):
        met = [point for point in points if point.peak <= within]
        low = max([low, *(aim for aim, point in zip(aims, points, strict=True) if point.peak <= within)])
        over = [(aim, point.peak) for aim, point in zip(aims, points, strict=True) if low < aim and within < point.peak]
        aim, peak = min(over, default=(0, 1))
        aim = 0 if met and aim > within else aim
        is_late = control.is_over if counts_work else control.remaining_s < max(planned_s, PLANNED_S * len(graph.ops))
        if is_late or aim - low <= _CLOSE * within * bool(met):
            break
        # Plans exceed live peaks by similar ratios. The price at the limit lies between a plan that is within the limit
        # and one that is not.
        margin = 1 - _MARGIN * len(points) if aim <= within else 1
        target = (low + aim) // 2 if low else int(margin * within * aim / peak)
        runs = _cheapest_runs(graph, costs, target, descent, control)
        most = min((point.extra_cost for point in met), default=None)
        is_dear = runs is None or (most is not None and sum(costs[v] for v in runs) - sum(costs) >= most)
        if runs is None or is_dear or tuple(runs) in tried:
            low = target
            if counts_work and not met:
                break
            continue
        before_s = control.remaining_s
        tried.add(tuple(runs))
        points += points_of(graph, costs, [runs], control.child(share))
        aims += [target] * (len(points) - len(aims))
        planned_s = before_s - control.remaining_s
    rest = [runs for runs in programs[1:] if tuple(runs) not in tried]
    if not counts_work:
        # Plans of too little time exceed their live peaks, so plan only as many other programs as there is time for.
        rest = rest[:: max(1, ceil(len(rest) * planned_s / control.remaining_s))]
    return points + (points_of(graph, costs, rest, control) if points and not control.is_over else [])


def _cheapest_runs(
    graph: OperationGraph, costs: Sequence[int], target: int, descent: Descent, control: Control
) -> Sequence[int] | None:
    """Return the runs of the cheapest program found whose live peak is at most `target`, or None."""
    if descent.cheapest_within(target) is None and not control.counts_work:
        with control.child(_AIM_SHARE).search_control(WORK_PER_S) as watched:
            descent.search.set_control(watched)
            descent.search_lower(target)
    drops = descent.cheapest_within(target)
    known = None if drops is None else _peak_and_runs(graph, descent.search.stays.runs_with_drops(drops))
    runs = None if known is None or known[0] > target else known[1]
    return search_min_work(graph, costs, target, runs, control.child(_AIM_SHARE)).runs


def lower_programs(
    graph: OperationGraph, costs: Sequence[int], peak: int, most: int, control: Control
) -> tuple[list[list[int]], bool]:
    """Return programs with falling peaks, and False if lower peaks are proved impossible.

    Each program has an extra cost of at most `most`.
    """
    programs = list[list[int]]()
    if len(graph.ops) > LARGEST_BOUNDED:
        # Bounding the cost of removals in a large graph takes too long, so search small graphs only.
        return programs, True
    away = removal_bounds(graph, costs)
    while not control.is_over:
        share = control.child(_STATES_SHARE)
        found = search_min_work(graph, costs, peak - 1, None, share, away=away, states=_STATES_OF_A_POINT)
        if found.runs is None or (found.extra_cost or 0) > most:
            return programs, not found.is_none and found.bound <= most
        peak = peak_of(clone_graph(graph, found.runs).graph, range(len(found.runs)))
        programs.append(list(found.runs))
    return programs, True


def replan_lowest_points(
    graph: OperationGraph,
    costs: Sequence[int],
    lowest: RecomputedPoint,
    programs: Iterable[Sequence[int]],
    control: Control,
) -> list[RecomputedPoint]:
    """Plan programs with nearly the lowest peak, until the peak of a plan equals its live peak; return all points.

    Each program is planned quickly; then the best ones are planned for longer.
    """
    points, seen = [lowest], {lowest.order}
    quick = control.child(_QUICK_SHARE)
    for runs in programs:
        if quick.is_over or points[-1].peak == points[-1].live_peak:
            break
        written = _peak_and_runs(graph, runs)
        least = min(point.peak for point in points)
        if written is None or written[1] in seen or written[0] >= least:
            continue
        seen.add(written[1])
        points += points_of(graph, costs, [written[1]], control.limit_to(_QUICK_S), is_ordered=True)
    for point in sorted(points, key=lambda point: point.peak)[:_LONG]:
        least = min(point.peak for point in points)
        if not control.is_over and point.live_peak < least:
            points += points_of(graph, costs, [point.order], control.child(_LONG_SHARE), is_ordered=True)
    return points


def replan_points(
    graph: OperationGraph,
    costs: Sequence[int],
    points: Sequence[RecomputedPoint],
    control: Control,
    options: OrderOptions,
    most: int | None,
) -> list[RecomputedPoint]:
    """Plan points whose plans exceed their live peaks again in the remaining time; return the undominated points.

    With a limit, these are the undominated points, and the cheapest programs whose plans exceed the limit, but whose
    live peaks do not.
    """
    points, shown, within, cheaper = [*points], drop_dominated(points, options, most), options.limit, []
    if within is not None:
        cost = min((point.extra_cost for point in points if point.peak <= within), default=inf)
        cheaper = [point for point in points if point.live_peak <= within < point.peak and point.extra_cost < cost]
    # Without a plan within the limit, the nearest one counts, at any cost.
    ranked = sorted(cheaper, key=lambda point: point.extra_cost if cost < inf else point.peak)
    ranked += sorted(points if within is None else shown, key=lambda point: point.live_peak / point.peak)
    waiting = [*{point.order: point for point in ranked if point.live_peak < point.peak}.values()]
    # Plans of too little time are no better than the present ones.
    waiting = waiting[: max(1, int(control.remaining_s / _REPLANNED_S))]
    for k, point in enumerate(waiting):
        if control.counts_work or control.is_over:
            break
        share = control.child(1 / (len(waiting) - k))
        found = points_of(graph, costs, [point.order], share, is_ordered=True)
        points += [again.model_copy(update={"lower_bound": point.lower_bound}) for again in found]
    return drop_dominated(points, options, most)


def drop_dominated(points: Sequence[RecomputedPoint], options: OrderOptions, most: int | None) -> list[RecomputedPoint]:
    """Return the points (planned programs) that no other point beats in both peak and cost, cheapest first.

    The point without clones is kept in any case, and is the first one.
    """
    first = points[0]
    again = (point for point in points if (point.order, point.extra_cost) == (first.order, first.extra_cost))
    chosen = [min(again, key=lambda point: point.peak)]
    for point in sorted(points[1:], key=lambda point: (point.extra_cost, point.peak)):
        if most is not None and point.extra_cost > most:
            continue
        if point.peak < chosen[-1].peak:
            # The first point has no clones, so keep it even if another program has the same cost.
            if point.extra_cost <= chosen[-1].extra_cost and len(chosen) > 1:
                chosen.pop()
            chosen.append(point)
            if options.limit is not None and point.peak <= options.limit:
                break
    return chosen
