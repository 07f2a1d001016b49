"""The frontier of recompute: less memory for more work, each point a program that is ordered, checked and planned."""

from __future__ import annotations

from collections.abc import Sequence

from memplan.capabilities.inputs import PlanAndProblem
from memplan.capabilities.order.answer import OrderAnswer, Recomputed, RecomputedPoint
from memplan.capabilities.order.options import OrderOptions
from memplan.capabilities.order.recompute.least import LeastWork, least_work
from memplan.capabilities.order.recompute.rewrite import Rewritten, relaxed, rewritten
from memplan.capabilities.order.recompute.search import Drops, DropSearch, floor_of, peak_steps
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

_BISECTIONS = 8
_ORDER_SHARE, _SEARCH_SHARE = 0.2, 0.5
"""The parts of the time for the order without clones, and for the search of drops; the rest orders and plans."""
_REST_SHARE = 0.2
"""The part of the time that is kept for orders and plans of what was found."""
_FURTHER, _MOST_FURTHER = 0.97, 8
"""Below the peak that is reached at once, going down by small steps may come further."""
_SETTLED_AFTER = 3
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
    with control.within(_SEARCH_SHARE * limit_s).watched(WORK_PER_S) as watched:
        search = DropSearch(Stays(ordered, base.order, costs, watched.raised), watched)
        programs = _programs(search, options, most)
    least = None
    if options.within is not None:
        share = control if control.counts_work else control.within(control.left_s - _REST_SHARE * limit_s)
        least = _least(ordered, costs, options.within, [base.order, *programs], share)
        programs += [list(least.runs)] if least.runs is not None else []
    rest = control.within((1 - _ORDER_SHARE - _SEARCH_SHARE) * limit_s) if control.counts_work else control
    points = _undominated(_points(ordered, base, costs, programs, rest), options, most)
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


def _programs(search: DropSearch, options: OrderOptions, most: int | None) -> list[list[int]]:
    """Return sequences of operations with ever lower peaks, that cost `most` more than each run once if that is given.

    The lowest come last.
    """
    stays = search.stays
    start = search.nothing()
    if options.within is not None:
        if options.within >= start.peak:
            return []
        lowest = start
        budgets = [budget for budget in peak_steps(start.peak, options.within, 4) if budget > options.within]
        budgets.append(options.within)
    else:
        lowest = search.within(start, floor_of(stays))
        budgets = peak_steps(start.peak, lowest.peak, options.points)
        # Small steps beyond what the large one reached: each starts from drops that already fit nearly.
        budgets += [int(lowest.peak * _FURTHER**k) for k in range(1, _MOST_FURTHER + 1)]
    most_cost = None if most is None else most // stays.cost_unit + stays.once
    swept = _swept(search, start, budgets, most_cost)
    if most_cost is not None:
        swept += _bisected(search, swept or [start], lowest.peak, most_cost)
    elif swept and lowest.peak < swept[-1].peak:
        swept.append(lowest)
    return [stays.run(drops.is_dropped) for drops in swept]


def _swept(search: DropSearch, start: Drops, budgets: Sequence[int], most: int | None) -> list[Drops]:
    """Go down from budget to budget; end where one cannot be met, or costs too much."""
    swept: list[Drops] = []
    last = start
    for budget in budgets:
        # From the last budget's drops and from none: greedy drops made for a higher budget may stand in the way.
        tried = [search.within(last, budget), search.within(start, budget)]
        best = min(tried, key=lambda drops: (max(drops.peak, budget), drops.cost))
        if most is not None and best.cost > most:
            break
        if best.peak < last.peak:
            swept.append(best)
            last = best
        if best.peak > budget:
            break
    return swept


def _bisected(search: DropSearch, swept: Sequence[Drops], least: int, most: int) -> list[Drops]:
    """Look for the lowest peak that costs no more than allowed, below the last one that was found."""
    last, low = swept[-1], least
    lower = []
    for _ in range(_BISECTIONS):
        budget = (low + last.peak) // 2
        if budget <= low or budget >= last.peak:
            break
        tried = search.within(last, budget)
        if tried.peak <= budget and tried.cost <= most:
            lower.append(tried)
            last = tried
        else:
            low = budget
    return lower


def _points(
    graph: OperationGraph,
    base: OrderAnswer,
    costs: Sequence[int],
    programs: Sequence[Sequence[int]],
    control: Control,
) -> list[RecomputedPoint]:
    """Order, plan and check each program, that without clones first; what cannot be written as a graph is left out."""
    every = [base.order, *reversed(programs)]
    points: list[RecomputedPoint] = []
    for k, runs in enumerate(every):
        if k > 0 and (control.cancelled.is_set() or (k > 1 and control.is_over)):
            break
        # Counted work has no clock to share, so every point gets the same.
        share = control.child(1 / (len(every) if control.counts_work else len(every) - k))
        try:
            points.append(_point(graph, costs, runs, share))
        except InputError:
            # Without clones there is always one.
            if k == 0:
                raise
    return points


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
