"""The points of a frontier: each program is ordered, planned, and checked by execution."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from memplan.extensions.networks.lifetimes.ordered import problem_of_order
from memplan.extensions.networks.operations.graph import OperationGraph
from memplan.extensions.networks.operations.graph_variants import replace_fields
from memplan.extensions.networks.operations.order_check import peak_of
from memplan.extensions.networks.order.answer import RecomputedPoint
from memplan.extensions.networks.order.placement import PlannedOrders
from memplan.extensions.networks.order.room_inside import add_region_room
from memplan.extensions.networks.order.search.solve import WORK_PER_S, OrderSearch, bound_unsearched, order_unplanned
from memplan.extensions.recompute.clone_check import check_rewriting
from memplan.extensions.recompute.rewrite import CloneGraph, clone_graph, relax_clones
from memplan.extensions.recompute.snapshots import LARGEST
from memplan.planner.errors import InputError, InvalidPlanError, OperationsError, TimeOverError, count_text
from memplan.planner.model.problem import Problem
from memplan.questions.inputs import PlanAndProblem
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control

_SETTLED_AFTER = 3
_LEAST_S, _LEAST_OF_EACH_S = 0.25, 2e-5
"""The time that a plan has at least, and as much again for each operation."""
PLANNED_S = 6e-5
"""The time for each operation of writing, planning and checking a program of a large graph."""
_PREPARED_S = 1e-6
"""The preparation time of an order search, multiplied by the square of the operations."""


def points_of(
    graph: OperationGraph,
    costs: Sequence[int],
    programs: Sequence[Sequence[int]],
    control: Control,
    *,
    is_ordered: bool = False,
) -> list[RecomputedPoint]:
    """Order, plan and check each program, the first one even without time left; skip programs that are not graphs.

    Programs that are as good as ordered are not ordered again.
    """
    points: list[RecomputedPoint] = []
    for k, runs in enumerate(programs):
        if k > 0 and (control.cancelled.is_set() or (k > 1 and control.is_over)):
            break
        # Counted work has no clock to share, so every point gets the same.
        share = control.child(1 / (len(programs) if control.counts_work else len(programs) - k))
        with suppress(InputError):
            points.append(_point(graph, costs, runs, share, is_ordered))
    return points


def point_of_order(
    graph: OperationGraph, costs: Sequence[int], search: OrderSearch, limit: int, control: Control
) -> RecomputedPoint | None:
    """Plan the best orders of a search, as `order` does, until a plan is within a limit; None if there is no plan."""

    def pose(order: Sequence[int]) -> Problem:
        return _problem_of(clone_graph(graph, order))

    with control.search_control(WORK_PER_S) as watched:
        search.use(watched)
        orders = PlannedOrders(graph, search, search.best_order(), pose, watched, control.remaining_s, limit)
        best = orders.best_order("alive")
    if best.plan.peak is None:
        return None
    program = clone_graph(graph, best.order)
    return _point_of(graph, costs, program, search.bound_inside, PlanAndProblem(problem=best.problem, plan=best.plan))


def _point(
    graph: OperationGraph,
    costs: Sequence[int],
    runs: Sequence[int],
    control: Control,
    is_ordered: bool,
) -> RecomputedPoint:
    """Order operations and clones until each reader uses the intended clone."""
    program = clone_graph(graph, runs)
    # A fifth for each of three orders at most, one for the plan, and one for the bound.
    share_s = control.remaining_s / 5
    is_late = is_ordered or (not control.counts_work and share_s < _PREPARED_S * len(program.runs) ** 2)
    for _ in range(0 if is_late else _SETTLED_AFTER):
        result = order_unplanned(program.graph, control.limit_to(share_s))
        again = clone_graph(graph, [program.runs[k] for k in result.order])
        is_settled, program = again.runs == program.runs, again
        if is_settled:
            break
    first = {v: k for k, v in reversed([*enumerate(program.runs)])}
    clones = tuple(v for k, v in enumerate(program.runs) if first[v] != k)
    # All of a short time is for the plan, where something runs again, or nothing else can be done.
    is_all = is_late and (bool(clones) or len(graph.ops) > LARGEST)
    placed = _plan_program(program, control.remaining_s if is_all else share_s, control)
    if is_late:
        bound = bound_unsearched(relax_clones(graph, clones))[0]
    elif clones:
        # A search of the program has fixed which clone each reader takes: its bound holds for that choice alone.
        bound = order_unplanned(relax_clones(graph, clones), control.limit_to(share_s)).lower_bound
    else:
        bound = result.lower_bound
    return _point_of(graph, costs, program, bound, placed)


def _point_of(
    graph: OperationGraph, costs: Sequence[int], program: CloneGraph, bound: int, placed: PlanAndProblem
) -> RecomputedPoint:
    """Return the point of a program's plan, once the program was run on it.

    Raises InvalidPlanError for a plan that it cannot run on.
    """
    _run_on(graph, program, placed)
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
    """Return a program whose regions are replaced by the workspace that they need.

    The check of a program counts one workspace for each operation, and does not look inside of operations.
    """
    roomy = add_region_room(program.graph, alignment=1)
    if not any(row.regions for row in roomy.ops):
        return roomy
    return replace_fields(roomy, ops=tuple(row.model_copy(update={"regions": ()}) for row in roomy.ops))


def _problem_of(program: CloneGraph) -> Problem:
    return problem_of_order(_reserve_workspaces(program), range(len(program.runs)))


def _plan_program(program: CloneGraph, time_limit_s: float, control: Control) -> PlanAndProblem:
    """Plan a program; raises TimeOverError where there was no time for any plan."""
    problem = _problem_of(program)
    deterministic, cancelled = control.counts_work, Control(cancelled=control.cancelled)
    least_s = _LEAST_S + _LEAST_OF_EACH_S * len(program.runs)
    plan = solve(problem, time_limit_s=max(time_limit_s, least_s), deterministic=deterministic, control=cancelled)
    if plan.peak is None:
        # Time ended before there was any plan.
        plan = solve(problem, time_limit_s=least_s, deterministic=deterministic)
    if plan.peak is None:
        raise TimeOverError(f"time_limit_s: must be enough for a plan of {count_text(len(problem.buffers), 'tensor')}")
    return PlanAndProblem(problem=problem, plan=plan)


def _run_on(graph: OperationGraph, program: CloneGraph, placed: PlanAndProblem) -> None:
    """Check by execution that a program computes the same on its plan."""
    order = range(len(program.runs))
    at = {row.id: row.offset for row in placed.plan.placements}
    offsets = [at.get(f"tensor_{t}", -1) for t in range(len(program.graph.size))]
    works = [at.get(f"work_{k}", -1) for k in order]
    try:
        check_rewriting(graph, _reserve_workspaces(program), program.runs, program.tensors, order, (offsets, works))
    except OperationsError as error:
        raise InvalidPlanError(f"program: {error}") from error
