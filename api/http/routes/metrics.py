"""`GET /metrics`: what the server counted, for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request, Response
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from memplan.api.http.app_state import Service
from memplan.api.http.auth.gate import ScopeCheck
from memplan.api.http.problem_details import error_answers

router = APIRouter()


async def _may_scrape(request: Request) -> None:
    if not Service.of(request).settings.metrics_without_key:
        await ScopeCheck("read")(request)


@router.get(
    "/metrics",
    summary="What was counted",
    response_class=Response,
    responses={
        200: {"description": "Prometheus' text format.", "content": {"text/plain": {"schema": {"type": "string"}}}},
        **error_answers(401, 403, 429, 503),
    },
    dependencies=[Depends(_may_scrape)],
)
async def metrics(request: Request) -> Response:
    """Answer with counters since the server started, and with what there is now; `memplan_jobs` is of all servers."""
    service = Service.of(request)
    jobs = await service.store.briefly(service.store.jobs.counts)
    return Response(service.metrics.rendered(jobs, service.counted_now()), media_type=CONTENT_TYPE_PLAIN_0_0_4)
