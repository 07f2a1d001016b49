"""Questions whether problems fit, again and again within one deadline; plans that say so were verified."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Literal

from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio import registry
from memplan.solvers.portfolio.options import SolveControl, SolveOptions
from memplan.solvers.portfolio.solve import Solve
from memplan.solvers.search.deadline import Deadline

Answer = Literal["fits", "no", "open"]
_PROVERS = ("exact", "memory-choice")
"""The solvers that prove without a process of their own."""
_SHARE = 0.34
"""The part of the time that is left which one question may take."""
_LEAST_S = 0.02


@dataclass(eq=False)
class Asking:
    """Questions whether problems fit, until a deadline; `calls` counts them, `opens` those that stayed open.

    In a `deterministic` one no clock decides: each question has the same work, and there are `most_calls`.
    """

    deadline: Deadline
    call_limit_s: float = 2.0
    cancelled: threading.Event | None = None
    deterministic: bool = False
    most_calls: int = 1_000
    calls: int = 0
    opens: int = 0
    last: Plan | None = None

    @property
    def is_over(self) -> bool:
        """True once nothing more is asked."""
        if self.cancelled is not None and self.cancelled.is_set():
            return True
        return self.calls >= self.most_calls if self.deterministic else self.deadline.left_s <= 0

    def fits(self, problem: Problem, is_quick: bool | None = None) -> Answer:
        """Return the answer for a problem: `no` is proved, `fits` comes with a verified plan, in `last`.

        A quick question asks no solver that needs a process of its own; by default, where others can prove.
        """
        if self.is_over:
            self.opens += 1
            return "open"
        self.calls += 1
        limit_s = self.call_limit_s
        if not self.deterministic:
            limit_s = max(_LEAST_S, min(limit_s, self.deadline.left_s * _SHARE))
        instance = compile_problem(problem)
        if is_quick is None:
            is_quick = any(instance.features <= registry.BY_NAME[name].can for name in _PROVERS)
        options = SolveOptions.model_construct(
            time_limit_s=limit_s, solver="auto", accept="fit", seed=0, deterministic=self.deterministic
        )
        control = SolveControl(cancelled=self.cancelled, is_quick=is_quick)
        self.last = Solve(problem, options, control, instance).finish().plan
        if self.last.status in ("optimal", "feasible"):
            return "fits"
        if self.last.status == "infeasible":
            return "no"
        self.opens += 1
        return "open"
