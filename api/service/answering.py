"""Answers to requests of questions: each request waits for a slot, and a child process does the work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

from pydantic_core import from_json, to_json

from memplan.api.metrics import Lookup, Metrics
from memplan.api.options import Options
from memplan.api.refusals import NotInTimeError, UnavailableError
from memplan.api.request_bodies import LARGE_BYTES, PLAN
from memplan.api.requests import ParsedRequest, parse_request, write_in
from memplan.api.service.admission import AdmissionQueue, Seat
from memplan.api.service.cache.cached_plan import CachedPlan, result_of
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.cache.plan_cache import PlanCache, join_entries
from memplan.api.service.plan_service import answer_of, reason_to_answer, time_searched
from memplan.api.store.job import WorkAnswer
from memplan.api.store.stored_plan import StoredPlan
from memplan.api.workers.forked import run_forked
from memplan.api.workers.plan_search import search
from memplan.api.workers.task import LostWorkersError, Task, TaskControl
from memplan.api.workers.workers import Workers
from memplan.planner.model.plan import NO_PLACEMENTS, Plan
from memplan.planner.model.problem import Problem
from memplan.questions.plan.answers import write_plan
from memplan.questions.question import Control
from memplan.questions.reading import add_reading_facts
from memplan.solvers.portfolio.one_search import answer_time_s
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.search.control import Deadline
from memplan.solvers.search.result import Progress, SolveResult

_ANSWER_S = 0.25
"""The seconds reserved for returning an answer that a forked process computed from a foreign file."""
_LEAST_S, _GRACE_S = 0.1, 0.3
"""The minimum seconds for any request, and the seconds after its deadline in which its answer may still arrive."""
OF_A_LINE = ("id",)
"""The fields that a line of a batch may have besides its problem and options."""


class WorkService:
    """Answers a server's requests in child processes, so that the event loop only moves bytes."""

    def __init__(self, workers: Workers, queue: AdmissionQueue, cache: PlanCache, metrics: Metrics) -> None:
        """Use the server's child processes, slots, plan cache and metrics; no large plan is being searched yet."""
        self._workers, self._queue, self._cache, self._metrics = workers, queue, cache, metrics
        self._running: dict[Hashable, _LargePlan] = {}

    async def work(
        self,
        request: tuple[str, str, bytes],
        deadline: Deadline,
        cancelled: asyncio.Event,
        key_id: str | None = None,
        *,
        can_end: bool = True,
    ) -> WorkAnswer:
        """Return the answer to a request (kind, head, body) by the deadline, or soon after `cancelled` is set.

        With `can_end`, other waiting requests may end the work early, with the best answer so far. If the child process
        dies, the work is repeated once. Raises the question's errors, FullError if no slot becomes free, and
        NotInTimeError without an answer in time.
        """
        kind, _, body = request
        deadline = Deadline(deadline.began, max(deadline.at, deadline.began + _LEAST_S))
        if deadline.remaining_s <= 0:
            raise NotInTimeError(f"{kind}: must arrive completely within its time limit")
        sort = kind, len(body).bit_length()
        place = Seat(key_id, deadline.at, sort, can_end=can_end, arrived=deadline.began)
        task = Task(answer_request, request, kind, deadline, grace_s=_GRACE_S, is_large=len(body) > LARGE_BYTES)
        return await self._run_task(task, place, cancelled, noted=partial(self._queue.note_first, place))

    async def plan(
        self,
        request: tuple[str, str, bytes],
        problem_hash: str,
        plan_format: str,
        options: SolveOptions,
        deadline: Deadline,
        cancelled: asyncio.Event,
        key_id: str | None = None,
    ) -> WorkAnswer:
        """Return the plan of a large problem, parsed and searched in a child process, starting from the known plan.

        Equal simultaneous requests share one search and its answer. With an infinite deadline, the time limit starts
        when the request gets its slot.
        """
        name = *request, problem_hash, plan_format, deadline.at == inf
        if is_new := (running := self._running.get(name)) is None:
            work = partial(self._large_plan, request, problem_hash, plan_format, options, deadline, key_id)
            running = self._running[name] = _LargePlan(work)
            running.task.add_done_callback(lambda _: self._running.pop(name))
        else:
            self._metrics.looked_up("joined")
        answer, lookup = await running.answer(cancelled)
        self._metrics.looked_up(lookup if is_new else "hit")
        return answer

    async def _large_plan(
        self,
        request: tuple[str, str, bytes],
        problem_hash: str,
        plan_format: str,
        options: SolveOptions,
        deadline: Deadline,
        key_id: str | None,
        cancelled: asyncio.Event,
    ) -> tuple[WorkAnswer, Lookup]:
        """Plan a large problem in a child process from the plan stored for `problem_hash`, and store a better plan."""
        record = await self._cache.read_stored(problem_hash)
        what = (*request, record, plan_format)
        task = Task(plan_apart, what, PLAN, deadline, limit_s=options.time_limit_s, grace_s=_GRACE_S, is_large=True)
        answer = await self._run_task(task, Seat(key_id, deadline.at, can_end=False), cancelled)
        if answer.known is not None:
            await self._cache.replace(problem_hash, record, answer.known)
        if answer.searched is None:
            return answer, "hit"
        self._metrics.count_solve(answer.searched, options.solver, "worker")
        return answer, "miss" if record is None else "started_from"

    async def _run_task(self, task: Task, place: Seat, cancelled: asyncio.Event, **heard: Any) -> WorkAnswer:
        """Wait for a slot, and return the task's answer; a task whose child process is lost is run once more."""
        if not await self._queue.wait_for_slot(place, cancelled):
            raise UnavailableError(f"{task.what}: the request was cancelled before its work started")
        run = partial(self._workers.run, task, cancelled, place.is_short if place.can_end else None, **heard)
        try:
            try:
                answer: WorkAnswer = await run()
            except LostWorkersError:
                answer = await run()
        finally:
            self._queue.release_slot(place, is_measured=not cancelled.is_set())
        return answer


