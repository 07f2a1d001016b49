"""The search for programs whose peaks are within a limit, with lower bounds on the cost of all such programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf

from memplan.extensions.recompute.away import RemovalBounds, peak_lower_bound
from memplan.extensions.recompute.descent import Descent
from memplan.extensions.recompute.least import LARGEST_BOUNDED, removal_bounds, search_min_work
from memplan.extensions.recompute.points import PLANNED_S, points_of
from memplan.extensions.recompute.rewrite import clone_graph
from memplan.extensions.recompute.search import DropSearch
from memplan.extensions.recompute.stays import Drops, Stays
from memplan.planner.errors import InputError
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.order_check import peak_of
from memplan.programs.order.answer import RecomputedPoint
from memplan.programs.order.options import OrderOptions
from memplan.programs.order.search.solve import WORK_PER_S
from memplan.solvers.search.control import Control

_AIMS, _AIM_SHARE, _MARGIN = 8, 0.25, 0.003
"""For large graphs: the maximum number of programs that are planned to meet a limit, the share of the remaining time
to search for each, and the margin below the limit that each further program adds."""
_BISECTIONS = 8
_STATES_OF_A_POINT, _STATES_SHARE = 20_000, 0.2
"""The states searched for each point without a limit, and the share of the remaining time for a point within a cost."""
_QUICK_S, _QUICK_SHARE, _LONG, _LONG_SHARE = 0.25, 0.5, 4, 0.4
"""The seconds for a quick plan, the share of the remaining time for all quick plans, the number of programs that are
planned for longer, and the share of the remaining time for each of these."""
_MOST_LOWER = 8
"""The maximum number of programs with lower live peaks that are planned if the plans of the others exceed the limit."""


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
    first: RecomputedPoint | None,
) -> list[RecomputedPoint]:
    """Plan the given programs; while plans exceed the limit, also plan programs of lower live peaks, and then cheaper
    ones between those and the limit. Return the points.

    The first two programs are planned in a part of the time, so that time remains for others. `first` is the point of
    the first program, if it is known.
    """
    half = control if control.counts_work else control.child(0.3)
    points = [] if first is None else [first]
    points += points_of(graph, costs, programs[len(points) : 2], half)
    if not points:
        return points
    low, share = 0, 0.5 / len(programs) if control.counts_work else 0.4
    for _ in range(_MOST_LOWER):
        met = [point for point in points if point.peak <= within]
        low = max([low, *(point.live_peak for point in met)])
        over = [point for point in points if low < point.live_peak <= within < point.peak]
        if not over or control.is_over:
            break
        last = min(over, key=lambda point: point.live_peak)
        # Plans exceed their live peaks by similar ratios. The price at the limit lies between a plan that is within the
        # limit and one that is not.
        target = (low + last.live_peak) // 2 if met else within * last.live_peak // last.peak
        runs = _cheapest_runs(graph, costs, target, descent, control)
        most = min((point.extra_cost for point in met), default=None)
        if runs is not None and (most is None or sum(costs[v] for v in runs) - sum(costs) < most):
            points += points_of(graph, costs, [runs], control.child(share))
        elif met:
            low = target
        else:
            break
    # Only programs below the limit answer the question, so leave time for better plans of these.
    rest = control if control.counts_work else control.child(0.2)
    return points + (points_of(graph, costs, programs[2:], rest) if not control.is_over else [])


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
    graph: OperationGraph, costs: Sequence[int], points: Sequence[RecomputedPoint], control: Control, within: int | None
) -> list[RecomputedPoint]:
    """Return the points and, of those whose plans exceed their live peaks, better plans found in the remaining time.

    The cheapest programs come first whose plans exceed the limit `within`, but whose live peaks do not.
    """
    waiting = [point for point in points if point.live_peak < point.peak]
    if within is not None:
        most = min((point.extra_cost for point in points if point.peak <= within), default=inf)
        waiting = [point for point in waiting if point.live_peak <= within < point.peak and point.extra_cost < most]
    waiting = [*{point.order: point for point in sorted(waiting, key=lambda point: -point.peak)}.values()]
    better = list[RecomputedPoint]()
    for k, point in enumerate(sorted(waiting, key=lambda point: point.extra_cost)):
        if control.counts_work or control.is_over:
            break
        share = control.child(1 / (len(waiting) - k))
        found = points_of(graph, costs, [point.order], share, is_ordered=True)
        better += [again.model_copy(update={"lower_bound": point.lower_bound}) for again in found]
    return [*points, *better]


def points_of_large(
    graph: OperationGraph,
    costs: Sequence[int],
    order: Sequence[int],
    first: RecomputedPoint,
    control: Control,
    within: int,
) -> list[RecomputedPoint]:
    """Return points of a large graph: programs of falling peaks until a plan is within the limit, then cheaper ones.

    The plan of `first`, which has no clones, determines how far below the limit a program's live peak must be.
    """
    points = [first]
    rows, descent = list[Drops](), None
    best: int | None = None
    for _ in range(_AIMS):
        last = points[-1]
        # If no time would remain to plan the result of another search, end the search.
        is_late = control.remaining_s < PLANNED_S * len(graph.ops)
        if control.is_over or is_late or best == 0 or (last.extra_cost == 0 and last.peak <= within):
            break
        # Plans exceed their live peaks by similar ratios, so aim for a live peak whose plan would meet the limit.
        aim = int(within * min(1, last.live_peak / last.peak) * (1 - len(points) * _MARGIN))
        if last.peak <= within:
            aim = max(aim, last.live_peak)
        with control.child(_AIM_SHARE).search_control(WORK_PER_S) as watched:
            if descent is None:
                descent = Descent(DropSearch(Stays(graph, order, costs, watched.raised), watched))
                rows = descent.reach_limit(aim)
            else:
                descent.search.set_control(watched)
                descent.search_lower(aim)
        drops = descent.cheapest_within(aim)
        known = None if drops is None else _peak_and_runs(graph, descent.search.stays.runs_with_drops(drops))
        if known is None or known[0] > aim:
            continue
        extra_cost = sum(costs[v] for v in known[1]) - sum(costs)
        if best is None or extra_cost < best:
            # The descent has already improved the program's order, so plan the program without another search.
            points += points_of(graph, costs, [known[1]], control.child(_AIM_SHARE), is_ordered=True)
            best = min((point.extra_cost for point in points if point.peak <= within), default=None)
    if descent is None or best is None or control.is_over:
        return points
    higher = [descent.search.stays.runs_with_drops(drops) for drops in reversed(rows[:-1])]
    return points + points_of(graph, costs, higher, control, is_ordered=True)


def drop_dominated(points: Sequence[RecomputedPoint], options: OrderOptions, most: int | None) -> list[RecomputedPoint]:
    """Return the points (planned programs) that no other point beats in both peak and cost, cheapest first.

    The point without clones is kept in any case, and is the first one.
    """
    chosen = [points[0]]
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
