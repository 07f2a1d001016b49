"""`POST /v1/liveness`: operations in, a problem out, with what is known of it before anybody plans it."""

from __future__ import annotations

import threading
import time

from fastapi import APIRouter, Request, Response

from memplan.api.http.app_state import Service
from memplan.api.http.auth.gate import may
from memplan.api.http.bodies import JSON, media_type, read_body
from memplan.api.http.openapi.schemas import LIVENESS_ANSWER, LIVENESS_REQUEST
from memplan.api.http.problem_details import error_answers
from memplan.api.http.submissions import check_size, check_time_limit
from memplan.api.reports.liveness_requests import LivenessAnswer, LivenessOptions, answer_request, read_request
from memplan.api.settings import Settings
from memplan.planner.liveness.expansion import MAX_EXPANDED
from memplan.planner.operations.operations import Operations
from memplan.solvers.search.deadline import Deadline

router = APIRouter()


@router.post(
    "/v1/liveness",
    summary="Find lifetimes",
    response_class=Response,
    responses={200: LIVENESS_ANSWER, **error_answers(400, 413, 415, 422, 429)},
    openapi_extra=LIVENESS_REQUEST,
    dependencies=[may("plan")],
)
async def liveness(request: Request) -> Response:
    """Answer with the problem that operations pose, and what it is worth to know lifetimes better.

    Nothing is solved, unless `compare` asks for the peaks; then the answer comes within the time limit.
    """
    arrived = time.monotonic()
    service = Service.of(request)
    media_type(request, JSON)
    body = await read_body(request, service.settings.max_body_bytes)
    operations, options = await service.briefly(lambda: read_request(body))
    if not options.compare:
        return await service.briefly(lambda: _written(_answer(operations, options, service.settings)))
    check_time_limit("options.time_limit_s", options.time_limit_s, service.settings.max_time_limit_s)

    deadline = Deadline.after(options.time_limit_s, arrived)

    def work(cancelled: threading.Event) -> Response:
        return _written(_answer(operations, options, service.settings, cancelled, deadline))

    answered = await service.in_turn(request, work, deadline)
    return Response() if answered is None else answered


def _answer(
    operations: Operations,
    options: LivenessOptions,
    settings: Settings,
    cancelled: threading.Event | None = None,
    deadline: Deadline | None = None,
) -> LivenessAnswer:
    most = min(MAX_EXPANDED, settings.max_cells)
    found = answer_request(operations, options, most=most, cancelled=cancelled, deadline=deadline)
    check_size(found.problem, settings)
    return found


def _written(answer: LivenessAnswer) -> Response:
    return Response(answer.model_dump_json(), media_type=JSON)
