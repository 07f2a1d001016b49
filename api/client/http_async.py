"""The service from Python, for an event loop; `memplan.api.client.http` is the one that blocks."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from memplan.api.client import calls
from memplan.api.client.calls import EventReader, ServiceCall
from memplan.api.client.errors import AwayError, BusyError
from memplan.api.client.patience import PATIENCE_S, SILENCE_S, Patience, failure, open_options, timeout
from memplan.api.client.values import BatchResult, RemoteEvent, RemoteJob
from memplan.api.options import Options
from memplan.capabilities.capability import Capability, CapabilityOptions
from memplan.capabilities.question import Question
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

A = TypeVar("A")
T = TypeVar("T")
_DEFAULTS = Options()
_NONE: Mapping[str, Any] = {}


class AsyncClient:
    """Calls of one service, for an event loop; its methods are those of Client, as coroutines."""

    def __init__(self, server: str, *, key: str | None = None, patience_s: float = PATIENCE_S) -> None:
        self._http = httpx.AsyncClient(**open_options(server, key))
        self._patience_s = patience_s

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def plan(self, problem: Problem, options: Options = _DEFAULTS) -> Plan:
        """Plan a problem, and wait for the plan."""
        return await self._answer(calls.plan(problem, options))

    async def known_plan(self, problem: Problem) -> Plan | None:
        """Return the best plan that the service knows of a problem; it is not solved, and not even sent."""
        return await self._answer(calls.known_plan(problem))

    async def submit(
        self,
        problem: Problem,
        options: Options = _DEFAULTS,
        *,
        priority: int = 0,
        deadline_s: float | None = None,
        idempotency_key: str | None = None,
    ) -> RemoteJob:
        """Submit a problem as a job; once this returns, it is not lost."""
        key = idempotency_key or uuid.uuid4().hex
        return await self._answer(
            calls.submit(problem, options, priority=priority, deadline_s=deadline_s, idempotency_key=key)
        )

    async def job(self, job_id: str) -> RemoteJob:
        """Look at a job."""
        return await self._answer(calls.job(job_id))

    async def jobs(self, **filters: str | int) -> AsyncIterator[RemoteJob]:
        """Yield jobs, newest first: `state`, `name` and `problem_hash` say which."""
        params, after = {name: str(value) for name, value in filters.items()}, None
        while True:
            page, after = await self._answer(calls.jobs(params if after is None else params | {"after": after}))
            for job in page:
                yield job
            if after is None:
                return

    async def job_plan(self, job_id: str, problem: Problem) -> Plan | None:
        """Return the best plan so far of a job for this problem, the final one once it is over; None: there is none."""
        return await self._answer(calls.job_plan(job_id, problem))

    async def job_result(self, job_id: str) -> dict[str, Any] | None:
        """Return the answer of a job, of whatever kind, as JSON has it: the best so far; None: there is none."""
        return await self._answer(calls.job_result(job_id))

    async def answer(self, capability: Capability[Any, A], question: Question, options: CapabilityOptions) -> A:
        """Return the answer of a capability to its inputs, by their names."""
        return await self._answer(calls.answer(capability, question, options))

    async def ask(self, name: str, fields: Mapping[str, Any], **options: Any) -> dict[str, Any]:
        """Return the answer of a capability, such as `order`, with inputs and answer as JSON has them."""
        return await self._answer(calls.ask(name, fields, options))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the call of a capability: its inputs, and its options by name or as `options`."""
        return calls.method(name, self.answer)

    async def submit_request(
        self,
        kind: str,
        fields: Mapping[str, Any],
        *,
        options: Mapping[str, Any] = _NONE,
        priority: int = 0,
        deadline_s: float | None = None,
        idempotency_key: str | None = None,
    ) -> RemoteJob:
        """Submit a request of a kind of job; once this returns, it is not lost."""
        key = idempotency_key or uuid.uuid4().hex
        call = calls.submit_request(
            kind, fields, options, priority=priority, deadline_s=deadline_s, idempotency_key=key
        )
        return await self._answer(call)

    async def cancel(self, job_id: str) -> RemoteJob:
        """End a job; its best plan so far is kept."""
        return await self._answer(calls.cancel(job_id))

    async def events(self, job_id: str) -> AsyncIterator[RemoteEvent]:
        """Yield what happened to a job and what happens, until it is over; a connection that breaks is made anew."""
        reader, patience = EventReader(), Patience(self._patience_s)
        while True:
            try:
                async with self._http.stream("GET", f"/v1/jobs/{job_id}/events", headers=reader.headers) as response:
                    if not response.is_success:
                        await response.aread()
                        raise calls.refusal(response)
                    async for line in response.aiter_lines():
                        if (event := reader.line(line)) is not None:
                            patience = Patience(self._patience_s)
                            yield event
                if reader.is_over or response.status_code == 204:
                    return
                await asyncio.sleep(patience.wait_s(AwayError("events: the stream ended before the job did")))
            except (httpx.TransportError, BusyError) as error:
                await asyncio.sleep(patience.wait_s(failure(error)))

    async def wait(self, job_id: str) -> RemoteJob:
        """Return a job once it is over."""
        async for _ in self.events(job_id):
            pass
        return await self.job(job_id)

    async def batch(self, problems: Sequence[Problem], options: Options = _DEFAULTS) -> AsyncIterator[BatchResult]:
        """Plan many problems; yield the result of each as soon as it is known, in any order."""
        body = calls.batch_lines(problems, options)
        limits = timeout(options.time_limit_s + SILENCE_S)
        try:
            async with self._http.stream(
                "POST", "/v1/batch", content=body, headers=calls.BATCH_HEADERS, timeout=limits
            ) as response:
                if not response.is_success:
                    await response.aread()
                    raise calls.refusal(response)
                async for line in response.aiter_lines():
                    yield calls.batch_result(line, problems)
        except httpx.TransportError as error:
            raise failure(error) from error

    async def _answer(self, call: ServiceCall[T]) -> T:
        patience = Patience(self._patience_s)
        while True:
            try:
                return call.answer(await self._http.request(call.method, call.path, **call.sent))
            except (httpx.TransportError, BusyError) as error:
                await asyncio.sleep(patience.wait_s(failure(error)))
