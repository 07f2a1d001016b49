"""Plan services for tests, with workers whose answers the test controls."""

import asyncio
import functools
import inspect
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from lab.families import draw_tight_problem
from memplan.api.metrics import Metrics
from memplan.api.options import Options
from memplan.api.request_bodies import JSON
from memplan.api.requests import head_of, parse_request
from memplan.api.service.admission import AdmissionQueue
from memplan.api.service.answering import Answering, CallerRequest
from memplan.api.service.cache.plan_cache import PlanCache
from memplan.api.service.request_task import RequestTask
from memplan.api.store.store import Store
from memplan.api.store.tables.jobs import JobCounts
from memplan.api.workers.task import Task, TaskControl
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.search.control import Deadline
from tests.support.hard_requests import hard_request
from tests.support.renaming import problem_data, respell
from tests.support.workers import PatientWorkers

QUICK = Problem.model_validate(
    {"buffers": [{"id": "a", "size": 8, "start": 0, "end": 2}, {"id": "b", "size": 4, "start": 1, "end": 3}]}
)
HARD = Problem.model_validate(hard_request()["problem"])
HARD_TOO = Problem.model_validate(respell(problem_data(HARD), random.Random(5), 2))
SMALL = draw_tight_problem(seed=1, n=300, live=20, turnover=3.0)
"""A problem small enough for the quick search, but not proved optimal quickly."""
SMALL_TOO = Problem.model_validate(respell(problem_data(SMALL), random.Random(5), 2))
LONG = Options(time_limit_s=60.0)
_METRICS = Metrics()


@dataclass
class Room:
    """A service with one slot for a search, with its cache, workers and metrics."""

    answering: Answering
    cache: PlanCache
    workers: PatientWorkers
    metrics: Metrics

    async def plan_problem(
        self,
        problem: Problem,
        options: Options = LONG,
        cancelled: asyncio.Event | None = None,
        limit_s: float | None = None,
    ) -> Plan:
        """Return the verified plan of a problem; the deadline is the time limit, unless `limit_s` is given."""
        limit_s = options.time_limit_s if limit_s is None else limit_s
        return await plan_of_service(self.answering, problem, options, limit_s, cancelled)

    def lookups(self) -> dict[str, float]:
        families = text_string_to_metric_families(self.metrics.render(JobCounts({}, {}, 0, 0.0, 0), {}).decode())
        samples = next(one.samples for one in families if one.name == "memplan_cache_lookups")
        return {one.labels["result"]: one.value for one in samples if one.name.endswith("_total")}


class EagerWorkers:
    async def run(self, task: Task, *_: Any) -> Any:
        return task.run(TaskControl(task.deadline_now()), *task.arguments)


class AloneService:
    """A plan service with a separate cache in memory, whose workers are in this process."""

    def __init__(self, store: Store | None = None) -> None:
        self.cache = PlanCache(store)
        self._answering = service_of(self.cache, EagerWorkers(), AdmissionQueue(1, 0), _METRICS)

    async def plan_problem(self, problem: Problem, time_limit_s: float = 10.0) -> Plan:
        return await plan_of_service(self._answering, problem, Options(time_limit_s=time_limit_s), time_limit_s)


def service_of(cache: PlanCache, workers: Any, queue: AdmissionQueue, metrics: Metrics) -> Answering:
    """Return a service whose short work is done at once."""

    async def run_work(work: Callable[[], Any], *_: Any, **__: Any) -> Any:
        return work()

    return Answering(cache, workers, queue, metrics, run_work, 1)


async def plan_of_service(
    service: Answering, problem: Problem, options: Options, limit_s: float, cancelled: asyncio.Event | None = None
) -> Plan:
    content = options.model_dump(mode="json", exclude_defaults=True)
    body = b'{"problem":%b,"options":%b}' % (write_problem(problem), json.dumps(content).encode())
    task, due = RequestTask("plan", head_of(JSON, ""), body), Deadline.from_limit(limit_s)
    call = CallerRequest(task, parse_request(task.kind, task.head, body), due, cancelled or asyncio.Event())
    plan = Plan.model_validate_json((await service.run(call)).content)
    assert verify(problem, plan) == ()
    return plan


def cache_over(store: Store | None) -> PlanCache:
    return PlanCache(store, memory_bytes=2**20)


@asynccontextmanager
async def room(store: Store | None) -> AsyncIterator[Room]:
    cache, workers, metrics = cache_over(store), PatientWorkers(), Metrics()
    yield Room(service_of(cache, workers, AdmissionQueue(1, 1), metrics), cache, workers, metrics)


_MOST_S = 120


def run_in_room(day: Callable[[Room], Awaitable[None]], store: Store | None = None) -> None:
    """Run a coroutine function in an event loop, with a new plan service."""

    async def run() -> None:
        # A test that waits for an answer that never comes must fail instead of hang.
        async with room(store) as found, asyncio.timeout(_MOST_S):
            await day(found)

    asyncio.run(run())


def run_with_room(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Turn a coroutine function into a test function; the test gets a new plan service besides its fixtures."""

    @functools.wraps(test)
    def run(**fixtures: Any) -> None:
        run_in_room(lambda room: test(room, **fixtures))

    signature = inspect.signature(test)
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values()][1:])  # type: ignore[attr-defined]
    return run
