"""Feasibility queries that share one deadline; a positive answer comes with a verified plan."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import ABSENT, column
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.heuristics.ejection import FEATURES, Ejector, conflict_lists
from memplan.solvers.portfolio import registry
from memplan.solvers.portfolio.one_search import OneSearch
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.portfolio.solve import require_valid_plan
from memplan.solvers.search.control import Control

Answer = Literal["fits", "no", "open"]
_PROVERS = ("exact", "memory-choice")
"""The solvers that can prove infeasibility without starting a child process."""
_SHARE = 0.34
"""The maximum share of the remaining time for one query."""
_LEAST_S = 0.02
_ROUNDS = 12
"""The maximum number of ejection rounds per buffer that are tried before a solver is called."""


@dataclass(eq=False)
class Queries:
    """Feasibility queries until a deadline; `calls` counts all queries, and `opens` the undecided ones.

    `last` is the plan of the last query, and `known` the last plan with placements. If the control counts work instead
    of time, each query gets the same amount of work, and at most `most_calls` queries are decided.
    """

    control: Control
    call_limit_s: float = 2.0
    most_calls: int = 1_000
    calls: int = 0
    opens: int = 0
    last: Plan | None = None
    known: Plan | None = None

    @property
    def is_over(self) -> bool:
        """True once the time or the number of queries is used up; every later query is undecided (`open`)."""
        return self.control.is_over or (self.control.counts_work and self.calls >= self.most_calls)

    def fit_answer(self, problem: Problem, is_quick: bool | None = None, share: float = _SHARE) -> Answer:
        """Decide whether a problem fits: `fits` stores a verified plan in `last`, `no` is proved, `open` is undecided.

        A quick query starts no child process; by default, a query is quick if a solver in this process can prove
        infeasibility. The query uses at most the given share of the remaining time.
        """
        if self.is_over:
            self.opens += 1
            return "open"
        self.calls += 1
        limit_s = self.call_limit_s
        if not self.control.counts_work:
            limit_s = max(_LEAST_S, min(limit_s, self.control.deadline.remaining_s * share))
        instance = compile_problem(problem)
        # Ejection (0.1 ms) often makes the last plan fit with few moves, so try it before a solver (1 to 25 ms).
        if not self.control.counts_work and (mended := self._mend_plan(problem, instance)) is not None:
            self.last = self.known = mended
            return "fits"
        if is_quick is None:
            is_quick = any(instance.features <= registry.BY_NAME[name].can for name in _PROVERS)
        self.last = self._solve(problem, instance, limit_s, is_quick=is_quick)
        if self.last.status in ("optimal", "feasible"):
            self.known = self.last
            return "fits"
        if self.last.status == "infeasible":
            return "no"
        self.opens += 1
        return "open"

    def complete_plan(self, problem: Problem, plan: Plan) -> Plan:
        """Return a query's plan with its peak, bound and pools; a plan made by ejection is solved again to get them."""
        if plan.peak is not None:
            return plan
        return self._solve(problem, compile_problem(problem), self.call_limit_s, start=plan)

    def _solve(
        self, problem: Problem, instance: Instance, limit_s: float, start: Plan | None = None, *, is_quick: bool = False
    ) -> Plan:
        options = SolveOptions.model_construct(
            time_limit_s=limit_s, solver="auto", accept="fit", seed=0, deterministic=self.control.counts_work
        )
        control = Control(cancelled=self.control.cancelled)
        search = OneSearch(problem, options, control, start=start, is_quick=is_quick, instance=instance)
        return require_valid_plan(problem, search.finish().plan)

    def _mend_plan(self, problem: Problem, instance: Instance) -> Plan | None:
        """Return the last known plan, repaired by moving buffers (ejection) and verified; None if the repair fails."""
        if self.known is None or not self.known.placements or not instance.features <= FEATURES or len(instance) == 0:
            return None
        placed = self.known.placements
        row = np.array([placed.row_of.get(problem.buffers.ids[i], ABSENT) for i in instance.source], dtype=np.int64)
        offset = np.where(row == ABSENT, ABSENT, placed.offset[row])
        stays = (row != ABSENT) & (offset % instance.unit == 0)
        number = np.array([problem.pool_index.get(name, 0) for name in placed.pool_names], dtype=np.int64)
        near = conflict_lists(instance)
        if near is None or not stays.any():
            return None
        pool = np.where(stays, number[placed.pool[row]], 0)
        home = np.where(stays, offset // instance.unit, ABSENT)
        weight, flag = np.ones_like(home), np.zeros(1, dtype=np.int64)
        is_mended = Ejector(instance, pool, home, weight, near, 0, flag).quick_placement(stays, _ROUNDS)
        if is_mended is None:
            return None
        plan = Plan(
            status="feasible", placements=lift(problem, instance, column(is_mended.pool), column(is_mended.offset))
        )
        # Ejection ignores some constraint kinds, so verify the plan before returning it.
        return None if verify(problem, plan) else plan
