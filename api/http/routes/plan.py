"""`POST /v1/plan`: a problem in, a verified plan out, within its time limit."""

from __future__ import annotations

import logging
import time
from functools import partial
from hashlib import sha256

from fastapi import APIRouter, Request, Response
from starlette.datastructures import QueryParams

from memplan.api.http.app_state import Service
from memplan.api.http.auth.gate import PlainRoute, may
from memplan.api.http.bodies import CSV, FORMAT_OF, JSON, format_of_answer, links_of, media_type, plan_answer, read_body
from memplan.api.http.keeping import WORD, Keeping, kept_plan, read_keeping
from memplan.api.http.openapi.schemas import PLAN_ANSWER, PLAN_REQUEST
from memplan.api.http.problem_details import error_answers
from memplan.api.http.submissions import check_size, check_time_limit, read_submission
from memplan.api.http.written_answers import WrittenAnswer
from memplan.api.logs import PROBLEMS
from memplan.api.service.cache.compiled_problem import CompiledProblem, Reading
from memplan.api.service.plan_request import PlanRequest
from memplan.api.settings import Settings
from memplan.api.store.caller import Caller
from memplan.solvers.search.deadline import Deadline

router = APIRouter(route_class=PlainRoute)

_SHORT_BYTES = 64 * 2**10
"""Reading a body up to this size takes less time than handing it to a thread under load."""
_SHORT_ROWS = 600
_LISTS = (b'"bank', b'"may_share', b'"together', b'"conflicts', b'"lifetimes', b'"reserved', b'"relative', b'"alias_of')
"""The fields with which little can be much."""


@router.post(
    "/v1/plan",
    summary="Plan a problem",
    response_class=Response,
    responses={200: PLAN_ANSWER, **error_answers(400, 413, 415, 422, 429)},
    openapi_extra=PLAN_REQUEST,
    dependencies=[may("plan")],
)
async def plan(request: Request) -> Response:
    """Answer with the best plan found within the time limit, verified, with a proof or an honest gap.

    That nothing fits is an answer too: its status is `infeasible` or `unknown`, and it is JSON whatever was asked for.
    """
    arrived = time.monotonic()
    service: Service = request.app.state.service
    kind = media_type(request, *FORMAT_OF)
    body = await read_body(request, service.settings.max_body_bytes)
    name = kind, request.scope["query_string"], sha256(body).digest()
    accept = request.headers.get("accept")
    if not PROBLEMS.isEnabledFor(logging.INFO) and (written := service.written.find((name, accept))) is not None:
        service.solving.answered_again(written.problem_hash)
        return written.response(time.monotonic() - arrived)
    if WORD in body and kind == JSON:
        read_keep = partial(read_keeping, body, request.query_params, service.settings)
        if (keeping := await service.briefly(read_keep)) is not None:
            return await _kept(request, service, keeping, arrived)
    is_short = _is_short(kind, body)
    reading = service.readings.find(name)
    if reading is None:
        read = partial(_read, kind, body, request.query_params, service.settings)
        reading = read() if is_short else await service.briefly(read)
    problem, options = reading
    asked = PlanRequest(problem, options, Deadline.after(options.time_limit_s, arrived), may_be_refused=True)
    plan_format = format_of_answer(request, options)
    async with service.caller(request) as cancelled:
        found = await service.solving.plan(asked, cancelled)
    write = partial(plan_answer, found, problem.problem, plan_format)
    answer = write() if is_short else await service.briefly(write)
    answer.headers.update(links_of(found.status))
    is_usual = options.solver == "auto" and not options.deterministic
    if is_usual and (written := WrittenAnswer.of(answer, found)) is not None:
        service.written.keep((name, accept), written)
    else:
        service.readings.keep(name, reading, len(body))
    return answer


def _is_short(kind: str, body: bytes) -> bool:
    """Return True if reading and writing take less time than handing them to a thread: few rows, and no lists.

    Whatever lists may hold, what is made of them can be far more than was sent. Nothing is parsed to tell: a word that
    stands for something else only makes for a thread.
    """
    if len(body) > _SHORT_BYTES or body.count(b"\n" if kind == CSV else b"{") > _SHORT_ROWS:
        return False
    return kind == CSV or not (b"\\" in body or any(word in body for word in _LISTS))


async def _kept(request: Request, service: Service, keeping: Keeping, arrived: float) -> Response:
    """Answer a request that keeps the places of an old plan."""
    deadline = Deadline.after(keeping.options.time_limit_s, arrived)
    plan_format = format_of_answer(request, keeping.options)
    async with service.caller(request) as cancelled:
        return await kept_plan(service, Caller.of(request), keeping, plan_format, deadline, cancelled)


def _read(kind: str, body: bytes, query: QueryParams, settings: Settings) -> Reading:
    problem, options = read_submission(kind, body, query)
    check_time_limit("time_limit_s", options.time_limit_s, settings.max_time_limit_s)
    check_size(problem, settings)
    return CompiledProblem.of(problem), options
