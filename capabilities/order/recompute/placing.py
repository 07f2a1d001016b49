"""Places for a program with clones: planned, then run on its addresses to see that it computes the same."""

from __future__ import annotations

from dataclasses import dataclass

from memplan.capabilities.order.recompute.rewrite import Rewritten
from memplan.planner.errors import InvalidPlanError, OperationsError, OptionError
from memplan.planner.liveness.ordered import problem_of_order
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.operations.rewriting_check import check_rewriting
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control

_LEAST_S = 0.25
"""The time that a plan has at least."""


@dataclass(frozen=True)
class PlacedProgram:
    """The problem of a program in its given order, and a plan; tensor k is the buffer `tensor_k`."""

    problem: Problem
    plan: Plan


def placed(graph: OperationGraph, form: Rewritten, time_limit_s: float, control: Control) -> PlacedProgram:
    """Plan a program with clones.

    Raises InvalidPlanError for a plan that the program cannot run on, OptionError where the time is too short for any.
    """
    problem = problem_of_order(form.graph, range(len(form.runs)))
    deterministic, cancelled = control.counts_work, Control(cancelled=control.cancelled)
    plan = solve(problem, time_limit_s=max(time_limit_s, _LEAST_S), deterministic=deterministic, control=cancelled)
    if plan.peak is None:
        # The end came before any plan was there, of which the first takes milliseconds.
        plan = solve(problem, time_limit_s=_LEAST_S, deterministic=deterministic)
    if plan.peak is None:
        raise OptionError(f"time_limit_s: must be enough for a plan of {len(problem.buffers):,} tensors")
    at = {row.id: row.offset for row in plan.placements}
    n = len(form.graph.size)
    offsets = [at.get(f"tensor_{t}", -1) for t in range(n)]
    works = [at.get(f"work_{k}", -1) for k in range(len(form.graph.ops))]
    try:
        check_rewriting(graph, form.graph, form.runs, form.tensors, range(len(form.runs)), (offsets, works))
    except OperationsError as error:
        raise InvalidPlanError(f"program: {error}") from error
    return PlacedProgram(problem, plan)
