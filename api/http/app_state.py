"""The state that the calls of one server share: settings, store, admission queue, and threads to work in."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import TypeVar, cast

from anyio import CapacityLimiter, to_thread
from fastapi import Request

from memplan.api.cluster.cluster import Cluster, WorkersAt
from memplan.api.http.auth.gate import KeyGate, look_up
from memplan.api.http.limits.held_bodies import HeldBytes
from memplan.api.http.middleware import Streams
from memplan.api.http.requests.readers import LARGE_BYTES, Readers
from memplan.api.http.requests.submissions import GRACE_S
from memplan.api.http.written_answers import WrittenAnswers
from memplan.api.jobs.lifecycle import JobParts, open_jobs
from memplan.api.jobs.work import Services
from memplan.api.metrics import COUNTS_FOLDER, Metrics
from memplan.api.readiness import Check, Readiness, solves_a_tiny_problem
from memplan.api.refusals import NotInTimeError
from memplan.api.service.admission import AdmissionQueue
from memplan.api.service.cache.compiled_problem import Readings
from memplan.api.service.cache.plan_cache import PlanCache
from memplan.api.service.long_places import LongPlaces
from memplan.api.service.plan_service import PlanService
from memplan.api.service.reasoned_plans import ReasonedPlans
from memplan.api.service.recent_keys import RecentKeys
from memplan.api.service.work_service import WorkService
from memplan.api.settings import Settings
from memplan.api.store.api_key import Key
from memplan.api.store.caller import Caller
from memplan.api.store.store import Store
from memplan.solvers.search.deadline import Deadline

T = TypeVar("T")
_NOTE_EVERY_S = 1.0
_WATCHED_AFTER_S = 0.01
"""The time after which it is watched whether a client hangs up: most answers are there sooner, and the task costs."""


@dataclass(frozen=True)
class _Threads:
    """Threads that work for requests, and the turns of those that wait for one."""

    limiter: CapacityLimiter
    turns: AdmissionQueue

    @classmethod
    def of(cls, count: int) -> _Threads:
        """Return so many."""
        return cls(CapacityLimiter(count), AdmissionQueue(count, 0))


class Service:
    """The shared state of one app. Solving has places of its own, so that short work never waits behind it."""

    store: Store
    cluster: Cluster
    cache: PlanCache
    solving: ReasonedPlans
    working: WorkService
    jobs: JobParts
    """These are there while the service is open."""

    def __init__(self, settings: Settings, workers: WorkersAt | None = None) -> None:
        self.settings, self._workers_at = settings, workers
        self.gate = KeyGate(settings, self.find_key)
        self.metrics = Metrics()
        self.bodies = HeldBytes.under(settings)
        self.streams = Streams(settings.max_streams)
        self.readers = Readers(settings)
        self.readings = Readings(settings.cache_memory_bytes // 8)
        self.written = WrittenAnswers(settings.cache_memory_bytes * 5 // 8)
        together = os.environ.get(COUNTS_FOLDER)
        folder = None if together is None else Path(together)
        usually = 0 if settings.scheduler else settings.workers
        long_places = LongPlaces(lambda: self.cluster.workers, folder, usually)
        self.queue = AdmissionQueue(lambda: self.cluster.places, settings.waiting, long_places, RecentKeys(folder))
        self.readiness = Readiness(
            Check(solves_a_tiny_problem, "memplan: could not solve a tiny problem"),
            Check(self._stores, "memplan: could not store"),
            Check(self._has_workers, "memplan: no worker is there"),
        )
        # Those for large bodies wait for their readers.
        self._short_work, self._long_work = _Threads.of(settings.solves), _Threads.of(max(2, settings.solves))
        self._callers: set[asyncio.Event] = set()
        self._enders: list[Callable[[], None]] = []
        self._is_stopping = False

    @classmethod
    def of(cls, request: Request) -> Service:
        """Return the service that a request came to."""
        return cast(Service, request.app.state.service)

    async def open(self, stack: AsyncExitStack) -> None:
        """Open what the service stands on; the stack closes it. Raises OptionError and StoreError."""
        settings = self.settings
        self.store = await to_thread.run_sync(Store.open, settings.database_url, settings.data_folder)
        stack.callback(self.store.close)
        stack.callback(self.readers.close)
        starting = self.readers.start()
        self.cluster = await Cluster.open(settings, self.metrics.lost_worker, self._workers_at)
        stack.push_async_callback(self.cluster.close)
        self.cache = await stack.enter_async_context(PlanCache.tended(self.store, settings))
        self.working = WorkService(self.cluster, self.queue, self.metrics)
        plans = PlanService(self.cache, self.cluster, self.queue, self.metrics, settings.solves)
        self.solving = ReasonedPlans(plans, self.working)
        services = Services(self.solving, self.working, self.readers.compiled)
        self.jobs = await stack.enter_async_context(open_jobs(self.store, services, self.queue, self.metrics, settings))
        await to_thread.run_sync(starting.join)
        self._enders += [self.readers.stop, self.jobs.stop]
        if self.metrics.is_one_of_several:
            noting = asyncio.create_task(self._note())
            stack.callback(noting.cancel)

    async def find_key(self, key_id: str) -> Key | None:
        """Return what the store knows of a key."""
        return await self.store.briefly(partial(look_up, self.store.keys, key_id))

    def counted_now(self) -> dict[str, int]:
        """Return how many there are on this server of what comes and goes."""
        return {
            "workers": self.cluster.workers,
            "places": self.queue.places,
            "places_taken": self.queue.busy,
            "callers_waiting": self.queue.waiting,
            "open_streams": self.streams.count,
            "held_body_bytes": self.bodies.held,
        }

    async def _note(self) -> None:
        """Note again and again what there is now, as any of several processes may be asked for it."""
        while True:
            self.metrics.note(self.counted_now())
            await asyncio.sleep(_NOTE_EVERY_S)

    async def _has_workers(self) -> bool:
        return self.cluster.workers > 0

    async def _stores(self) -> bool:
        await to_thread.run_sync(self.store.check, abandon_on_cancel=True)
        return True

    async def briefly(self, work: Callable[[], T], request: Request, n_bytes: int = 0) -> T:
        """Do work of seconds at most (parsing, verifying) in a thread, so that the event loop goes on.

        Callers take turns; and what is made of few bytes never waits for what is made of many, which the request's body
        has, or `n_bytes` tells.
        """
        threads = self._long_work if max(n_bytes, request.state.body_share.held) > LARGE_BYTES else self._short_work
        caller = Caller.of(request).key_id
        await threads.turns.take(inf, caller=caller, may_be_refused=False)
        try:
            return await to_thread.run_sync(work, limiter=threads.limiter)
        finally:
            threads.turns.leave(caller)

    async def in_time(
        self, work: Callable[[], T], request: Request, deadline: Deadline, forget: Callable[[T], object] = id
    ) -> T:
        """Do work briefly; raises NotInTimeError soon after the deadline, and lets what comes later be forgotten."""
        working = asyncio.create_task(self.briefly(work, request))
        try:
            await asyncio.wait({working}, timeout=max(0.0, deadline.left_s) + GRACE_S)
        finally:
            if not working.done():
                working.add_done_callback(partial(_forgotten, forget))
        if working.done():
            return working.result()
        raise NotInTimeError("body: could not be read within its time limit")

    async def soon(self, work: Callable[[], T], request: Request, is_short: bool) -> T:
        """Do work that takes less time than handing it to a thread under load, if it `is_short`; else briefly."""
        return work() if is_short else await self.briefly(work, request)

    @asynccontextmanager
    async def caller(self, request: Request) -> AsyncIterator[asyncio.Event]:
        """Yield an event that is set when the client hangs up, or the service stops."""
        cancelled = asyncio.Event()
        self._callers.add(cancelled)
        if self._is_stopping:
            cancelled.set()
        watcher = _Watcher(request, cancelled)
        begins = asyncio.get_running_loop().call_later(_WATCHED_AFTER_S, watcher.begin)
        try:
            yield cancelled
        finally:
            begins.cancel()
            watcher.end()
            self._callers.discard(cancelled)

    def stop(self) -> None:
        """End every solve that runs, and all that still come: each is answered with the best plan so far."""
        self._is_stopping = True
        for cancelled in self._callers:
            cancelled.set()
        for end in self._enders:
            end()


def _forgotten(forget: Callable[[T], object], working: asyncio.Task[T]) -> None:
    if not working.cancelled() and working.exception() is None:
        forget(working.result())


class _Watcher:
    """Waits for a client to hang up; the body has been read, so nothing else can come."""

    def __init__(self, request: Request, cancelled: asyncio.Event) -> None:
        self._request, self._cancelled = request, cancelled
        self._waiting: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begin to wait."""
        self._waiting = asyncio.create_task(self._wait())

    def end(self) -> None:
        """Wait no more."""
        if self._waiting is not None:
            self._waiting.cancel()

    async def _wait(self) -> None:
        while (await self._request.receive())["type"] != "http.disconnect":
            pass
        self._cancelled.set()
