"""The points of a frontier: each program is ordered, planned, and checked by execution."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from memplan.capabilities.inputs import PlanAndProblem
from memplan.capabilities.order.answer import RecomputedPoint
from memplan.capabilities.order.room_inside import with_room_inside
from memplan.capabilities.order.search.solve import bound_unsearched, order_unplanned
from memplan.planner.errors import InputError, InvalidPlanError, OperationsError, TimeOverError, counted
from memplan.planner.liveness.ordered import problem_of_order
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.operations.graph_variants import replaced
from memplan.planner.operations.order_check import peak_of
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control
from memplan_recompute.clone_check import check_rewriting
from memplan_recompute.rewrite import Rewritten, relaxed, rewritten
from memplan_recompute.snapshots import LARGEST

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
    """Order, plan and check each program, the first in any case; programs that are no graphs are skipped.

    Where programs are as good as ordered, all of the time is for their plans.
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


def _point(
    graph: OperationGraph, costs: Sequence[int], runs: Sequence[int], control: Control, is_ordered: bool
) -> RecomputedPoint:
    """Order operations and clones until each reader uses the intended clone."""
    program = rewritten(graph, runs)
    # A fifth for each of three orders at most, one for the plan, and one for the bound.
    share_s = control.left_s / 5
    is_late = is_ordered or (not control.counts_work and share_s < _PREPARED_S * len(program.runs) ** 2)
    for _ in range(0 if is_late else _SETTLED_AFTER):
        result = order_unplanned(program.graph, control.within(share_s))
        again = rewritten(graph, [program.runs[k] for k in result.order])
        is_settled, program = again.runs == program.runs, again
        if is_settled:
            break
    first = {v: k for k, v in reversed([*enumerate(program.runs)])}
    clones = tuple(v for k, v in enumerate(program.runs) if first[v] != k)
    # All of a short time is for the plan, where something runs again, or nothing else can be done.
    is_all = is_late and (bool(clones) or len(graph.ops) > LARGEST)
    placed = _placed(graph, program, control.left_s if is_all else share_s, control)
    peak = placed.plan.peak or 0
    if is_late:
        bound = bound_unsearched(relaxed(graph, clones))[0]
    elif clones:
        # A search of the program has fixed which clone each reader takes: its bound holds for that choice alone.
        bound = order_unplanned(relaxed(graph, clones), control.within(share_s)).lower_bound
    else:
        bound = result.lower_bound
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
    """Plan a program with clones, then check by execution that it computes the same.

    Raises InvalidPlanError for a plan that the program cannot run on, TimeOverError where there was no time for any.
    """
    order = range(len(program.runs))
    # The check of a program counts one workspace for each operation, and does not look inside of operations.
    roomy = with_room_inside(program.graph, alignment=1)
    has_regions = any(row.regions for row in roomy.ops)
    ops = tuple(row.model_copy(update={"regions": ()}) for row in roomy.ops) if has_regions else ()
    whole = replaced(roomy, ops=ops) if has_regions else roomy
    problem = problem_of_order(whole, order)
    deterministic, cancelled = control.counts_work, Control(cancelled=control.cancelled)
    least_s = _LEAST_S + _LEAST_OF_EACH_S * len(order)
    plan = solve(problem, time_limit_s=max(time_limit_s, least_s), deterministic=deterministic, control=cancelled)
    if plan.peak is None:
        # The end came before any plan was there.
        plan = solve(problem, time_limit_s=least_s, deterministic=deterministic)
    if plan.peak is None:
        raise TimeOverError(f"time_limit_s: must be enough for a plan of {counted(len(problem.buffers), 'tensor')}")
    at = {row.id: row.offset for row in plan.placements}
    offsets = [at.get(f"tensor_{t}", -1) for t in range(len(program.graph.size))]
    works = [at.get(f"work_{k}", -1) for k in order]
    try:
        check_rewriting(graph, whole, program.runs, program.tensors, order, (offsets, works))
    except OperationsError as error:
        raise InvalidPlanError(f"program: {error}") from error
    return PlanAndProblem(problem=problem, plan=plan)
