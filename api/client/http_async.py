"""An asynchronous client of the service, on which the blocking client in `memplan.api.client.http` is built."""

import asyncio
import random
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from os import PathLike
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
from memplan.planner.errors import InputError, OptionError, escape_controls, excerpt, sentences
from memplan.planner.errors.did_you_mean import did_you_mean
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
"""The seconds during which a request is repeated while the service is busy or unreachable."""
_SILENCE_S, _CONNECT_S, _ANSWER_S = 60.0, 5.0, 30.0
"""Timeouts in seconds: between bytes of a stream, to connect, and to answer after the search's time limit."""
_SENT_IN_S = 2**17
"""The lowest upload rate, in bytes per second, that the timeout of a request allows for."""
_MOST_BYTES, _MOST_TIMES = 2**28, 16
"""Limits of an answer: bytes in total or per line, or if larger, this multiple of the request's bytes."""
_JSON = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
_NDJSON = _JSON | dict.fromkeys(("Content-Type", "Accept"), "application/x-ndjson")
_PLAN, _JOBS = QUESTIONS["plan"], "/v1/jobs"


_OTHER_METHODS = {"job_result": "result get_result", "job_plan": "best_plan get_plan plan_of", "job": "get_job status"}
"""For methods of the client, the names that other clients have for them."""


def _convert_inputs(question: Question[Any], given: InputValues) -> InputValues:
    """Return a question's inputs after converting JSON objects to values.

    Raises InputError for a path, for an input that the question does not have, and for a missing one.
    """
    values = dict(given)
    rows = {row.name: row for row in question.inputs}
    for name, value in given.items():
        if name not in rows:
            raise OptionError(f"{name}: must be an input of {question.name} ({', '.join(rows)})")
        if isinstance(value, Mapping):
            values[name] = rows[name].from_json(value)
        elif isinstance(value, str | PathLike) and not rows[name].takes_bytes:
            rule = f"must be a value or a JSON object, got {excerpt(str(value))}"
            raise OptionError(f"{name}: {rule}", way="memplan.read_problem reads a file of a problem")
    if missing := [row.name for row in question.inputs if row.required and row.name not in values]:
        raise OptionError(f"{missing[0]}: is required for {question.name}, got {', '.join(values) or 'nothing'}")
    return values


