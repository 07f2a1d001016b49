"""What is sent to a worker, what comes back while it works, and what can go wrong with workers."""

from __future__ import annotations

from dataclasses import dataclass

from memplan.api.options import Options
from memplan.planner.errors import MemplanError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem


class LostWorkersError(MemplanError):
    """A task lost its worker again and again, and is given up."""


class WorkFailedError(MemplanError):
    """The program failed in a worker, whose log says where."""


@dataclass(frozen=True, eq=False)
class Task:
    """One solve, all that a worker needs of it.

    `time_limit_s` is what is left of the options' own when it is sent; `start` is the best plan known. `wants_plans`
    asks for better plans as they are found, about one a second; without, only their numbers are sent, and a plan now
    and then, to go on from should the worker be lost.
    """

    problem: Problem
    options: Options
    time_limit_s: float
    start: Plan | None = None
    wants_plans: bool = False


@dataclass(frozen=True, eq=False)
class News:
    """A better plan or bound, on its way: numbers in bytes, who found it, and the plan (verified) where it was sent."""

    peak: int | None
    lower_bound: int
    gap: float | None
    solver: str
    elapsed_s: float
    plan: Plan | None = None
