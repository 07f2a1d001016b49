"""ASGI layers around the routes: request ids, body accounting, headers, logs and metrics; a fast path for questions."""

import logging
import re
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memplan.api.faults import Faults
from memplan.api.http.problem_details import REFUSED, problem_details, refusal_response
from memplan.api.http.receiving import HeldBytes, HeldShare
from memplan.api.logs import REQUEST
from memplan.api.metrics import Metrics
from memplan.api.refusals import FullError

_LOG = logging.getLogger("memplan.requests")
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that monitors request every few seconds: they are not logged, and a server logs itself that it is not ready."""
_HUNG_UP = 499
_DEPRECATED = ((b"deprecation", b"true"),)
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
"""Security headers: browsers must not run, frame, sniff or cache an answer, unless its route sets other headers."""
_HEADERS_OF_HTTPS = (*_HEADERS, (b"strict-transport-security", b"max-age=31536000"))


class Streams:
    """The open streams, such as job events and batches; their number is limited, and a key may have half of them."""

    def __init__(self, limit: int) -> None:
        """Start without open streams; at most `limit` may be open at once."""
        self.limit, self.of_key = limit, Counter[str]()

    @property
    def count(self) -> int:
        """The number of open streams of all keys."""
        return self.of_key.total()

    @contextmanager
    def open(self, key: str | None = None) -> Iterator[None]:
        """Count a stream of a key (None without keys) while the block runs; raises FullError above a limit."""
        name = key or ""
        if self.count >= self.limit:
            raise FullError(f"memplan: must have at most {self.limit} open streams at a time, and all are in use")
        if key is not None and self.of_key[name] >= self.limit // 2:
            raise FullError(f"memplan: a key must have at most {self.limit // 2} open streams at a time, got one more")
        self.of_key[name] += 1
        try:
            yield
        finally:
            self.of_key[name] -= 1
            if not self.of_key[name]:
                del self.of_key[name]


class Questions:
    """The ASGI layer that calls the handlers of questions directly, and passes all other requests on.

    For a problem of 20 buffers, the framework's layers and dependencies would take as long as the search. `routes` are
    the app's own routes, which describe the calls; `admits` checks the caller's key in place of the routes'
    dependencies.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[APIRoute], admits: Callable[[Request], Awaitable[None]]) -> None:
        """Store the routes by path, to find the handler of a request."""
        self.app, self.admits = app, admits
        self.routes = {route.path: route for route in routes}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle an ASGI request: answer a question, or pass the request on to the app."""
        route = self.routes.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if route is None:
            await self.app(scope, receive, send)
            return
        scope["route"] = route
        request = Request(scope, receive, send)
        try:
            await self.admits(request)
            response = await route.endpoint(request)
        except REFUSED as error:
            response = refusal_response(request, error)
        await response(scope, receive, send)


class Envelope:
    """The outermost ASGI layer: each request gets an id and a `body_share`, and each answer the id and headers.

    A caller's short and plain `X-Request-ID` becomes the id. An internal error is answered by status 500 with the
    fault's id. A client that disconnects while it sends is not a fault. Logs have the status, not the content.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, faults: Faults, bodies: HeldBytes) -> None:
        """Wrap the app; `bodies` counts the bytes of unanswered request bodies."""
        self.app, self.metrics, self.faults, self.bodies = app, metrics, faults, bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an ASGI request on, and add the id, headers, log line and metrics."""
        if scope["type"] != "http":
            try:
                await self.app(scope, receive, send)
            except Exception as error:
                self.faults.note(error, "server")
                raise
            return
        started, status = time.monotonic(), _HUNG_UP
        ids = (value for name, value in scope["headers"] if name == b"x-request-id" and _ID.fullmatch(value))
        request_id = next(ids, None) or secrets.token_hex(8).encode()
        share = scope.setdefault("state", {})["body_share"] = HeldShare(self.bodies)

        async def send_framed(message: Message) -> None:
            """Send a message of the answer; its first message also gets the request id and the standard headers."""
            nonlocal status
            if message["type"] == "http.response.start":
                status, headers = message["status"], list(message.get("headers", ()))
                present = {name for name, _ in headers}
                wanted = _HEADERS_OF_HTTPS if scope.get("scheme") == "https" else _HEADERS
                headers += [header for header in wanted if header[0] not in present]
                headers += _DEPRECATED if getattr(scope.get("route"), "deprecated", None) else ()
                message["headers"] = [*headers, (b"x-request-id", request_id)]
            await send(message)

        token = REQUEST.set(request_id.decode())
        try:
            await self.app(scope, receive, send_framed)
        except ClientDisconnect:
            pass
        except Exception as error:  # An exception that no handler caught is an internal fault, so record it as one.
            told = self.faults.note(error, getattr(scope.get("route"), "name", "none"))
            if status != _HUNG_UP:
                raise
            await problem_details(500, (str(told),))(scope, receive, send_framed)
        finally:
            share.release()
            self._log_answer(scope, status, time.monotonic() - started)
            REQUEST.reset(token)

    def _log_answer(self, scope: Scope, status: int, seconds: float) -> None:
        """Count an answered request in the metrics, and log it unless it is a routine probe."""
        route = getattr(scope.get("route"), "path", "none")
        self.metrics.count_answer(scope["method"], route, status, seconds)
        if not _LOG.isEnabledFor(logging.INFO) or (scope["path"] in _QUIET and status in (200, 503)):
            return
        caller = scope["state"].get("caller")
        facts = {
            "method": scope["method"],
            "route": route,
            "status": status,
            "duration_s": round(seconds, 4),
            "key": None if caller is None else caller.name,
        }
        _LOG.info("%s %s %d %.4f s", scope["method"], route, status, seconds, extra=facts)
