"""The task that is sent to a worker, and the errors of workers."""

from __future__ import annotations

from dataclasses import dataclass

from memplan.planner.errors import MemplanError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.search.deadline import Deadline

_CARRY_S = 4e-6
"""The seconds that bringing one buffer to a worker and its placement back takes."""


class LostWorkersError(MemplanError):
    """A task lost its worker again and again, and is given up."""


class WorkFailedError(MemplanError):
    """The program failed in a worker, whose log says where."""


@dataclass(frozen=True, eq=False)
class Task:
    """One solve, all that a worker needs of it.

    `start` is the best plan known. `wants_plans` asks for better plans as they are found, about one a second; without,
    only their numbers are sent, and a plan now and then, to go on from should the worker be lost.
    """

    problem: Problem
    options: SolveOptions
    deadline: Deadline
    start: Plan | None = None
    wants_plans: bool = False

    @property
    def carry_s(self) -> float:
        """The seconds that bringing the task to a worker and its answer back takes."""
        return _CARRY_S * len(self.problem.buffers)
