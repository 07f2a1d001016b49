"""The service from Python; `memplan.api.client.http_async` has it for an event loop.

Methods are named like calls: `client.plan(problem)` is `POST /v1/plan`, `client.order(graph)` is `POST /v1/order`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import ExitStack
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from anyio.from_thread import start_blocking_portal

from memplan.api.client.http_async import PATIENCE_S, AsyncClient

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(
    method: Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Client, P], T]:
    """Return a method that waits for what one of the other client returns."""

    @wraps(method)
    def wait(client: Client, /, *given: P.args, **named: P.kwargs) -> T:
        value: T = client._portal.call(partial(method, client._client, *given, **named))
        return value

    return wait


def _iterating(
    method: Callable[Concatenate[AsyncClient, P], AsyncIterator[T]],
) -> Callable[Concatenate[Client, P], Iterator[T]]:
    """Return a method that yields what one of the other client yields."""

    @wraps(method)
    def iterate(client: Client, /, *given: P.args, **named: P.kwargs) -> Iterator[T]:
        found, end = method(client._client, *given, **named), object()
        while (value := client._portal.call(anext, found, end)) is not end:
            yield value

    return iterate


class Client:
    """Calls of one service, from any thread: those of AsyncClient, in an event loop of its own.

    Raises ServiceError; what it refuses is a RefusedError with its sentences.
    """

    def __init__(self, server: str, *, key: str | None = None, patience_s: float = PATIENCE_S) -> None:
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal())
        self._client = AsyncClient(server, key=key, patience_s=patience_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._portal.call(self._client.close)
        self._stack.close()

    plan = _blocking(AsyncClient.plan)
    known_plan = _blocking(AsyncClient.known_plan)
    ask = _blocking(AsyncClient.ask)
    answer = _blocking(AsyncClient.answer)
    submit = _blocking(AsyncClient.submit)
    submit_request = _blocking(AsyncClient.submit_request)
    job = _blocking(AsyncClient.job)
    jobs = _iterating(AsyncClient.jobs)
    job_plan = _blocking(AsyncClient.job_plan)
    job_result = _blocking(AsyncClient.job_result)
    cancel = _blocking(AsyncClient.cancel)
    forget = _blocking(AsyncClient.forget)
    rename = _blocking(AsyncClient.rename)
    wait = _blocking(AsyncClient.wait)
    events = _iterating(AsyncClient.events)
    batch = _iterating(AsyncClient.batch)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the call of a capability; raises AttributeError where there is none."""
        method = AsyncClient.__getattr__(self._client, name)
        return lambda *given, **named: self._portal.call(partial(method, *given, **named))
