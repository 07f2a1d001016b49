"""Fake workers that record their tasks and answer when the test allows it."""

from __future__ import annotations

import asyncio
import threading

from memplan.api.workers.plan_search import PlanSearch
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.result import SolveResult


class PatientWorkers:
    """Workers that wait for `may_answer`, cancellation or other waiting requests, and then return the warm start.

    Without a start, they return a greedy plan.
    """

    def __init__(self) -> None:
        self.tasks: list[PlanSearch] = []
        self.cancelled = 0
        self.may_answer = asyncio.Event()
        self.is_asked = asyncio.Event()

    async def solve(self, asked: PlanSearch, cancelled: asyncio.Event, is_short: threading.Event) -> SolveResult:
        self.tasks.append(asked)
        self.is_asked.set()
        while not (self.may_answer.is_set() or cancelled.is_set() or is_short.is_set()):
            await asyncio.sleep(0.005)
        self.cancelled += cancelled.is_set()
        plan = asked.start or greedy_plan(asked.problem)
        return SolveResult(plan, stop_reason="time_limit" if self.may_answer.is_set() else "cancelled")


def greedy_plan(problem: Problem) -> Plan:
    return solve(problem, solver="greedy", accept="fit")
