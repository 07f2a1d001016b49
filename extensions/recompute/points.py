"""The points of a recomputation frontier: each program is ordered, planned, and checked by executing it."""

from collections.abc import Sequence
from contextlib import suppress

from memplan.extensions.recompute.clone_check import check_rewriting
from memplan.extensions.recompute.rewrite import CloneGraph, clone_graph, relax_clones
from memplan.extensions.recompute.snapshots import LARGEST
from memplan.planner.errors import InputError, InvalidPlanError, OperationsError, TimeOverError, count_text
from memplan.planner.model.problem import Problem
from memplan.programs.lifetimes.ordered import problem_of_order
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.graph_variants import replace_fields
from memplan.programs.operations.order_check import peak_of
from memplan.programs.order.answer import RecomputedPoint
from memplan.programs.order.placement import PlannedOrders
from memplan.programs.order.room_inside import enlarge_workspaces_for_regions
from memplan.programs.order.search.solve import WORK_PER_S, OrderSearch, bound_unsearched, order_with_control
from memplan.questions.inputs import PlanAndProblem
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control

_SETTLED_AFTER = 3
_LEAST_S, _LEAST_OF_EACH_S = 0.25, 2e-5
"""The minimum time for a plan, in seconds: a constant, and an addition for each operation."""
PLANNED_S = 6e-5
"""The seconds per operation for building, planning and checking one program of a large graph."""
_PREPARED_S = 1e-6
"""The seconds for preparing a search for an order, for each squared operation count."""


def points_of(
    graph: OperationGraph,
    costs: Sequence[int],
    programs: Sequence[Sequence[int]],
    control: Control,
    *,
    is_ordered: bool = False,
) -> list[RecomputedPoint]:
    """Return the programs as points, each with its plan. Invalid programs are skipped.

    The first program is planned even if no time is left. If `is_ordered`, programs keep the order of their runs.
    """
    points: list[RecomputedPoint] = []
    for k, runs in enumerate(programs):
        if k > 0 and (control.cancelled.is_set() or (k > 1 and control.is_over)):
            break
        # If work is counted, a point must not depend on the time of other points, so all points get equal shares.
        share = control.child(1 / (len(programs) if control.counts_work else len(programs) - k))
        with suppress(InputError):
            points.append(_ordered_point(graph, costs, runs, share, is_ordered))
    return points


def point_of_order(
    graph: OperationGraph, costs: Sequence[int], search: OrderSearch, limit: int, control: Control
) -> RecomputedPoint | None:
    """Plan a search's best orders; return the point (planned program) within the limit or closest to it, or None."""

    def placement_problem(order: Sequence[int]) -> Problem:
        return _problem_of_program(clone_graph(graph, order))

    with control.search_control(WORK_PER_S) as watched:
        search.set_control(watched)
        orders = PlannedOrders(
            graph, search, search.best_order(), placement_problem, watched, control.remaining_s, limit
        )
        best = orders.best_order("alive")
    if best.plan.peak is None:
        return None
    program = clone_graph(graph, best.order)
    return _checked_point(
        graph, costs, program, search.bound_inside, PlanAndProblem(problem=best.problem, plan=best.plan)
    )


