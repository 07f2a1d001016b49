"""The frontier of recompute: less memory for more work, each point a program that is ordered, checked and planned."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from memplan.capabilities.inputs import PlanAndProblem
from memplan.capabilities.order.answer import OrderAnswer, Recomputed, RecomputedPoint
from memplan.capabilities.order.options import OrderOptions
from memplan.capabilities.order.recompute.descent import Descent
from memplan.capabilities.order.recompute.least import LARGEST_BOUNDED, LeastWork, least_work
from memplan.capabilities.order.recompute.rewrite import Rewritten, relaxed, rewritten
from memplan.capabilities.order.recompute.search import DropSearch
from memplan.capabilities.order.recompute.stays import Stays
from memplan.capabilities.order.room_inside import with_room_inside
from memplan.capabilities.order.search.solve import WORK_PER_S, order_unplanned
from memplan.planner.errors import InputError, InvalidPlanError, OperationsError, OptionError, counted
from memplan.planner.liveness.ordered import problem_of_order
from memplan.planner.operations.clone_check import check_rewriting
from memplan.planner.operations.costs import costs_of
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.operations.graph_variants import replaced
from memplan.planner.operations.order_check import peak_of
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control

_ORDER_SHARE, _SEARCH_SHARE = 0.2, 0.5
"""The parts of the time for the order without clones, and for the search of drops; the rest orders and plans."""
_REST_SHARE = 0.2
"""The part of the time that is kept for orders and plans of what was found."""
_SETTLED_AFTER = 3
_MOST_LOWER = 8
"""So many programs below a limit are planned where the plans of others are above it."""
_LEAST_S = 0.25
"""The time that a plan has at least."""


def recompute(graph: OperationGraph, options: OrderOptions, control: Control) -> OrderAnswer:
    """Find programs that need fewer bytes because operations run again instead of keeping what they make.

    `within` is a peak in bytes to come within at the least cost, `extra_cost` a part of the cost of all operations that
    is not to be exceeded; without both, the points go down to the lowest peak that is found. Each point is ordered,
    planned, and run on its addresses by a check that shares no code with the search.
    """
    limit_s = control.left_s
    costs = costs_of(graph)
    once = sum(costs)
    most = None if options.extra_cost is None else int(options.extra_cost * once)
    base = order_unplanned(graph, control.within(_ORDER_SHARE * limit_s))
    if control.note is not None:
        control.note(unplanned(base, options))
    ordered = base.ordered or graph
    # Of a graph that is too large for a bound, drops are looked for that much longer.
    is_large = options.within is not None and len(ordered.ops) > LARGEST_BOUNDED and not control.counts_work
    share_s = control.left_s - _REST_SHARE * limit_s if is_large else _SEARCH_SHARE * limit_s
    with control.within(share_s).watched(WORK_PER_S) as watched:
        descent = Descent(DropSearch(Stays(ordered, base.order, costs, watched.raised), watched))
        programs = _programs(descent, options, most)
    least = None
    if options.within is not None:
        share = control if control.counts_work else control.within(control.left_s - _REST_SHARE * limit_s)
        least = _least(ordered, costs, options.within, [base.order, *programs], share)
        programs += [list(least.runs)] if least.runs is not None else []
    rest = control.within((1 - _ORDER_SHARE - _SEARCH_SHARE) * limit_s) if control.counts_work else control
    # Without clones first, then the lowest: whatever the time is, these are planned.
    every = [base.order, *reversed(programs)]
    if options.within is None:
        points = _points(ordered, costs, every, rest)
    else:
        points = _points_within(ordered, costs, every, rest, options.within, descent)
    points = _undominated(points, options, most)
    if options.with_plan:
        points = [point.model_copy(update={"planned": point.placed}) for point in points]
    last = points[-1]
    is_within = options.within is None or last.peak <= options.within
    if is_within and least is not None:
        last = last.model_copy(update={"extra_cost_lower_bound": least.bound})
        points[-1] = last
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
            extra_cost_lower_bound=0 if least is None else least.bound,
            cost=once,
            is_within=is_within,
            has_none=least is not None and least.is_none,
            points=tuple(points),
        ),
    )
    changes = {"order": last.order, "moves": None, "written_over": (), "sources": ()}
    return answer.model_copy(update={**changes, "placed_peak": last.peak, "placed_status": last.status})


def unplanned(answer: OrderAnswer, options: OrderOptions) -> OrderAnswer:
    """Return an order as the answer where the time ends before any program was planned."""
    cost = sum(costs_of(answer.ordered)) if answer.ordered is not None else 0
    recomputed = Recomputed(extra_cost=0, cost=cost, is_within=options.within is None, points=())
    return answer.model_copy(update={"recomputed": recomputed})


def _least(
    graph: OperationGraph, costs: Sequence[int], budget: int, programs: Sequence[Sequence[int]], control: Control
) -> LeastWork:
    """Look for the cheapest program within a budget, from the cheapest of those that were found."""
    known: Sequence[int] | None = None
    for runs in programs:
        program = rewritten(graph, runs)
        if peak_of(program.graph, range(len(program.runs))) <= budget:
            cost = sum(costs[v] for v in program.runs)
            if known is None or cost < sum(costs[v] for v in known):
                known = program.runs
    return least_work(graph, costs, budget, known, control)


def _programs(descent: Descent, options: OrderOptions, most: int | None) -> list[list[int]]:
    """Return sequences of operations with ever lower peaks, that cost `most` more than each run once if that is given.

    The lowest come last.
    """
    stays = descent.search.stays
    if options.within is not None:
        drops = descent.to_limit(options.within)
    elif most is not None:
        drops = descent.to_cost(most // stays.cost_unit + stays.once, options.points)
    else:
        drops = descent.to_lowest(options.points)
    return [stays.run(row.is_dropped) for row in drops]


def _points(
    graph: OperationGraph, costs: Sequence[int], programs: Sequence[Sequence[int]], control: Control
) -> list[RecomputedPoint]:
    """Order, plan and check each program, the first in any case; what cannot be written as a graph is left out."""
    points: list[RecomputedPoint] = []
    for k, runs in enumerate(programs):
        if k > 0 and (control.cancelled.is_set() or (k > 1 and control.is_over)):
            break
        # Counted work has no clock to share, so every point gets the same.
        share = control.child(1 / (len(programs) if control.counts_work else len(programs) - k))
        with suppress(InputError):
            points.append(_point(graph, costs, runs, share))
    return points


def _points_within(
    graph: OperationGraph,
    costs: Sequence[int],
    programs: Sequence[Sequence[int]],
    control: Control,
    within: int,
    descent: Descent,
) -> list[RecomputedPoint]:
    """Return points as `_points` does; where the plan of the second program is not within, those of lower ones, too.

    The first two are planned in half of the time, so that there is time for these.
    """
    points = _points(graph, costs, programs[:2], control if control.counts_work else control.child(0.5))
    last, share = points[-1], 0.5 / len(programs) if control.counts_work else 0.5
    while within < last.peak and last.live_peak <= within and len(points) <= _MOST_LOWER and not control.is_over:
        # A plan of this one would be within if it needed as much more than what is alive.
        drops = descent.cheapest_within(min(last.live_peak - 1, within * last.live_peak // last.peak))
        if drops is None:
            break
        lower = _points(graph, costs, [descent.search.stays.run(drops.is_dropped)], control.child(share))
        if not lower:
            break
        last = lower[0]
        points.append(last)
    return points + (_points(graph, costs, programs[2:], control) if not control.is_over else [])


def _point(graph: OperationGraph, costs: Sequence[int], runs: Sequence[int], control: Control) -> RecomputedPoint:
    """Order the operations and their clones until no reader would rather take what another clone has made."""
    program = rewritten(graph, runs)
    # A fifth for each of three orders at most, one for the plan, and one for the bound.
    share_s = control.left_s / 5
    for _ in range(_SETTLED_AFTER):
        result = order_unplanned(program.graph, control.within(share_s))
        again = rewritten(graph, [program.runs[k] for k in result.order])
        is_settled, program = again.runs == program.runs, again
        if is_settled:
            break
    placed = _placed(graph, program, share_s, control)
    peak = placed.plan.peak or 0
    first = {v: k for k, v in reversed([*enumerate(program.runs)])}
    clones = tuple(v for k, v in enumerate(program.runs) if first[v] != k)
    # A search of the program has fixed which clone each reader takes: its bound holds for that choice alone.
    bound = (
        order_unplanned(relaxed(graph, clones), control.within(share_s)).lower_bound if clones else result.lower_bound
    )
    return RecomputedPoint(
        peak=peak,
        live_peak=peak_of(program.graph, range(len(program.runs))),
        lower_bound=bound,
        status="optimal" if peak == bound else "feasible",
        extra_cost=sum(costs[v] for v in program.runs) - sum(costs),
        clones=clones,
        order=program.runs,
        placed=placed,
    )


def _placed(graph: OperationGraph, program: Rewritten, time_limit_s: float, control: Control) -> PlanAndProblem:
    """Plan a program with clones, then run it on its addresses to see that it computes the same.

    Raises InvalidPlanError for a plan that the program cannot run on, OptionError where the time is too short for any.
    """
    order = range(len(program.runs))
    # The check of a program knows one workspace for each operation, and nothing of what is inside.
    roomy = with_room_inside(program.graph, alignment=1)
    whole = replaced(roomy, ops=tuple(row.model_copy(update={"regions": ()}) for row in roomy.ops))
    problem = problem_of_order(whole, order)
    deterministic, cancelled = control.counts_work, Control(cancelled=control.cancelled)
    plan = solve(problem, time_limit_s=max(time_limit_s, _LEAST_S), deterministic=deterministic, control=cancelled)
    if plan.peak is None:
        # The end came before any plan was there, of which the first takes milliseconds.
        plan = solve(problem, time_limit_s=_LEAST_S, deterministic=deterministic)
    if plan.peak is None:
        raise OptionError(f"time_limit_s: must be enough for a plan of {counted(len(problem.buffers), 'tensor')}")
    at = {row.id: row.offset for row in plan.placements}
    offsets = [at.get(f"tensor_{t}", -1) for t in range(len(program.graph.size))]
    works = [at.get(f"work_{k}", -1) for k in order]
    try:
        check_rewriting(graph, whole, program.runs, program.tensors, order, (offsets, works))
    except OperationsError as error:
        raise InvalidPlanError(f"program: {error}") from error
    return PlanAndProblem(problem=problem, plan=plan)


def _undominated(points: Sequence[RecomputedPoint], options: OrderOptions, most: int | None) -> list[RecomputedPoint]:
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
