"""One call that waits for each capability beside plans: `POST /v1/order`."""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

from memplan.api.cluster.task import WorkControl
from memplan.api.http.app_state import Service
from memplan.api.http.auth.gate import may
from memplan.api.http.openapi.capability_schemas import question_answer, question_request
from memplan.api.http.problem_details import error_answers
from memplan.api.http.requests.bodies import JSON, media_type, read_body
from memplan.api.http.requests.work_requests import read_work
from memplan.api.service.answering import QUESTIONS, answered
from memplan.api.service.work_service import WorkRequest
from memplan.api.store.caller import Caller
from memplan.capabilities.bodies import media_of
from memplan.capabilities.capability import Capability, due
from memplan.capabilities.registry import CAPABILITIES

router = APIRouter()


def _call(capability: Capability[Any]) -> Callable[[Request], Awaitable[Response]]:
    """Return the function of a capability's route: it checks the body, and sends it to a worker."""

    async def call(request: Request) -> Response:
        arrived = time.monotonic()
        service = Service.of(request)
        media = media_type(request, *media_of(capability))
        body = await read_body(request, min(service.settings.max_body_bytes, capability.most_bytes))
        read = partial(read_work, capability, media, body, request.query_params, service.settings)
        found = await service.briefly(read, request)
        limit_s = found.options.time_limit_s
        deadline = due(limit_s, arrived)
        if capability.is_brief(found.subject, found.options):
            control = WorkControl(deadline, threading.Event(), lambda _: None)
            brief = await service.briefly(
                partial(answered, capability, found.question, found.options, control), request
            )
            return Response(brief.content, media_type=JSON)
        asked = WorkRequest(
            capability.name,
            media,
            body,
            found.options.model_dump(mode="json"),
            limit_s,
            deadline,
            may_be_refused=True,
            key_id=Caller.of(request).key_id,
        )
        async with service.caller(request) as cancelled:
            answer = await service.working.work(asked, cancelled)
        return Response(answer.content, media_type=JSON)

    return call


for _capability in map(CAPABILITIES.__getitem__, QUESTIONS):
    router.add_api_route(
        _capability.path,
        _call(_capability),
        methods=["POST"],
        name=_capability.name,
        summary=_capability.summary,
        description=_capability.help,
        response_class=Response,
        responses={200: question_answer(_capability), **error_answers(400, 413, 415, 422, 429)},
        openapi_extra=question_request(_capability),
        dependencies=[may("plan")],
    )