class AsyncClient(AbstractAsyncContextManager["AsyncClient"]):
    """An asynchronous client of one service. Errors are ServiceErrors; a refused request raises RefusedError.

    The client verifies every plan, and refutes false claims where it can (`memplan.api.client.trust`). Each question is
    a method that takes the inputs, and its options by name or as `options`.
    """

    def __init__(self, server: str, *, key: str | None = None, patience_s: float = PATIENCE_S) -> None:
        """Open no connection yet; requests to the URL `server` are retried for at most `patience_s` seconds."""
        headers = _JSON if key is None else {**_JSON, "Authorization": f"Bearer {key}"}
        self._http = httpx.AsyncClient(base_url=server, headers=headers)
        self._patience_s = patience_s

    async def __aexit__(self, *_: object) -> None:
        """Close the connections to the service."""
        await self.close()

    async def close(self) -> None:
        """Close the connections to the service."""
        await self._http.aclose()

    async def plan(self, problem: Problem, options: Options = NO_OPTIONS) -> Plan:
        """Return the verified plan of a problem, made by `POST /v1/plan`."""
        plan: Plan = await self.answer(_PLAN, _convert_inputs(_PLAN, {"problem": problem}), options)
        return plan

    async def known_plan(self, problem: Problem) -> Plan | None:
        """Return the best plan that the service knows for a problem; None if it knows none.

        The call is `GET /v1/plans/{problem_hash}`; the problem itself is not sent.
        """
        compiled = CompiledProblem.from_problem(problem)

        def read(data: bytes) -> Plan:
            return check_plan(problem, translate_plan(compiled, read_plan(data, problem)))

        return await self._fetch_if_found(read, f"/v1/plans/{compiled.hash}")

    async def answer(self, question: Question[T], values: InputValues, options: QuestionOptions) -> T:
        """Return the answer to a question about the inputs `values`, verified as far as the question allows."""

        def read(data: bytes) -> T:
            """Return the answer in a response's bytes; raises WrongAnswerError if a check refutes the answer."""
            answer: T = TypeAdapter(question.answer).validate_json(data)
            is_alone = question.name == _PLAN.name and values.keys() == {"problem"}
            if is_alone and isinstance(answer, Plan) and answer.heaps is None and getattr(options, "heaps", 1) is None:
                check_plan(values["problem"], answer)
            if (wrong := question.refutes({**values, "options": options}, answer)) is not None:
                raise WrongAnswerError(f"{question.name}: {wrong}")
            return answer

        content = write_body(question, values, options)
        return await self._send(read, "POST", question.path, content=content, limit_s=options.time_limit_s)

    async def proved(self, problem: Problem, plan: Plan, options: QuestionOptions = NO_OPTIONS) -> Plan:
        """Return a plan after proving its claim (optimal or infeasible) by a lower bound, or by a certificate."""
        if plan.status not in ("optimal", "infeasible"):
            raise WrongAnswerError(f"plan: must be optimal or infeasible to be proved, got {plan.status}")
        if verdicts.claim_checks(problem, plan, None, None).get("status") is not None:
            return plan
        certify = QUESTIONS["certify"]
        given = {"problem": problem} | ({"plan": plan} if plan.placements else {})
        found = await self.answer(
            certify, given, validate_options(certify.options, {"time_limit_s": options.time_limit_s})
        )
        return check_certificate(problem, plan, found.text)

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        """Return the method that sends the question of this name; raises AttributeError for an unknown name."""
        name_of_question = name.rstrip("_").replace("_", "-")
        if name_of_question not in QUESTIONS:
            hint = did_you_mean(name, dir(self), _OTHER_METHODS) or f" (the methods are {', '.join(dir(self))})"
            raise AttributeError(f"client: has no method {name!r}{'' if name.startswith('_') else hint}")
        question = QUESTIONS[name_of_question]
        names = [each.name for each in question.inputs]

        async def call(*inputs: Any, options: QuestionOptions | None = None, **given: Any) -> Any:
            named = {name: given.pop(name) for name in names if name in given}
            values = _convert_inputs(question, dict(zip(names, inputs, strict=False)) | named)
            return await self.answer(question, values, options or validate_options(question.options, given))

        return call

    def __dir__(self) -> list[str]:
        """Return the names of all public methods, those of questions included."""
        methods = {name for name in dir(type(self)) if not name.startswith("_")}
        return sorted(methods | {name.replace("-", "_") for name in QUESTIONS})

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
        """Submit a problem, or the inputs of the question `kind`, as a job; on return, the job is on disk."""
        names = [row.name for row in QUESTIONS[kind].inputs]
        if not isinstance(question, Mapping) or question.keys().isdisjoint(names):
            question = {names[0]: question}
        asked = _convert_inputs(QUESTIONS[kind], question)
        content = write_body(QUESTIONS[kind], asked, options)
        params: dict[str, Any] = {"kind": kind, "priority": priority}
        if deadline_s is not None:
            params["deadline_s"] = deadline_s
        # With the same key, a retry returns the same job instead of making a new one.
        again = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        return await self._send_for_job("POST", _JOBS, content=content, params=params, headers=again)

    async def job(self, job_id: str) -> RemoteJob:
        """Return a job by its id (`GET /v1/jobs/{id}`)."""
        return await self._send_for_job("GET", f"{_JOBS}/{job_id}")

    async def jobs(self, /, **filters: str | int) -> AsyncIterator[RemoteJob]:
        """Yield jobs, newest first; `filters` may restrict `state`, `name` and `problem_hash`."""
        while True:
            page = await self._send(JobPage.model_validate_json, "GET", _JOBS, params=filters)
            for job in page.jobs:
                yield job
            if page.next is None or not page.jobs:
                return
            filters["after"] = page.jobs[-1].id

    async def job_plan(self, job_id: str, problem: Problem) -> Plan | None:
        """Return a job's verified best plan so far (after the job's end, the final plan); None without a plan."""
        return await self._fetch_if_found(
            lambda data: check_plan(problem, read_plan(data, problem)), f"{_JOBS}/{job_id}/plan"
        )

    async def job_result(self, job_id: str) -> Any:
        """Return a job's best answer so far as parsed JSON; None if it has no answer."""
        return await self._fetch_if_found(parse, f"{_JOBS}/{job_id}/result")

    async def cancel(self, job_id: str) -> RemoteJob:
        """Cancel a job by `DELETE /v1/jobs/{id}`, and return the job; its best plan so far is kept."""
        return await self._send_for_job("DELETE", f"{_JOBS}/{job_id}")

    async def wait(self, job_id: str) -> RemoteJob:
        """Wait until a job has ended, then return the job."""
        async for _ in self.events(job_id):
            pass
        return await self.job(job_id)

    async def events(self, job_id: str) -> AsyncIterator[RemoteEvent]:
        """Yield a job's past and future events until it ends; a lost connection resumes after the last event."""
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
                raise AwayError("events: the stream of events ended before the job had ended")
            except (AwayError, BusyError) as error:
                await _wait_before_retry(error, until)

    async def batch(self, problems: Sequence[Problem], options: Options = NO_OPTIONS) -> AsyncIterator[BatchResult]:
        """Plan many problems by `POST /v1/batch`, and yield each result as soon as it arrives."""
        content = b"\n".join(write_body(_PLAN, {"problem": each}, options) for each in problems)
        silence_s = options.time_limit_s + _SILENCE_S
        async with self._open_response("POST", "/v1/batch", silence_s, content=content, headers=_NDJSON) as response:
            async for line in _stream_lines(response):
                yield _batch_result(escape_answer(line.encode(), b"[%b]" % content.replace(b"\n", b",")), problems)

    async def _send_for_job(self, method: str, path: str, **sent: Any) -> RemoteJob:
        return await self._send(RemoteJob.model_validate_json, method, path, **sent)

    async def _fetch_if_found(self, read: Callable[[bytes], T], path: str) -> T | None:
        """Return the content at a path, parsed by `read`; None if the service answers 404."""
        try:
            return await self._send(read, "GET", path)
        except RefusedError as error:
            if error.status == httpx.codes.NOT_FOUND:
                return None
            raise

    async def _send(
        self, read: Callable[[bytes], T], method: str, path: str, *, limit_s: float = 0.0, **sent: Any
    ) -> T:
        """Send a request, again while the service is busy or unreachable; return the answer parsed by `read`."""
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
                await _wait_before_retry(error, until)

    @asynccontextmanager
    async def _open_response(
        self, method: str, path: str, silence_s: float = _SILENCE_S, **sent: Any
    ) -> AsyncIterator[httpx.Response]:
        """Send a request once, and yield the response; errors in the `with` block also become ServiceErrors."""
        timeout = httpx.Timeout(silence_s, connect=_CONNECT_S)
        try:
            async with self._http.stream(method, path, timeout=timeout, **sent) as response:
                if response.headers.get("content-encoding", "identity") != "identity":
                    raise WrongAnswerError(f"{path}: must be sent without a content coding")
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
    """Raise AwayError if the block exceeds `limit_s` seconds, even if parts of an answer still arrive."""
    try:
        async with asyncio.timeout(limit_s):
            yield
    except TimeoutError:
        raise AwayError(f"{path}: no complete answer arrived within {limit_s:.0f} s") from None


