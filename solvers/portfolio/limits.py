"""What ends a search or a study, and its solves, before the time is over."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import SolveControl
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.deadline import Deadline


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What ends a search or study early; no clock ends a `deterministic` one, which states the same everywhere."""

    cancelled: threading.Event | None = None
    deterministic: bool = False

    @property
    def is_cancelled(self) -> bool:
        """True once the caller has given up."""
        return self.cancelled is not None and self.cancelled.is_set()

    def is_over(self, deadline: Deadline) -> bool:
        """Return True once the study is to end, where it has this deadline."""
        return self.is_cancelled or (not self.deterministic and deadline.left_s <= 0)

    def wall_time_s(self, deadline: Deadline) -> float | None:
        """Return the seconds that a study took; None for a deterministic one."""
        return None if self.deterministic else round(deadline.passed_s, 6)

    def solved(self, problem: Problem, limit_s: float, *, accept: str | None = None, start: Plan | None = None) -> Plan:
        """Return the plan of a solve within these limits."""
        control = SolveControl(cancelled=self.cancelled, start=start)
        return solve(problem, time_limit_s=limit_s, accept=accept, deterministic=self.deterministic, control=control)


UNLIMITED = Limits()
