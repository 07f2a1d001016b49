"""The routes of all that is kept of a job: its problem, the request that was sent, its best plan and its answer."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

from memplan.api.http.app_state import Service
from memplan.api.http.auth.gate import may
from memplan.api.http.job_answers import PATH
from memplan.api.http.openapi.job_schemas import (
    REQUEST_ANSWER,
    RESULT_ANSWER,
)
from memplan.api.http.openapi.schemas import PLAN_ANSWER, PROBLEM_ANSWER, selectable
from memplan.api.http.problem_details import error_answers, problem_details
from memplan.api.http.requests.bodies import (
    JSON,
    TEXT,
    format_of_answer,
    links_of,
    plan_answer,
)
from memplan.api.http.routes.jobs import job_of_caller
from memplan.api.http.selected import selected
from memplan.api.jobs.serialization import (
    answer_bytes,
    answer_lines,
    plan_json,
    problem_json,
    unpack_plan,
    unpack_problem,
    unpack_request,
)
from memplan.api.options import Options
from memplan.api.service.answering import PLAN
from memplan.api.store.job import StoredJob
from memplan.api.store.job_states import OPEN
from memplan.capabilities.registry import CAPABILITIES

router = APIRouter()


@router.get(
    f"{PATH}/{{job_id}}/plan",
    summary="Fetch a job's plan",
    response_class=Response,
    responses={200: PLAN_ANSWER, **error_answers(401, 403, 404, 429, 503)},
    openapi_extra=selectable({}),
    dependencies=[may("read")],
)
async def plan(request: Request, job_id: str) -> Response:
    """Answer with the best plan so far, verified; it is the final one once the job has ended.

    It is written as the job's options say, or as the caller accepts it, like that of `POST /v1/plan`.
    """
    job = await job_of_caller(request, job_id)
    if job.kind != PLAN:
        return problem_details(
            404, (f"plan: a job of the kind {job.kind} has none; its answer is at {PATH}/{job_id}/result",)
        )
    return await selected(request, CAPABILITIES[PLAN].answer, partial(_plan, job=job))


@router.get(
    f"{PATH}/{{job_id}}/problem",
    summary="Fetch a job's problem",
    response_class=Response,
    responses={200: PROBLEM_ANSWER, **error_answers(401, 403, 404, 429, 503)},
    dependencies=[may("read")],
)
async def problem(request: Request, job_id: str) -> Response:
    """Answer with the problem that a job plans, as it was submitted: what `POST /v1/plan` takes."""
    service, job = Service.of(request), await job_of_caller(request, job_id)
    packed = await service.store.briefly(partial(service.store.jobs.problem, job.id)) if job.kind == PLAN else None
    if packed is None:
        return problem_details(404, (f"problem: a job of the kind {job.kind} keeps none",))
    return Response(await service.briefly(partial(problem_json, packed), request, len(packed)), media_type=JSON)


@router.get(
    f"{PATH}/{{job_id}}/request",
    summary="Fetch a job's request",
    response_class=Response,
    responses={200: REQUEST_ANSWER, **error_answers(401, 403, 404, 429, 503)},
    dependencies=[may("read")],
)
async def sent(request: Request, job_id: str) -> Response:
    """Answer with the body that was submitted, which the call of the job's kind takes; of a plan, the problem alone."""
    service, job = Service.of(request), await job_of_caller(request, job_id)
    packed = await service.store.briefly(partial(service.store.jobs.problem, job.id))
    if packed is None:
        raise HTTPException(404)
    read = partial(unpack_request, packed) if job.kind != PLAN else lambda: (JSON, problem_json(packed))
    media, body = await service.briefly(read, request, len(packed))
    return Response(body, media_type=media)


@router.get(
    f"{PATH}/{{job_id}}/result",
    summary="Fetch a job's answer",
    response_class=Response,
    responses={200: RESULT_ANSWER, **error_answers(401, 403, 404, 429, 503)},
    openapi_extra=selectable({}),
    dependencies=[may("read")],
)
async def result(request: Request, job_id: str) -> Response:
    """Answer as the call of the job's kind does, with the best so far; it is the final one once the job has ended.

    Whoever accepts `text/plain` gets the lines that the command prints; plans have formats of their own.
    """
    job = await job_of_caller(request, job_id)
    return await selected(request, CAPABILITIES[job.kind].answer, partial(_result, job=job))


async def _result(request: Request, job: StoredJob) -> Response:
    if job.kind == PLAN:
        return await _plan(request, job)
    service = Service.of(request)
    packed = await service.store.briefly(partial(service.store.jobs.plan, job.id))
    if packed is None:
        return _none_yet("result", job)
    if TEXT not in request.headers.get("accept", ""):
        return Response(await service.briefly(partial(answer_bytes, packed), request, len(packed)), media_type=JSON)
    lines = await service.briefly(partial(answer_lines, CAPABILITIES[job.kind], packed), request, len(packed))
    return Response(lines, media_type=TEXT)


async def _plan(request: Request, job: StoredJob) -> Response:
    """Answer with the best plan so far of a job."""
    service = Service.of(request)
    packed = await service.store.briefly(partial(service.store.jobs.plan, job.id))
    if packed is None:
        return _none_yet("plan", job)
    plan_format = format_of_answer(request, Options.model_validate(dict(job.options)))
    headers = links_of(job.plan_status)
    if plan_format == "json":
        written = await service.briefly(partial(plan_json, packed), request, len(packed))
        return Response(written, media_type=JSON, headers=headers)
    problem = await service.store.briefly(partial(service.store.jobs.problem, job.id))
    if problem is None:
        raise HTTPException(404)
    write = partial(_written, packed, problem, plan_format)
    answer = await service.briefly(write, request, len(problem))
    answer.headers.update(headers)
    return answer


def _written(packed: bytes, problem: bytes, plan_format: str) -> Response:
    return plan_answer(unpack_plan(packed), unpack_problem(problem), plan_format)


def _none_yet(what: str, job: StoredJob) -> Response:
    waits = {"Retry-After": "1"} if job.state in OPEN else {}
    return problem_details(404, (f"{what}: the job has none; it is {job.state}",), waits)
