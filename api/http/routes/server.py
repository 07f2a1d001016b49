"""The calls about the server: `/healthz`, `/readyz`, `/metrics` and `/v1/solvers`."""

from typing import Literal

from fastapi import APIRouter, Request, Response
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from pydantic import BaseModel, ConfigDict

from memplan.api.http.app_state import Service
from memplan.api.http.auth import may
from memplan.api.http.problem_details import NO_ROOM, ROOM, error_answers, problem_details
from memplan.api.reports.solver_facts import SolverFacts, solver_facts
from memplan.planner import __version__
from memplan.planner.model.field_docs import DescribedFields

router = APIRouter()


class Health(DescribedFields, BaseModel):
    """The status and version of a running server."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: Literal["ok"] = "ok"
    """Always `ok`."""
    version: str = __version__
    """The version of memplan that runs."""


class Ability(Health):
    """The state of a ready server."""

    limits: list[str] | None = None
    """One sentence for each thing that the server cannot do at present; left out if it can do all."""


class SolverList(DescribedFields, BaseModel):
    """All solvers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    solvers: list[SolverFacts]
    """The solvers, with reference planners last. `auto`, which is not listed, is the portfolio of solvers for a
    problem, without reference planners."""


@router.get("/healthz", operation_id="check_health", summary="Check that the server is alive")
async def healthz() -> Health:
    """Answer at once."""
    return Health()


@router.get(
    "/readyz",
    operation_id="check_readiness",
    summary="Check that the server can work",
    response_model=Ability,
    response_model_exclude_none=True,
    responses=error_answers(503),
)
async def readyz(request: Request) -> Ability | Response:
    """Report whether the server can solve and store: both are tried, and the result is cached for a few seconds.

    A server whose database disk is full is ready, because it still answers all questions; `limits` names what fails.
    """
    service = Service.find_service(request)
    if lacks := await service.readiness.lacks():
        return problem_details(503, lacks, {"Retry-After": "1"})
    return Ability(limits=[f"{NO_ROOM}; {ROOM}"] if service.store.lacks_room else None)


@router.get(
    "/metrics",
    operation_id="get_metrics",
    summary="Get the metrics",
    response_class=Response,
    responses=error_answers(401, 403, 429, 503),
    dependencies=[may("read")],
)
async def metrics(request: Request) -> Response:
    """Return counters since the start of the server, and current gauges; the gauges of jobs cover all servers."""
    service = Service.find_service(request)
    jobs = await service.store.run_in_thread(service.store.jobs.counts)
    return Response(service.metrics.render(jobs, service.counted_now()), media_type=CONTENT_TYPE_PLAIN_0_0_4)


@router.get("/v1/solvers", operation_id="list_solvers", summary="List the solvers", dependencies=[may("read")])
async def solvers() -> SolverList:
    """Return the features of each solver; `at_most` is the largest number of buffers for which `auto` uses it."""
    return SolverList(solvers=solver_facts())
