"""`POST /v1/plan`: a problem in, a verified plan out, within its time limit."""

from __future__ import annotations

import time
from functools import partial
from hashlib import sha256

from fastapi import APIRouter, Request, Response
from starlette.datastructures import QueryParams

from memplan.api.http.app_state import Service
from memplan.api.http.auth.gate import PlainRoute, may
from memplan.api.http.bodies import FORMAT_OF, JSON, format_of_answer, media_type, plan_answer, read_body
from memplan.api.http.keeping import WORD, Keeping, kept_plan, read_keeping
from memplan.api.http.openapi.schemas import PLAN_ANSWER, PLAN_REQUEST
from memplan.api.http.problem_details import error_answers
from memplan.api.http.submissions import check_size, check_time_limit, read_submission
from memplan.api.service.cache.compiled_problem import CompiledProblem, Reading
from memplan.api.service.plan_request import PlanRequest
from memplan.api.settings import Settings
from memplan.api.store.caller import Caller
from memplan.solvers.search.deadline import Deadline

router = APIRouter(route_class=PlainRoute)

_CERTIFIED = '</v1/certificate>; rel="certificate"'
_LINKS = {"optimal": _CERTIFIED, "infeasible": f'</v1/explain>; rel="explanation", {_CERTIFIED}'}
"""The links of answers that claim something: the same body is answered there with the proof, or the reason."""
_SHORT_BYTES = 64 * 2**10
"""Reading a body up to this size takes less time than handing it to a thread under load."""


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
    if WORD in body and kind == JSON:
        read_keep = partial(read_keeping, body, request.query_params, service.settings)
        if (keeping := await service.briefly(read_keep)) is not None:
            return await _kept(request, service, keeping, arrived)
    is_short = len(body) <= _SHORT_BYTES
    name = kind, request.scope["query_string"], sha256(body).digest()
    reading = service.readings.find(name)
    if reading is None:
        read = partial(_read, kind, body, request.query_params, service.settings)
        reading = read() if is_short else await service.briefly(read)
        service.readings.keep(name, reading, len(body))
    problem, options = reading
    asked = PlanRequest(problem, options, Deadline.after(options.time_limit_s, arrived), may_be_refused=True)
    plan_format = format_of_answer(request, options)
    async with service.caller(request) as cancelled:
        found = await service.solving.plan(asked, cancelled)
    write = partial(plan_answer, found, problem.problem, plan_format)
    answer = write() if is_short else await service.briefly(write)
    if found.status in _LINKS:
        answer.headers["Link"] = _LINKS[found.status]
    return answer


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
