"""The state shared by all requests of a server: settings, store, plan cache, worker processes and threads."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeVar, cast

from anyio import CapacityLimiter, to_thread
from fastapi import Request

from memplan.api.faults import Faults
from memplan.api.http.auth import KeyGate, caller_of, look_up
from memplan.api.http.middleware import Streams
from memplan.api.http.parse_queue import ParseQueue, Turns
from memplan.api.http.receiving import BODIES_HELD, SMALL_BYTES, HeldBytes
from memplan.api.jobs.event_feed import Following
from memplan.api.jobs.lifecycle import open_jobs
from memplan.api.logs import count_refusals
from memplan.api.metrics import Metrics
from memplan.api.readiness import Readiness, solves_a_tiny_problem
from memplan.api.refusals import NotInTimeError
from memplan.api.request_bodies import LARGE_BYTES, TooLargeError
from memplan.api.requests import ParsedRequest, parse_request, stated_time_limit_s
from memplan.api.service.admission import MOST, AdmissionQueue, sort_of
from memplan.api.service.answering import Answering
from memplan.api.service.cache.plan_cache import PlanCache
from memplan.api.service.cache.written_plans import WrittenPlans
from memplan.api.service.request_task import ReadProblem, parse_for_child
from memplan.api.settings import Settings
from memplan.api.store.api_key import Key
from memplan.api.store.errors import FullDiskError
from memplan.api.store.store import PATIENCE_S, Store
from memplan.api.workers.pool import ChildPool
from memplan.api.workers.task import Task, TooMuchMemoryError, apply_function
from memplan.api.workers.workers import Workers
from memplan.solvers.search.control import Deadline

T = TypeVar("T")
MOST_STREAMS = 1000
"""The maximum number of open streams in one process."""
_THREADS = 2
"""The number of threads for quick searches, and also the number for other work."""
_READ_S = 60.0
"""The maximum seconds for parsing a large body without a deadline, including the wait for other parses."""
_GRACE_S = 0.25
"""The seconds after a deadline when a parse is abandoned; an answer counts as late only half a second after it."""
_WATCHED_AFTER_S = 0.01
"""The seconds before the server watches for a client's disconnect; most answers are faster and need no watcher."""


