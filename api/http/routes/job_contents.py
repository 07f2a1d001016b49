"""The routes of all that is kept of a job: its problem, the request that was sent, its best plan and its answer."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

from memplan.api.http.answers import Wanted, format_accepted, plan_response
from memplan.api.http.app_state import Service
from memplan.api.http.auth import may
from memplan.api.http.job_models import PATH
from memplan.api.http.openapi import PLAN_ANSWER, PROBLEM_ANSWER, REQUEST_ANSWER, RESULT_ANSWER, selectable
from memplan.api.http.problem_details import error_answers, problem_details
from memplan.api.http.routes.jobs import job_of_caller
from memplan.api.jobs.serialization import (
    answer_bytes,
    answer_lines,
    is_request,
    plan_json,
    problem_json,
    unpack_plan,
    unpack_problem,
    unpack_request,
)
from memplan.api.options import Options
from memplan.api.requests import JSON, PLAN, TEXT, write_in
from memplan.api.store.job import StoredJob
from memplan.api.store.job_states import OPEN
from memplan.capabilities.registry import CAPABILITIES

router = APIRouter()
_ERRORS = error_answers(401, 403, 404, 429, 503)
_READ = [may("read")]


@router.get(
    f"{PATH}/{{job_id}}/plan",
    summary="Fetch a job's plan",
    response_class=Response,
    responses={200: PLAN_ANSWER, **_ERRORS},
    openapi_extra=selectable({}),
    dependencies=_READ,
)
async def plan(request: Request, job_id: str) -> Response:
    """Answer with the best plan so far, verified; it is the final one once the job has ended.

    It is written as the job's options say, or as the caller accepts it, like that of `POST /v1/plan`.
    """
    job = await job_of_caller(request, job_id)
    if job.kind != PLAN:
        where = f"{PATH}/{job_id}/result"
        return problem_details(404, (f"plan: a job of the kind {job.kind} has none; its answer is at {where}",))
    return await _shaped(request, job)


@router.get(
    f"{PATH}/{{job_id}}/result",
    summary="Fetch a job's answer",
    response_class=Response,
    responses={200: RESULT_ANSWER, **_ERRORS},
    openapi_extra=selectable({}),
    dependencies=_READ,
)
async def result(request: Request, job_id: str) -> Response:
    """Answer as the call of the job's kind does, with the best so far; it is the final one once the job has ended.

    Whoever accepts `text/plain` gets the lines that the command prints; plans have formats of their own.
    """
    return await _shaped(request, await job_of_caller(request, job_id))


@router.get(
    f"{PATH}/{{job_id}}/problem",
    summary="Fetch a job's problem",
    response_class=Response,
    responses={200: PROBLEM_ANSWER, **_ERRORS},
    dependencies=_READ,
)
async def problem(request: Request, job_id: str) -> Response:
    """Answer with the problem that a job plans, as it was submitted: what `POST /v1/plan` takes."""
    job = await job_of_caller(request, job_id)
    if job.kind != PLAN:
        return problem_details(404, (f"problem: a job of the kind {job.kind} keeps none",))
    packed = await _packed_problem(request, job)
    if is_request(packed):
        return problem_details(404, ("problem: it is a part of the job's request, as this plan is of more than one",))
    return Response(await Service.of(request).run(partial(problem_json, packed), len(packed)), media_type=JSON)


@router.get(
    f"{PATH}/{{job_id}}/request",
    summary="Fetch a job's request",
    response_class=Response,
    responses={200: REQUEST_ANSWER, **_ERRORS},
    dependencies=_READ,
)
async def sent(request: Request, job_id: str) -> Response:
    """Answer with the body that was submitted, which the call of the job's kind takes; of a plan, the problem alone."""
    job = await job_of_caller(request, job_id)
    packed = await _packed_problem(request, job)
    read = partial(unpack_request, packed) if is_request(packed) else lambda: (JSON, problem_json(packed))
    head, body = await Service.of(request).run(read, len(packed))
    return Response(body, media_type=head.partition("\t")[0])


async def _shaped(request: Request, job: StoredJob) -> Response:
    """Answer with the best answer so far of a job, in the shape that is wanted."""
    service, capability = Service.of(request), CAPABILITIES[job.kind]
    wanted = Wanted.of(request, capability.answer)
    packed = await service.store.briefly(partial(service.store.jobs.plan, job.id))
    if packed is None:
        waits = {"Retry-After": "1"} if job.state in OPEN else {}
        return problem_details(404, (f"{capability.name}: the job has no answer; it is {job.state}",), waits)
    if job.kind == PLAN:
        response = await _plan(request, job, packed)
    elif TEXT in request.headers.get("accept", ""):
        lines = await service.run(partial(answer_lines, capability, packed), len(packed), is_short=False)
        response = Response(lines, media_type=TEXT)
    else:
        response = Response(await service.run(partial(answer_bytes, packed), len(packed)), media_type=JSON)
    return await wanted.shape(request, capability, response)


async def _plan(request: Request, job: StoredJob, packed: bytes) -> Response:
    service = Service.of(request)
    plan_format = Options.model_validate(dict(job.options)).format or format_accepted(request)
    if plan_format == "json":
        content = await service.run(partial(plan_json, packed), len(packed))
    else:
        problem = await _packed_problem(request, job)
        write = answer_bytes if is_request(problem) else partial(_written, problem=problem, plan_format=plan_format)
        content = await service.run(partial(write, packed), len(problem), is_short=False)
    return plan_response(content, job.plan_status, plan_format)


def _written(packed: bytes, problem: bytes, plan_format: str) -> bytes:
    return write_in(plan_format, unpack_plan(packed), unpack_problem(problem))


async def _packed_problem(request: Request, job: StoredJob) -> bytes:
    """Return what a job keeps of its request; raises HTTPException where it was forgotten meanwhile."""
    store = Service.of(request).store
    packed = await store.briefly(partial(store.jobs.problem, job.id))
    if packed is None:
        raise HTTPException(404)
    return packed
