"""An asynchronous client of the service; the blocking client in `memplan.api.client.http` is based on it."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

import httpx
from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from memplan.api.client.trust import check_certificate, check_plan, escape_answer
from memplan.api.client.values import (
    AwayError,
    BatchResult,
    BusyError,
    JobPage,
    RefusedError,
    RemoteEvent,
    RemoteJob,
    ServiceError,
    WrongAnswerError,
    refusal_of,
)
from memplan.api.options import NO_OPTIONS, Options
from memplan.api.service.cache.canonical_plan import translate_plan
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.planner.errors import InputError, escape_controls, excerpt, sentences
from memplan.planner.formats.memplan_json import parse, read_plan
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.questions import QUESTIONS
from memplan.questions.inputs.values import InputValues
from memplan.questions.question import Question, QuestionOptions
from memplan.questions.question.wire import write_body
from memplan.questions.reading import validate_options
from memplan.solvers.certificates import verdicts

T = TypeVar("T")
PATIENCE_S = 10.0
"""The seconds for which a request is repeated while a service is busy or unreachable."""
_SILENCE_S, _CONNECT_S, _ANSWER_S = 60.0, 5.0, 30.0
"""Seconds: the longest silence of a stream, and the timeouts to connect and to answer beyond the search limit."""
_SENT_IN_S = 2**17
"""The least bytes per second at which a request is assumed to be sent."""
_MOST_BYTES, _MOST_TIMES = 2**28, 16
"""The most bytes of an answer or a line, and the multiple of the request's bytes that an answer may always have."""
_JSON = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
_NDJSON = _JSON | dict.fromkeys(("Content-Type", "Accept"), "application/x-ndjson")
_PLAN, _JOBS = QUESTIONS["plan"], "/v1/jobs"


