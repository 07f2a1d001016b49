"""Answers requests of other kinds than plans: each waits for a place, and is worked on by a child process."""

from __future__ import annotations

import asyncio
import time

from memplan.api.refusals import NotInTimeError, UnavailableError
from memplan.api.service.admission import AdmissionQueue
from memplan.api.service.answering import perform
from memplan.api.store.job import WorkAnswer
from memplan.api.workers.task import LostWorkersError, NoAnswerError, Task
from memplan.api.workers.workers import Workers
from memplan.solvers.search.deadline import Deadline

_GRACE_S = 0.3
"""The time after its deadline in which an answer may come."""
_LEAST_S = 0.1
"""The time that a child has for every request, however little is left."""


class WorkService:
    """Answers requests for all calls of a server. For one event loop, which only moves their bytes."""

    def __init__(self, workers: Workers, queue: AdmissionQueue) -> None:
        self._workers, self._queue = workers, queue

    async def work(
        self, request: tuple[str, str, bytes], deadline: Deadline, cancelled: asyncio.Event, key_id: str | None = None
    ) -> WorkAnswer:
        """Return the answer to a request, its kind, head and body, by the deadline, or soon after `cancelled` is set.

        It is begun once again where the child is lost. Raises InputError and other errors of the kind, FullError where
        no place is free, and NotInTimeError where its time was too short for an answer.
        """
        if not await self._queue.take(max(0.0, deadline.left_s), cancelled=cancelled, caller=key_id):
            raise UnavailableError(f"{request[0]}: was cancelled before it had its turn")
        deadline = Deadline(deadline.began, max(deadline.at, time.monotonic() + _LEAST_S))
        task = Task(perform, request, request[0], deadline, grace_s=_GRACE_S)
        try:
            try:
                answer: WorkAnswer = await self._workers.run(task, cancelled)
            except LostWorkersError:
                answer = await self._workers.run(task, cancelled)
            return answer
        except NoAnswerError as error:
            raise NotInTimeError(str(error)) from error
        finally:
            self._queue.leave(key_id)
