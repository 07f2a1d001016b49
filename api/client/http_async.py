"""The service from Python, for an event loop; `memplan.api.client.http` is the one that blocks, made of this one."""

from __future__ import annotations

import asyncio
import json
import random
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

import httpx
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

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
from memplan.api.service.cache.canonical_plan import translated
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.planner.errors import InputError, sentences, shown
from memplan.planner.formats.memplan_json import parse, read_plan
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.questions import QUESTIONS
from memplan.questions.inputs.values import InputValues
from memplan.questions.question import Question, QuestionOptions
from memplan.questions.question.wire import written_body
from memplan.questions.reading import validated

T = TypeVar("T")
PATIENCE_S = 10.0
"""The seconds for which requests are repeated while a service is busy or unreachable."""
_SILENCE_S, _CONNECT_S, _ANSWER_S = 60.0, 5.0, 30.0
"""The longest silence of a stream, and the timeouts for a connection and for an answer beyond the search limit."""
_JSON = {"Content-Type": "application/json", "Accept": "application/json"}
_NDJSON = dict.fromkeys(_JSON, "application/x-ndjson")
_PLAN, _JOBS = QUESTIONS["plan"], "/v1/jobs"


class AsyncClient(AbstractAsyncContextManager["AsyncClient"]):
    """An asynchronous client of one service. Raises ServiceError; a refusal is a RefusedError with its sentences.

    It verifies every plan, too. Each question is a method, which takes inputs, and options by name or as `options`.
    """

    def __init__(self, server: str, *, key: str | None = None, patience_s: float = PATIENCE_S) -> None:
        headers = _JSON if key is None else {**_JSON, "Authorization": f"Bearer {key}"}
        self._http = httpx.AsyncClient(base_url=server, headers=headers)
        self._patience_s = patience_s

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def plan(self, problem: Problem, options: Options = NO_OPTIONS) -> Plan:
        """Plan a problem, and wait for the plan: `POST /v1/plan`."""
        content, limit_s = written_body(_PLAN, {"problem": problem}, options), options.time_limit_s
        return await self._send(
            lambda data: _plan(problem, read_plan(data, problem)), "POST", _PLAN.path, content=content, limit_s=limit_s
        )

    async def known_plan(self, problem: Problem) -> Plan | None:
        """Return the best plan that the service knows of a problem, without sending or solving the problem.

        `GET /v1/plans/{problem_hash}`.
        """
        compiled = CompiledProblem.of(problem)

        def read(data: bytes) -> Plan:
            return _plan(problem, translated(compiled, read_plan(data, problem)))

        return await self._send_for_some(read, f"/v1/plans/{compiled.hash}")

    async def answer(self, question: Question[T], values: InputValues, options: QuestionOptions) -> T:
        """Return the answer of a question to its inputs by name, verified as far as possible on the client."""

        def read(data: bytes) -> T:
            answer: T = TypeAdapter(question.answer).validate_json(data)
            if (wrong := question.refutes({**values, "options": options}, answer)) is not None:
                raise WrongAnswerError(f"{question.name}: {wrong}")
            return answer

        content = written_body(question, values, options)
        return await self._send(read, "POST", question.path, content=content, limit_s=options.time_limit_s)

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        """Return the call of a question; raises AttributeError where there is none."""
        name_of_question = name.rstrip("_").replace("_", "-")
        if name_of_question not in QUESTIONS:
            raise AttributeError(f"client: has no call {name!r}")
        question = QUESTIONS[name_of_question]
        names = [each.name for each in question.inputs]

        async def call(*inputs: Any, options: QuestionOptions | None = None, **given: Any) -> Any:
            named = {name: given.pop(name) for name in names if name in given}
            values = dict(zip(names, inputs, strict=False)) | named
            return await self.answer(question, values, options or validated(question.options, given))

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
        """Submit a problem, or the inputs of another kind, as a job, which is stored durably when this returns."""
        asked = {"problem": question} if isinstance(question, Problem) else question
        content = written_body(QUESTIONS[kind], asked, options)
        params: dict[str, Any] = {"kind": kind, "priority": priority}
        if deadline_s is not None:
            params["deadline_s"] = deadline_s
        again = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}  # a repeated submission is still one job
        return await self._job("POST", _JOBS, content=content, params=params, headers=again)

    async def job(self, job_id: str) -> RemoteJob:
        """Return a job: `GET /v1/jobs/{id}`."""
        return await self._job("GET", f"{_JOBS}/{job_id}")

    async def jobs(self, /, **filters: str | int) -> AsyncIterator[RemoteJob]:
        """Yield jobs, newest first, filtered by `state`, `name` and `problem_hash`."""
        while True:
            page = await self._send(JobPage.model_validate_json, "GET", _JOBS, params=filters)
            for job in page.jobs:
                yield job
            if page.next is None or not page.jobs:
                return
            filters["after"] = page.jobs[-1].id

    async def job_plan(self, job_id: str, problem: Problem) -> Plan | None:
        """Return a job's best plan so far for this problem (the final one once it has ended), or None."""
        return await self._send_for_some(
            lambda data: _plan(problem, read_plan(data, problem)), f"{_JOBS}/{job_id}/plan"
        )

    async def job_result(self, job_id: str) -> Any:
        """Return a job's best answer so far as JSON, or None if there is none."""
        return await self._send_for_some(parse, f"{_JOBS}/{job_id}/result")

    async def cancel(self, job_id: str) -> RemoteJob:
        """Cancel a job; its best plan so far is kept: `DELETE /v1/jobs/{id}`."""
        return await self._job("DELETE", f"{_JOBS}/{job_id}")

    async def wait(self, job_id: str) -> RemoteJob:
        """Wait for a job to end, and return it."""
        async for _ in self.events(job_id):
            pass
        return await self.job(job_id)

    async def events(self, job_id: str) -> AsyncIterator[RemoteEvent]:
        """Yield the past and future events of a job until it ends, reconnecting when the connection breaks."""
        path, headers = f"{_JOBS}/{job_id}/events", {"Accept": "text/event-stream"}
        until = time.monotonic() + self._patience_s
        while True:
            try:
                async with self._answered("GET", path, headers=headers) as response:
                    async for event in _events(response.aiter_lines()):
                        headers["Last-Event-ID"], until = str(event.seq), time.monotonic() + self._patience_s
                        yield event
                        if event.kind == "finished":
                            return
                raise AwayError("events: the stream ended before the job did")
            except (AwayError, BusyError) as error:
                await _pause(error, until)

    async def batch(self, problems: Sequence[Problem], options: Options = NO_OPTIONS) -> AsyncIterator[BatchResult]:
        """Plan many problems, and yield each result as soon as it is ready: `POST /v1/batch`."""
        content = b"\n".join(written_body(_PLAN, {"problem": each}, options) for each in problems)
        silence_s = options.time_limit_s + _SILENCE_S
        async with self._answered("POST", "/v1/batch", silence_s, content=content, headers=_NDJSON) as response:
            async for line in response.aiter_lines():
                yield _batch_result(line, problems)

    async def _job(self, method: str, path: str, **sent: Any) -> RemoteJob:
        return await self._send(RemoteJob.model_validate_json, method, path, **sent)

    async def _send_for_some(self, read: Callable[[bytes], T], path: str) -> T | None:
        """Return the content at a path, None if there is none."""
        try:
            return await self._send(read, "GET", path)
        except RefusedError as error:
            if error.status == httpx.codes.NOT_FOUND:
                return None
            raise

    async def _send(
        self, read: Callable[[bytes], T], method: str, path: str, *, limit_s: float = 0.0, **sent: Any
    ) -> T:
        """Send a call, with retries, and read the answer; raises ServiceError."""
        until = time.monotonic() + self._patience_s
        while True:
            try:
                async with self._answered(method, path, limit_s + _ANSWER_S, **sent) as response:
                    return read(await response.aread())
            except (AwayError, BusyError) as error:
                await _pause(error, until)

    @asynccontextmanager
    async def _answered(
        self, method: str, path: str, silence_s: float = _SILENCE_S, **sent: Any
    ) -> AsyncIterator[httpx.Response]:
        """Send a call once and yield its response; raises ServiceError, also from inside the block."""
        timeout = httpx.Timeout(silence_s, connect=_CONNECT_S)
        try:
            async with self._http.stream(method, path, timeout=timeout, **sent) as response:
                if not response.is_success:
                    content, after = await response.aread(), response.headers.get("retry-after", "")
                    raise refusal_of(response.status_code, content, after)
                try:
                    yield response
                except (InputError, LookupError, TypeError, ValueError) as error:
                    wrong = InputError(*sentences(error)) if isinstance(error, ValidationError) else error
                    raise WrongAnswerError(f"{path}: {str(wrong).partition(chr(10))[0]}") from error
        except httpx.TransportError as error:
            where = shown(str(error.request.url.copy_with(query=None)))
            raise AwayError(f"{where}: {str(error) or type(error).__name__}") from error


