"""`/v1/jobs`: the work of the calls that wait, without waiting: submit, look, follow, fetch, cancel."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial

from fastapi import APIRouter, Request, Response
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from memplan.api.http.app_state import Service
from memplan.api.http.auth.gate import may
from memplan.api.http.job_answers import PATH, JobAnswer, JobList, job_answer, job_list, server_sent
from memplan.api.http.middleware import Streams
from memplan.api.http.openapi.job_schemas import (
    EVENTS_ANSWER,
    EVENTS_REQUEST,
    JOB_REQUEST,
    LIST_REQUEST,
    REQUEST_ANSWER,
    RESULT_ANSWER,
)
from memplan.api.http.openapi.schemas import PLAN_ANSWER, PROBLEM_ANSWER, selectable
from memplan.api.http.problem_details import error_answers, problem_details
from memplan.api.http.requests.bodies import (
    FORMAT_OF,
    JSON,
    TEXT,
    format_of_answer,
    links_of,
    media_type,
    plan_answer,
    read_body,
)
from memplan.api.http.requests.job_requests import (
    JOB_ID,
    idempotency_key,
    kind_of,
    last_event_id,
    read_job_query,
    read_new_job,
)
from memplan.api.http.requests.readers import LARGE_BYTES
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
from memplan.api.store.caller import Caller
from memplan.api.store.job import StoredJob
from memplan.api.store.job_states import OPEN
from memplan.api.store.tables.arrivals import JobLimits
from memplan.api.store.tables.jobs import JobsWanted
from memplan.capabilities.bodies import media_of
from memplan.capabilities.registry import CAPABILITIES

router = APIRouter()

_KEEP_ALIVE_S = 15
_UNREAD_S = 30.0
"""The time that a follower may not read before it is let go."""


@router.post(
    PATH,
    summary="Submit a job",
    status_code=202,
    responses=error_answers(400, 401, 403, 413, 415, 422, 429, 503),
    openapi_extra=JOB_REQUEST,
    dependencies=[may("plan")],
)
async def submit(request: Request, response: Response) -> JobAnswer:
    """Accept a problem to be planned later, or a request of another `kind`, once it is on disk; it is not lost then.

    The time limit counts from the start of the search, the deadline from now. The same request with the same
    `Idempotency-Key` is one job, however often it comes.
    """
    service, caller = Service.of(request), Caller.of(request)
    name = kind_of(request.query_params)
    capability = None if name == PLAN else CAPABILITIES[name]
    media = media_type(request, *(FORMAT_OF if capability is None else media_of(capability)))
    key = idempotency_key(request.headers.get("idempotency-key"))
    most = service.settings.max_body_bytes
    body = await read_body(request, most if capability is None else min(most, capability.most_bytes))
    said, query = {"key_id": caller.key_id, "idempotency_key": key}, request.query_params
    if len(body) > LARGE_BYTES:
        new = await service.briefly(partial(service.readers.job, media, body, str(query), said), request)
    else:
        read = partial(read_new_job, media, body, query, service.settings, **said)
        new = await service.soon(read, request, capability is None)
    job = await service.jobs.intake.add(new, JobLimits(jobs=service.settings.max_jobs, jobs_of_key=caller.max_jobs))
    service.jobs.runner.poke()
    response.headers["Location"] = f"{PATH}/{job.id}"
    return job_answer(job)


@router.get(
    PATH,
    summary="List jobs",
    responses=error_answers(401, 403, 422, 429, 503),
    openapi_extra=LIST_REQUEST,
    dependencies=[may("read")],
)
async def listed(request: Request) -> JobList:
    """Answer with a page of the caller's jobs, newest first; `next` is where the next page is."""
    service, caller = Service.of(request), Caller.of(request)
    query = read_job_query(request.query_params)
    wanted = JobsWanted(of_all_keys="admin" in caller.scopes, key_id=caller.key_id, **dict(query))
    return job_list(await service.store.briefly(partial(service.store.jobs.page, wanted)), query)


@router.get(
    f"{PATH}/{{job_id}}",
    summary="Look at a job",
    responses=error_answers(401, 403, 404, 429, 503),
    dependencies=[may("read")],
)
async def look(request: Request, job_id: str) -> JobAnswer:
    """Answer with the job's state and how far it is."""
    return job_answer(await _job(request, job_id))


@router.get(
    f"{PATH}/{{job_id}}/events",
    summary="Follow a job",
    response_class=Response,
    responses={
        200: EVENTS_ANSWER,
        204: {"description": "It has ended."},
        **error_answers(401, 403, 404, 422, 429, 503),
    },
    openapi_extra=EVENTS_REQUEST,
    dependencies=[may("read")],
)
async def events(request: Request, job_id: str) -> Response:
    """Send what happened to the job and what happens, as server-sent events, until it has ended.

    Who comes back with `Last-Event-ID` hears what came after that; there is no content where nothing can.
    """
    service = Service.of(request)
    job = await _job(request, job_id)
    after = last_event_id(request.headers.get("last-event-id"))
    if job.state not in OPEN and after >= job.last_event:
        return Response(status_code=204)
    seen = min(after, job.last_event)  # a number that is yet to come would never be passed
    return _Stream(_told(service, job_id, seen), service.streams)


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
    job = await _job(request, job_id)
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
    service, job = Service.of(request), await _job(request, job_id)
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
    service, job = Service.of(request), await _job(request, job_id)
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
    job = await _job(request, job_id)
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


@router.delete(
    f"{PATH}/{{job_id}}",
    summary="Cancel a job",
    responses=error_answers(401, 403, 404, 429, 503),
    dependencies=[may("plan")],
)
async def cancel(request: Request, job_id: str) -> JobAnswer:
    """End the job, if it has not ended yet, and keep its best plan so far; a search ends a moment later."""
    service = Service.of(request)
    await _job(request, job_id)
    job = await service.store.briefly(partial(service.store.jobs.ask_to_cancel, job_id))
    if job is None:
        raise HTTPException(404)
    service.jobs.runner.cancel(job_id)
    service.jobs.following.stir(job_id)
    return job_answer(job)


async def _job(request: Request, job_id: str) -> StoredJob:
    """Return a job that the caller may see; those of others are not there, for all that they are told."""
    store = Service.of(request).store
    job = await store.briefly(partial(store.jobs.find, job_id)) if JOB_ID.fullmatch(job_id) else None
    if job is None or not Caller.of(request).sees(job.key_id):
        raise HTTPException(404)
    return job


async def _told(service: Service, job_id: str, after: int) -> AsyncIterator[ServerSentEvent]:
    async with aclosing(service.jobs.following.events(job_id, after)) as found:
        async for event in found:
            yield server_sent(event)


class _Stream(EventSourceResponse):
    """A stream of events that counts among the open ones as long as it lasts."""

    def __init__(self, told: AsyncIterator[ServerSentEvent], streams: Streams) -> None:
        super().__init__(told, ping=_KEEP_ALIVE_S, send_timeout=_UNREAD_S, sep="\n")
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events; raises FullError before the first where too many streams are open."""
        with self._streams.open():
            await super().__call__(scope, receive, send)