class AsyncClient(AbstractAsyncContextManager["AsyncClient"]):
    """An asynchronous client of one service. Errors are ServiceErrors; a refusal is a RefusedError with its sentences.

    The client verifies every plan, and refutes wrong claims if it can (`memplan.api.client.trust`). Each question is a
    method of inputs, with options by name or as `options`.
    """

    def __init__(self, server: str, *, key: str | None = None, patience_s: float = PATIENCE_S) -> None:
        headers = _JSON if key is None else {**_JSON, "Authorization": f"Bearer {key}"}
        self._http = httpx.AsyncClient(base_url=server, headers=headers)
        self._patience_s = patience_s

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections to the service."""
        await self._http.aclose()

    async def plan(self, problem: Problem, options: Options = NO_OPTIONS) -> Plan:
        """Plan a problem, and wait for the plan: `POST /v1/plan`."""
        content, limit_s = write_body(_PLAN, {"problem": problem}, options), options.time_limit_s
        read = self._plan_reader(problem, is_plain=options.heaps is None)
        return await self._send(read, "POST", _PLAN.path, content=content, limit_s=limit_s)

    async def known_plan(self, problem: Problem) -> Plan | None:
        """Return the best plan that the service knows for a problem, without sending it; None without a plan.

        The call is `GET /v1/plans/{problem_hash}`.
        """
        compiled = CompiledProblem.from_problem(problem)

        def read(data: bytes) -> Plan:
            return check_plan(problem, translate_plan(compiled, read_plan(data, problem)))

        return await self._fetch_if_found(read, f"/v1/plans/{compiled.hash}")

    async def answer(self, question: Question[T], values: InputValues, options: QuestionOptions) -> T:
        """Return the answer to a question with the inputs `values`, verified by the client as far as possible."""

        def read(data: bytes) -> T:
            answer: T = TypeAdapter(question.answer).validate_json(data)
            if (wrong := question.refutes({**values, "options": options}, answer)) is not None:
                raise WrongAnswerError(f"{question.name}: {wrong}")
            is_alone = question.name == _PLAN.name and values.keys() == {"problem"}
            if is_alone and isinstance(answer, Plan) and answer.heaps is None and getattr(options, "heaps", 1) is None:
                check_plan(values["problem"], answer)
            return answer

        content = write_body(question, values, options)
        return await self._send(read, "POST", question.path, content=content, limit_s=options.time_limit_s)

    async def proved(self, problem: Problem, plan: Plan, options: QuestionOptions = NO_OPTIONS) -> Plan:
        """Return a plan whose claim the client has proved: by a lower bound, or by a certificate that it requests."""
        if plan.status not in ("optimal", "infeasible"):
            raise WrongAnswerError(f"plan: is {plan.status}, which claims nothing that could be proved")
        if verdicts.checks(problem, plan, None, None).get("status") is not None:
            return plan
        certify = QUESTIONS["certify"]
        given = {"problem": problem} | ({"plan": plan} if plan.placements else {})
        found = await self.answer(
            certify, given, validate_options(certify.options, {"time_limit_s": options.time_limit_s})
        )
        return check_certificate(problem, plan, found.text)

    def _plan_reader(self, problem: Problem, is_plain: bool = True) -> Callable[[bytes], Plan]:
        """Return a function that reads and checks a plan for the problem."""
        return lambda data: check_plan(problem, read_plan(data, problem), is_plain)

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        """Return the method of a question; raises AttributeError for another name."""
        name_of_question = name.rstrip("_").replace("_", "-")
        if name_of_question not in QUESTIONS:
            raise AttributeError(f"client: has no call {name!r}")
        question = QUESTIONS[name_of_question]
        names = [each.name for each in question.inputs]

        async def call(*inputs: Any, options: QuestionOptions | None = None, **given: Any) -> Any:
            named = {name: given.pop(name) for name in names if name in given}
            values = dict(zip(names, inputs, strict=False)) | named
            return await self.answer(question, values, options or validate_options(question.options, given))

        return call

    async def submit(
        self,
        question: Problem | InputValues,
        options: QuestionOptions = NO_OPTIONS,
        *,
        kind: str = "plan",
        priority: int = 0,
        deadline_s: float | None = None,
        idempotency_key: str | None = None,
    ) -> RemoteJob:
        """Submit a problem, or the inputs of another kind, as a job; it is stored durably when this returns."""
        asked = {"problem": question} if isinstance(question, Problem) else question
        content = write_body(QUESTIONS[kind], asked, options)
        params: dict[str, Any] = {"kind": kind, "priority": priority}
        if deadline_s is not None:
            params["deadline_s"] = deadline_s
        again = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}  # so that a repeated submission is one job
        return await self._send_for_job("POST", _JOBS, content=content, params=params, headers=again)

    async def job(self, job_id: str) -> RemoteJob:
        """Return a job by its id: `GET /v1/jobs/{id}`."""
        return await self._send_for_job("GET", f"{_JOBS}/{job_id}")

    async def jobs(self, /, **filters: str | int) -> AsyncIterator[RemoteJob]:
        """Yield jobs, the newest first, filtered by `state`, `name` and `problem_hash`."""
        while True:
            page = await self._send(JobPage.model_validate_json, "GET", _JOBS, params=filters)
            for job in page.jobs:
                yield job
            if page.next is None or not page.jobs:
                return
            filters["after"] = page.jobs[-1].id

    async def job_plan(self, job_id: str, problem: Problem) -> Plan | None:
        """Return a job's best plan so far for the problem, or its final plan once it has ended; None without a plan."""
        return await self._fetch_if_found(self._plan_reader(problem), f"{_JOBS}/{job_id}/plan")

    async def job_result(self, job_id: str) -> Any:
        """Return a job's best answer so far as JSON; None if there is none."""
        return await self._fetch_if_found(parse, f"{_JOBS}/{job_id}/result")

    async def cancel(self, job_id: str) -> RemoteJob:
        """Cancel a job, and return it; its best plan so far is kept: `DELETE /v1/jobs/{id}`."""
        return await self._send_for_job("DELETE", f"{_JOBS}/{job_id}")

    async def wait(self, job_id: str) -> RemoteJob:
        """Wait until a job has ended, and return it."""
        async for _ in self.events(job_id):
            pass
        return await self.job(job_id)

    async def events(self, job_id: str) -> AsyncIterator[RemoteEvent]:
        """Yield the past and future events of a job until it has ended; a broken connection is opened again."""
        path, headers = f"{_JOBS}/{job_id}/events", {"Accept": "text/event-stream"}
        until = time.monotonic() + self._patience_s
        while True:
            try:
                async with self._open_response("GET", path, headers=headers) as response:
                    async for event in _stream_events(_stream_lines(response)):
                        headers["Last-Event-ID"], until = str(event.seq), time.monotonic() + self._patience_s
                        yield event
                        if event.kind == "finished":
                            return
                raise AwayError("events: the stream ended before the job did")
            except (AwayError, BusyError) as error:
                await _pause(error, until)

    async def batch(self, problems: Sequence[Problem], options: Options = NO_OPTIONS) -> AsyncIterator[BatchResult]:
        """Plan many problems, and yield each result as soon as it is ready: `POST /v1/batch`."""
        content = b"\n".join(write_body(_PLAN, {"problem": each}, options) for each in problems)
        silence_s = options.time_limit_s + _SILENCE_S
        async with self._open_response("POST", "/v1/batch", silence_s, content=content, headers=_NDJSON) as response:
            async for line in _stream_lines(response):
                yield _batch_result(escape_answer(line.encode(), b"[%b]" % content.replace(b"\n", b",")), problems)

    async def _send_for_job(self, method: str, path: str, **sent: Any) -> RemoteJob:
        return await self._send(RemoteJob.model_validate_json, method, path, **sent)

    async def _fetch_if_found(self, read: Callable[[bytes], T], path: str) -> T | None:
        """Return the content at a path, read by `read`; None if the service has none."""
        try:
            return await self._send(read, "GET", path)
        except RefusedError as error:
            if error.status == httpx.codes.NOT_FOUND:
                return None
            raise

    async def _send(
        self, read: Callable[[bytes], T], method: str, path: str, *, limit_s: float = 0.0, **sent: Any
    ) -> T:
        """Send a request, repeated while the service is busy, and return the answer; raises ServiceError."""
        until, asked = time.monotonic() + self._patience_s, sent.get("content", b"")
        limit_s += _ANSWER_S
        while True:
            try:
                async with (
                    _limit_time(path, limit_s + len(asked) / _SENT_IN_S),
                    self._open_response(method, path, limit_s, **sent) as response,
                ):
                    return read(escape_answer(await _read_content(response, len(asked)), asked))
            except (AwayError, BusyError) as error:
                await _pause(error, until)

    @asynccontextmanager
    async def _open_response(
        self, method: str, path: str, silence_s: float = _SILENCE_S, **sent: Any
    ) -> AsyncIterator[httpx.Response]:
        """Send a request once, and yield its response; raises ServiceError, also for errors inside the block."""
        timeout = httpx.Timeout(silence_s, connect=_CONNECT_S)
        try:
            async with self._http.stream(method, path, timeout=timeout, **sent) as response:
                if response.headers.get("content-encoding", "identity") != "identity":
                    raise WrongAnswerError(f"{path}: answered with a coding, which was not asked for")
                if not response.is_success:
                    content, after = await _read_content(response), response.headers.get("retry-after", "")
                    raise refusal_of(response.status_code, content, after)
                try:
                    yield response
                except (InputError, LookupError, TypeError, ValueError) as error:
                    wrong = InputError(*sentences(error)) if isinstance(error, ValidationError) else error
                    raise WrongAnswerError(f"{path}: {escape_controls(str(wrong).partition(chr(10))[0])}") from error
        except httpx.TransportError as error:
            where = excerpt(str(error.request.url.copy_with(query=None)))
            raise AwayError(f"{where}: {escape_controls(str(error)) or type(error).__name__}") from error


