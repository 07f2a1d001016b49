"""Tasks as their server sees them, over all the workers that each may need."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from memplan.api.cluster.task import NoAnswerError, Task, WorkAnswer, WorkTask
from memplan.api.refusals import UnavailableError
from memplan.planner.model.plan import StopReason
from memplan.solvers.portfolio.one_search import Solve
from memplan.solvers.search.control import Control
from memplan.solvers.search.deadline import Deadline
from memplan.solvers.search.result import Progress, SolveResult

_GRACE_S: dict[StopReason, float] = {"time_limit": 0.25, "cancelled": 3.0}
"""The time in which a worker that was told to end is expected to answer."""


class _Begun:
    """What a worker has begun with: the time of a job counts from then, and anew where its worker is lost."""

    task: Task | WorkTask
    is_too_heavy = False
    """True once its memory has ended its worker: it is sent to no other one."""
    _due: Deadline | None = None

    @property
    def due(self) -> Deadline:
        """The moment at which a worker is to end, or without an answer there is none."""
        return self._due or self.task.deadline

    def begun(self) -> None:
        """Hear that a worker has begun."""
        self._due = self.task.due()


@dataclass(eq=False)
class PendingSolve(_Begun):
    """A task that is to be answered by its deadline, and the best result known."""

    task: Task
    on_progress: Callable[[Progress], None] | None = None
    best: SolveResult | None = None
    _told: tuple[int | None, int] | None = None

    @property
    def has_result(self) -> bool:
        """True where something is known already, should the worker be lost."""
        return self.best is not None or self.task.start is not None

    @property
    def due(self) -> Deadline:
        """The moment at which a worker is to end, so early that its plan can be brought back."""
        return super().due if self.task.limit_s is not None else self.task.deadline.earlier(self.task.carry_s)

    def grace_s(self, reason: StopReason) -> float:
        """The time in which a worker that was told to end is expected to answer."""
        return _GRACE_S[reason] + self.task.carry_s

    def rest(self) -> Task:
        """Return what is left of the task, from the best plan known; a deterministic one starts as it always does."""
        start, self._due = self.task.start, None
        if self.best is not None and not self.task.options.deterministic:
            start = self.best.plan
        return replace(self.task, start=start, deadline=self.task.deadline.earlier(self.task.carry_s))

    def hear(self, told: tuple[Progress, ...]) -> None:
        """Take the progress that a worker tells, and pass on what is new in it."""
        for progress in told:
            self.best = progress.found or self.best
            is_new = self._told != (progress.peak, progress.lower_bound)
            if self.on_progress is not None and (progress.found is not None or is_new):
                self._told = progress.peak, progress.lower_bound
                self.on_progress(progress if self.task.wants_plans else replace(progress, found=None))

    def finished(self, found: SolveResult, reason: StopReason | None) -> SolveResult:
        """Return a worker's result with the time that the whole solve took, and the reason why it was ended, if so."""
        elapsed_s = None if found.elapsed_s is None else (self._due or self.task.deadline).passed_s
        stop_reason = reason if found.stop_reason == "cancelled" else found.stop_reason
        return replace(found, elapsed_s=elapsed_s, stop_reason=stop_reason)

    def best_known(self, reason: StopReason) -> SolveResult:
        """Return the best result known without more searching, verified, or an honest `unknown`."""
        over = threading.Event()
        over.set()
        start = self.task.start if self.best is None else self.best.plan
        options = self.task.options.model_copy(update={"solver": "auto", "accept": None, "deterministic": False})
        found = Solve(self.task.problem, options, Control(self.task.deadline, over), start=start).finish()
        return found if found.stop_reason == "proved" else replace(found, stop_reason=reason)


@dataclass(eq=False)
class PendingWork(_Begun):
    """A request that is to be answered by its deadline; what a lost worker had found is lost with it."""

    task: WorkTask
    on_progress: Callable[[Mapping[str, Any]], None] | None = None

    @property
    def has_result(self) -> bool:
        """False: nothing is kept of what a worker did before it was lost."""
        return False

    def rest(self) -> WorkTask:
        """Return the task, to be begun anew with the time that is left."""
        self._due = None
        return replace(self.task, deadline=self.task.deadline.earlier(self.task.carry_s))

    def hear(self, told: tuple[Mapping[str, Any], ...]) -> None:
        """Pass on what a worker tells."""
        for one in told:
            if self.on_progress is not None:
                self.on_progress(one)

    def grace_s(self, reason: StopReason) -> float:
        """The time in which a worker that was told to end is expected to answer."""
        grace_s = self.task.grace_s if reason == "time_limit" else _GRACE_S[reason]
        return grace_s if self.task.limit_s is None else grace_s + self.task.carry_s

    def finished(self, found: WorkAnswer, _reason: StopReason | None) -> WorkAnswer:
        """Return a worker's answer, and pass on what it had not told yet."""
        self.hear(found.told)
        return replace(found, told=())

    def best_known(self, reason: StopReason) -> WorkAnswer:
        """Raise NoAnswerError, UnavailableError where it was cancelled: without a worker's answer there is none."""
        if reason == "cancelled":
            raise UnavailableError(f"{self.task.kind}: was cancelled before there was an answer")
        raise NoAnswerError(f"{self.task.kind}: no answer came within its time limit")
