"""The service from Python; `memplan.api.client.http_async` has it for an event loop.

Methods are named like calls: `client.plan(problem)` is `POST /v1/plan`, `client.order(graph)` is `POST /v1/order`.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial, wraps
from typing import Any

from anyio.from_thread import start_blocking_portal

from memplan.api.client.http_async import PATIENCE_S, AsyncClient


class Client(AbstractContextManager["Client"]):
    """A blocking client of one service, usable from any thread: the methods of AsyncClient, in its own event loop.

    Methods wait for their result or return iterators. Errors are ServiceErrors; a refusal is a RefusedError.
    """

    def __init__(self, server: str, *, key: str | None = None, patience_s: float = PATIENCE_S) -> None:
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal())
        client = AsyncClient(server, key=key, patience_s=patience_s)
        self._client = self._stack.enter_context(self._portal.wrap_async_context_manager(client))

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the method of this name, or the call of a question; raises AttributeError where there is none."""
        method = getattr(self._client, name)

        @wraps(method)
        def call(*given: Any, **named: Any) -> Any:
            if inspect.isasyncgenfunction(method):
                return self._iterate(method(*given, **named))
            return self._portal.call(partial(method, *given, **named))

        return call

    def _iterate(self, found: AsyncIterator[Any]) -> Iterator[Any]:
        end = object()
        while (value := self._portal.call(anext, found, end)) is not end:
            yield value
