"""One call that waits for each kind of job beside plans: `POST /v1/order`."""

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
from memplan.api.http.openapi.kind_schemas import kind_answer, kind_request
from memplan.api.http.problem_details import error_answers
from memplan.api.http.requests.bodies import media_type, read_body
from memplan.api.http.requests.work_requests import read_work
from memplan.api.service.kinds.kind import JSON, JobKind
from memplan.api.service.kinds.registry import KINDS
from memplan.api.service.work_service import WorkRequest
from memplan.api.store.caller import Caller
from memplan.solvers.search.deadline import Deadline

router = APIRouter()


def _call(kind: JobKind[Any]) -> Callable[[Request], Awaitable[Response]]:
    """Return the function of a kind's route: it checks the body, and sends it to a worker."""

    async def call(request: Request) -> Response:
        arrived = time.monotonic()
        service = Service.of(request)
        media = media_type(request, *kind.media)
        body = await read_body(request, min(service.settings.max_body_bytes, kind.most_bytes))
        read = partial(read_work, kind, media, body, request.query_params, service.settings)
        found = await service.briefly(read, request)
        limit_s = found.options.time_limit_s
        deadline = Deadline.after(limit_s, arrived)
        if kind.is_brief is not None and kind.is_brief(found.subject, found.options):
            control = WorkControl(deadline, threading.Event(), lambda _: None)
            brief = await service.briefly(partial(kind.run, found.read, found.options, control), request)
            return Response(brief.content, media_type=JSON)
        asked = WorkRequest(
            kind.name,
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


for _kind in KINDS.values():
    router.add_api_route(
        _kind.path,
        _call(_kind),
        methods=["POST"],
        name=_kind.name,
        summary=_kind.summary,
        description=_kind.description,
        response_class=Response,
        responses={200: kind_answer(_kind), **error_answers(400, 413, 415, 422, 429)},
        openapi_extra=kind_request(_kind),
        dependencies=[may("plan")],
    )