async def _read_content(response: httpx.Response, n_asked: int = 0) -> bytes:
    """Return the content of a response; raises WrongAnswerError if it exceeds the byte limit."""
    found, most = bytearray(), max(_MOST_BYTES, _MOST_TIMES * n_asked)
    async for part in response.aiter_raw():
        found += part
        if len(found) > most:
            raise WrongAnswerError(f"{response.url.path}: must be a response of at most {most} bytes, got more")
    return bytes(found)


async def _stream_lines(response: httpx.Response) -> AsyncIterator[str]:
    """Yield the lines of a streamed response; raises WrongAnswerError if a line exceeds the byte limit."""
    left = bytearray()
    async for part in response.aiter_raw():
        left += part
        if b"\n" in part:
            *lines, last = left.split(b"\n")
            left = last
            for line in lines:
                yield line.removesuffix(b"\r").decode()
        if len(left) > _MOST_BYTES:
            raise WrongAnswerError(f"{response.url.path}: must have lines of at most {_MOST_BYTES} bytes, got more")
    if left:
        yield left.decode()


async def _wait_before_retry(error: ServiceError, until: float) -> None:
    """Wait before a request is repeated; raises the error instead if the wait would exceed the client's patience.

    A random factor of 1 to 1.5 lengthens the wait, so that clients refused at the same time retry at different times.
    """
    left_s = until - time.monotonic()
    if error.retry_after_s > left_s:
        raise error
    await asyncio.sleep(min(error.retry_after_s * random.uniform(1.0, 1.5), left_s))


async def _stream_events(lines: AsyncIterator[str]) -> AsyncIterator[RemoteEvent]:
    """Yield the job events in the lines of an event stream; callers handle the errors of malformed lines."""
    fields: dict[str, str] = {}
    async for line in lines:
        name, _, value = line.partition(":")
        if name:  # A line without a name only keeps the connection alive, so skip it.
            fields[name] = value.removeprefix(" ")
        elif not line and "data" in fields:
            data = from_json(escape_answer(fields["data"].encode(), b""))
            yield RemoteEvent(int(fields["id"]), escape_controls(fields.get("event", "message")), data)
            fields = {}


def _batch_result(line: bytes, problems: Sequence[Problem]) -> BatchResult:
    """Return the result that a line of a batch's answer contains; callers handle errors of malformed lines."""
    content = parse(line)
    index = int(content["index"])
    if "error" in content:
        return BatchResult(index, None, refusal_of(int(content["error"]["status"]), to_json(content["error"])))
    return BatchResult(index, check_plan(problems[index], Plan.model_validate(content["plan"])), None)
