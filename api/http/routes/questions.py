"""One call that waits for each capability beside plans: `POST /v1/order`."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

from memplan.api.http.app_state import Service
from memplan.api.http.auth.gate import may
from memplan.api.http.openapi.capability_schemas import question_answer, question_request
from memplan.api.http.problem_details import error_answers
from memplan.api.http.requests.bodies import JSON, media_type, read_body
from memplan.api.http.requests.readers import LARGE_BYTES, limit_of
from memplan.api.http.requests.work_requests import BegunWork, begin_work
from memplan.api.http.selected import selected
from memplan.api.service.answering import QUESTIONS, answered
from memplan.api.service.work_service import WorkRequest
from memplan.api.store.caller import Caller
from memplan.capabilities.bodies import media_of, read_question
from memplan.capabilities.capability import Capability, Control, due
from memplan.capabilities.registry import CAPABILITIES

router = APIRouter()


def _call(capability: Capability[Any]) -> Callable[[Request], Awaitable[Response]]:
    """Return the function of a capability's route: it checks the body, and sends it to a worker."""

    async def call(request: Request) -> Response:
        return await selected(request, capability.answer, work)

    async def work(request: Request) -> Response:
        arrived = time.monotonic()
        service = Service.of(request)
        media = media_type(request, *media_of(capability))
        body = await read_body(request, min(service.settings.max_body_bytes, capability.most_bytes))
        seems_due = limit_of(body, str(request.query_params), arrived)
        reading = partial(_begun, service, capability, media, body, request, arrived)
        try:
            begun, brief = await service.in_time(reading, request, seems_due, lambda found: found[0].end())
            seems_due = due(begun.options.time_limit_s, arrived)
            answer = await _answer(request, begun, brief, media, body, arrived)
        finally:  # a refusal may come late, too
            service.metrics.answered_by(seems_due)
        return Response(answer, media_type=JSON)

    return call


def _begun(
    service: Service, capability: Capability[Any], media: str, body: bytes, request: Request, arrived: float
) -> tuple[BegunWork, Callable[[], bytes]]:
    """Begin to read a body, in any thread; return also what answers it without a worker, where it is brief."""
    if len(body) > LARGE_BYTES:
        return service.readers.work(capability, media, body, str(request.query_params), arrived)
    begun = begin_work(capability, media, body, request.query_params, service.settings, arrived=arrived)
    control = Control(due(begun.options.time_limit_s, arrived))
    return begun, lambda: answered(capability, read_question(capability, begun.fields), begun.options, control).content


async def _answer(
    request: Request, begun: BegunWork, brief: Callable[[], bytes], media: str, body: bytes, arrived: float
) -> bytes:
    """Answer here what is brief, and else by a worker, which alone validates and compiles what was sent."""
    service, capability, limit_s = Service.of(request), begun.capability, begun.options.time_limit_s
    if begun.wrong is not None:
        raise begun.wrong
    if begun.is_brief:
        return await service.in_time(brief, request, due(limit_s, arrived))
    asked = WorkRequest(
        capability.name,
        media,
        body,
        begun.options.model_dump(mode="json"),
        limit_s,
        due(limit_s, arrived),
        may_be_refused=True,
        key_id=Caller.of(request).key_id,
    )
    async with service.caller(request) as cancelled:
        return (await service.working.work(asked, cancelled)).content


for _capability in map(CAPABILITIES.__getitem__, QUESTIONS):
    router.add_api_route(
        _capability.path,
        _call(_capability),
        methods=["POST"],
        name=_capability.name,
        summary=_capability.summary,
        description=_capability.help,
        response_class=Response,
        responses={200: question_answer(_capability), **error_answers(400, 413, 415, 422, 429, 504)},
        openapi_extra=question_request(_capability),
        dependencies=[may("plan")],
    )
