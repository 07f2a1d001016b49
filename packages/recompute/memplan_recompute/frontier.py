"""The frontier of recomputation: less memory for more work, each point ordered, checked and planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memplan.capabilities.order.answer import OrderAnswer, Recomputed, RecomputedPoint
from memplan.capabilities.order.options import OrderOptions
from memplan.capabilities.order.search.solve import LARGE, WORK_PER_S, bound_unsearched, order_unplanned
from memplan.planner.errors import InputError
from memplan.planner.operations.costs import costs_of
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.operations.order_check import peak_of
from memplan.solvers.search.control import Control, silent
from memplan_recompute.away import Away
from memplan_recompute.descent import Descent
from memplan_recompute.least import LARGEST_BOUNDED, away_of, least_work
from memplan_recompute.points import PLANNED_S, points_of
from memplan_recompute.rewrite import rewritten
from memplan_recompute.search import DropSearch
from memplan_recompute.snapshots import LARGEST
from memplan_recompute.states import can_search
from memplan_recompute.stays import Drops, Stays

_ORDER_SHARE, _SEARCH_SHARE = 0.2, 0.5
"""The parts of the time for the order without clones, and for the search of drops; the rest orders and plans."""
_LARGE_ORDER_SHARE, _LARGE_PLAN_SHARE = 0.6, 0.8
"""The parts for large graphs, where a better order gains more than running operations again: the part of the time for
the order, and the part of the rest for its plan."""
_REST_SHARE = 0.2
"""The part of the time that is kept for ordering and planning the programs that were found."""
_WITHOUT_SHARE = 0.5
"""The part of the time for programs without a link, where there is one."""
_AIMS, _AIM_SHARE, _MARGIN = 8, 0.25, 0.003
"""For large graphs: the most programs that are planned to meet a limit, the part of the time left for the search of
each, and the margin below the limit that each of them adds."""
_BISECTIONS = 8
_STATES_OF_A_POINT = 20_000
"""The states searched for each point without a limit."""
_MOST_LOWER = 8
"""The number of lower programs planned when plans of others exceed the limit."""


def recompute(graph: OperationGraph, options: OrderOptions, control: Control) -> OrderAnswer:
    """Find programs that need fewer bytes by running operations again instead of keeping their results.

    `within` is a peak in bytes to come within at the least cost, `extra_cost` a part of the cost of all operations that
    is not to be exceeded; without both, the points go down to the lowest peak that is found. Each point is ordered,
    planned, and run on its addresses by a check that shares no code with the search. With a `link`, tensors may be sent
    away as well.
    """
    if options.link:
        # Imported here: few graphs have a link.
        from memplan_recompute.offload.frontier import with_link

        alone, sequences = _without_link(graph, options, control.child(_WITHOUT_SHARE))
        return with_link(graph, options, alone, sequences, control)
    return _without_link(graph, options, control)[0]


def _without_link(
    graph: OperationGraph, options: OrderOptions, control: Control
) -> tuple[OrderAnswer, Sequence[Sequence[int]]]:
    """Return the answer, and the programs that were found on the way to a limit with a link."""
    limit_s = control.left_s
    costs = costs_of(graph)
    most = None if options.extra_cost is None else int(options.extra_cost * sum(costs))
    order_s = _ORDER_SHARE * limit_s
    if len(graph.ops) > LARGEST:
        order_s = max(0, min(_LARGE_ORDER_SHARE * limit_s, limit_s - PLANNED_S * len(graph.ops)))
    base = order_unplanned(graph, control.within(order_s))
    first_answer = base.unplanned(options.within)
    (control.note or silent)(first_answer)
    ordered = base.ordered or graph
    if len(ordered.ops) > LARGE and control.is_over:
        return first_answer, ()
    # Of so many operations no engine finds programs: what is left when these are planned is for the bound.
    is_planned_first = options.within is not None and len(ordered.ops) > LARGEST_BOUNDED
    descent, programs, sequences = None, list[list[int]](), list[list[int]]()
    if not is_planned_first:
        with control.within(_SEARCH_SHARE * limit_s).watched(WORK_PER_S) as watched:
            descent = Descent(DropSearch(Stays(ordered, base.order, costs, watched.raised), watched))
            programs = _programs(descent, options, most)
            if options.link and options.within is not None:
                runs = (descent.search.stays.run(drops) for drops in descent.above(options.within))
                sequences = [row for row in runs if row]
    share = control if control.counts_work else control.within(control.left_s - _REST_SHARE * limit_s)
    away = away_of(ordered, costs)
    known = _Known({})
    if options.within is not None and not is_planned_first:
        known = _least(ordered, costs, options.within, [base.order, *programs], share, away)
        programs += known.programs
    elif options.within is None and most is None and can_search(ordered, costs):
        known = _settled(ordered, costs, [base.order, *programs], share, away)
        programs = known.programs
    rest = control.within((1 - _ORDER_SHARE - _SEARCH_SHARE) * limit_s) if control.counts_work else control
    # Without clones first, then the lowest: whatever the time is, these are planned.
    every = [base.order, *reversed(programs)]
    if options.within is None:
        points = points_of(ordered, costs, every, rest)
    elif descent is None:
        points = _aimed(ordered, costs, base.order, share, options.within)
        known = _Known({options.within: 0})
        # Nothing costs less than a program without clones that is within.
        if points and (points[0].peak > options.within or points[0].extra_cost > 0):
            known = _least(ordered, costs, options.within, [point.order for point in points], control, away)
    else:
        points = _points_within(ordered, costs, every, rest, options.within, descent)
    if not points:
        return first_answer, ()
    points = [_bounded(point, known.bounds, away) for point in undominated(points, options, most)]
    if options.with_plan:
        points = [point.model_copy(update={"planned": point.placed}) for point in points]
    return _answer(graph, base, points, known, options, control, away), sequences


def _answer(
    graph: OperationGraph,
    base: OrderAnswer,
    points: Sequence[RecomputedPoint],
    known: _Known,
    options: OrderOptions,
    control: Control,
    away: Away | None,
) -> OrderAnswer:
    """Return the answer that points are, whose other fields are those of the last one."""
    ordered, last = base.ordered or graph, points[-1]
    bound = last.extra_cost_lower_bound if options.within is None else known.bounds[options.within]
    limit = last.peak if options.within is None else options.within
    answer = OrderAnswer.of_order(
        graph,
        base.order,
        last.peak,
        last.lower_bound,
        base.given_peak,
        ordered=ordered,
        regions=base.regions,
        wall_time_s=control.wall_time_s,
        recomputed=Recomputed(
            extra_cost=last.extra_cost,
            extra_cost_lower_bound=bound,
            bound_operation=_operation(away, limit, None if known.is_none else bound),
            cost=sum(costs_of(ordered)),
            is_within=options.within is None or last.peak <= options.within,
            has_none=known.is_none,
            points=tuple(points),
        ),
    )
    changes = {"order": last.order, "moves": None, "written_over": (), "sources": ()}
    return answer.model_copy(update={**changes, "placed_peak": last.peak, "placed_status": last.status})


@dataclass(frozen=True)
class _Known:
    """The extra cost that no program within some bytes is below, programs, and whether none is within a limit."""

    bounds: dict[int, int]
    programs: list[list[int]] = field(default_factory=list)
    is_none: bool = False


def _written(graph: OperationGraph, runs: Sequence[int]) -> tuple[int, tuple[int, ...]] | None:
    """Return the peak of a program, and its needed runs; None if it cannot be a graph."""
    try:
        program = rewritten(graph, runs)
    except InputError:
        return None
    return peak_of(program.graph, range(len(program.runs))), program.runs


def _least(
    graph: OperationGraph,
    costs: Sequence[int],
    budget: int,
    programs: Sequence[Sequence[int]],
    control: Control,
    away: Away | None,
) -> _Known:
    """Search for the cheapest program within a budget, starting from the best known."""
    written = [found for runs in programs if (found := _written(graph, runs)) is not None and found[0] <= budget]
    known = min((runs for _, runs in written), key=lambda runs: sum(costs[v] for v in runs), default=None)
    least = least_work(graph, costs, budget, known, control, away=away)
    return _Known({budget: least.bound}, [] if least.runs is None else [list(least.runs)], least.is_none)


def _settled(
    graph: OperationGraph,
    costs: Sequence[int],
    programs: Sequence[Sequence[int]],
    control: Control,
    away: Away | None,
) -> _Known:
    """Return the cheapest programs for the peaks of others, and a lower cost bound for each peak.

    The first of them is without clones. Only states are searched, since each point has little time; then those of
    programs with a lower peak.
    """
    known = _Known({})
    count = len(programs) + _BISECTIONS
    low, peak = bound_unsearched(graph)[0], peak_of(graph, programs[0])
    for k, runs in enumerate(programs[1:]):
        written = _written(graph, runs)
        if written is None:
            continue
        peak = written[0]
        share = control.child(1 / (count if control.counts_work else count - k))
        found = least_work(graph, costs, peak, written[1], share, away=away, states=_STATES_OF_A_POINT)
        known.programs.append(list(found.runs or runs))
        known.bounds[peak] = found.bound
    for k in range(_BISECTIONS):
        if low >= peak:
            break
        budget = (low + peak) // 2
        share = control.child(1 / (count if control.counts_work else _BISECTIONS - k))
        found = least_work(graph, costs, budget, None, share, away=away, states=_STATES_OF_A_POINT)
        written = None if found.runs is None else _written(graph, found.runs)
        if written is not None:
            peak = written[0]
            known.programs.append(list(written[1]))
            known.bounds[budget] = found.bound
        elif found.is_none:
            low = budget + 1
        else:
            break
    return known


def _bounded(point: RecomputedPoint, bounds: Mapping[int, int], away: Away | None) -> RecomputedPoint:
    """Return a point with its known cost bound, which also covers higher peaks."""
    least = 0 if away is None else away.least(point.peak) or 0
    bound = max(least, *(bound for peak, bound in bounds.items() if point.peak <= peak), 0)
    changes = {"extra_cost_lower_bound": bound, "bound_operation": _operation(away, point.peak, bound)}
    return point.model_copy(update=changes)


def _operation(away: Away | None, limit: int, bound: int | None) -> int | None:
    """Return the operation that proves a bound alone, or, of None, that no program is within the limit."""
    least, v = (0, None) if away is None else away.dearest(limit)
    return v if least == bound else None


def _programs(descent: Descent, options: OrderOptions, most: int | None) -> list[list[int]]:
    """Return programs with ever lower peaks, within an extra cost if given.

    The lowest come last.
    """
    stays = descent.search.stays
    if options.within is not None:
        drops = descent.to_limit(options.within)
    elif most is not None:
        drops = descent.to_cost(most // stays.cost_unit + stays.once, options.points)
    else:
        drops = descent.to_lowest(options.points)
    return [stays.run(row) for row in drops]


def _points_within(
    graph: OperationGraph,
    costs: Sequence[int],
    programs: Sequence[Sequence[int]],
    control: Control,
    within: int,
    descent: Descent,
) -> list[RecomputedPoint]:
    """Return points as `points_of` does; if the second plan exceeds the limit, those of lower programs, too.

    The first two are planned in half of the time, so that there is time for these.
    """
    points = points_of(graph, costs, programs[:2], control if control.counts_work else control.child(0.5))
    if not points:
        return points
    last, share = points[-1], 0.5 / len(programs) if control.counts_work else 0.5
    while within < last.peak and last.live_peak <= within and len(points) <= _MOST_LOWER and not control.is_over:
        target = last.live_peak - 1
        if len(points) > _MOST_LOWER // 2:
            # A plan of this one would be within if it needed as much more than what is alive.
            target = min(target, within * last.live_peak // last.peak)
        drops = descent.cheapest_within(target)
        known = None if drops is None else _written(graph, descent.search.stays.run(drops))
        runs = None if known is None or known[0] > target else known[1]
        runs = least_work(graph, costs, target, runs, control.child(0.5)).runs
        if runs is None:
            break
        lower = points_of(graph, costs, [runs], control.child(share))
        if not lower:
            break
        last = lower[0]
        points.append(last)
    return points + (points_of(graph, costs, programs[2:], control) if not control.is_over else [])


def _aimed(
    graph: OperationGraph,
    costs: Sequence[int],
    order: Sequence[int],
    control: Control,
    within: int,
) -> list[RecomputedPoint]:
    """Return points of a large graph: ever lower programs until a plan fits, then cheaper ones.

    The first is without clones: its plan says how far below the limit a program's bytes alive must be.
    """
    share = _AIM_SHARE if len(graph.ops) <= LARGEST else _LARGE_PLAN_SHARE
    points = points_of(graph, costs, [order], control.child(share))
    rows, descent = list[Drops](), None
    best: int | None = None
    for _ in range(_AIMS if points else 0):
        last = points[-1]
        if control.is_over or best == 0 or (last.extra_cost == 0 and last.peak <= within):
            break
        # A plan of this one would be within if it needed as much more than what is alive.
        aim = int(within * min(1, last.live_peak / last.peak) * (1 - len(points) * _MARGIN))
        if last.peak <= within:
            aim = max(aim, last.live_peak)
        with control.child(_AIM_SHARE).watched(WORK_PER_S) as watched:
            if descent is None:
                descent = Descent(DropSearch(Stays(graph, order, costs, watched.raised), watched))
                rows = descent.to_limit(aim)
            else:
                descent.search.use(watched)
                descent.lower(aim)
        drops = descent.cheapest_within(aim)
        known = None if drops is None else _written(graph, descent.search.stays.run(drops))
        if known is None or known[0] > aim:
            continue
        extra_cost = sum(costs[v] for v in known[1]) - sum(costs)
        if best is None or extra_cost < best:
            # The search has changed the order, too.
            points += points_of(graph, costs, [known[1]], control.child(_AIM_SHARE), is_ordered=True)
            best = min((point.extra_cost for point in points if point.peak <= within), default=None)
    if descent is None or best is None or control.is_over:
        return points
    higher = [descent.search.stays.run(drops) for drops in reversed(rows[:-1])]
    return points + points_of(graph, costs, higher, control, is_ordered=True)


def undominated(points: Sequence[RecomputedPoint], options: OrderOptions, most: int | None) -> list[RecomputedPoint]:
    """Return the points that no other one beats, the cheapest first; the first has no clones."""
    chosen = [points[0]]
    for point in sorted(points[1:], key=lambda point: (point.extra_cost, point.peak)):
        if most is not None and point.extra_cost > most:
            continue
        if point.peak < chosen[-1].peak:
            # The program without clones stays, whatever costs no more.
            if point.extra_cost <= chosen[-1].extra_cost and len(chosen) > 1:
                chosen.pop()
            chosen.append(point)
            if options.within is not None and point.peak <= options.within:
                break
    return chosen
