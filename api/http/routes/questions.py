"""The HTTP calls of questions, such as `POST /v1/order`; `POST /v1/plan` consults the plan cache first."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any

from fastapi import APIRouter, Request, Response

from memplan.api.faults import BODY
from memplan.api.http.answers import AnswerWishes, format_accepted, plan_response
from memplan.api.http.app_state import Service
from memplan.api.http.auth import caller_of, may
from memplan.api.http.problem_details import error_answers
from memplan.api.http.receiving import media_type, read_body
from memplan.api.metrics import LATE_S, LOOKUP
from memplan.api.options import Options
from memplan.api.refusals import NotInTimeError
from memplan.api.request_bodies import JSON, LARGE_BYTES, PLAN
from memplan.api.requests import (
    PLAN_HASH,
    ParsedRequest,
    check_time_limit,
    head_of,
    max_bytes,
    parse_request,
    stated_time_limit_s,
    write_in,
)
from memplan.api.service.answering import answer_question, insert_old_plan, parse_for_child
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.plan_service import PlanRequest
from memplan.api.store.stored_plan import cache_name
from memplan.api.store.tables.jobs import HASH
from memplan.planner import __version__
from memplan.planner.errors import OptionError, excerpt
from memplan.planner.model.plan import Explanation, Plan
from memplan.questions import QUESTIONS
from memplan.questions import question_rows as rows
from memplan.questions.question import Control, Question
from memplan.questions.reading import add_reading_facts
from memplan.solvers.search.control import Deadline

router = APIRouter()
CACHE = "x-memplan-cache"
"""The response header that states whether a plan came from the cache: `hit` or `miss`."""
_ROW_S = 2.5e-6
"""The minimum seconds for parsing and compiling one row (a buffer or a pair)."""
_SHORT_CELLS = 3_000
"""The product of rows and pools up to which parsing and compiling are faster than handing them to a thread."""


@dataclass(frozen=True, eq=False)
class _Call:
    """A question's HTTP call after its body was read and before its response is known.

    head, body: the request as it was sent.
    asked: the parsed request; its inputs are absent if a worker process answers.
    problem_hash: the hash of the problem, if a plan is requested in a body so large that only child processes parse it.
    deadline: the time at which the answer is due.
    cancelled: an event that is set when the caller disconnects or the service stops.
    """

    service: Service
    request: Request
    head: str
    body: bytes
    asked: ParsedRequest
    problem_hash: str | None
    deadline: Deadline
    cancelled: asyncio.Event

    async def answer(self, plan_format: str) -> Response:
        """Return the response from a thread, from a worker process, or from the plan cache; raises MemplanError."""
        asked, is_large = self.asked, len(self.body) > LARGE_BYTES
        if self.problem_hash is not None:
            return await self._large_plan_response(self.problem_hash, plan_format)
        if asked.is_plain_plan and not is_large:
            return await self._plan_response(plan_format)
        if not asked.is_foreign and not is_large and asked.question.is_brief(asked.extent, asked.options):
            control = Control(self.deadline)
            work = partial(answer_question, asked, control)
            answer = await self.service.run_work(work, len(self.body), is_short=False, deadline=self.deadline)
        else:
            sent, key_id = (asked.kind, self.head, self.body), caller_of(self.request).key_id
            answer = await self.service.working.work(
                sent, self.deadline, self.cancelled, key_id, can_end=asked.options.can_end
            )
        if asked.kind == PLAN:
            return plan_response(answer.content, answer.status, plan_format)
        return Response(answer.content, media_type=JSON)

    async def _plan_response(self, plan_format: str) -> Response:
        """Return the response with a plan from the plan cache or a search."""
        service, asked, n_bytes = self.service, self.asked, len(self.body)
        extent, deadline = asked.extent, self.deadline
        if extent.n_rows * _ROW_S > deadline.remaining_s:
            return self._timeout_answer()

        key_id = caller_of(self.request).key_id

        def compiled_problem() -> CompiledProblem:
            return CompiledProblem.from_problem(asked.input_values()["problem"], service.plan_key(key_id))

        is_short = extent.n_rows * extent.n_pools <= _SHORT_CELLS and not extent.n_expanded
        try:
            compiled = await service.run_work(compiled_problem, n_bytes, is_short=is_short, deadline=deadline)
        except NotInTimeError:
            return self._timeout_answer()
        assert isinstance(asked.options, Options)
        LOOKUP.set("miss")
        wanted = PlanRequest(compiled, asked.options, deadline, key_id)
        plan = await service.solving.plan(wanted, self.cancelled)
        if asked.reading is not None:
            plan = add_reading_facts(plan, asked.reader())
        content = await service.run_work(partial(write_in, plan_format, plan, compiled.problem), n_bytes)
        response = plan_response(content, plan.status, plan_format)
        response.headers[CACHE] = LOOKUP.get()
        if plan_format == "json" and plan.stop_reason == "proved" and asked.options.is_usual:
            service.written.keep(self.request.state.digest, content, plan.status)
        return response

    async def _large_plan_response(self, problem_hash: str, plan_format: str) -> Response:
        """Return the response with a plan that a child process computes, starting from the best cached plan."""
        sent, key_id, options = (PLAN, self.head, self.body), caller_of(self.request).key_id, self.asked.options
        assert isinstance(options, Options)
        working, known = self.service.working, cache_name(problem_hash, self.service.plan_key(key_id))
        try:
            answer = await working.plan(sent, known, plan_format, options, self.deadline, self.cancelled, key_id)
        except NotInTimeError:
            return self._timeout_answer()
        response = plan_response(answer.content, answer.status, plan_format)
        response.headers[CACHE] = LOOKUP.get()
        return response

    def _timeout_answer(self) -> Response:
        what = f"{self.asked.extent.n_rows} buffers could not be read, compiled and planned"
        return _unknown_plan(what, self.asked.options.time_limit_s, self.deadline)


def _unknown_plan(what: str, limit_s: float, deadline: Deadline) -> Response:
    plan = Plan(
        status="unknown",
        stop_reason="time_limit",
        explanation=Explanation(message=f"{what} within {limit_s:g} s"),
        wall_time_s=round(deadline.passed_s, 6),
        version=__version__,
    )
    return Response(plan.model_dump_json(), media_type=JSON)


def _question_handler(question: Question[Any]) -> Callable[[Request], Awaitable[Response]]:
    """Return the function that handles the HTTP calls of a question."""

    kind = question.name
    is_plan = kind == PLAN

    async def call(request: Request) -> Response:
        """Return the response to a question's HTTP request, in the form that its query selects; raises MemplanError."""
        service, arrived = Service.find_service(request), time.monotonic()
        wanted = AnswerWishes.from_request(request, question.answer)
        media = media_type(request)
        body = await read_body(request, max_bytes(media, service.settings), media)
        BODY.set(body)
        plan_format = format_accepted(request) if is_plan else "json"
        head = head_of(media, wanted.query)
        if is_plan and plan_format == "json" and len(body) <= LARGE_BYTES:
            mine = (service.plan_key(caller_of(request).key_id) or "").encode()
            digest = request.state.digest = sha256(b"%b %d %b%b" % (mine, len(head), head.encode(), body)).digest()
            if (written := service.written.find(digest)) is not None:
                service.metrics.looked_up("hit")
                response = plan_response(written.content(arrived), written.status, plan_format)
                response.headers[CACHE] = "hit"
                return await wanted.shape(request, question, response)
        problem_hash = None
        if len(body) > LARGE_BYTES:
            limit_s = stated_time_limit_s(kind, head, body, service.settings)
            due = Deadline.from_limit(limit_s, arrived)
            try:
                asked, problem_hash = await service.parse_body(parse_for_child, body, kind, head, deadline=due)
            except NotInTimeError:
                if not is_plan:
                    raise
                unknown = _unknown_plan("the problem could not be read, compiled and planned", limit_s, due)
                return await wanted.shape(request, question, unknown)
        else:
            asked = await service.run_work(partial(parse_request, kind, head, body, terms=()), len(body))
        check_time_limit(asked.options, service.settings)
        if isinstance(asked.options, Options):
            if asked.options.format is None and plan_format != "json":
                head = head_of(media, f"{wanted.query}&format={plan_format}")
            plan_format = asked.options.format or plan_format
        deadline = Deadline.from_limit(asked.options.time_limit_s, arrived)
        try:
            async with service.caller(request) as cancelled:
                one = _Call(service, request, head, body, asked, problem_hash, deadline, cancelled)
                if "keep" in asked.fields:
                    one = await _insert_old_plan(one, plan_format)
                response = await one.answer(plan_format)
            return await wanted.shape(request, question, response)
        finally:  # A request may also be refused after its deadline, so count missed deadlines after refusals as well.
            if deadline.remaining_s < -LATE_S:
                service.metrics.missed_deadline()

    return call


