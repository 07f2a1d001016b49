"""Workers for tests of who asks them: they solve when they are told to, and remember what they were sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from memplan.api.cluster.task import News, Task
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve


class PatientWorkers:
    """Solves nothing until `may_answer` is set, or the caller is cancelled; then it answers with what it started from.

    Where that is nothing, it packs quickly.
    """

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.cancelled = 0
        self.may_answer = asyncio.Event()
        self.is_asked = asyncio.Event()
        self.tell: Callable[[News], None] | None = None

    async def solve(
        self,
        task: Task,
        *,
        deadline: float,
        priority: int = 0,
        on_news: Callable[[News], None] | None = None,
        cancelled: asyncio.Event,
    ) -> Plan:
        self.tasks.append(task)
        self.tell = on_news
        self.is_asked.set()
        waiting = {asyncio.create_task(event.wait()) for event in (self.may_answer, cancelled)}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for wait in waiting:
            wait.cancel()
        self.cancelled += cancelled.is_set()
        plan = task.start or packed(task.problem)
        return plan.model_copy(update={"stop_reason": "cancelled" if cancelled.is_set() else "time_limit"})


def packed(problem: Problem) -> Plan:
    """Return a plan that is not proved: that of one order."""
    return solve(problem, solver="greedy", accept="fit")
