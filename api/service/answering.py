"""Answering of questions: each request waits for a slot, and a child process does the work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic_core import from_json, to_json

from memplan.api.options import Options
from memplan.api.refusals import NotInTimeError, UnavailableError
from memplan.api.request_bodies import LARGE_BYTES, PLAN
from memplan.api.requests import TERMS, ParsedRequest, parse_request, write_in
from memplan.api.service.admission import AdmissionQueue, Seat
from memplan.api.service.cache.cached_plan import CachedPlan, result_of
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.cache.plan_cache import PlanCache, joined
from memplan.api.service.plan_service import answer_of, reason_to_answer, time_searched
from memplan.api.store.job import WorkAnswer
from memplan.api.store.stored_plan import StoredPlan
from memplan.api.workers.forked import run_forked
from memplan.api.workers.plan_search import search
from memplan.api.workers.task import LostWorkersError, Task, TaskControl
from memplan.api.workers.workers import Workers
from memplan.planner.model.plan import Plan
from memplan.questions.plan.answers import write_plan
from memplan.questions.question import Control
from memplan.questions.reading import with_reading
from memplan.solvers.search.control import Deadline
from memplan.solvers.search.result import Progress, SolveResult

_ANSWER_S = 0.25
"""The seconds reserved for returning the answer about a foreign file."""
_LEAST_S, _GRACE_S = 0.1, 0.3
"""The least time for any request, and the grace after its deadline for its answer."""
OF_A_LINE = ("id",)
"""What may stand beside a problem in a line of a batch."""
_CARRY_S = 2e-7
"""The seconds reserved for each byte of a large problem: to verify and to write its plan."""


class WorkService:
    """Answers requests for all calls of a server, on one event loop that only moves bytes."""

    def __init__(self, workers: Workers, queue: AdmissionQueue, cache: PlanCache) -> None:
        self._workers, self._queue, self._cache = workers, queue, cache

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
        task = Task(perform, request, kind, deadline, grace_s=_GRACE_S, is_large=len(body) > LARGE_BYTES)
        return await self._worked(task, place, cancelled, noted=partial(self._queue.note_first, place))

    async def plan(
        self,
        request: tuple[str, str, bytes],
        problem_hash: str,
        plan_format: str,
        limit_s: float,
        deadline: Deadline,
        cancelled: asyncio.Event,
        key_id: str | None = None,
    ) -> WorkAnswer:
        """Return the plan of a problem so large that only a child reads it, from the best plan known, as `work` does.

        limit_s: its time limit, which counts from its turn where the deadline is infinite.
        """
        record = await self._cache.stored(problem_hash)
        carry_s = _CARRY_S * len(request[2])
        due, what = deadline.earlier(carry_s), (*request, record, None, plan_format)
        task = Task(perform, what, PLAN, due, limit_s=limit_s, grace_s=_GRACE_S + carry_s, is_large=True)
        answer = await self._worked(task, Seat(key_id, deadline.at, can_end=False), cancelled)
        if answer.known is not None:
            await self._cache.replace(problem_hash, record, answer.known)
        return answer

    async def _worked(self, task: Task, place: Seat, cancelled: asyncio.Event, **heard: Any) -> WorkAnswer:
        """Run a task once it has a place."""
        if not await self._queue.take(place, cancelled):
            raise UnavailableError(f"{task.what}: was cancelled before it had its turn")
        run = partial(self._workers.run, task, cancelled, place.is_short if place.can_end else None, **heard)
        try:
            try:
                answer: WorkAnswer = await run()
            except LostWorkersError:
                answer = await run()
        finally:
            self._queue.leave(place, is_measured=not cancelled.is_set())
        return answer


def look(body: bytes, kind: str, head: str, terms: tuple[str, ...] = ()) -> tuple[ParsedRequest, str | None]:
    """Parse a request for another process, which does not get its inputs, but the problem hash of a plain plan."""
    asked = parse_request(kind, head, body, terms=terms)
    is_plain = asked.is_plain_plan
    return asked.without_inputs(), CompiledProblem.of(asked.input_values()["problem"]).hash if is_plain else None


def with_old_plan(body: bytes, kind: str, head: str, plan_format: str, old: bytes) -> bytes:
    """Return the body of a request with the plan to keep, instead of its hash, and with all its options."""
    asked = parse_request(kind, head, body, terms=())
    reading = {} if asked.reading is None else asked.reading.model_dump(mode="json", exclude_unset=True)
    options = asked.options.model_dump(mode="json", exclude_defaults=True) | reading | {"format": plan_format}
    return b'{"problem":%b,"options":%b,"keep":%b}' % (to_json(asked.fields["problem"]), to_json(options), old.strip())


def perform(
    control: TaskControl,
    kind: str,
    head: str,
    body: bytes,
    record: StoredPlan | None = None,
    before: bytes | None = None,
    plan_format: str | None = None,
) -> WorkAnswer:
    """Answer a request in a child; raises MemplanError.

    A plain plan starts from the cached plan, `record`, and from the best so far; where no format is given, it is JSON.
    """
    request = parse_request(kind, head, body, terms=TERMS if plan_format is None else OF_A_LINE)
    if not request.is_plain_plan:
        return answered_apart(request, control, len(body))
    compiled, options = CompiledProblem.of(request.input_values()["problem"]), request.options
    assert isinstance(options, Options)

    def written(plan: Plan) -> WorkAnswer:
        facts = None
        if plan.lower_bound is not None:
            facts = Progress(0.0, plan.peak, plan.lower_bound, plan.solver or "").facts()
        if plan_format is None:
            return WorkAnswer(write_plan(plan), plan.status, is_plan=True, facts=facts)
        plan = plan if request.reading is None else with_reading(plan, request.reader())
        return WorkAnswer(write_in(plan_format, plan, compiled.problem), plan.status, is_plan=True)

    def answer(result: SolveResult) -> WorkAnswer:
        plan = answer_of(result, compiled, options, control.deadline)
        if plan.stop_reason == "cancelled" and not plan.placements:
            raise UnavailableError("plan: was cancelled before there was an answer")
        return written(plan)

    is_usual = options.is_usual and options.profile_of(compiled.problem) is None
    cached = CachedPlan.read(record) if is_usual else None
    result = None if cached is None else result_of(cached, compiled)
    if (reason := reason_to_answer(cached, result, options, compiled.problem)) is not None and result is not None:
        return answer(replace(result, stop_reason=reason))
    start = result.plan if result is not None and result.plan.placements else None
    if before is not None:
        start = Plan.model_validate(from_json(before))
    # What was found before depends on clocks, which a deterministic plan must not.
    start = None if options.deterministic else start
    result = search(_reporting(control, written), compiled.problem, options, start, compiled.instance)
    to_cache = CachedPlan.of(compiled, result, time_searched(result, options)) if is_usual else None
    known = None if to_cache is None else joined(compiled, to_cache, False, record)
    return replace(answer(result), known=known)


def _reporting(control: TaskControl, written: Callable[[Plan], WorkAnswer]) -> TaskControl:
    """Return a search's control that reports progress and best results as those of a request."""

    def report(said: Any) -> None:
        control.report(said.facts() | {"elapsed_s": said.elapsed_s} if isinstance(said, Progress) else said)

    def watch(best: Callable[[], SolveResult | None]) -> None:
        control.watch(lambda: None if (best_now := best()) is None else written(best_now.plan))

    return replace(control, report=report, watch=watch)


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
