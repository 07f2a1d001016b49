"""Clusters for tests: real ones, and tasks that are soon solved, or never."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from distributed import Scheduler, Status

from memplan.api.cluster.cluster import Cluster
from memplan.api.cluster.task import Task
from memplan.api.options import Options
from memplan.api.settings import Settings
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.search.deadline import Deadline

PATIENCE_S = 60.0
NOWHERE = "tcp://127.0.0.1:9"
"""Where no scheduler is."""
SMALL = Problem.model_validate(
    {"buffers": [{"id": i, "size": 64 + i, "start": i, "end": i + 3} for i in range(8)], "name": "small"}
)


def _hard() -> Problem:
    draw = random.Random(7)
    starts = [draw.randrange(4000) for _ in range(3000)]
    rows = [
        {"id": i, "size": draw.randrange(10_000, 99_999), "start": start, "end": start + draw.randrange(100, 700)}
        for i, start in enumerate(starts)
    ]
    return Problem.model_validate({"buffers": rows, "name": "hard"})


HARD = _hard()
"""A problem that takes too long to prove."""


def task(problem: Problem, limit_s: float = PATIENCE_S, **facts: object) -> Task:
    """Make a task that has its whole time before it; facts beyond Task's are options."""
    start, wants_plans = facts.pop("start", None), bool(facts.pop("wants_plans", False))
    assert start is None or isinstance(start, Plan)
    options = Options.model_validate({"time_limit_s": limit_s, **facts})
    return Task(problem, options, Deadline.after(limit_s), start, wants_plans)


async def solved(cluster: Cluster, asked: Task, cancelled: asyncio.Event | None = None, **options: Any) -> Plan:
    """Solve a task, from now on."""
    anew = replace(asked, deadline=Deadline.after(asked.deadline.at - asked.deadline.began))
    result = await cluster.solve(anew, cancelled=cancelled or asyncio.Event(), **options)
    return result.answer(asked.options.deterministic)


@asynccontextmanager
async def opened(**settings: object) -> AsyncIterator[Cluster]:
    """Open a cluster; with workers=0 it solves in threads of the tests."""
    cluster = await Cluster.open(Settings.model_validate(settings))
    try:
        yield cluster
    finally:
        await cluster.close()


async def soon(is_so: Callable[[], bool]) -> None:
    """Wait until it is so."""
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():
            await asyncio.sleep(0.01)


def scheduled() -> int:
    """Return the number of tasks that the scheduler in this process knows of."""
    running = [one for one in Scheduler._instances if one.status is Status.running]
    return sum(len(one.tasks) for one in running)


def is_no_worse(peak: int | None, than: int | None) -> bool:
    """Say whether there are two peaks, and the first is at most the second."""
    return peak is not None and than is not None and peak <= than
