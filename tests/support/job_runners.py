"""Job runners for tests: real ones, on a store of their own, with a solver that does as it is told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from memplan.api.cluster.task import WorkAnswer
from memplan.api.http.job_requests import new_job
from memplan.api.jobs.event_feed import Following
from memplan.api.jobs.heartbeats import HeartbeatTimes
from memplan.api.jobs.runner import FreePlaces, JobRunner, KeptTimes
from memplan.api.jobs.work import Services
from memplan.api.metrics import Metrics
from memplan.api.options import Options
from memplan.api.service.plan_request import PlanRequest
from memplan.api.service.work_service import WorkRequest
from memplan.api.store.job import StoredJob
from memplan.api.store.store import Store
from memplan.api.store.tables.arrivals import JobLimits
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.result import Progress, SolveResult

PROBLEM = Problem.model_validate(
    {"buffers": [{"id": "a", "size": 10, "start": 0, "end": 3}, {"id": "b", "size": 20, "start": 2, "end": 5}]}
)
LOOSE = Plan.model_validate(
    {
        "peak": 40,
        "lower_bound": 30,
        "placements": [{"id": "a", "pool": "default", "offset": 0}, {"id": "b", "pool": "default", "offset": 20}],
        "solver": "test",
    }
)
"""A plan of it that is not the best."""
PATIENCE_S = 20.0


@dataclass
class Solver:
    """Solves when it may; until then its progress is told, and a cancelled request gets the loose plan."""

    may_solve: asyncio.Event = field(default_factory=asyncio.Event)
    error: Exception | None = None
    starts: list[Plan | None] = field(default_factory=list)
    options: list[Options] = field(default_factory=list)
    priorities: list[int] = field(default_factory=list)
    in_work: int = 0

    async def plan(
        self,
        request: PlanRequest,
        cancelled: asyncio.Event,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Plan:
        self.starts.append(request.start)
        self.options.append(request.options)
        self.priorities.append(request.priority)
        assert request.deadline.left_s > 0
        if on_progress is not None:
            on_progress(Progress(0.1, 40, 30, "test", SolveResult(LOOSE)))
        self.in_work += 1
        waits = [asyncio.create_task(self.may_solve.wait()), asyncio.create_task(cancelled.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.in_work -= 1
            for wait in waits:
                wait.cancel()
        if self.error is not None:
            raise self.error
        if cancelled.is_set():
            return LOOSE.model_copy(update={"stop_reason": "cancelled"})
        return solve(request.problem.problem, time_limit_s=request.options.time_limit_s)

    async def work(
        self,
        request: WorkRequest,
        cancelled: asyncio.Event,
        on_progress: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> WorkAnswer:
        if on_progress is not None:
            on_progress({"seen": 1})
            on_progress({"seen": 1})
            on_progress({"seen": 2})
        waits = [asyncio.create_task(self.may_solve.wait()), asyncio.create_task(cancelled.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        if self.error is not None:
            raise self.error
        return WorkAnswer(request.media.encode() + request.body, "done")


@asynccontextmanager
async def job_runner(
    store: Store, solver: Solver, places: int = 1, lease_s: float = PATIENCE_S, following: Following | None = None
) -> AsyncIterator[JobRunner]:
    """Run a job runner until the block ends."""
    found = JobRunner(
        store,
        Services(solver, solver),
        free_places=lambda running: FreePlaces(places - running),
        stir=(following or Following(store)).stir,
        metrics=Metrics(),
        kept=KeptTimes(1000.0),
        times=HeartbeatTimes(beat_s=0.05, lease_s=lease_s),
    )
    found.open()
    try:
        yield found
    finally:
        await found.close()


def submit(store: Store, deterministic: bool = False, **said: object) -> str:
    """Submit the problem; return the job's id."""
    options = Options.model_validate({"time_limit_s": 5.0, "deterministic": deterministic})
    return store.arrivals.add(new_job(PROBLEM, options, **said), JobLimits(jobs=100)).id


def job(store: Store, job_id: str) -> StoredJob:
    """Return a job, which is there."""
    found = store.jobs.find(job_id)
    assert found is not None
    return found


def kinds(store: Store, job_id: str) -> list[str]:
    """Return what happened to a job."""
    return [event.kind for event in store.events.after(job_id, 0)]


async def soon(is_so: Callable[[], bool]) -> None:
    """Wait until it is so."""
    give_up = time.monotonic() + PATIENCE_S
    while not await asyncio.to_thread(is_so):
        assert time.monotonic() < give_up, "it has not come to be"
        await asyncio.sleep(0.01)


async def ended(store: Store, job_id: str) -> StoredJob:
    """Return a job once it has ended."""
    await soon(lambda: job(store, job_id).finished_at is not None)
    return job(store, job_id)


def day(of: Callable[[], Awaitable[None]]) -> None:
    """Run a test that is a coroutine."""

    async def run() -> None:
        await of()

    asyncio.run(run())