class _LargePlan:
    """The running search for a large problem's plan, shared by equal requests; it ends early once all are cancelled."""

    def __init__(self, work: Callable[[asyncio.Event], Coroutine[Any, Any, tuple[WorkAnswer, Lookup]]]) -> None:
        """Start `work` as a task; it gets an event that is set once no caller is left."""
        self._over, self._callers = asyncio.Event(), 0
        self.task = asyncio.create_task(work(self._over))

    async def answer(self, cancelled: asyncio.Event) -> tuple[WorkAnswer, Lookup]:
        """Return the search's answer; once all callers have cancelled, it is the best plan so far."""
        self._callers += 1
        leaving = asyncio.create_task(cancelled.wait())
        try:
            await asyncio.wait((self.task, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            self._callers -= 1
            if not self._callers:
                self._over.set()
        return await asyncio.shield(self.task)


def parse_for_child(body: bytes, kind: str, head: str, terms: tuple[str, ...] = ()) -> tuple[ParsedRequest, str | None]:
    """Parse a request in a child process; return (request without inputs, problem hash if a plain plan is wanted)."""
    asked = parse_request(kind, head, body, terms=terms)
    is_plain = asked.is_plain_plan
    return asked.drop_inputs(), CompiledProblem.from_problem(asked.input_values()["problem"]).hash if is_plain else None


def insert_old_plan(body: bytes, kind: str, head: str, plan_format: str, old: bytes) -> bytes:
    """Return a request's body with all options, in which the plan to keep (`old`, JSON) replaces its hash."""
    asked = parse_request(kind, head, body, terms=())
    reading = {} if asked.reading is None else asked.reading.model_dump(mode="json", exclude_unset=True)
    options = asked.options.model_dump(mode="json", exclude_defaults=True) | reading | {"format": plan_format}
    return b'{"problem":%b,"options":%b,"keep":%b}' % (to_json(asked.fields["problem"]), to_json(options), old.strip())


def answer_request(
    control: TaskControl,
    kind: str,
    head: str,
    body: bytes,
    record: StoredPlan | None = None,
    before: bytes | None = None,
) -> WorkAnswer:
    """Answer a request or a job; this function runs in a child process. Raises MemplanError.

    The search for a plain plan starts from the cached plan `record`, or from `before`, the job's best answer so far.
    """
    request = parse_request(kind, head, body)
    if not request.is_plain_plan:
        return answered_apart(request, control, len(body))

    def write_result(plan: Plan, _problem: Problem) -> WorkAnswer:
        facts = None
        if plan.lower_bound is not None:
            facts = Progress(0.0, plan.peak, plan.lower_bound, plan.solver or "").facts()
        return WorkAnswer(write_plan(plan), plan.status, is_plan=True, facts=facts)

    compiled = CompiledProblem.from_problem(request.input_values()["problem"])
    return _plan_answer(control, request, compiled, record, before, write_result)


def plan_apart(
    control: TaskControl, kind: str, head: str, body: bytes, record: StoredPlan | None, plan_format: str
) -> WorkAnswer:
    """Return the plan of a request without further inputs, written in `plan_format`; runs in a child process.

    The search starts from the cached plan `record`. It leaves as much time for verifying and writing its plan as
    reading the problem took. Raises MemplanError.
    """
    began = time.monotonic()
    request = parse_request(kind, head, body, terms=OF_A_LINE)
    compiled = CompiledProblem.from_problem(request.input_values()["problem"])
    kept_s = time.monotonic() - began - answer_time_s(compiled.problem)

    def work_answer(plan: Plan, problem: Problem) -> WorkAnswer:
        plan = plan if request.reading is None else add_reading_facts(plan, request.reader())
        return WorkAnswer(write_in(plan_format, plan, problem), plan.status, is_plan=True)

    return _plan_answer(
        replace(control, deadline=control.deadline.bring_forward(max(0.0, kept_s))),
        request,
        compiled,
        record,
        None,
        work_answer,
    )


def _plan_answer(
    control: TaskControl,
    request: ParsedRequest,
    compiled: CompiledProblem,
    record: StoredPlan | None,
    before: bytes | None,
    write: Callable[[Plan, Problem], WorkAnswer],
) -> WorkAnswer:
    """Return the cached plan `record` if it is good enough; otherwise, search for a plan.

    The search starts from `before`, a job's best plan, or else from the cached plan; a deterministic search from
    neither.
    """
    options = request.options
    assert isinstance(options, Options)

    def work_answer(plan: Plan) -> WorkAnswer:
        return write(plan, compiled.problem)

    def answer(result: SolveResult) -> WorkAnswer:
        """Return a result's verified plan as an answer; raises UnavailableError if it was cancelled without a plan."""
        plan = answer_of(result, compiled, options, control.deadline)
        if plan.stop_reason == "cancelled" and not plan.placements:
            raise UnavailableError("plan: the request was cancelled before there was an answer")
        return work_answer(plan)

    is_usual = options.is_usual and options.profile_of(compiled.problem) is None
    cached = CachedPlan.read(record) if is_usual else None
    result = None if cached is None else result_of(cached, compiled)
    if (reason := reason_to_answer(cached, result, options, compiled.problem)) is not None and result is not None:
        return answer(replace(result, stop_reason=reason))
    start = result.plan if result is not None and result.plan.placements else None
    if before is not None:
        start = Plan.model_validate(from_json(before))
    # Earlier plans depend on clocks, so a deterministic search must not start from one.
    start = None if options.deterministic else start
    result = search(_reporting_control(control, work_answer), compiled.problem, options, start, compiled.instance)
    to_cache = CachedPlan.from_result(compiled, result, time_searched(result, options)) if is_usual else None
    known = None if to_cache is None else join_entries(compiled, to_cache, False, record)
    searched = replace(
        result, plan=result.plan.model_copy(update={"placements": NO_PLACEMENTS}), assignment=None, bound=None
    )
    return replace(answer(result), known=known, searched=searched)


def _reporting_control(control: TaskControl, written_answer: Callable[[Plan], WorkAnswer]) -> TaskControl:
    """Return the task's control, changed to report progress as event data, and best plans as answers."""

    def report(said: Any) -> None:
        control.report(said.facts() | {"elapsed_s": said.elapsed_s} if isinstance(said, Progress) else said)

    def watch(best: Callable[[], SolveResult | None]) -> None:
        control.watch(lambda: None if (best_now := best()) is None else written_answer(best_now.plan))

    return replace(control, report=report, watch=watch)


def answered_apart(request: ParsedRequest, control: Control, n_bytes: int) -> WorkAnswer:
    """Return the answer to a parsed request; raises MemplanError.

    If its input is a file of another system, a forked process answers it, because that file's reader may crash.
    """
    if not request.is_foreign:
        return answer_question(request, control)
    asked = Control(control.deadline.bring_forward(_ANSWER_S), control.cancelled)
    return run_forked(lambda note: answer_question(request, replace(asked, note=note)), control, n_bytes, request.kind)


def answer_question(request: ParsedRequest, control: Control) -> WorkAnswer:
    """Return the answer to a parsed request, found in this process; raises MemplanError."""
    is_plan, note = request.kind == PLAN, control.note
    if note is not None:
        control = replace(control, note=lambda found: note(WorkAnswer(found[0], found[1], is_plan)))
    content, status = request.answer(control)
    return WorkAnswer(content, status, is_plan)
