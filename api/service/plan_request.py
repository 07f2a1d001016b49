"""One caller's request for a plan."""

from __future__ import annotations

from dataclasses import dataclass

from memplan.api.options import Options
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.planner.model.plan import Plan
from memplan.solvers.search.deadline import Deadline


@dataclass(frozen=True, eq=False)
class PlanRequest:
    """A problem, options, and the deadline of the answer; `start` is a plan that the caller has already.

    A request that may be refused gets a FullError where the admission queue is full, or no place becomes free in time.
    For the others the time limit counts from when they have a place, so that their deadline may be infinite.
    """

    problem: CompiledProblem
    options: Options
    deadline: Deadline
    may_be_refused: bool = False
    start: Plan | None = None
    key_id: str | None = None
