"""The service from Python, for an event loop; `memplan.api.client.http` is the one that blocks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx

from memplan.api.client import calls
from memplan.api.client.calls import EventReader, ServiceCall
from memplan.api.client.errors import AwayError, BusyError
from memplan.api.client.patience import PATIENCE_S, SILENCE_S, Patience, failure, open_options, timeout
from memplan.api.client.values import BatchResult, RemoteEvent, RemoteJob
from memplan.api.options import NO_OPTIONS, Options
from memplan.capabilities.capability import Capability, CapabilityOptions
from memplan.capabilities.question import Question
from memplan.planner.model.problem import Problem

A = TypeVar("A")
P = ParamSpec("P")
T = TypeVar("T")


def _method(build: Callable[P, ServiceCall[T]]) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    """Return the method of a client that sends a call, and returns what is answered."""

    @wraps(build)
    async def method(client: AsyncClient, /, *given: P.args, **named: P.kwargs) -> T:
        return await client._answer(build(*given, **named))

    return method


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

    plan = _method(calls.plan)
    known_plan = _method(calls.known_plan)
    submit = _method(calls.submit)
    submit_request = _method(calls.submit_request)
    job = _method(calls.job)
    job_plan = _method(calls.job_plan)
    job_result = _method(calls.job_result)
    cancel = _method(calls.cancel)
    forget = _method(calls.forget)
    rename = _method(calls.rename)
    ask = _method(calls.ask)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the call of a capability: its inputs, and its options by name or as `options`."""
        return calls.method(name, self.answer)

    async def jobs(self, **filters: str | int) -> AsyncIterator[RemoteJob]:
        """Yield jobs, newest first: `state`, `name` and `problem_hash` say which."""
        params, after = {name: str(value) for name, value in filters.items()}, None
        while True:
            page, after = await self._answer(calls.jobs(params if after is None else params | {"after": after}))
            for job in page:
                yield job
            if after is None:
                return

    async def answer(self, capability: Capability[A], question: Question, options: CapabilityOptions) -> A:
        """Return the answer of a capability to its inputs, by their names."""
        return await self._answer(calls.answer(capability, question, options))

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

    async def batch(self, problems: Sequence[Problem], options: Options = NO_OPTIONS) -> AsyncIterator[BatchResult]:
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
