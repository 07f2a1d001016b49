"""The HTTP calls of questions, such as `POST /v1/order`; `POST /v1/plan` consults the plan cache first."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
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
from memplan.api.requests import PLAN_HASH, check_time_limit, head_of, max_bytes, stated_time_limit_s
from memplan.api.service.answering import CallerRequest
from memplan.api.service.request_task import RequestTask
from memplan.api.store.caller import Caller
from memplan.api.store.job import WorkAnswer
from memplan.api.store.tables.jobs import HASH
from memplan.planner import __version__
from memplan.planner.errors import OptionError, excerpt
from memplan.planner.model.plan import Explanation, Plan
from memplan.questions import QUESTIONS
from memplan.questions import question_rows as rows
from memplan.questions.question import Question
from memplan.solvers.search.control import Deadline

router = APIRouter()
CACHE = "x-memplan-cache"
"""The response header that states whether a plan came from the cache: `hit` or `miss`."""


def _response(call: CallerRequest, answer: WorkAnswer) -> Response:
    if call.task.kind != PLAN:
        return Response(answer.content, media_type=JSON)
    response = plan_response(answer.content, answer.status, call.task.plan_format)
    if call.is_plain_plan:
        response.headers[CACHE] = LOOKUP.get()
    return response


def _unknown_plan(what: str, limit_s: float, arrived: float) -> Response:
    plan = Plan(
        status="unknown",
        stop_reason="time_limit",
        explanation=Explanation(message=f"{what} could not be read, compiled and planned within {limit_s:g} s"),
        wall_time_s=round(time.monotonic() - arrived, 6),
        version=__version__,
    )
    return Response(plan.model_dump_json(), media_type=JSON)


def _question_handler(question: Question[Any]) -> Callable[[Request], Awaitable[Response]]:
    """Return the function that handles the HTTP calls of a question."""
    kind, is_plan = question.name, question.name == PLAN

    async def call(request: Request) -> Response:
        """Return the response to a question's HTTP request, in the form that its query selects; raises MemplanError."""
        service, arrived, caller = Service.find_service(request), time.monotonic(), caller_of(request)
        wanted = AnswerWishes.from_request(request, question.answer)
        media = media_type(request)
        body = await read_body(request, max_bytes(media, service.settings), media)
        BODY.set(body)
        plan_format = format_accepted(request) if is_plan else "json"
        head, digest, plan_key = head_of(media, wanted.query), None, service.plan_key(caller.key_id)
        is_large = len(body) > LARGE_BYTES
        if is_plan and plan_format == "json" and not is_large:
            mine = (plan_key or "").encode()
            digest = sha256(b"%b %d %b%b" % (mine, len(head), head.encode(), body)).digest()
            if (written := service.written.find(digest)) is not None:
                service.metrics.looked_up("hit")
                response = plan_response(written.content(arrived), written.status, plan_format)
                response.headers[CACHE] = "hit"
                return await wanted.shape(request, question, response)
        try:
            asked, read = await service.parse_request(kind, head, body, arrived=arrived)
        except NotInTimeError:
            if not is_plan:
                raise
            limit_s = stated_time_limit_s(kind, head, body, service.settings)
            return await wanted.shape(request, question, _unknown_plan("the problem", limit_s, arrived))
        if read is not None:
            request.state.body_share.take(len(read.pickled))
        options = asked.options
        check_time_limit(options, service.settings)
        if isinstance(options, Options):
            if options.format is None and plan_format != "json":
                head = head_of(media, f"{wanted.query}&format={plan_format}")
            plan_format = options.format or plan_format
        task = RequestTask(kind, head, body, plan_format, read)
        deadline = Deadline.from_limit(options.time_limit_s, arrived)
        try:
            async with service.caller(request) as cancelled:
                one = CallerRequest(task, asked, deadline, cancelled, caller.key_id, plan_key, is_large)
                if "keep" in asked.fields:
                    one = await _add_old_plan(service, caller, one)
                try:
                    answer = await service.answering.run(one)
                except NotInTimeError:
                    if not one.is_plain_plan:
                        raise
                    response = _unknown_plan(f"{asked.extent.n_rows} buffers", options.time_limit_s, arrived)
                else:
                    response = _response(one, answer)
                    if digest and answer.status and answer.is_proved and plan_format == "json" and one.options.is_usual:
                        service.written.keep(digest, answer.content, answer.status)
            return await wanted.shape(request, question, response)
        finally:  # A request may also be refused after its deadline, so count missed deadlines after refusals as well.
            if deadline.remaining_s < -LATE_S:
                service.metrics.missed_deadline()

    return call


async def _add_old_plan(service: Service, caller: Caller, call: CallerRequest) -> CallerRequest:
    """Return the call with the plan itself, from the caller's jobs, beside the plan's hash in its input `keep`.

    Raises OptionError if none of these jobs has a plan with this hash; a call without a hash is returned unchanged.
    """
    keep = call.asked.fields["keep"]
    if not isinstance(keep, dict) or PLAN_HASH not in keep:
        return call
    store, plan_hash = service.store, keep[PLAN_HASH]
    if not (isinstance(plan_hash, str) and HASH.fullmatch(plan_hash)):
        raise OptionError(f"keep.{PLAN_HASH}: must be sha256: and 64 hexadecimal digits, got {excerpt(plan_hash)}")
    old = await store.run_in_thread(partial(store.jobs.plan_of_hash, plan_hash, caller))
    if old is None:
        raise OptionError(f"keep.{PLAN_HASH}: must be the hash of a plan of a kept job, got {excerpt(plan_hash)}")
    return replace(call, task=replace(call.task, keep=old))


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
