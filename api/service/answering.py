"""Answering of questions: each request waits for a slot, and a child process does the work."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

from memplan.api.refusals import NotInTimeError, UnavailableError
from memplan.api.request_bodies import PLAN
from memplan.api.requests import ParsedRequest, parse_request
from memplan.api.service.admission import AdmissionQueue, Seat
from memplan.api.store.job import WorkAnswer
from memplan.api.workers.forked import run_forked
from memplan.api.workers.task import LostWorkersError, Task
from memplan.api.workers.workers import Workers
from memplan.questions.question import Control
from memplan.solvers.search.control import Deadline

_ANSWER_S = 0.25
"""The seconds reserved for returning the answer about a foreign file."""
_LEAST_S, _GRACE_S = 0.1, 0.3
"""The least time for any request, and the grace after its deadline for its answer."""


class WorkService:
    """Answers requests for all calls of a server, on one event loop that only moves bytes."""

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
        """Return the answer to a request (kind, head, body) by the deadline, or soon after `cancelled` is set.

        Where others wait it may be the best so far, unless it `counts_work`. It is begun once again where the child is
        lost. Raises InputError and other errors of the kind, FullError where no place is free, and NotInTimeError where
        its time was too short for an answer.
        """
        kind, _, body = request
        deadline = Deadline(deadline.began, max(deadline.at, deadline.began + _LEAST_S))
        if deadline.left_s <= 0:
            raise NotInTimeError(f"{kind}: came whole only after its time limit")
        place = Seat(
            key_id, deadline.at, (kind, len(body).bit_length()), can_end=not counts_work, arrived=deadline.began
        )
        if not await self._queue.take(place, cancelled):
            raise UnavailableError(f"{kind}: was cancelled before it had its turn")
        run = partial(
            self._workers.run,
            Task(perform, request, kind, deadline, grace_s=_GRACE_S),
            cancelled,
            None if counts_work else place.is_short,
            noted=partial(self._queue.note_first, place),
        )
        try:
            try:
                answer: WorkAnswer = await run()
            except LostWorkersError:
                answer = await run()
        finally:
            self._queue.leave(place, is_measured=not cancelled.is_set())
        return answer


def perform(control: Control, kind: str, head: str, body: bytes) -> WorkAnswer:
    """Answer a validated request, in a child; raises MemplanError."""
    return answered_apart(parse_request(kind, head, body), control, len(body))


def answered_apart(request: ParsedRequest, control: Control, n_bytes: int) -> WorkAnswer:
    """Answer a parsed request; foreign files are read in a fork. Raises MemplanError."""
    if not request.is_foreign:
        return answered(request, control)
    asked = Control(control.deadline.earlier(_ANSWER_S), control.cancelled)
    return run_forked(lambda note: answered(request, replace(asked, note=note)), control, n_bytes, request.kind)


def answered(request: ParsedRequest, control: Control) -> WorkAnswer:
    """Answer a parsed question; raises MemplanError."""
    is_plan, note = request.kind == PLAN, control.note
    if note is not None:
        control = replace(control, note=lambda found: note(WorkAnswer(found[0], found[1], is_plan)))
    content, status = request.answer(control)
    return WorkAnswer(content, status, is_plan)
