"""The service from Python, for an event loop; `memplan.api.client.http` is the one that blocks, made of this one."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any, Self, TypeVar

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
)
from memplan.api.options import NO_OPTIONS, Options
from memplan.api.service.cache.canonical_plan import translated
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.capabilities.bodies import written_body
from memplan.capabilities.capability import Capability, CapabilityOptions
from memplan.capabilities.question import Question
from memplan.capabilities.reading import validated
from memplan.capabilities.registry import CAPABILITIES
from memplan.planner.errors import InputError, sentences, shown
from memplan.planner.formats.memplan_json import parse, read_plan, write_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify

A = TypeVar("A")
T = TypeVar("T")
PATIENCE_S = 10.0
"""The seconds for which a service that is busy or away is asked again."""
_SILENCE_S, _CONNECT_S, _ANSWER_S = 60.0, 5.0, 30.0
"""The longest silence of a stream, the time for a connection, and that for an answer beside the limit of a search."""
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.1, 2.0
_JSON = {"Content-Type": "application/json", "Accept": "application/json"}
_NDJSON = {"Content-Type": "application/x-ndjson", "Accept": "application/x-ndjson"}
_JOBS = "/v1/jobs"


class AsyncClient:
    """Calls of one service, for an event loop. Raises ServiceError; refusals are RefusedErrors with their sentences.

    Every plan passes the verifier here, too. The call of each capability is a method: its inputs, and its options by
    name or as `options`.
    """

    def __init__(self, server: str, *, key: str | None = None, patience_s: float = PATIENCE_S) -> None:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._http = httpx.AsyncClient(base_url=server, headers=headers, timeout=_timeout(_SILENCE_S))
        self._patience_s = patience_s

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def plan(self, problem: Problem, options: Options = NO_OPTIONS) -> Plan:
        """Plan a problem, and wait for the plan: `POST /v1/plan`."""
        content, limit_s = _submission(problem, options), options.time_limit_s
        return await self._send(lambda data: _plan(problem, data), "POST", "/v1/plan", content=content, limit_s=limit_s)

    async def known_plan(self, problem: Problem) -> Plan | None:
        """Return the best plan that the service knows of a problem, which is not solved, and not even sent.

        `GET /v1/plans/{problem_hash}`.
        """
        compiled = CompiledProblem.of(problem)

        def read(data: bytes) -> Plan:
            if (plan := translated(compiled, read_plan(data, problem))) is None:
                raise WrongAnswerError("known plan: is not one of this problem")
            return plan

        return await self._send_for_some(read, f"/v1/plans/{compiled.hash}")

    async def answer(self, capability: Capability[A], question: Question, options: CapabilityOptions) -> A:
        """Return the answer of a capability to its inputs, by their names, verified as far as it can be here."""

        def read(data: bytes) -> A:
            found: A = TypeAdapter(capability.answer).validate_json(data)
            if (wrong := capability.refutes({**question, "options": options}, found)) is not None:
                raise WrongAnswerError(f"{capability.name}: {wrong}")
            return found

        content = written_body(capability, question, options)
        return await self._send(read, "POST", capability.path, content=content, limit_s=options.time_limit_s)

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        """Return the call of a capability; raises AttributeError where there is none."""
        known = name.rstrip("_").replace("_", "-")
        if known not in CAPABILITIES:
            raise AttributeError(f"client: has no call {name!r}")
        capability = CAPABILITIES[known]
        names = [each.name for each in capability.inputs]

        async def call(*inputs: Any, options: CapabilityOptions | None = None, **given: Any) -> Any:
            question = dict(zip(names, inputs, strict=False))
            question |= {name: given.pop(name) for name in names if name in given}
            return await self.answer(capability, question, options or validated(capability.options, given))

        return call

    async def submit(
        self,
        question: Problem | Question,
        options: CapabilityOptions = NO_OPTIONS,
        *,
        kind: str = "plan",
        priority: int = 0,
        deadline_s: float | None = None,
        idempotency_key: str | None = None,
    ) -> RemoteJob:
        """Submit a problem, or the inputs of another kind, as a job; once this returns, it is not lost."""
        if isinstance(question, Problem):
            content = _submission(question, options)
        else:
            content = written_body(CAPABILITIES[kind], question, options)
        params = {"kind": kind, "priority": str(priority)} | (
            {} if deadline_s is None else {"deadline_s": str(deadline_s)}
        )
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}  # it is sent again, and yet one job
        return await self._send(
            RemoteJob.model_validate_json, "POST", _JOBS, content=content, params=params, headers=headers
        )

    async def job(self, job_id: str) -> RemoteJob:
        """Look at a job: `GET /v1/jobs/{id}`."""
        return await self._send(RemoteJob.model_validate_json, "GET", f"{_JOBS}/{job_id}")

    async def jobs(self, /, **filters: str | int) -> AsyncIterator[RemoteJob]:
        """Yield jobs, newest first: `state`, `name` and `problem_hash` say which."""
        params = {name: str(value) for name, value in filters.items()}
        while True:
            page = await self._send(JobPage.model_validate_json, "GET", _JOBS, params=params)
            for job in page.jobs:
                yield job
            if page.next is None or not page.jobs:
                return
            params["after"] = page.jobs[-1].id

    async def job_plan(self, job_id: str, problem: Problem) -> Plan | None:
        """Return the best plan so far of a job for this problem, the final one once it is over; None: there is none."""
        return await self._send_for_some(lambda data: _plan(problem, data), f"{_JOBS}/{job_id}/plan")

    async def job_result(self, job_id: str) -> Any:
        """Return the answer of a job, of whatever kind, as JSON has it: the best so far; None: there is none."""
        return await self._send_for_some(parse, f"{_JOBS}/{job_id}/result")

    async def cancel(self, job_id: str) -> RemoteJob:
        """End a job; its best plan so far is kept: `DELETE /v1/jobs/{id}`."""
        return await self._send(RemoteJob.model_validate_json, "DELETE", f"{_JOBS}/{job_id}")

    async def wait(self, job_id: str) -> RemoteJob:
        """Return a job once it is over."""
        async for _ in self.events(job_id):
            pass
        return await self.job(job_id)

    async def events(self, job_id: str) -> AsyncIterator[RemoteEvent]:
        """Yield what happened to a job and what happens, until it is over; a connection that breaks is made anew."""
        waits, headers = _Waits(self._patience_s), {"Accept": "text/event-stream"}
        while True:
            try:
                async with self._http.stream("GET", f"{_JOBS}/{job_id}/events", headers=headers) as response:
                    await _check(response)
                    async for event in _events(response.aiter_lines()):
                        waits, headers["Last-Event-ID"] = _Waits(self._patience_s), str(event.seq)
                        yield event
                        if event.kind == "finished":
                            return
                if response.status_code == httpx.codes.NO_CONTENT:
                    return
                await waits.wait(AwayError("events: the stream ended before the job did"))
            except (httpx.TransportError, BusyError) as error:
                await waits.wait(error)

    async def batch(self, problems: Sequence[Problem], options: Options = NO_OPTIONS) -> AsyncIterator[BatchResult]:
        """Plan many problems, and yield each result as soon as it is there: `POST /v1/batch`."""
        body = b"".join(_submission(problem, options) + b"\n" for problem in problems)
        limits = _timeout(options.time_limit_s + _SILENCE_S)
        try:
            async with self._http.stream(
                "POST", "/v1/batch", content=body, headers=_NDJSON, timeout=limits
            ) as response:
                await _check(response)
                async for line in response.aiter_lines():
                    yield _batch_result(line, problems)
        except httpx.TransportError as error:
            raise _away(error) from error

    async def _send_for_some(self, read: Callable[[bytes], T], path: str) -> T | None:
        """Return what is at a path, None where there is nothing."""
        try:
            return await self._send(read, "GET", path)
        except RefusedError as error:
            if error.status == httpx.codes.NOT_FOUND:
                return None
            raise

    async def _send(
        self, read: Callable[[bytes], T], method: str, path: str, *, limit_s: float = 0.0, **sent: Any
    ) -> T:
        """Send a call until there is an answer, and read it; raises ServiceError."""
        waits, sent["headers"] = _Waits(self._patience_s), {**_JSON, **sent.get("headers", {})}
        while True:
            try:
                response = await self._http.request(method, path, timeout=_timeout(limit_s + _ANSWER_S), **sent)
                await _check(response)
                return read(response.content)
            except (httpx.TransportError, BusyError) as error:
                await waits.wait(error)
            except (ValidationError, InputError) as error:
                said = sentences(error) if isinstance(error, ValidationError) else error.sentences
                raise WrongAnswerError(f"{path}: {said[0]}") from error


class _Waits:
    """The waits before a call is sent again, for so many seconds in all: as a busy service says, else they double."""

    def __init__(self, patience_s: float) -> None:
        self._until, self._wait_s = time.monotonic() + patience_s, _FIRST_WAIT_S

    async def wait(self, error: ServiceError | httpx.TransportError) -> None:
        """Wait; raises the error where there is no more patience."""
        error = _away(error) if isinstance(error, httpx.TransportError) else error
        wait_s = error.retry_after_s if isinstance(error, BusyError) else self._wait_s
        self._wait_s = min(2 * self._wait_s, _LONGEST_WAIT_S)
        if time.monotonic() + wait_s > self._until:
            raise error
        await asyncio.sleep(wait_s)


async def _events(lines: AsyncIterator[str]) -> AsyncIterator[RemoteEvent]:
    """Yield the events of a stream that are complete; raises WrongAnswerError."""
    fields: dict[str, str] = {}
    async for line in lines:
        name, _, value = line.partition(":")
        if name:  # else it is a comment, which keeps the connection alive
            fields[name] = value.removeprefix(" ")
        elif not line and "data" in fields:
            try:
                yield RemoteEvent(int(fields.get("id", "")), fields.get("event", "message"), json.loads(fields["data"]))
            except ValueError as error:
                raise WrongAnswerError(f"events: {error}") from error
            fields = {}


async def _check(response: httpx.Response) -> None:
    """Raise the error that a response describes, if it does."""
    if response.is_success:
        return
    try:
        details = json.loads(await response.aread())
    except ValueError:
        details = None
    raise refusal_of(response.status_code, details, response.headers.get("retry-after"))


def refusal_of(status: int, details: Any, retry_after: str | None = None) -> RefusedError:
    """Return the error of a status and problem details."""
    said = details.get("errors") if isinstance(details, dict) else None
    told = [str(one) for one in said] if isinstance(said, list) and said else [f"service: answered with {status}"]
    if status in (httpx.codes.TOO_MANY_REQUESTS, httpx.codes.SERVICE_UNAVAILABLE):
        wait_s = float(retry_after) if retry_after is not None and retry_after.isdecimal() else 1.0
        return BusyError(status, *told, retry_after_s=wait_s)
    return RefusedError(status, *told)


def _away(error: httpx.TransportError) -> AwayError:
    """Return the error of the transport as one of this client."""
    where = shown(str(error.request.url.copy_with(query=None)))
    return AwayError(f"{where}: {str(error) or type(error).__name__}")


def _timeout(seconds: float) -> httpx.Timeout:
    return httpx.Timeout(seconds, connect=_CONNECT_S)


def _plan(problem: Problem, data: bytes | Plan) -> Plan:
    """Return a plan that passes the verifier here, too; raises WrongAnswerError."""
    plan = data if isinstance(data, Plan) else read_plan(data, problem)
    if violations := verify(problem, plan):
        raise WrongAnswerError(f"plan: is not one of this problem: {violations[0].message}")
    return plan


def _batch_result(line: str, problems: Sequence[Problem]) -> BatchResult:
    """Read a line of the answer to a batch; raises WrongAnswerError."""
    try:
        content = parse(line.encode())
        index = int(content["index"])
        if "error" in content:
            return BatchResult(index, None, refusal_of(int(content["error"]["status"]), content["error"]))
        return BatchResult(index, _plan(problems[index], Plan.model_validate(content["plan"])), None)
    except (InputError, LookupError, TypeError, ValueError) as error:
        raise WrongAnswerError(f"batch: {error}") from error


def _submission(problem: Problem, options: CapabilityOptions) -> bytes:
    return b'{"problem":%b,"options":%b}' % (
        write_problem(problem).strip(),
        to_json(options.model_dump(exclude_defaults=True)),
    )