async def _insert_old_plan(call: _Call, plan_format: str) -> _Call:
    """Return the call with the plan's hash in its input `keep` replaced by the plan itself, from the caller's jobs.

    Raises OptionError if none of these jobs has a plan with this hash; a call without a hash is returned unchanged.
    """
    keep = call.asked.fields["keep"]
    if not isinstance(keep, dict) or PLAN_HASH not in keep:
        return call
    caller, store, plan_hash = caller_of(call.request), call.service.store, keep[PLAN_HASH]
    if not (isinstance(plan_hash, str) and HASH.fullmatch(plan_hash)):
        raise OptionError(f"keep.{PLAN_HASH}: must be sha256: and 64 hexadecimal digits, got {excerpt(plan_hash)}")
    old = await store.run_in_thread(partial(store.jobs.plan_of_hash, plan_hash, caller))
    if old is None:
        raise OptionError(f"keep.{PLAN_HASH}: must be the hash of a plan of a kept job, got {excerpt(plan_hash)}")
    body = await call.service.parse_body(insert_old_plan, call.body, call.asked.kind, call.head, plan_format, old)
    return replace(call, head=head_of(JSON, ""), body=body)


for _question in QUESTIONS.values():
    router.add_api_route(
        _question.path,
        _question_handler(_question),
        methods=["POST"],
        name=_question.name,
        operation_id=_question.name,
        summary=_question.summary,
        deprecated=bool(rows()[_question.name].deprecated) or None,
        description=_question.help,
        response_class=Response,
        responses=error_answers(400, 413, 415, 417, 422, 429, 504),
        dependencies=[may("plan")],
    )
