"""One task with a worker: sent, waited for, told to end when its time is over, and let go."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from dataclasses import replace

from distributed import Client, Future

from memplan.api.cluster import dask, worker_task
from memplan.api.cluster.pending_solve import PendingSolve
from memplan.api.cluster.serialization import unpack
from memplan.api.cluster.task import WorkFailedError
from memplan.planner.model.plan import StopReason
from memplan.solvers.search.result import SolveResult

_GRACE_S: dict[StopReason, float] = {"time_limit": 0.25, "cancelled": 3.0}
"""The time in which a worker that was told to end is expected to answer."""
_LEFT_S = worker_task.ALARM_S + 1.0
"""The time that a worker whose answer is not needed any more may take to end."""
_LOG = logging.getLogger("memplan")


class SentTask:
    """The task of a pending solve, sent to the worker that is free first; `worker` is None until that has begun."""

    def __init__(self, pending: PendingSolve, client: Client, topic: str, sent: bytes, priority: int) -> None:
        self.pending, self.client = pending, client
        self.key = f"memplan-{uuid.uuid4().hex}"
        self.worker: str | None = None
        self.future: Future[bytes] = dask.submit(
            client, worker_task.perform, self.key, topic, sent, key=self.key, priority=priority
        )
        self.outcome = asyncio.create_task(_outcome(self.future))

    async def result(self, over: asyncio.Task[StopReason]) -> SolveResult | None:
        """Return the worker's result, or the best known where `over` comes first; None where the worker was lost."""
        await asyncio.wait({self.outcome, over}, return_when=asyncio.FIRST_COMPLETED)
        if over.done():
            await self._end(_GRACE_S[over.result()] + self.pending.task.carry_s)
        reason = over.result() if over.done() else None
        answer = self.outcome.result() if self.outcome.done() else None
        if answer is not None:
            return await asyncio.to_thread(_result_of, answer, reason, self.pending)
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
        except Exception as error:
            reason = f"memplan: a worker failed with {type(error).__name__}; its log says where"
            raise WorkFailedError(reason) from error
        return answer


def _result_of(answer: bytes, reason: StopReason | None, pending: PendingSolve) -> SolveResult:
    """Return the result that a worker sent, or raise the error that it met."""
    found: SolveResult | worker_task.Refusal = unpack(answer)
    if isinstance(found, worker_task.Refusal):
        raise (found.kind or WorkFailedError)(*found.sentences)
    if found.stop_reason == "cancelled":  # by this server, which knows why
        found = replace(found, stop_reason=reason)
    # The worker does not know how long the task waited for it.
    return found if found.elapsed_s is None else replace(found, elapsed_s=pending.task.deadline.passed_s)
