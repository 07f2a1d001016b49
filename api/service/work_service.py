"""Answers requests of other kinds than plans: each waits for a place, and is worked on by a child process."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from memplan.api.refusals import NotInTimeError, UnavailableError
from memplan.api.service.admission import AdmissionQueue
from memplan.api.service.answering import perform
from memplan.api.store.job import WorkAnswer
from memplan.api.workers.task import LostWorkersError, NoAnswerError, Task
from memplan.api.workers.workers import Workers
from memplan.solvers.search.deadline import Deadline

GRACE_S = 0.3
"""The time after its deadline in which an answer may come."""
_LEAST_S = 0.1
"""The time that a child has for every request, however little is left."""


@dataclass(frozen=True, eq=False)
class WorkRequest:
    """One caller's request of a kind: what it is about, and the deadline of the answer.

    kind: the capability.
    head, body: the question, checked.
    deadline: when the answer is due.
    key_id: the caller's key.
    """

    kind: str
    head: str
    body: bytes
    deadline: Deadline
    key_id: str | None = None


class WorkService:
    """Answers requests for all calls of a server. For one event loop, which only moves their bytes."""

    def __init__(self, workers: Workers, queue: AdmissionQueue) -> None:
        self._workers, self._queue = workers, queue

    async def work(self, request: WorkRequest, cancelled: asyncio.Event) -> WorkAnswer:
        """Return the answer by the deadline, or soon after `cancelled` is set what there is by then.

        It is begun once again where the child is lost. Raises InputError and other errors of the kind, FullError where
        no place is free, and NotInTimeError where its time was too short for an answer.
        """
        patience_s = max(0.0, request.deadline.left_s)
        if not await self._queue.take_unless(cancelled, patience_s, caller=request.key_id):
            raise UnavailableError(f"{request.kind}: was cancelled before it had its turn")
        deadline = Deadline(request.deadline.began, max(request.deadline.at, time.monotonic() + _LEAST_S))
        arguments = request.kind, request.head, request.body
        task = Task(perform, arguments, request.kind, deadline, grace_s=GRACE_S)
        try:
            try:
                answer: WorkAnswer = await self._workers.run(task, cancelled)
            except LostWorkersError:
                answer = await self._workers.run(task, cancelled)
            return answer
        except NoAnswerError as error:
            raise NotInTimeError(str(error)) from error
        finally:
            self._queue.leave(request.key_id)