async def _pause(error: ServiceError, until: float) -> None:
    """Wait before a call is sent again; raises the error once the patience is over.

    Each client waits up to half as long again at random, so that calls refused together do not return together.
    """
    left_s = until - time.monotonic()
    if error.retry_after_s > left_s:
        raise error
    await asyncio.sleep(min(error.retry_after_s * random.uniform(1.0, 1.5), left_s))


async def _events(lines: AsyncIterator[str]) -> AsyncIterator[RemoteEvent]:
    """Yield the complete events of a stream; malformed ones raise an error that `_answered` converts."""
    fields: dict[str, str] = {}
    async for line in lines:
        name, _, value = line.partition(":")
        if name:  # other lines are comments that keep the connection alive
            fields[name] = value.removeprefix(" ")
        elif not line and "data" in fields:
            yield RemoteEvent(int(fields["id"]), fields.get("event", "message"), json.loads(fields["data"]))
            fields = {}


def _plan(problem: Problem, plan: Plan | None) -> Plan:
    """Return a plan that passes the local verifier; raises WrongAnswerError."""
    if plan is None or (violations := verify(problem, plan)):
        rule = "" if plan is None else f": {violations[0].message}"
        raise WrongAnswerError(f"plan: is not one of this problem{rule}")
    return plan


def _batch_result(line: str, problems: Sequence[Problem]) -> BatchResult:
    """Read a line of a batch's answer; a malformed one raises an error that `_answered` converts."""
    content = parse(line.encode())
    index = int(content["index"])
    if "error" in content:
        return BatchResult(index, None, refusal_of(int(content["error"]["status"]), to_json(content["error"])))
    return BatchResult(index, _plan(problems[index], Plan.model_validate(content["plan"])), None)
