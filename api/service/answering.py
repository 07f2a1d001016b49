"""The answers of capabilities: each request waits for a place, and a child process works on it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from memplan.api.refusals import UnavailableError
from memplan.api.request_bodies import PLAN
from memplan.api.requests import ParsedRequest, parse_request
from memplan.api.service.admission import AdmissionQueue
from memplan.api.store.job import WorkAnswer
from memplan.api.workers.forked import run_forked
from memplan.api.workers.task import LostWorkersError, Task
from memplan.api.workers.workers import Workers
from memplan.capabilities.capability import Control
from memplan.solvers.search.control import Deadline

_ANSWER_S = 0.25
"""The seconds of its time that a question about a stranger's file leaves to bring the answer."""
_GRACE_S = 0.3
"""The time after its deadline in which an answer may come."""
_LEAST_S = 0.1
"""The time that a child has for every request, however little is left."""


class WorkService:
    """Answers requests for all calls of a server. For one event loop, which only moves their bytes."""

    def __init__(self, workers: Workers, queue: AdmissionQueue) -> None:
        self._workers, self._queue = workers, queue

    async def work(
        self,
        request: tuple[str, str, bytes],
        deadline: Deadline,
        cancelled: asyncio.Event,
        key_id: str | None = None,
        *,
        counts_work: bool = False,
    ) -> WorkAnswer:
        """Return the answer to a request, its kind, head and body, by the deadline, or soon after `cancelled` is set.

        Where others wait it may be the best so far, unless it `counts_work`. It is begun once again where the child is
        lost. Raises InputError and other errors of the kind, FullError where no place is free, and NotInTimeError where
        its time was too short for an answer.
        """
        place = await self._queue.take(max(0.0, deadline.left_s), cancelled=cancelled, caller=key_id)
        if place is None:
            raise UnavailableError(f"{request[0]}: was cancelled before it had its turn")
        deadline = Deadline(deadline.began, max(deadline.at, time.monotonic() + _LEAST_S))
        is_short = None if counts_work else place.is_short
        task = Task(perform, request, request[0], deadline, grace_s=_GRACE_S)
        try:
            answer: WorkAnswer = await self._workers.run(task, cancelled, is_short)
        except LostWorkersError:
            answer = await self._workers.run(task, cancelled, is_short)
        finally:
            self._queue.leave(place)
        return answer


def perform(control: Control, kind: str, head: str, body: bytes) -> WorkAnswer:
    """Answer a request that has been checked, in a child; raises MemplanError."""
    return answered_apart(parse_request(kind, head, body), control, len(body))


def answered_apart(request: ParsedRequest, control: Control, n_bytes: int) -> WorkAnswer:
    """Answer a request that was parsed; what is foreign is read in a fork. Raises MemplanError."""
    if not request.is_foreign:
        return answered(request, control)
    asked = Control(control.deadline.earlier(_ANSWER_S), control.cancelled)
    return run_forked(lambda: answered(request, asked), control, n_bytes, request.kind)


def answered(request: ParsedRequest, control: Control) -> WorkAnswer:
    """Answer a question that was parsed; raises MemplanError."""
    is_plan, note = request.kind == PLAN, control.note
    if note is not None:
        control = replace(control, note=lambda found: note(WorkAnswer(found[0], found[1], is_plan)))
    content, status = request.answer(control)
    return WorkAnswer(content, status, is_plan)
