"""The layers around requests: id, share of the bytes held, headers, log and metrics; and a short way to one route."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memplan.api.http.auth.gate import PlainRoute
from memplan.api.http.limits.heads import LargeHeadersError, LongTargetError, check_head
from memplan.api.http.limits.held_bodies import HeldBytes, HeldShare
from memplan.api.http.problem_details import log_failure, problem_details, refusal
from memplan.api.logs import REQUEST
from memplan.api.metrics import Metrics
from memplan.api.refusals import FullError

_LOG = logging.getLogger("memplan.requests")
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
"""The paths that machines request every few seconds; a server that is not ready logs that itself."""
_HUNG_UP = 499
_PART_BYTES = 2**18
"""The bytes of an answer that are handed to the connection at a time: one of many megabytes would be copied at once."""
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
"""For browsers: an answer is data for the caller, and nothing to run, frame, guess or keep, if no route says so."""
_HEADERS_OF_HTTPS = (*_HEADERS, (b"strict-transport-security", b"max-age=31536000"))


class Streams:
    """The answers that stay open, such as events and batches, up to a limit."""

    def __init__(self, limit: int) -> None:
        self.limit, self.count = limit, 0

    @contextmanager
    def open(self) -> Iterator[None]:
        """Count a stream while the block runs; raises FullError."""
        if self.count >= self.limit:
            raise FullError(f"memplan: all {self.limit} streams are open")
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1


class Envelope:
    """Gives every request an id and its `body_share`, and every answer the id and headers; logs its status only.

    The id is the caller's `X-Request-ID` if it is a plain one. Where the program itself fails, it answers 500, and logs
    where that was, but never what a caller sent. A client that hangs up while it sends is no failure.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, bodies: HeldBytes, body_timeout_s: float) -> None:
        self.app, self.metrics, self.bodies, self.body_timeout_s = app, metrics, bodies, body_timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, as ASGI has it."""
        if scope["type"] != "http":
            try:
                await self.app(scope, receive, send)
            except Exception as error:
                log_failure(error, None)
                raise
            return
        started, status = time.monotonic(), _HUNG_UP
        known = (value for name, value in scope["headers"] if name == b"x-request-id" and _ID.fullmatch(value))
        request_id = next(known, None) or secrets.token_hex(8).encode()
        share = scope.setdefault("state", {})["body_share"] = HeldShare(self.bodies, self.body_timeout_s)

        async def framed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status, headers = message["status"], list(message.get("headers", ()))
                present = {name for name, _ in headers}
                wanted = _HEADERS_OF_HTTPS if scope.get("scheme") == "https" else _HEADERS
                headers += [header for header in wanted if header[0] not in present]
                message["headers"] = [*headers, (b"x-request-id", request_id)]
            elif len(message.get("body", b"")) > _PART_BYTES:
                for part in _parts(message):
                    await send(part)
                    await asyncio.sleep(0)  # others have their turn
                return
            await send(message)

        token = REQUEST.set(request_id.decode())
        try:
            check_head(scope)
            await self.app(scope, receive, framed)
        except ClientDisconnect:
            pass
        except (LongTargetError, LargeHeadersError) as error:
            await problem_details(error.status, (str(error),))(scope, receive, framed)
        except Exception as error:  # the border: what is not known here is a fault of the program
            log_failure(error, scope["path"])
            if status != _HUNG_UP:
                raise
            await problem_details(500, ("memplan: failed; its log says where",))(scope, receive, framed)
        finally:
            share.release()
            self._tell(scope, status, time.monotonic() - started)
            REQUEST.reset(token)

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        self.metrics.answered(scope["method"], route, status, seconds)
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


def _parts(message: Message) -> Iterator[Message]:
    """Yield a large part of an answer in smaller ones."""
    body, ends_here = memoryview(message["body"]), not message.get("more_body", False)
    for at in range(0, len(body), _PART_BYTES):
        is_last = at + _PART_BYTES >= len(body)
        yield {**message, "body": body[at : at + _PART_BYTES], "more_body": not (is_last and ends_here)}


class Direct:
    """Answers the calls of one plain route as an app would that has no other layers, errors included."""

    def __init__(self, route: PlainRoute, method: str) -> None:
        self._route, self._method = route, method
        self._handle = route.get_route_handler()

    def takes(self, scope: Scope) -> bool:
        """Return True for a call of the route."""
        is_of_http: bool = scope["type"] == "http"
        return is_of_http and scope["path"] == self._route.path and scope["method"] == self._method

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a call of the route, as ASGI has it."""
        scope["route"] = self._route
        request = Request(scope, receive, send)
        try:
            answer = await self._handle(request)
        except Exception as error:
            told = refusal(request, error)
            if told is None:
                raise
            answer = told
        await answer(scope, receive, send)
