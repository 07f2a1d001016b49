"""The Pareto frontier of recomputation: points of falling peak and rising cost, each ordered, planned and checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from memplan.extensions.recompute.away import RemovalBounds
from memplan.extensions.recompute.descent import Descent
from memplan.extensions.recompute.least import LARGEST_BOUNDED, removal_bounds
from memplan.extensions.recompute.limits import (
    FrontierFacts,
    lower_programs,
    points_within,
    replan_lowest_points,
    replan_points,
    search_cheapest,
    settle_points,
)
from memplan.extensions.recompute.offload.frontier import add_link_points
from memplan.extensions.recompute.ordering import Ordering
from memplan.extensions.recompute.points import PLANNED_S, points_of
from memplan.extensions.recompute.search import DropSearch
from memplan.extensions.recompute.snapshots import LARGEST
from memplan.extensions.recompute.states import can_search
from memplan.extensions.recompute.stays import Stays
from memplan.programs.operations.costs import costs_of
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.order.answer import OrderAnswer, Recomputed, RecomputedPoint
from memplan.programs.order.options import OrderOptions
from memplan.programs.order.search.solve import LARGE, WORK_PER_S
from memplan.solvers.search.control import Control, ignore_report

_ORDER_SHARE, _SEARCH_SHARE, _SHORT_SEARCH_SHARE = 0.2, 0.5, 0.25
"""The fractions of the time for an order without repeated runs, and for drops without and with a limit in bytes; plans
get the rest."""
_LARGE_ORDER_SHARE = 0.6
"""The fraction of the time for the order of a large graph, which gains more from its order than from recomputation."""
_PLAN_SHARE, _SHORT_PLAN_SHARE = 0.5, 0.1
"""The fractions of the remaining time for the plan without clones, if its live peak is within the limit and if not."""
_FOUND_SHARE = 0.8
"""The fraction of the remaining time for plans of programs within a limit; the rest is for better plans of the best."""
_REST_SHARE = 0.2
"""The fraction of the time that is reserved for ordering and planning the programs found."""
_AROUND_SHARE = 0.4
"""The fraction of the remaining time for other programs if one without clones exceeds the limit by its plan alone."""
_WITHOUT_SHARE = 0.5
"""The fraction of the time for programs without transfers, if tensors may also be sent over a link."""


def recompute(graph: OperationGraph, options: OrderOptions, control: Control) -> OrderAnswer:
    """Return a Pareto frontier of programs that run operations again, instead of keeping results, to lower the peak.

    The option `within` limits the peak in bytes, and the search then minimises the cost; `extra_cost` limits the cost,
    as a fraction of the cost of all operations. Without limits, the frontier extends down to the lowest peak found.
    Programs are planned, and then executed at planned addresses by a check that shares no code with the search. With a
    `link`, programs may also offload tensors to another memory.
    """
    if options.link:
        alone, sequences = _search_without_link(graph, options, control.child(_WITHOUT_SHARE))
        return add_link_points(graph, options, alone, sequences, control)
    return _search_without_link(graph, options, control)[0]


def _search_without_link(
    graph: OperationGraph, options: OrderOptions, control: Control
) -> tuple[OrderAnswer, Sequence[Sequence[int]]]:
    """Return the answer without transfers, and programs above the limit, from which a search with a link starts."""
    limit_s = control.remaining_s
    order_s = _ORDER_SHARE * limit_s
    if len(graph.ops) > LARGEST:
        order_s = max(0, min(_LARGE_ORDER_SHARE * limit_s, limit_s - PLANNED_S * len(graph.ops)))
    ordering = Ordering(graph, control.limit_to(order_s))
    base = ordering.answer
    first_answer = base.answer_without_plan(options.limit)
    (control.note or ignore_report)(first_answer)
    if len(ordering.graph.ops) > LARGE and control.is_over:
        return first_answer, ()
    costs, within = costs_of(graph), options.limit
    search = _Search(ordering.graph, costs, base.order, options, limit_s)
    first = search.first_point(control) if within is not None and base.peak <= within else None
    # If only the plan of the order without clones exceeds the limit, a better plan of it may need much time.
    whole = control
    if first is not None and not control.counts_work:
        control = control.child(_AROUND_SHARE)
    if within is not None and first is not None and first.peak <= within:
        # A program without clones has no extra cost, so none is better if the plan for it is within the limit.
        found = _FoundPrograms([first], FrontierFacts({within: 0}), removal_bounds(ordering.graph, costs))
    elif within is None or base.lower_bound > within or len(graph.ops) > LARGEST:
        found = search.run(first, control)
    else:
        with ordering.search_in_parallel(costs, within, first, control) as order:
            found = search.run(first, order.control)
            # If clones are proved necessary, no order without clones meets the limit, so ignore the search for one.
            point = None if found.known.proves_cost(within) else order.point()
        if point is not None and point.peak <= within:
            found = replace(found, points=[point], known=FrontierFacts({within: 0}))
        elif point is not None and found.points and point.peak < found.points[0].peak:
            found = replace(found, points=[point, *found.points[1:]])
    if not found.points:
        return first_answer, ()
    points = [ordering.add_bound(found.points[0]), *found.points[1:]]
    points = replan_points(ordering.graph, costs, points, whole, options, search.most)
    points = [_add_cost_bound(point, found.known.bounds, found.away) for point in points]
    if options.with_plan:
        points = [point.model_copy(update={"planned": point.placed}) for point in points]
    return _answer_with_points(graph, base, points, found, options, whole), found.sequences


@dataclass(frozen=True)
class _FoundPrograms:
    """The result of a search: points, known bounds on cost, and programs with peaks above the limit (`sequences`)."""

    points: list[RecomputedPoint]
    known: FrontierFacts
    away: RemovalBounds | None
    sequences: Sequence[Sequence[int]] = ()


class _Search:
    """The search for programs of a graph from a given order; `most` is the maximum extra cost, or None."""

    def __init__(
        self, graph: OperationGraph, costs: Sequence[int], order: Sequence[int], options: OrderOptions, limit_s: float
    ) -> None:
        """Prepare the search for programs from a given order; `limit_s` is the time limit of the whole call."""
        self._graph, self._costs, self._order, self._options, self._limit_s = graph, costs, order, options, limit_s
        self.most = None if options.extra_cost is None else int(options.extra_cost * sum(costs))

    def first_point(self, control: Control) -> RecomputedPoint | None:
        """Plan the order without clones; return its point, or None if there is no time for a plan."""
        share = self._plan_control(control) if control.counts_work else control.child(_PLAN_SHARE)
        points = points_of(self._graph, self._costs, [self._order], share)
        return points[0] if points else None

    def run(self, first: RecomputedPoint | None, control: Control) -> _FoundPrograms:
        """Search drops (times without a tensor), then cheaper programs with the same peaks; plan all programs found.

        `first` is the planned point without clones, or None.
        """
        graph, costs, options, within = self._graph, self._costs, self._options, self._options.limit
        sequences = list[list[int]]()
        search_share = _SEARCH_SHARE if within is None or control.counts_work else _SHORT_SEARCH_SHARE
        with control.limit_to(search_share * self._limit_s).search_control(WORK_PER_S) as watched:
            descent = Descent(DropSearch(Stays(graph, self._order, costs, watched.raised), watched))
            programs = _programs_of_falling_peaks(descent, options, self.most)
            if within is None and self.most is not None and not control.counts_work:
                programs = self._search_lower(descent, programs, self.most, watched)
            if options.link and within is not None:
                runs = (descent.search.stays.runs_with_drops(drops) for drops in descent.drops_above(within))
                sequences = [row for row in runs if row]
        share, away = self._search_control(control), removal_bounds(graph, costs)
        known = FrontierFacts({})
        if within is not None and len(graph.ops) <= LARGEST_BOUNDED:
            known = search_cheapest(graph, costs, within, [self._order, *programs], share, away)
            programs += known.programs
        elif within is None and self.most is None and can_search(graph, costs):
            known = settle_points(graph, costs, [self._order, *programs], share, away)
            programs = known.programs
        rest = self._plan_control(control) if control.counts_work else control
        # The time may be too short for all plans, so plan the program without clones and that of the lowest peak first.
        every = [self._order, *reversed(programs)]
        if within is None:
            share = rest if control.counts_work or self.most is None else control.child(_PLAN_SHARE)
            points = points_of(graph, costs, every, share)
            lowest = min(points, key=lambda point: (point.peak, point.extra_cost), default=None)
            if lowest is not None and not control.counts_work:
                runs = (descent.search.stays.runs_with_drops(drops) for drops in descent.others)
                points += replan_lowest_points(graph, costs, lowest, runs, control)
        else:
            share = control.child(_PLAN_SHARE if control.counts_work else _SHORT_PLAN_SHARE)
            points = [first] if first else points_of(graph, costs, every[:1], share, is_ordered=True)
            if points and programs and not control.cancelled.is_set():
                points += (
                    points_of(graph, costs, every[1:], rest)
                    if known.is_none
                    else points_within(graph, costs, every[1:], rest.child(_FOUND_SHARE), within, descent)
                )
            if len(graph.ops) > LARGEST_BOUNDED:
                # Engines cannot solve programs of very large graphs, so use only the remaining time for a bound.
                known = search_cheapest(graph, costs, within, [point.order for point in points], control, away)
        return _FoundPrograms(points, known, away, sequences)

    def _search_lower(
        self, descent: Descent, programs: list[list[int]], most: int, control: Control
    ) -> list[list[int]]:
        """Return programs of lower peaks within the extra cost `most`, unless lower peaks are proved impossible."""
        stays = descent.search.stays
        most_units = most // stays.cost_unit + stays.once
        peak = min(drops.peak for drops in (descent.start, *descent.found) if drops.cost <= most_units)
        lower, is_open = lower_programs(self._graph, self._costs, peak, most, control)
        if is_open:
            programs = [
                stays.runs_with_drops(drops) for drops in descent.continue_to_cost(most_units, self._options.points)
            ]
        return programs + lower

    def _plan_control(self, control: Control) -> Control:
        return control.limit_to((1 - _ORDER_SHARE - _SEARCH_SHARE) * self._limit_s)

    def _search_control(self, control: Control) -> Control:
        return control if control.counts_work else control.limit_to(control.remaining_s - _REST_SHARE * self._limit_s)


def _answer_with_points(
    graph: OperationGraph,
    base: OrderAnswer,
    points: Sequence[RecomputedPoint],
    found: _FoundPrograms,
    options: OrderOptions,
    control: Control,
) -> OrderAnswer:
    """Return the answer with these points, one for each program; the last point determines the other fields."""
    ordered, last, known = base.ordered or graph, points[-1], found.known
    bound = last.extra_cost_lower_bound if options.limit is None else known.bounds[options.limit]
    limit = last.peak if options.limit is None else options.limit
    answer = OrderAnswer.from_order(
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
            bound_operation=_proving_operation(found.away, limit, None if known.is_none else bound),
            cost=sum(costs_of(ordered)),
            is_within=options.limit is None or last.peak <= options.limit,
            has_none=known.is_none,
            points=tuple(points),
        ),
    )
    changes = {"order": last.order, "moves": None, "written_over": (), "sources": ()}
    return answer.model_copy(update={**changes, "placed_peak": last.peak, "placed_status": last.status})


def _add_cost_bound(point: RecomputedPoint, bounds: Mapping[int, int], away: RemovalBounds | None) -> RecomputedPoint:
    least = 0 if away is None else away.cost_bound(point.peak) or 0
    bound = max(least, *(bound for peak, bound in bounds.items() if point.peak <= peak), 0)
    changes = {"extra_cost_lower_bound": bound, "bound_operation": _proving_operation(away, point.peak, bound)}
    return point.model_copy(update=changes)


def _proving_operation(away: RemovalBounds | None, limit: int, bound: int | None) -> int | None:
    """Return the operation that alone proves a bound on cost (None: infeasibility), or None if no operation does."""
    least, v = (0, None) if away is None else away.bound_and_operation(limit)
    return v if least == bound else None


def _programs_of_falling_peaks(descent: Descent, options: OrderOptions, most: int | None) -> list[list[int]]:
    """Return programs with falling peaks, down to the limit in the options, if there is one.

    Without a limit, each extra cost is at most `most`, if that is given; else, the last peak is the lowest found.
    """
    stays = descent.search.stays
    if options.limit is not None:
        drops = descent.reach_limit(options.limit)
    elif most is not None:
        drops = descent.reach_cost(most // stays.cost_unit + stays.once, options.points)
    else:
        drops = descent.reach_lowest(options.points)
    return [stays.runs_with_drops(row) for row in drops]
