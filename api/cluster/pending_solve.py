"""One solve as its server sees it: what is known of it so far, over all the workers that it may need."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from memplan.api.cluster.task import Task
from memplan.planner.model.plan import StopReason
from memplan.solvers.portfolio.options import SolveControl
from memplan.solvers.portfolio.solve import solve_request
from memplan.solvers.search.result import Progress, SolveResult

_PLAN_EVERY_S, _SPARE_PLAN_EVERY_S = 1.0, 5.0
_CARRY_S = 4e-6
"""What bringing one buffer to a worker and its placement back takes."""


@dataclass(eq=False)
class PendingSolve:
    """A task that is to be answered by its deadline, and the best result known."""

    task: Task
    on_progress: Callable[[Progress], None] | None = None
    best: SolveResult | None = None
    _next_plan_at: float = field(init=False)
    _told: tuple[int | None, int] | None = None

    def __post_init__(self) -> None:
        self._next_plan_at = time.monotonic() + _PLAN_EVERY_S + self.carry_s

    @property
    def carry_s(self) -> float:
        """How long bringing the task and its answer takes."""
        return _CARRY_S * len(self.task.problem.buffers)

    def rest(self) -> Task:
        """Return what is left of the task, from the best plan known; a deterministic one starts as it always does."""
        deadline, start = self.task.deadline.earlier(self.carry_s), self.task.start
        if self.best is not None and not self.task.options.deterministic:
            start = self.best.plan
        return replace(self.task, start=start, deadline=deadline)

    def wants_plan(self) -> bool:
        """Say whether it is time for the best plan to be sent."""
        now = time.monotonic()
        if now < self._next_plan_at:
            return False
        every_s = _PLAN_EVERY_S if self.task.wants_plans else _SPARE_PLAN_EVERY_S
        self._next_plan_at = now + max(every_s, 20 * self.carry_s)
        return True

    def hear(self, told: tuple[Progress, ...]) -> None:
        """Take the progress that a worker tells, and pass on what is new in it."""
        for progress in told:
            self.best = progress.found or self.best
            is_new = self._told != (progress.peak, progress.lower_bound)
            if self.on_progress is not None and (progress.found is not None or is_new):
                self._told = progress.peak, progress.lower_bound
                self.on_progress(progress if self.task.wants_plans else replace(progress, found=None))

    def best_known(self, reason: StopReason) -> SolveResult:
        """Return the best result known without more searching, verified, or an honest `unknown`."""
        over = threading.Event()
        over.set()
        start = self.task.start if self.best is None else self.best.plan
        options = self.task.options.model_copy(update={"solver": "auto", "accept": None, "deterministic": False})
        found = solve_request(self.task.problem, options, SolveControl(self.task.deadline, over, start=start))
        return found if found.stop_reason == "proved" else replace(found, stop_reason=reason)
