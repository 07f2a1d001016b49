"""The routes for the parts of a job: its problem, its request, its best plan and its answer."""

from collections.abc import Callable
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import TypeAdapter
from starlette.exceptions import HTTPException

from memplan.api.http.answers import AnswerWishes, format_accepted, plan_response
from memplan.api.http.app_state import Service
from memplan.api.http.auth import may
from memplan.api.http.job_models import PATH
from memplan.api.http.problem_details import error_answers, problem_details
from memplan.api.http.routes.jobs import job_of_caller
from memplan.api.refusals import GoneError
from memplan.api.request_bodies import JSON, PLAN, TEXT
from memplan.api.requests import parse_request, write_in
from memplan.api.store.job import OPEN, Job
from memplan.planner.formats import memplan_json
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.questions import QUESTIONS
from memplan.questions.question import Question

router = APIRouter()
_INERT = {
    "Content-Disposition": "attachment",
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
}
"""Headers for content that a caller stored: browsers must not display or run it as a page of this server."""


def _part_route(part: str) -> Callable[..., Any]:
    return router.get(
        f"{PATH}/{{job_id}}/{part}",
        operation_id=f"get_job_{part}",
        summary=f"Fetch a job's {'answer' if part == 'result' else part}",
        response_class=Response,
        responses=error_answers(401, 403, 404, *((422,) if part in ("plan", "result") else ()), 429, 503),
        dependencies=[may("read")],
    )


@_part_route("plan")
async def plan(request: Request, job_id: str) -> Response:
    """Return the verified best plan so far, or the final plan if the job has ended.

    As in `POST /v1/plan`, the job's options or else the Accept header select the format.
    """
    job = await job_of_caller(request, job_id)
    if job.kind != PLAN:
        where = f"{PATH}/{job_id}/result"
        return problem_details(
            404, (f"plan: a job of the kind {job.kind} has no plan; the job's answer is at {where}",)
        )
    return await _shape_answer(request, job)


@_part_route("result")
async def result(request: Request, job_id: str) -> Response:
    """Return the answer of a job, as the call of its kind does; 202 with the best answer so far until the job ends.

    For `Accept: text/plain`, the answer consists of the lines that the command prints; plans have further formats.
    """
    job = await job_of_caller(request, job_id)
    response = await _shape_answer(request, job)
    if job.state in OPEN and response.status_code == 200:
        response.status_code, response.headers["Retry-After"] = 202, "1"
    return response


@_part_route("problem")
async def problem(request: Request, job_id: str) -> Response:
    """Return the submitted problem of a job, in the form that `POST /v1/plan` accepts."""
    job = await job_of_caller(request, job_id)
    head, body = await _request_of(request, job)
    if (written := await Service.find_service(request).parse_body(_problem_json, body, job.kind, head)) is None:
        return problem_details(404, ("problem: this job has no separate problem; its request contains all inputs",))
    return Response(written, media_type=JSON)


@_part_route("request")
async def sent(request: Request, job_id: str) -> Response:
    """Return the submitted request body, which the call of the job's kind accepts."""
    head, body = await _request_of(request, await job_of_caller(request, job_id))
    return Response(body, media_type=head.partition("\t")[0], headers=_INERT)


async def _shape_answer(request: Request, job: Job) -> Response:
    """Return the response with a job's best answer so far, in the form that the caller requested."""
    service, question = Service.find_service(request), QUESTIONS[job.kind]
    wanted = AnswerWishes.from_request(request, question.answer)
    content = await service.store.run_in_thread(partial(service.store.jobs.answer, job.id))
    if content is None:
        waits = {"Retry-After": "1"} if job.state in OPEN else {}
        return problem_details(404, (f"{question.name}: the job has no answer; its state is {job.state}",), waits)
    response = Response(content, media_type=JSON)
    if job.kind == PLAN:
        response = await _plan_response(request, job, content)
    elif TEXT in request.headers.get("accept", ""):
        lines = await service.run_work(partial(_answer_text, question, content), len(content), is_short=False)
        response = Response(lines, media_type=TEXT)
    return await wanted.shape(request, question, response)


async def _plan_response(request: Request, job: Job, content: bytes) -> Response:
    plan_format = job.options.get("format") or format_accepted(request)
    if plan_format != "json":
        head, body = await _request_of(request, job)
        content = await Service.find_service(request).parse_body(_write_plan, body, head, content, plan_format)
    return plan_response(content, job.plan_status, plan_format)


def _write_plan(body: bytes, head: str, content: bytes, plan_format: str) -> bytes:
    problem = _plain_problem(body, PLAN, head)
    return content if problem is None else write_in(plan_format, Plan.model_validate_json(content), problem)


def _problem_json(body: bytes, kind: str, head: str) -> bytes | None:
    """Return the JSON of the problem in a job's request; None if the job is not a plain plan request."""
    problem = _plain_problem(body, kind, head)
    return None if problem is None else memplan_json.write_problem(problem)


def _plain_problem(body: bytes, kind: str, head: str) -> Problem | None:
    """Return the problem of a plan request; None for other questions and for requests with further inputs."""
    asked = parse_request(kind, head, body)
    problem: Problem | None = asked.input_values()["problem"] if asked.is_plain_plan else None
    return problem


def _answer_text(question: Question[Any], content: bytes) -> str:
    answer = TypeAdapter(question.answer).validate_json(content)
    return "".join(f"{line}\n" for line in question.lines(answer))


async def _request_of(request: Request, job: Job) -> tuple[str, bytes]:
    """Return the head and body of a job's request; raises GoneError if they were deleted, or HTTPException."""
    store = Service.find_service(request).store
    stored_request = await store.run_in_thread(partial(store.jobs.request, job.id))
    if stored_request is None:
        if job.state in OPEN:
            raise HTTPException(404)
        raise GoneError("request: was deleted to make room for newer ones; the job's answer is kept")
    return stored_request
