"""Solving on workers: on time, whatever happens to them, and from the best plan known when one is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from typing import Any, Protocol, TypeVar

from distributed import Client

from memplan.api.cluster import dask
from memplan.api.cluster.attempt import Attempt
from memplan.api.cluster.connection import Link
from memplan.api.cluster.local_cluster import local_cluster
from memplan.api.cluster.pending_solve import PendingSolve
from memplan.api.cluster.serialization import pack, unpack
from memplan.api.cluster.task import LostWorkersError, Task
from memplan.api.settings import Settings
from memplan.planner.model.plan import StopReason
from memplan.solvers.search.deadline import Deadline
from memplan.solvers.search.result import Progress, SolveResult

T = TypeVar("T")

MAX_LOST = 3
"""How often a task that lost its worker is sent to another one at once."""
_PAUSES_S = (1.0, 2.0, 5.0, 10.0, 30.0)
"""How long it waits from then on, since it may be what harms workers."""
_LOOK_EVERY_S, _IDLE_LOOK_EVERY_S, _CONNECT_EVERY_S = 0.25, 1.0, 0.5
_PROGRESS_WITHIN_S = 3.0
_LOG = logging.getLogger("memplan")


class Event(Protocol):
    """An event of asyncio or anyio."""

    def wait(self) -> Coroutine[Any, Any, object]:
        """Wait until it is set."""


class Cluster:
    """The workers that a server solves on. For one event loop; `on_loss` is called for each that is lost in a task."""

    def __init__(self, link: Link, own: AsyncExitStack, on_loss: Callable[[], None] | None = None) -> None:
        self._link, self._own, self._on_loss = link, own, on_loss
        self._attempts: dict[str, Attempt] = {}
        self._asked: dict[str, asyncio.Task[None]] = {}
        self._aside: set[asyncio.Task[None]] = set()
        self._aside.add(asyncio.create_task(self._tend()))

    @classmethod
    async def open(cls, settings: Settings, on_loss: Callable[[], None] | None = None) -> Cluster:
        """Start workers of its own, which are ready some seconds later; or use those of `settings.scheduler`.

        That scheduler may come later, and go and come again.
        """
        dask.set_up()
        own = AsyncExitStack()
        if settings.scheduler is not None:
            return cls(Link(settings.scheduler), own, on_loss)
        return cls(Link(await own.enter_async_context(local_cluster(settings))), own, on_loss)

    async def close(self) -> None:
        """Let go of the workers; those of its own end."""
        tasks = [*self._aside, *self._asked.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._link.drop()
        await self._own.aclose()

    @property
    def workers(self) -> int:
        """How many tasks can run at once now, of whatever server they are."""
        return sum(self._link.view.threads.values())

    @property
    def places(self) -> int:
        """How many tasks of this server can run at once now; 0 where there are no workers."""
        view = self._link.view
        others = sum(len(keys - self._attempts.keys()) for keys in view.tasks.values())
        return max(0, sum(view.threads.values()) - others)

    @property
    def under_way(self) -> int:
        """How many tasks of this server are with the scheduler or a worker."""
        return len(self._attempts)

    async def solve(
        self,
        task: Task,
        *,
        priority: int = 0,
        on_progress: Callable[[Progress], None] | None = None,
        cancelled: Event,
    ) -> SolveResult:
        """Solve a task on a worker; return the result, verified, within half a second of the task's deadline.

        When `cancelled` is set, that is the best so far. A task whose worker is lost goes on at another one, from
        the best plan known. Higher priorities go first. Raises what the gate raises, and LostWorkersError or
        WorkFailedError.
        """
        errand = PendingSolve(task, on_progress)
        over = asyncio.create_task(_over(task.deadline.earlier(errand.carry_s), cancelled))
        lost = 0
        try:
            while True:
                client = await _sooner(self._link.up(), over)
                if client is None:
                    return await asyncio.to_thread(errand.best_known, over.result())
                result = await self._attempt(errand, client, priority, over)
                if result is not None:
                    return result
                if self._link.stands(client):  # else it was the scheduler that went
                    lost += 1
                    if self._on_loss is not None:
                        self._on_loss()
                    await self._pause(errand, lost, over)
        finally:
            over.cancel()

    async def _pause(self, errand: PendingSolve, lost: int, over: asyncio.Task[StopReason]) -> None:
        """Let some time pass where a task has lost too many workers; raises LostWorkersError if it has no plan yet."""
        if lost > MAX_LOST:
            if errand.best is None and errand.task.start is None:
                raise LostWorkersError(f"memplan: {lost} workers were lost over this problem, and no more are tried")
            await asyncio.wait({over}, timeout=_PAUSES_S[min(lost - MAX_LOST, len(_PAUSES_S)) - 1])

    async def _attempt(
        self, errand: PendingSolve, client: Client, priority: int, over: asyncio.Task[StopReason]
    ) -> SolveResult | None:
        """Have a worker solve the rest of an errand; None where the worker, or the scheduler, was lost."""
        sent = await asyncio.to_thread(pack, errand.rest())
        if not self._link.stands(client):
            return None
        attempt = Attempt(errand, self._link, client, sent, priority)
        self._attempts[attempt.key] = attempt
        try:
            return await attempt.result(over)
        finally:
            del self._attempts[attempt.key]
            leaving = asyncio.create_task(attempt.leave())
            self._aside.add(leaving)
            leaving.add_done_callback(self._aside.discard)

    async def _tend(self) -> None:
        """Keep the connection up, the view fresh, and every errand told of its progress and its losses."""
        while True:
            try:
                if self._link.client is None:
                    await self._link.connect()
                    _LOG.info("connected to the scheduler at %s", self._link.address)
                await self._link.look()
                self._notice()
            except Exception as error:  # noqa: BLE001 - whatever is wrong with a connection, a new one is the remedy
                if self._link.client is not None:
                    _LOG.warning("lost the scheduler at %s: %s", self._link.address, error)
                await self._link.drop()
                await asyncio.sleep(_CONNECT_EVERY_S)
                continue
            await asyncio.sleep(_LOOK_EVERY_S if self._attempts else _IDLE_LOOK_EVERY_S)

    def _notice(self) -> None:
        """Tell every attempt where its task is, and ask the workers for their progress."""
        view = self._link.view
        alive = frozenset(view.threads)
        wanted: dict[str, dict[str, bool]] = {}
        for key, attempt in self._attempts.items():
            attempt.notice(view.worker_of(key), alive)
            if attempt.worker is not None and attempt.worker not in self._asked:
                wanted.setdefault(attempt.worker, {})[attempt.name] = attempt.errand.wants_plan()
        for worker, names in wanted.items():
            self._asked[worker] = asyncio.create_task(self._ask(worker, names))

    async def _ask(self, worker: str, names: Mapping[str, bool]) -> None:
        try:
            answer = await self._link.follow(worker, names, _PROGRESS_WITHIN_S)
            if answer is not None:
                told: dict[str, tuple[Progress, ...]] = await asyncio.to_thread(unpack, answer)
                for attempt in list(self._attempts.values()):
                    attempt.errand.hear(told.get(attempt.name, ()))
        finally:
            del self._asked[worker]


async def _over(deadline: Deadline, cancelled: Event) -> StopReason:
    """Return why a task ends that is not done by itself: at its deadline, or when it is cancelled."""
    try:
        async with asyncio.timeout(max(0.0, deadline.left_s)):
            await cancelled.wait()
    except TimeoutError:
        return "time_limit"
    return "cancelled"


async def _sooner(wanted: Coroutine[Any, Any, T], over: asyncio.Task[StopReason]) -> T | None:
    """Return what is wanted, unless it is over first."""
    task = asyncio.create_task(wanted)
    try:
        await asyncio.wait({task, over}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        task.cancel()
