"""`/v1/jobs`: submit, look up, follow, rename, cancel and forget jobs, which are answered asynchronously."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from functools import partial

from fastapi import APIRouter, Depends, Request, Response
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.exceptions import HTTPException

from memplan.api.http.app_state import Service
from memplan.api.http.auth import caller_of, may
from memplan.api.http.job_models import (
    PATH,
    Forget,
    IdempotencyKey,
    JobAnswer,
    JobChange,
    JobList,
    JobQueryParameters,
    LastEventId,
    job_answer,
    job_list,
    server_sent,
)
from memplan.api.http.problem_details import error_answers
from memplan.api.http.receiving import media_type, read_body
from memplan.api.http.submissions import read_new_job
from memplan.api.refusals import ConflictError
from memplan.api.requests import max_bytes
from memplan.api.store.job import OPEN, Job
from memplan.api.store.tables.jobs import JOB_ID
from memplan.questions.question.wire import read_object

router = APIRouter()

_CHANGE_BYTES = 10_000
"""The maximum size, in bytes, of the body of a renaming request."""
_KEEP_ALIVE_S = 15
_UNREAD_S = 30.0
"""The seconds after which a follower of events is disconnected if it does not read."""


@router.post(
    PATH,
    operation_id="submit_job",
    summary="Submit a job",
    status_code=202,
    responses=error_answers(400, 401, 403, 413, 415, 422, 429, 503),
    dependencies=[may("plan")],
)
async def submit(request: Request, response: Response, idempotency_key: IdempotencyKey = None) -> JobAnswer:
    """Queue a problem to be planned later, or a request of another `kind`.

    The response is sent only after the job is on disk, so an accepted job is never lost. The time limit counts from the
    start of the search, the deadline from now. Repeated requests with the same `Idempotency-Key` create only one job.
    """
    service, caller = Service.find_service(request), caller_of(request)
    media, query = media_type(request), request.scope["query_string"].decode("latin-1")
    settings, body = service.settings, await read_body(request, max_bytes(media, service.settings), media)
    once = None if idempotency_key is None else f"{caller.key_id or ''} {idempotency_key}"
    fields = {"key_id": caller.key_id, "idempotency_key": once}
    new = replace(await service.parse_body(read_new_job, body, media, query, settings, fields), body=body)
    jobs, bytes_ = (settings.max_jobs, caller.max_jobs), (settings.max_kept_bytes, caller.max_kept_bytes)
    job = await service.store.run_in_thread(partial(service.store.jobs.add, new, *jobs, *bytes_))
    response.headers["Location"] = f"{PATH}/{job.id}"
    return job_answer(job)


@router.get(
    PATH,
    operation_id="list_jobs",
    summary="List jobs",
    responses=error_answers(401, 403, 422, 429, 503),
    dependencies=[may("read")],
)
async def listed(request: Request, query: JobQueryParameters) -> JobList:
    """Return a page of the caller's jobs, newest first; `next` is the path of the next page."""
    store = Service.find_service(request).store
    return job_list(await store.run_in_thread(partial(store.jobs.page, query, caller_of(request))), query)


@router.get(
    f"{PATH}/{{job_id}}",
    operation_id="get_job",
    summary="Get the state of a job",
    responses=error_answers(401, 403, 404, 429, 503),
    dependencies=[may("read")],
)
async def look(request: Request, job_id: str) -> JobAnswer:
    """Return the job's state and progress."""
    return job_answer(await job_of_caller(request, job_id))


@router.get(
    f"{PATH}/{{job_id}}/events",
    operation_id="follow_job",
    summary="Follow a job",
    response_class=Response,
    responses=error_answers(401, 403, 404, 422, 429, 503),
    dependencies=[may("read"), Depends(Service.stream)],
)
async def events(request: Request, job_id: str, last_event_id: LastEventId = None) -> Response:
    """Send the job's past and future events, as server-sent events, until the job has ended.

    With the header `Last-Event-ID`, only later events are sent. If the job has ended without later events, the
    response has no content (204).
    """
    service = Service.find_service(request)
    job = await job_of_caller(request, job_id)
    after = int(last_event_id or 0)
    if job.state not in OPEN and after >= job.last_event:
        return Response(status_code=204)
    seen = min(after, job.last_event)  # A number above the last event's would hide all new events, so limit it.
    return EventSourceResponse(
        _server_events(service, job_id, seen), ping=_KEEP_ALIVE_S, send_timeout=_UNREAD_S, sep="\n"
    )


@router.patch(
    f"{PATH}/{{job_id}}",
    operation_id="rename_job",
    summary="Rename a job",
    responses=error_answers(400, 401, 403, 404, 413, 422, 429, 503),
    dependencies=[may("plan")],
)
async def rename(request: Request, job_id: str) -> JobAnswer:
    """Change the name by which a job is listed and found; the name of its problem stays the same."""
    store, content = Service.find_service(request).store, read_object(await read_body(request, _CHANGE_BYTES))
    change = JobChange.model_validate(content)
    await job_of_caller(request, job_id)
    await store.run_in_thread(partial(store.jobs.rename, job_id, change.name))
    return job_answer(await job_of_caller(request, job_id))


@router.delete(
    f"{PATH}/{{job_id}}",
    operation_id="cancel_job",
    summary="Cancel or forget a job",
    responses=error_answers(401, 403, 404, 409, 422, 429, 503),
    dependencies=[may("plan")],
)
async def cancel(request: Request, job_id: str, forget: Forget = False) -> JobAnswer:
    """Cancel a job that has not ended, and keep its best plan so far; a running search stops shortly afterwards.

    `forget` deletes a job that has ended, with its problem, answer and events; for a running job, the status is 409.
    """
    service = Service.find_service(request)
    own_job = await job_of_caller(request, job_id)
    if forget:
        if not await service.store.run_in_thread(partial(service.store.jobs.forget, job_id)):
            raise ConflictError(f"forget: applies only to a job that has ended, but this one is {own_job.state}")
        return job_answer(own_job)
    job = await service.store.run_in_thread(partial(service.store.jobs.ask_to_cancel, job_id))
    if job is None:
        raise HTTPException(404)
    service.following.wake_followers(job_id)
    return job_answer(job)


async def job_of_caller(request: Request, job_id: str) -> Job:
    """Return a job that the caller may see; an unknown or foreign job raises HTTPException with status 404."""
    store = Service.find_service(request).store
    job = await store.run_in_thread(partial(store.jobs.find, job_id)) if JOB_ID.fullmatch(job_id) else None
    if job is None or not caller_of(request).sees(job.key_id):
        raise HTTPException(404)
    return job


async def _server_events(service: Service, job_id: str, after: int) -> AsyncIterator[ServerSentEvent]:
    async with aclosing(service.following.events(job_id, after)) as events:
        async for event in events:
            yield server_sent(event)