def _ordered_point(
    graph: OperationGraph, costs: Sequence[int], runs: Sequence[int], control: Control, is_ordered: bool
) -> RecomputedPoint:
    """Plan a program and return its point; unless `is_ordered`, first search for a better order of its runs."""
    program = clone_graph(graph, runs)
    # The time has five equal shares: at most three for orders, one for the lower bound, and the rest for the plan.
    share_s = control.remaining_s / 5
    is_late = is_ordered or (not control.counts_work and share_s < _PREPARED_S * len(program.runs) ** 2)
    for _ in range(0 if is_late else _SETTLED_AFTER):
        result = order_with_control(program.graph, control.limit_to(share_s))
        again = clone_graph(graph, [program.runs[k] for k in result.order])
        is_settled, program = again.runs == program.runs, again
        if is_settled:
            break
    first = {v: k for k, v in reversed([*enumerate(program.runs)])}
    clones = tuple(v for k, v in enumerate(program.runs) if first[v] != k)
    # If time is short, a plan matters more than a bound, so the plan of a cloned program or large graph gets all time.
    is_all = is_late and (is_ordered or bool(clones) or len(graph.ops) > LARGEST)
    plan_s = control.remaining_s if is_all else share_s if control.counts_work else control.remaining_s - share_s
    placed = _plan_program(program, plan_s, control)
    if is_late:
        bound = bound_unsearched(relax_clones(graph, clones))[0]
    elif clones:
        # The program's own bound would hold only for its assignment of readers to clones, so bound a relaxed graph.
        bound = order_with_control(relax_clones(graph, clones), control.limit_to(share_s)).lower_bound
    else:
        bound = result.lower_bound
    return _checked_point(graph, costs, program, bound, placed)


def _checked_point(
    graph: OperationGraph, costs: Sequence[int], program: CloneGraph, bound: int, placed: PlanAndProblem
) -> RecomputedPoint:
    """Execute a program on the addresses of its plan, and return the point of the plan.

    Raises InvalidPlanError if the program computes wrong values on the plan.
    """
    _verify_by_execution(graph, program, placed)
    peak = placed.plan.peak or 0
    first = {v: k for k, v in reversed([*enumerate(program.runs)])}
    return RecomputedPoint(
        peak=peak,
        live_peak=peak_of(program.graph, range(len(program.runs))),
        lower_bound=bound,
        status="optimal" if peak == bound else "feasible",
        extra_cost=sum(costs[v] for v in program.runs) - sum(costs),
        clones=tuple(v for k, v in enumerate(program.runs) if first[v] != k),
        order=program.runs,
        placed=placed,
    )


def _reserve_workspaces(program: CloneGraph) -> OperationGraph:
    """Return a program's graph in which large enough workspaces replace the regions of operations.

    The check of a program counts one workspace for each operation, and does not execute regions.
    """
    roomy = enlarge_workspaces_for_regions(program.graph, alignment=1)
    if not any(row.regions for row in roomy.ops):
        return roomy
    return replace_fields(roomy, ops=tuple(row.model_copy(update={"regions": ()}) for row in roomy.ops))


def _problem_of_program(program: CloneGraph) -> Problem:
    return problem_of_order(_reserve_workspaces(program), range(len(program.runs)))


def _plan_program(program: CloneGraph, time_limit_s: float, control: Control) -> PlanAndProblem:
    """Plan a program; return the plan with its problem. Raises TimeOverError if the time suffices for no plan."""
    problem = _problem_of_program(program)
    deterministic, cancelled = control.counts_work, Control(cancelled=control.cancelled)
    least_s = _LEAST_S + _LEAST_OF_EACH_S * len(program.runs)
    plan = solve(problem, time_limit_s=max(time_limit_s, least_s), deterministic=deterministic, control=cancelled)
    if plan.peak is None:
        # Cancellation ended the search before it found a plan, so try once more without cancellation.
        plan = solve(problem, time_limit_s=least_s, deterministic=deterministic)
    if plan.peak is None:
        raise TimeOverError(f"time_limit_s: must be enough for a plan of {count_text(len(problem.buffers), 'tensor')}")
    return PlanAndProblem(problem=problem, plan=plan)


def _verify_by_execution(graph: OperationGraph, program: CloneGraph, placed: PlanAndProblem) -> None:
    """Raise InvalidPlanError unless a program that runs on its plan computes the values of the given graph."""
    order = range(len(program.runs))
    at = {row.id: row.offset for row in placed.plan.placements}
    offsets = [at.get(f"tensor_{t}", -1) for t in range(len(program.graph.size))]
    works = [at.get(f"work_{k}", -1) for k in order]
    try:
        check_rewriting(graph, _reserve_workspaces(program), program.runs, program.tensors, order, (offsets, works))
    except OperationsError as error:
        raise InvalidPlanError(f"program: {error}") from error
