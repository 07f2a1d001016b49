"""A solve as its server sees it, over all the workers that it may need, and its task at one of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace

from distributed import Client, Future

from memplan.api.cluster import dask, worker_task
from memplan.api.cluster.serialization import unpack
from memplan.api.cluster.task import Task, WorkFailedError
from memplan.planner.errors import MemplanError
from memplan.planner.model.plan import StopReason
from memplan.solvers.portfolio.options import SolveControl
from memplan.solvers.portfolio.solve import solve_request
from memplan.solvers.search.result import Progress, SolveResult

_GRACE_S: dict[StopReason, float] = {"time_limit": 0.25, "cancelled": 3.0}
"""The time in which a worker that was told to end is expected to answer."""
_LEFT_S = worker_task.ALARM_S + 1.0
"""The time that a worker whose answer is not needed any more may take to end."""
_LOG = logging.getLogger("memplan")


@dataclass(eq=False)
class PendingSolve:
    """A task that is to be answered by its deadline, and the best result known."""

    task: Task
    on_progress: Callable[[Progress], None] | None = None
    best: SolveResult | None = None
    _told: tuple[int | None, int] | None = None

    def rest(self) -> Task:
        """Return what is left of the task, from the best plan known; a deterministic one starts as it always does."""
        start = self.task.start if self.task.options.deterministic or self.best is None else self.best.plan
        return replace(self.task, start=start, deadline=self.task.deadline.earlier(self.task.carry_s))

    def hear(self, told: tuple[Progress, ...]) -> None:
        """Take the progress that a worker tells, and pass on what is new in it."""
        for progress in told:
            self.best = progress.found or self.best
            is_new = self._told != (progress.peak, progress.lower_bound)
            if self.on_progress is not None and (progress.found is not None or is_new):
                self._told = progress.peak, progress.lower_bound
                self.on_progress(progress if self.task.wants_plans else replace(progress, found=None))

    def finished(self, found: SolveResult, reason: StopReason | None) -> SolveResult:
        """Return a worker's result with the time that the whole solve took, and the reason why it was ended, if so."""
        elapsed_s = None if found.elapsed_s is None else self.task.deadline.passed_s
        stop_reason = reason if found.stop_reason == "cancelled" else found.stop_reason
        return replace(found, elapsed_s=elapsed_s, stop_reason=stop_reason)

    def best_known(self, reason: StopReason) -> SolveResult:
        """Return the best result known without more searching, verified, or an honest `unknown`."""
        over = threading.Event()
        over.set()
        start = self.task.start if self.best is None else self.best.plan
        options = self.task.options.model_copy(update={"solver": "auto", "accept": None, "deterministic": False})
        found = solve_request(self.task.problem, options, SolveControl(self.task.deadline, over, start=start))
        return found if found.stop_reason == "proved" else replace(found, stop_reason=reason)


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
        if self.outcome.done() and (answer := self.outcome.result()) is not None:
            return self.pending.finished(await asyncio.to_thread(unpack, answer), reason)
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
