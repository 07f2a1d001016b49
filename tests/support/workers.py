"""Workers for tests of their callers: they solve when they are told to, and remember the tasks that they were sent."""

from __future__ import annotations

import asyncio
import threading

from memplan.api.workers.plan_search import PlanSearch
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.result import SolveResult


class PatientWorkers:
    """Solves nothing until `may_answer` is set, or the caller is cancelled; then it answers with what it started from.

    Where that is nothing, it packs quickly.
    """

    def __init__(self) -> None:
        self.tasks: list[PlanSearch] = []
        self.cancelled = 0
        self.may_answer = asyncio.Event()
        self.is_asked = asyncio.Event()

    async def solve(self, asked: PlanSearch, cancelled: asyncio.Event, is_short: threading.Event) -> SolveResult:
        self.tasks.append(asked)
        self.is_asked.set()
        waiting = {asyncio.create_task(event.wait()) for event in (self.may_answer, cancelled)}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for wait in waiting:
            wait.cancel()
        self.cancelled += cancelled.is_set()
        plan = asked.start or packed(asked.problem)
        return SolveResult(plan, stop_reason="cancelled" if cancelled.is_set() else "time_limit")


def packed(problem: Problem) -> Plan:
    """Return a plan that is not proved: that of one order."""
    return solve(problem, solver="greedy", accept="fit")
