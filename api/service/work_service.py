"""Answers requests of other kinds than plans: each waits for a place, and is worked on by a worker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from memplan.api.cluster.task import NoAnswerError, WorkAnswer, WorkTask
from memplan.api.metrics import Metrics
from memplan.api.refusals import NotInTimeError, UnavailableError
from memplan.api.service.admission import AdmissionQueue
from memplan.api.service.answering import perform
from memplan.api.service.long_places import is_long_work
from memplan.solvers.search.control import Control
from memplan.solvers.search.deadline import Deadline

_SOON_S, _LATER_S = 0.4, 3.0
"""The time after its deadline in which an answer that is waited for may come; and one of a job, twice as long with each
attempt: on a busy machine it may have had no time.
"""
_LEAST_S = 0.1
"""The time that a worker has for every request, however little is left."""
OnWork = Callable[[Mapping[str, Any]], None]


class WorkPlaces(Protocol):
    """The workers that answer; the contract is that of `memplan.api.cluster.cluster.Cluster`."""

    async def work(
        self, task: WorkTask, *, priority: int = 0, on_progress: OnWork | None = None, cancelled: asyncio.Event
    ) -> WorkAnswer:
        """Return the answer to a task, soon after its deadline at the latest."""


@dataclass(frozen=True, eq=False)
class WorkRequest:
    """One caller's request of a kind: its body, checked, its options, and the deadline of the answer.

    A request that may be refused gets a FullError where the admission queue is full, or no worker becomes free in time.
    For the others the time limit counts from when they have a worker, so that their deadline may be infinite. `run` is
    the function, one of a module, that answers in the worker. With each `attempt` there is more patience.
    """

    kind: str
    media: str
    body: bytes
    options: Mapping[str, Any]
    time_limit_s: float
    deadline: Deadline
    priority: int = 0
    may_be_refused: bool = False
    key_id: str | None = None
    run: Callable[[WorkTask, Control], WorkAnswer] = perform
    attempt: int = 1


class WorkService:
    """Answers requests for all calls and jobs of a server. For one event loop, which only moves their bytes."""

    def __init__(self, workers: WorkPlaces, queue: AdmissionQueue, metrics: Metrics) -> None:
        self._workers, self._queue, self._metrics = workers, queue, metrics

    async def work(
        self, request: WorkRequest, cancelled: asyncio.Event, on_progress: OnWork | None = None
    ) -> WorkAnswer:
        """Return the answer by the deadline, or soon after `cancelled` is set what there is by then.

        `on_progress` is told how far it is. Raises InputError and other errors of the kind; for a request that may
        be refused FullError, and NotInTimeError where its time was too short for an answer, else NoAnswerError.
        """
        patience_s = max(0.0, request.deadline.left_s)
        is_long = is_long_work(min(request.time_limit_s, request.deadline.left_s))
        is_long |= self._queue.must_leave_one(request.key_id)
        has_place = await self._queue.take_unless(
            cancelled,
            patience_s,
            caller=request.key_id,
            priority=request.priority,
            may_be_refused=request.may_be_refused,
            is_long=is_long,
        )
        if not has_place:
            raise UnavailableError(f"{request.kind}: was cancelled before it had its turn")
        deadline = Deadline(request.deadline.began, max(request.deadline.at, time.monotonic() + _LEAST_S))
        # The time of a call counts from when it came, that of a job from when a worker begins with it.
        grace_s, limit_s = _SOON_S, None
        if not request.may_be_refused:
            grace_s, limit_s = _LATER_S * 2 ** (request.attempt - 1), request.time_limit_s
        what = request.run, request.kind, request.media, request.body, request.options
        task, began = WorkTask(*what, deadline, grace_s, limit_s), time.monotonic()
        try:
            return await self._workers.work(
                task, priority=min(0, request.priority), on_progress=on_progress, cancelled=cancelled
            )
        except NoAnswerError as error:
            if not request.may_be_refused:
                raise
            raise NotInTimeError(str(error)) from error
        finally:
            self._queue.leave(request.key_id, is_long, time.monotonic() - began)
            if not request.may_be_refused:  # else whoever answers the call counts it
                self._metrics.answered_by(request.deadline)