class Service:
    """The shared state of a server. Only searches wait for slots, so short work never waits for a search."""

    store: Store
    workers: Workers
    cache: PlanCache
    answering: Answering
    following: Following
    """These attributes exist while the service is open."""

    def __init__(self, settings: Settings) -> None:
        """Make the parts that need neither a store nor an event loop; `open` makes the others."""
        self.settings = settings
        self.gate = KeyGate(settings, self.find_key)
        self.metrics = Metrics()
        self.faults = Faults(self.metrics.count_fault)
        self.bodies = HeldBytes(BODIES_HELD * settings.max_body_bytes)
        self.streams = Streams(MOST_STREAMS)
        self.written = WrittenPlans()
        # Add one slot beyond the number that a single key may occupy, so that a key can never occupy all slots.
        places = settings.solves + int(self.gate.requires_keys)
        self.queue = AdmissionQueue(places, settings.waiting, of_key=settings.solves)
        self.readiness = Readiness(
            {
                "memplan: could not solve a tiny problem": solves_a_tiny_problem,
                "memplan: could not store": self._can_store,
                "memplan: no worker is there": self._has_workers,
            }
        )
        self._threads, self._parses, self._turns = CapacityLimiter(_THREADS), ParseQueue(), Turns()
        self._callers: set[asyncio.Event] = set()
        self._enders: list[Callable[[], None]] = []
        self._is_stopping = False

    @classmethod
    def find_service(cls, request: Request) -> "Service":
        """Return the service that answers a request."""
        return cast(Service, request.app.state.service)

    @classmethod
    async def stream(cls, request: Request) -> AsyncIterator[None]:
        """Count a request among the open streams until its answer is sent; raises FullError above the maximum."""
        with cls.find_service(request).streams.open(caller_of(request).key_id):
            yield

    async def open(self, stack: AsyncExitStack) -> None:
        """Open the service's resources, and register their closing on the stack. Raises OptionError and StoreError."""
        settings = self.settings
        count_refusals(self.metrics.count_refused_result)
        self.store = await to_thread.run_sync(Store.open, settings.database_url, settings.data_folder, PATIENCE_S)
        stack.callback(self.store.close)
        pool = ChildPool(settings, self.metrics.count_lost_worker, self.faults)
        self.bodies.most_grown = pool.most_bytes // 2
        self.workers = Workers(pool, MOST * self.queue.places + 1)
        stack.push_async_callback(to_thread.run_sync, pool.close)
        self.cache = await stack.enter_async_context(PlanCache.open_tended(self.store))
        self.answering = Answering(self.cache, self.workers, self.queue, self.metrics, self.run_work, _THREADS)
        self.following = await stack.enter_async_context(open_jobs(self.store, self.metrics, settings, pool))
        await to_thread.run_sync(pool.warm_up)
        self._enders.append(self.following.stop)

    async def find_key(self, key_id: str) -> Key | None:
        """Return a key's record from the store; None for an unknown key."""
        return await self.store.run_in_thread(partial(look_up, self.store.keys, key_id))

    def plan_key(self, key_id: str | None) -> str | None:
        """Return the key whose cached plans a caller may use; None if all callers share one set of plans."""
        return None if self.settings.share_plans else key_id

    def counted_now(self) -> dict[str, int]:
        """Return the current value of each of this server's gauges, by name."""
        return {
            "workers": self.workers.pool.count,
            "places": self.queue.places,
            "places_taken": self.queue.busy_slots,
            "callers_waiting": self.queue.waiting_count,
            "open_streams": self.streams.count,
            "held_body_bytes": self.bodies.held,
            "kept_bytes_limit": self.settings.max_kept_bytes,
            "disk_full": int(self.store.lacks_room),
        }

    async def _has_workers(self) -> bool:
        return await to_thread.run_sync(self.workers.pool.warm_up, abandon_on_cancel=True)

    async def _can_store(self) -> bool:
        """Return True if the store works, even if its disk is full; raises StoreError otherwise."""
        with suppress(FullDiskError):  # A service with a full disk can still answer, so report it as ready.
            await to_thread.run_sync(self.store.check, abandon_on_cancel=True)
        return True

    async def run_work(
        self, work: Callable[[], T], n_bytes: int, *, is_short: bool = True, deadline: Deadline | None = None
    ) -> T:
        """Return the result of `work`, a function without a search that handles `n_bytes` bytes.

        It runs in a thread if there are many bytes or `is_short` is false. Raises NotInTimeError soon after a deadline.
        """
        if is_short and n_bytes <= SMALL_BYTES:
            return work()
        try:
            async with asyncio.timeout(None if deadline is None else max(0.0, deadline.remaining_s) + _GRACE_S):
                return await to_thread.run_sync(work, limiter=self._threads, abandon_on_cancel=True)
        except TimeoutError:
            raise NotInTimeError("body: could not be read within its time limit") from None

    async def parse_request(
        self, kind: str, head: str, body: bytes, terms: tuple[str, ...] = (), arrived: float | None = None
    ) -> tuple[ParsedRequest, ReadProblem | None]:
        """Return a parsed request, which may have the fields `terms`; a large one without inputs, but with its problem.

        The problem is None unless a plain plan is wanted. A large request that `arrived` at a time must be parsed
        within its time limit, or NotInTimeError is raised. FullError is raised before the parsing of a request that
        would, in all probability, be refused after it.
        """
        if arrived is not None:
            self.queue.refuse_like_last(sort_of(kind, body))
            await self._turns.take()
        if len(body) <= LARGE_BYTES:
            return await self.run_work(partial(parse_request, kind, head, body, terms=terms), len(body)), None
        limit_s = _READ_S if arrived is None else stated_time_limit_s(kind, head, body, self.settings)
        due = Deadline.from_limit(limit_s, arrived)
        return await self.parse_body(parse_for_child, body, kind, head, terms, deadline=due)

    async def parse_body(
        self, function: Callable[..., T], body: bytes, *given: Any, deadline: Deadline | None = None
    ) -> T:
        """Return `function(body, *given)`, which parses a body; a child process parses a large body.

        Large bodies are parsed one at a time. Raises InputError for a wrong body, NoTurnError if the parsing of earlier
        bodies lasts until the deadline, and NotInTimeError if the parsing of this body does.
        """
        if len(body) <= LARGE_BYTES:
            return await self.run_work(partial(function, body, *given), len(body))
        deadline = deadline or Deadline.from_limit(_READ_S)
        async with self._parses.turn(len(body), deadline):
            task = Task(apply_function, (function, body, *given), "body", deadline, grace_s=_GRACE_S, is_large=True)
            try:
                found: T = await self.workers.run(task, asyncio.Event())
            except TooMuchMemoryError:
                raise TooLargeError("body: must be small enough to be parsed in the memory of one worker") from None
            return found

    @asynccontextmanager
    async def caller(self, request: Request) -> AsyncIterator[asyncio.Event]:
        """Yield an event that is set when the client disconnects or the service stops."""
        cancelled = asyncio.Event()
        self._callers.add(cancelled)
        if self._is_stopping:
            cancelled.set()
        watching: list[asyncio.Task[None]] = []
        begin = asyncio.get_running_loop().call_later(
            _WATCHED_AFTER_S, lambda: watching.append(asyncio.create_task(_watch_client(request, cancelled)))
        )
        try:
            yield cancelled
        finally:
            begin.cancel()
            for task in watching:
                task.cancel()
            self._callers.discard(cancelled)

    def stop(self) -> None:
        """End all current and future searches early; each answers with its best plan so far."""
        self._is_stopping = True
        for cancelled in self._callers:
            cancelled.set()
        for end in self._enders:
            end()


async def _watch_client(request: Request, cancelled: asyncio.Event) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    cancelled.set()
