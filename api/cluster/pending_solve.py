"""A solve as its server sees it: its task and the best result known, over all the workers that it may need."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from memplan.api.cluster.task import Task
from memplan.planner.model.plan import StopReason
from memplan.solvers.portfolio.options import SolveControl
from memplan.solvers.portfolio.solve import solve_request
from memplan.solvers.search.result import Progress, SolveResult


@dataclass(eq=False)
class PendingSolve:
    """A task that is to be answered by its deadline, and the best result known."""

    task: Task
    on_progress: Callable[[Progress], None] | None = None
    best: SolveResult | None = None
    _told: tuple[int | None, int] | None = None

    def rest(self) -> Task:
        """Return what is left of the task, from the best plan known; a deterministic one starts as it always does."""
        start = self.task.start if self.task.options.deterministic or self.best is None else self.best.plan
        return replace(self.task, start=start, deadline=self.task.deadline.earlier(self.task.carry_s))

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
