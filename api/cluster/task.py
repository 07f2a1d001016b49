"""The tasks that are sent to workers, their answers, and the errors of workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from memplan.planner.errors import InputError, MemplanError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.search.control import Control
from memplan.solvers.search.deadline import Deadline

_CARRY_S, _CARRY_BYTE_S = 4e-6, 1e-7
"""The seconds that bringing one buffer to a worker and its placement back takes; and one byte of another request."""


class LostWorkersError(MemplanError):
    """A task lost its worker again and again, and is given up."""


class NoAnswerError(MemplanError):
    """A request of another kind than a plan had no answer in its time, which leaves nothing to tell."""


class TooMuchMemoryError(InputError):
    """A request takes more memory than a worker has."""

    def __init__(self, *sentences: str) -> None:
        super().__init__(*(sentences or ("memplan: must be answered with the memory of one worker, and needs more",)))


class WorkFailedError(MemplanError):
    """The program failed in a worker, whose log says where."""


class _Timed:
    """What is due at its deadline, or `limit_s` after a worker has begun with it, where that is given and earlier."""

    deadline: Deadline
    limit_s: float | None

    def due(self) -> Deadline:
        """Return when the answer is due of a worker that begins now."""
        if self.limit_s is None:
            return self.deadline
        begun = Deadline.after(self.limit_s)
        return Deadline(begun.began, min(begun.at, self.deadline.at))


@dataclass(frozen=True, eq=False)
class Task(_Timed):
    """One solve, all that a worker needs of it.

    `start` is the best plan known. `wants_plans` asks for better plans as they are found, about one a second; without,
    only their numbers are sent, and a plan now and then, to go on from should the worker be lost.
    """

    problem: Problem
    options: SolveOptions
    deadline: Deadline
    start: Plan | None = None
    wants_plans: bool = False
    limit_s: float | None = None

    @property
    def carry_s(self) -> float:
        """The seconds that bringing the task to a worker and its answer back takes."""
        return _CARRY_S * len(self.problem.buffers)


@dataclass(frozen=True)
class WorkAnswer:
    """The bytes of an answer, as they go to the caller, its status where it has one, and whether it is a plan.

    `told` is the progress that was not sent before.
    """

    content: bytes
    status: str | None = None
    is_plan: bool = False
    told: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, eq=False)
class WorkTask(_Timed):
    """One request of another kind than a plan: bytes, options, and the function that answers it in a worker.

    The function is one of a module, since its name is sent; it raises MemplanError. It may take `grace_s` longer than
    it is due; what it notes, a WorkAnswer, is given where none has come by then.
    """

    run: Callable[[WorkTask, Control], WorkAnswer]
    kind: str
    media: str
    body: bytes
    options: Mapping[str, Any]
    deadline: Deadline
    grace_s: float
    limit_s: float | None = None
    wants_plans: bool = False

    @property
    def carry_s(self) -> float:
        """The seconds that bringing the task to a worker and its answer back takes."""
        return _CARRY_BYTE_S * len(self.body)
