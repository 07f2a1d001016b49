"""The points of programs with a link: each program is replayed, planned, and executed on its planned addresses."""

from collections.abc import Sequence

from memplan.extensions.recompute.offload.replay import ReplayResult, check_on_addresses, replay_steps
from memplan.extensions.recompute.offload.steps import LinkedGraph, Step, runs_of
from memplan.planner.errors import InvalidPlanError, OperationsError
from memplan.planner.model.problem import Problem
from memplan.programs.order.answer import RecomputedPoint, TimedStep
from memplan.questions.inputs import PlanAndProblem
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control

_PLAN_S = 0.25
"""The minimum time limit for a plan, in seconds."""


def point_of(program: LinkedGraph, steps: Sequence[Step], floor: int, control: Control) -> RecomputedPoint:
    """Replay, plan and execute steps, and return their point; `floor` is a lower bound in bytes on every peak."""
    found, order = replay_steps(program, steps), runs_of(steps)
    first = {v: k for k, v in reversed([*enumerate(order)])}
    placed = _plan_copies(program, steps, found, control)
    peak = placed.plan.peak or 0
    return RecomputedPoint(
        peak=peak,
        live_peak=found.peak,
        lower_bound=floor,
        status="optimal" if peak == floor else "feasible",
        extra_cost=found.time - sum(program.costs),
        clones=tuple(v for k, v in enumerate(order) if first[v] != k),
        order=order,
        steps=tuple(TimedStep(**step._asdict()) for step in steps),
        placed=placed,
    )


def _plan_copies(program: LinkedGraph, steps: Sequence[Step], found: ReplayResult, control: Control) -> PlanAndProblem:
    """Plan the tensor copies and workspaces of a program, and execute the program on the plan.

    Return the plan and its problem, in which times are numbers of steps. Raises InvalidPlanError if values are lost.
    """
    graph = program.graph
    rows = []
    for c, (copy, (first, last)) in enumerate(zip(found.copies, found.alive, strict=True)):
        if graph.working_bytes[copy.tensor] and steps:
            rows.append({"id": f"copy_{c}", "start": first, "end": last + 1, "size": graph.working_bytes[copy.tensor]})
    for k, step in enumerate(steps):
        if step.kind == "run" and graph.ops[step.what].work > 0:
            size = graph.ops[step.what].work
            rows.append({"id": f"work_{k}", "start": k, "end": found.runs_until[k] + 1, "size": size})
    problem = Problem.model_validate({"buffers": rows})
    deterministic, cancelled = control.counts_work, Control(cancelled=control.cancelled)
    plan = solve(
        problem, time_limit_s=max(_PLAN_S, control.remaining_s), deterministic=deterministic, control=cancelled
    )
    if plan.peak is None:
        plan = solve(problem, time_limit_s=_PLAN_S, deterministic=deterministic)
    at = {row.id: row.offset for row in plan.placements}
    offsets = [at.get(f"copy_{c}", -1) for c in range(len(found.copies))]
    works = {k: at[f"work_{k}"] for k in range(len(steps)) if f"work_{k}" in at}
    try:
        check_on_addresses(program, steps, found.copies, offsets, works)
    except OperationsError as error:
        raise InvalidPlanError(f"program: {error}") from error
    return PlanAndProblem(problem=problem, plan=plan)
