"""Solving on workers: on time, whatever happens to them, and from the best plan known when one is lost."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from typing import Any, Protocol, TypeVar

from distributed import Client, Security

from memplan.api.cluster import dask, worker_task
from memplan.api.cluster.connection import Connection
from memplan.api.cluster.local_cluster import local_cluster
from memplan.api.cluster.pending import PendingSolve, PendingWork
from memplan.api.cluster.sent_task import Pending, SentTask, stop
from memplan.api.cluster.serialization import pack, unpack
from memplan.api.cluster.task import LostWorkersError, Task, TooMuchMemoryError, WorkAnswer, WorkTask
from memplan.api.settings import Settings
from memplan.planner.model.plan import StopReason
from memplan.solvers.search.result import Progress, SolveResult

T = TypeVar("T")
WorkersAt = tuple[str, Security | None]
"""The address of a scheduler, and the certificate to reach it with."""
_WAIT_EVERY_S, _LOOK_EVERY_S = 0.05, 0.5
MAX_LOST = 3
"""The number of times that a task which lost its worker is sent to another one at once."""
_PAUSES_S = (1.0, 2.0, 5.0, 10.0, 30.0)
"""The pauses from then on, since the task may be what harms workers."""


class Waitable(Protocol):
    """An event of asyncio or anyio."""

    def wait(self) -> Coroutine[Any, Any, object]:
        """Wait until it is set."""


class Cluster:
    """The workers that a server solves on. For one event loop; `on_loss` is called for each that is lost in a task."""

    def __init__(
        self, address: str, security: Security | None, own: AsyncExitStack, on_loss: Callable[[], None] | None
    ) -> None:
        self._connection = Connection(address, security)
        self._own, self._on_loss = own, on_loss
        self._topic = f"memplan-{uuid.uuid4().hex}"
        self._sent: dict[str, SentTask[Any]] = {}
        self._aside = {asyncio.create_task(self._connection.keep())}

    @classmethod
    async def open(
        cls, settings: Settings, on_loss: Callable[[], None] | None = None, workers: WorkersAt | None = None
    ) -> Cluster:
        """Start workers of its own, which are ready some seconds later; or use those of `settings.scheduler`.

        That scheduler may come later, and go and come again. `workers` are those of another server process.
        """
        dask.set_up()
        own = AsyncExitStack()
        if workers is not None:
            return cls(*workers, own, on_loss)
        if settings.scheduler is not None:
            return cls(settings.scheduler, None, own, on_loss)
        return cls(*await own.enter_async_context(local_cluster(settings)), own, on_loss)

    async def close(self) -> None:
        """Let go of the workers; those of its own end."""
        tasks = list(self._aside)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._own.aclose()

    @property
    def workers(self) -> int:
        """The number of tasks that can run at once now, of whatever server they are."""
        return sum(self._connection.threads.values())

    @property
    def places(self) -> int:
        """The number of tasks of this server that can run at once now; 0 where there are no workers."""
        others = sum(len(keys - self._sent.keys()) for keys in map(set, self._connection.tasks.values()))
        return max(0, self.workers - others)

    @property
    def under_way(self) -> int:
        """The number of tasks of this server that are with the scheduler or a worker."""
        return len(self._sent)

    async def solve(
        self,
        task: Task,
        *,
        priority: int = 0,
        on_progress: Callable[[Progress], None] | None = None,
        cancelled: Waitable,
    ) -> SolveResult:
        """Solve a task on a worker; return the result, verified, within half a second of the task's deadline.

        When `cancelled` is set, that is the best so far. A task whose worker is lost goes on at another one, from
        the best plan known. Higher priorities go first. Raises what `solve_request` raises, and LostWorkersError or
        WorkFailedError.
        """
        return await self._answer(PendingSolve(task, on_progress), priority, cancelled)

    async def work(
        self,
        task: WorkTask,
        *,
        priority: int = 0,
        on_progress: Callable[[Mapping[str, Any]], None] | None = None,
        cancelled: Waitable,
    ) -> WorkAnswer:
        """Have a worker answer a request of another kind, within the task's `grace_s` of its deadline.

        When `cancelled` is set, the answer is what the worker has by then. A task whose worker is lost begins anew.
        Raises what the task's function raises, LostWorkersError, WorkFailedError, NoAnswerError where there is no
        answer in time, and UnavailableError where there is none when it is cancelled.
        """
        return await self._answer(PendingWork(task, on_progress), priority, cancelled)

    async def _answer(self, pending: Pending[T], priority: int, cancelled: Waitable) -> T:
        over = asyncio.create_task(_over(pending, cancelled))
        lost = 0
        try:
            while not over.done():
                client = self._connection.up()
                if client is None:
                    await asyncio.wait({over}, timeout=_WAIT_EVERY_S)
                elif (result := await self._send(pending, client, priority, over)) is not None:
                    return result
                elif self._connection.up() is client:  # else it was the scheduler that went
                    lost += 1
                    if self._on_loss is not None:
                        self._on_loss()
                    if pending.is_too_heavy:
                        break
                    await self._pause(pending, lost, over)
            if not over.done() and not pending.has_result:
                raise TooMuchMemoryError
            return await asyncio.to_thread(pending.best_known, over.result() if over.done() else "work_limit")
        finally:
            over.cancel()

    async def _pause(self, pending: Pending[Any], lost: int, over: asyncio.Task[StopReason]) -> None:
        """Let some time pass where a task has lost too many workers; raises LostWorkersError if it has no plan yet."""
        if lost > MAX_LOST:
            if not pending.has_result:
                raise LostWorkersError(f"memplan: {lost} workers were lost over this problem, and no more are tried")
            await asyncio.wait({over}, timeout=_PAUSES_S[min(lost - MAX_LOST, len(_PAUSES_S)) - 1])

    async def _send(
        self, pending: Pending[T], client: Client, priority: int, over: asyncio.Task[StopReason]
    ) -> T | None:
        """Have a worker do the rest of pending work; None where the worker, or the scheduler, was lost."""
        packed = await asyncio.to_thread(pack, pending.rest())
        if self._connection.up() is not client:
            return None
        dask.subscribe(client, self._topic, self._hear)  # each time: a client that has connected anew is not subscribed
        sent = SentTask(pending, client, self._topic, packed, priority)
        self._sent[sent.key] = sent
        try:
            return await sent.result(over)
        finally:
            del self._sent[sent.key]
            self._go_on_with(sent.leave())

    async def _hear(self, message: dask.TaskMessage) -> None:
        """Take what a task tells: that a worker has begun it (nothing), or its progress."""
        sent, client = self._sent.get(message.key), self._connection.client
        if sent is None:
            if not message.content and client is not None:  # it was let go before this was known
                self._go_on_with(stop(client, message.worker, message.key))
        elif message.content == worker_task.TOO_HEAVY:
            sent.pending.is_too_heavy = True
        elif message.content:
            sent.pending.hear(await asyncio.to_thread(unpack, message.content))
        else:
            sent.worker = message.worker
            sent.pending.begun()

    def _go_on_with(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)


async def _over(pending: Pending[Any], cancelled: Waitable) -> StopReason:
    """Return why a task ends that is not done by itself: when it is due, or when it is cancelled."""
    while (left_s := pending.due.left_s) > 0:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(left_s, _LOOK_EVERY_S)):  # it may be due earlier once it has begun
                await cancelled.wait()
                return "cancelled"
    return "time_limit"