@asynccontextmanager
async def _limit_time(path: str, limit_s: float) -> AsyncIterator[None]:
    """End the block after `limit_s` seconds with AwayError, even if a part of the answer has arrived."""
    try:
        async with asyncio.timeout(limit_s):
            yield
    except TimeoutError:
        raise AwayError(f"{path}: no whole answer came within {limit_s:.0f} s") from None


async def _read_content(response: httpx.Response, n_asked: int = 0) -> bytes:
    """Return the content of a response; raises WrongAnswerError if it is too long."""
    found, most = bytearray(), max(_MOST_BYTES, _MOST_TIMES * n_asked)
    async for part in response.aiter_raw():
        found += part
        if len(found) > most:
            raise WrongAnswerError(f"{response.url.path}: must answer with at most {most} bytes, got more")
    return bytes(found)


async def _stream_lines(response: httpx.Response) -> AsyncIterator[str]:
    """Yield the lines of a stream; raises WrongAnswerError if a line is too long."""
    left = bytearray()
    async for part in response.aiter_raw():
        left += part
        if b"\n" in part:
            *lines, last = left.split(b"\n")
            left = last
            for line in lines:
                yield line.removesuffix(b"\r").decode()
        if len(left) > _MOST_BYTES:
            raise WrongAnswerError(f"{response.url.path}: must send lines of at most {_MOST_BYTES} bytes, got more")
    if left:
        yield left.decode()


async def _pause(error: ServiceError, until: float) -> None:
    """Wait before a request is sent again; raises the error once the client's patience is over.

    The wait is up to half longer at random, so that clients refused together do not return together.
    """
    left_s = until - time.monotonic()
    if error.retry_after_s > left_s:
        raise error
    await asyncio.sleep(min(error.retry_after_s * random.uniform(1.0, 1.5), left_s))


async def _stream_events(lines: AsyncIterator[str]) -> AsyncIterator[RemoteEvent]:
    """Yield the complete events of a stream; malformed events raise errors that `_open_response` converts."""
    fields: dict[str, str] = {}
    async for line in lines:
        name, _, value = line.partition(":")
        if name:  # a line without a name is a comment that keeps the connection alive
            fields[name] = value.removeprefix(" ")
        elif not line and "data" in fields:
            data = from_json(escape_answer(fields["data"].encode(), b""))
            yield RemoteEvent(int(fields["id"]), escape_controls(fields.get("event", "message")), data)
            fields = {}


def _batch_result(line: bytes, problems: Sequence[Problem]) -> BatchResult:
    """Return the result in a line of a batch's answer; raises errors that `_open_response` converts."""
    content = parse(line)
    index = int(content["index"])
    if "error" in content:
        return BatchResult(index, None, refusal_of(int(content["error"]["status"]), to_json(content["error"])))
    return BatchResult(index, check_plan(problems[index], Plan.model_validate(content["plan"])), None)
