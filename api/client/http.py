"""A blocking client of the service; for an event loop, use `memplan.api.client.http_async`.

Methods are named after HTTP calls: `client.plan(problem)` sends `POST /v1/plan`, `client.order(graph)` sends `POST
/v1/order`.
"""

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial, wraps
from typing import Any

from anyio.from_thread import start_blocking_portal

from memplan.api.client.http_async import PATIENCE_S, AsyncClient


class Client(AbstractContextManager["Client"]):
    """A blocking client of one service, usable from any thread: an AsyncClient whose event loop runs in a thread.

    It has the methods of AsyncClient: coroutines block until their result, and asynchronous iterators become iterators.
    Errors are ServiceErrors; a refused request raises RefusedError.
    """

    def __init__(self, server: str, *, key: str | None = None, patience_s: float = PATIENCE_S) -> None:
        """Start the event loop's thread; requests to `server` are retried for at most `patience_s` seconds."""
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal())
        client = AsyncClient(server, key=key, patience_s=patience_s)
        self._client = self._stack.enter_context(self._portal.wrap_async_context_manager(client))

    def __exit__(self, *_: object) -> None:
        """Close the connections and end the event loop's thread."""
        self._stack.close()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the blocking form of an AsyncClient method or of a question's method; raises AttributeError."""
        method = getattr(self._client, name)

        @wraps(method)
        def call(*given: Any, **named: Any) -> Any:
            if inspect.isasyncgenfunction(method):
                return self._iterate_blocking(method(*given, **named))
            return self._portal.call(partial(method, *given, **named))

        return call

    def __dir__(self) -> list[str]:
        """Return the names of all methods of the AsyncClient."""
        return dir(self._client)

    def _iterate_blocking(self, found: AsyncIterator[Any]) -> Iterator[Any]:
        end = object()
        while (value := self._portal.call(anext, found, end)) is not end:
            yield value
