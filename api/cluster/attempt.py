"""One task at one worker: sent, waited for, told to end when its time is over, and let go."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from dataclasses import replace

from distributed import Client, Future

from memplan.api.cluster import dask, worker_task
from memplan.api.cluster.connection import Link
from memplan.api.cluster.pending_solve import PendingSolve
from memplan.api.cluster.serialization import unpack
from memplan.api.cluster.task import WorkFailedError
from memplan.planner.model.plan import StopReason
from memplan.solvers.search.result import SolveResult

_GRACE_S: dict[StopReason, float] = {"time_limit": 0.25, "cancelled": 3.0}
"""How long a worker that was told to end is waited for."""
_LEFT_S = worker_task.ALARM_S + 1.0
"""How long a worker that nobody waits for may need to end."""
_LOG = logging.getLogger("memplan")


class Attempt:
    """An errand's task, sent to whichever worker is free first; `worker` is where it is, as far as that is known."""

    def __init__(self, errand: PendingSolve, link: Link, client: Client, sent: bytes, priority: int) -> None:
        self.errand, self.link, self.client = errand, link, client
        self.name = uuid.uuid4().hex
        self.key = f"memplan-{self.name}"
        self.worker: str | None = None
        self.is_lost = asyncio.Event()
        self.future: Future[bytes] = dask.submit(
            client, worker_task.perform, self.name, sent, key=self.key, priority=priority
        )
        self.outcome = asyncio.create_task(_outcome(self.future))

    def notice(self, worker: str | None, alive: frozenset[str]) -> None:
        """Learn where the scheduler says that the task is now (None: it waits, or is done), and which workers live."""
        if self.worker is None:
            self.worker = worker
        elif self.worker not in alive or worker not in (None, self.worker):
            self.is_lost.set()

    async def result(self, over: asyncio.Task[StopReason]) -> SolveResult | None:
        """Return the worker's result, or the best known where `over` comes first; None where the worker was lost."""
        lost = asyncio.create_task(self.is_lost.wait())
        try:
            await asyncio.wait({self.outcome, lost, over}, return_when=asyncio.FIRST_COMPLETED)
            if over.done() and not self.outcome.done():
                within_s = _GRACE_S[over.result()] + self.errand.carry_s
                ending = asyncio.create_task(self._end(within_s))
                await asyncio.wait({self.outcome, lost, ending}, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
                ending.cancel()
        finally:
            lost.cancel()
        reason = over.result() if over.done() else None
        answer = self.outcome.result() if self.outcome.done() else None
        if answer is not None:
            return await asyncio.to_thread(_result_of, answer, reason, self.errand)
        if reason is not None:
            return await asyncio.to_thread(self.errand.best_known, reason)
        _LOG.warning("a task lost its worker, %s", self.worker or "which it had just been given")
        return None

    async def leave(self) -> None:
        """Let go of the task; a worker that still solves it is told to end, and keeps its place until it has."""
        if not self.outcome.done() and not self.is_lost.is_set():
            await self._end(_LEFT_S)
        with contextlib.suppress(Exception):  # where there is no scheduler any more, there is nothing to let go of
            if not self.outcome.done():
                await self.client.cancel([self.future], force=True)
            self.future.release()
        self.outcome.cancel()

    async def _end(self, within_s: float) -> None:
        """Tell the worker to end, and wait until it has; a task that still waits for a worker needs no time."""
        with contextlib.suppress(OSError):
            async with asyncio.timeout(within_s):
                worker = self.worker or (await self.link.look()).worker_of(self.key)
                if worker is not None:
                    await self.link.stop(worker, (self.name,), within_s)
                    await asyncio.wait({self.outcome})


async def _outcome(future: Future[bytes]) -> bytes | None:
    """Wait for what a worker answers; None where the worker, or the scheduler, is gone."""
    while True:
        try:
            answer: bytes = await future
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            continue  # it was not meant for us: Dask gathers many futures at once, and one of the others was let go
        except dask.LOST:
            return None
        except Exception as error:
            reason = f"memplan: a worker failed with {type(error).__name__}; its log says where"
            raise WorkFailedError(reason) from error
        return answer


def _result_of(answer: bytes, reason: StopReason | None, errand: PendingSolve) -> SolveResult:
    """Return the result that a worker sent, or raise the error that it met."""
    found: SolveResult | worker_task.Refusal = unpack(answer)
    if isinstance(found, worker_task.Refusal):
        raise (found.kind or WorkFailedError)(*found.sentences)
    if found.stop_reason == "cancelled":  # which was our doing
        found = replace(found, stop_reason=reason)
    return replace(found, elapsed_s=errand.task.deadline.passed_s)  # the worker knows nothing of waiting for it
