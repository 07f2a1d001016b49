"""`POST /v1/batch`: many problems in, one stream of plans out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from fastapi import APIRouter, Request, Response
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from memplan.api.http.app_state import Service
from memplan.api.http.auth.gate import may
from memplan.api.http.batch import Batch, lines_of, objects_of
from memplan.api.http.openapi.job_schemas import BATCH_ANSWER, BATCH_REQUEST
from memplan.api.http.openapi.schemas import selectable
from memplan.api.http.problem_details import error_answers
from memplan.api.http.requests.bodies import JSON, NDJSON, media_type, read_body
from memplan.api.http.selected import selection_in
from memplan.api.options import read_query
from memplan.api.store.caller import Caller
from memplan.planner.model.plan import Plan

router = APIRouter()


@router.post(
    "/v1/batch",
    summary="Plan many problems",
    response_class=Response,
    responses={200: BATCH_ANSWER, **error_answers(400, 401, 403, 408, 413, 415, 422, 429, 503)},
    openapi_extra=selectable(BATCH_REQUEST),
    dependencies=[may("plan")],
)
async def batch(request: Request) -> Response:
    """Send a line for each submission, with its plan or with what is wrong with it, as soon as it is ready.

    The lines name the submissions by their position and, where they have one, by their id. Who hangs up cancels the
    rest.
    """
    service = Service.of(request)
    request, selection = selection_in(request, Plan)
    kind = media_type(request, NDJSON, JSON)
    read_query(request.query_params)
    body = await read_body(request, service.settings.max_body_bytes)
    submissions = lines_of(body) if kind == NDJSON else iter(await service.briefly(lambda: objects_of(body), request))
    key_id = Caller.of(request).key_id
    lines = Batch(submissions, request.query_params, service.settings, service.solving, key_id, selection)
    return _Stream(service, request, lines)


class _Stream(StreamingResponse):
    """The lines of a batch, which counts among the open streams as long as it lasts."""

    def __init__(self, service: Service, request: Request, batch: Batch) -> None:
        super().__init__(self._lines(), media_type=NDJSON)
        self._service, self._request, self._batch = service, request, batch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the lines; raises FullError before the first where too many streams are open."""
        with self._service.streams.open():
            await super().__call__(scope, receive, send)

    async def _lines(self) -> AsyncIterator[bytes]:
        service = self._service
        async with (
            service.caller(self._request) as cancelled,
            aclosing(self._batch.results(lambda: service.queue.places, cancelled)) as results,
        ):
            async for line in results:
                yield line
