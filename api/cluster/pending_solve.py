"""One solve as its server sees it: what is known of it so far, over all the workers that it may need."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from memplan.api.cluster.task import News, Task
from memplan.planner.model.plan import Plan, StopReason
from memplan.solvers.portfolio.solve import solve

_PLAN_EVERY_S, _SPARE_PLAN_EVERY_S = 1.0, 5.0
_CARRY_S = 4e-6
"""What bringing one buffer to a worker and its placement back takes."""


@dataclass(eq=False)
class PendingSolve:
    """A task that is to be answered by `deadline`, a time.monotonic(), and the best plan known."""

    task: Task
    deadline: float
    on_news: Callable[[News], None] | None = None
    best: Plan | None = None
    _next_plan_at: float = field(init=False)
    _told: tuple[int | None, int] | None = None
    _began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._next_plan_at = self._began + _PLAN_EVERY_S + self.carry_s

    @property
    def carry_s(self) -> float:
        """How long bringing the task and its answer takes."""
        return _CARRY_S * len(self.task.problem.buffers)

    @property
    def wall_time_s(self) -> float:
        """How long it takes already; what the caller had used of its time before counts, too."""
        before_s = max(0.0, self.task.options.time_limit_s - self.task.time_limit_s)
        return time.monotonic() - self._began + before_s

    def rest(self) -> Task:
        """Return what is left of the task, from the best plan known; a deterministic one starts as it always does."""
        left_s = max(0.0, min(self.task.time_limit_s, self.deadline - time.monotonic()) - self.carry_s)
        start = self.task.start if self.task.options.deterministic else self.best or self.task.start
        return replace(self.task, start=start, time_limit_s=left_s)

    def wants_plan(self) -> bool:
        """Say whether it is time for the best plan to be sent."""
        now = time.monotonic()
        if now < self._next_plan_at:
            return False
        every_s = _PLAN_EVERY_S if self.task.wants_plans else _SPARE_PLAN_EVERY_S
        self._next_plan_at = now + max(every_s, 20 * self.carry_s)
        return True

    def hear(self, news: tuple[News, ...]) -> None:
        """Take what a worker tells, and pass on what is new in it."""
        for one in news:
            if one.plan is not None:
                self.best = one.plan
            if self.on_news is not None and (one.plan is not None or self._told != (one.peak, one.lower_bound)):
                self._told = one.peak, one.lower_bound
                self.on_news(one if self.task.wants_plans else replace(one, plan=None))

    def best_known(self, reason: StopReason) -> Plan:
        """Return the best plan known without more searching, verified, or an honest `unknown`."""
        over = threading.Event()
        over.set()
        options = self.task.options
        plan = solve(
            self.task.problem,
            time_limit_s=options.time_limit_s,
            solver="auto",
            cancelled=over,
            started=time.monotonic() - self.wall_time_s,
            start=self.best or self.task.start,
        )
        return plan if plan.stop_reason == "proved" else plan.model_copy(update={"stop_reason": reason})
