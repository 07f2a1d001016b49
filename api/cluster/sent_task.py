"""A task at one worker: sent, told to end, let go of."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from typing import Any, Generic, Protocol, TypeVar

from distributed import Client, Future

from memplan.api.cluster import dask, worker_task
from memplan.api.cluster.serialization import unpack
from memplan.api.cluster.task import NoAnswerError, Task, WorkFailedError, WorkTask
from memplan.planner.errors import MemplanError
from memplan.planner.model.plan import StopReason
from memplan.solvers.search.deadline import Deadline

T = TypeVar("T")
_LEFT_S = worker_task.ALARM_S + 1.0
"""The time that a worker whose answer is not needed any more may take to end."""
_LOG = logging.getLogger("memplan")


class Pending(Protocol[T]):
    """Work that is to be answered by its deadline, over all the workers that it may need."""

    @property
    def task(self) -> Task | WorkTask:
        """The work as it came."""

    is_too_heavy: bool
    """True once its memory has ended its worker."""

    @property
    def has_result(self) -> bool:
        """True where something is known already, should the worker be lost."""

    @property
    def due(self) -> Deadline:
        """The moment at which a worker is to end."""

    def begun(self) -> None:
        """Hear that a worker has begun."""

    def rest(self) -> Task | WorkTask:
        """Return what is left to be done."""

    def hear(self, told: tuple[Any, ...]) -> None:
        """Take the progress that a worker tells."""

    def grace_s(self, reason: StopReason) -> float:
        """The time in which a worker that was told to end is expected to answer."""

    def finished(self, found: T, reason: StopReason | None) -> T:
        """Return a worker's answer as that of the whole work; `reason` says why it was ended, if it was."""

    def best_known(self, reason: StopReason) -> T:
        """Return what is known without a worker's answer; raises MemplanError where that is nothing."""


class SentTask(Generic[T]):
    """A pending task, sent to the worker that is free first; `worker` is None until that has begun."""

    def __init__(self, pending: Pending[T], client: Client, topic: str, sent: bytes, priority: int) -> None:
        self.pending, self.client = pending, client
        self.key = f"memplan-{uuid.uuid4().hex}"
        self.worker: str | None = None
        self.future: Future[bytes] = dask.submit(
            client, worker_task.perform, self.key, topic, sent, key=self.key, priority=priority
        )
        self.outcome = asyncio.create_task(_outcome(self.future))

    async def result(self, over: asyncio.Task[StopReason]) -> T | None:
        """Return the worker's result, or the best known where `over` comes first; None where the worker was lost."""
        await asyncio.wait({self.outcome, over}, return_when=asyncio.FIRST_COMPLETED)
        if over.done():
            await self._end(self.pending.grace_s(over.result()))
        reason = over.result() if over.done() else None
        try:
            if self.outcome.done() and (answer := self.outcome.result()) is not None:
                return self.pending.finished(await asyncio.to_thread(unpack, answer), reason)
        except NoAnswerError:  # a worker hears that it must end, and not why
            if reason is None:
                raise
        if reason is not None:
            return await asyncio.to_thread(self.pending.best_known, reason)
        _LOG.warning("a task lost its worker, %s", self.worker or "which had just been given it")
        return None

    async def leave(self) -> None:
        """Let go of the task; a worker that still solves it is told to end, and keeps its slot until it has."""
        await self._end(_LEFT_S)
        with contextlib.suppress(Exception):  # where there is no scheduler any more, there is nothing to let go of
            if not self.outcome.done():
                await self.client.cancel([self.future], force=True)
            self.future.release()
        self.outcome.cancel()

    async def _end(self, within_s: float) -> None:
        """Tell the worker to end, and wait for its answer; a task that no worker has begun needs no time."""
        if self.worker is not None and not self.outcome.done():
            telling = asyncio.create_task(stop(self.client, self.worker, self.key))
            await asyncio.wait({self.outcome}, timeout=within_s)
            telling.cancel()


async def stop(client: Client, worker: str, key: str) -> None:
    """Tell a worker to end a task, whether it hears it or not."""
    with contextlib.suppress(Exception):  # where it is gone, so is the task
        await client.run(worker_task.stop, key, workers=[worker], on_error="ignore")


async def _outcome(future: Future[bytes]) -> bytes | None:
    """Wait for a worker's answer; None where the worker, or the scheduler, is gone."""
    while True:
        try:
            answer: bytes = await future
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            continue  # Dask gathers many futures at once, and another one of them was let go
        except dask.LOST:
            return None
        except MemplanError:
            raise
        except Exception as error:
            reason = f"memplan: a worker failed with {type(error).__name__}; its log says where"
            raise WorkFailedError(reason) from error
        return answer
