"""Gives every request an id, and writes its answer's status to log and metrics; never its content."""

from __future__ import annotations

import logging
import re
import secrets
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memplan.api.logs import REQUEST
from memplan.api.metrics import Metrics

_LOG = logging.getLogger("memplan.requests")
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
"""The paths that machines request every few seconds; a server that is not ready logs that itself."""
_HUNG_UP = 499


class RequestLog:
    """Takes the caller's `X-Request-ID` if it is a plain one, else makes one, and returns it with the answer."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, as ASGI has it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.monotonic()
        request_id = _request_id(scope)
        status = _HUNG_UP

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id.encode())]
            await send(message)

        token = REQUEST.set(request_id)
        try:
            await self.app(scope, receive, watched)
        finally:
            self._tell(scope, status, time.monotonic() - started)
            REQUEST.reset(token)

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        self.metrics.answered(scope["method"], route, status, seconds)
        if scope["path"] in _QUIET and status in (200, 503):
            return
        caller = scope.get("state", {}).get("caller")
        facts = {
            "method": scope["method"],
            "route": route,
            "status": status,
            "duration_s": round(seconds, 4),
            "key": None if caller is None else caller.name,
        }
        _LOG.info("%s %s %d %.4f s", scope["method"], route, status, seconds, extra=facts)


def _request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _ID.fullmatch(value):
            return str(value, "ascii")
    return secrets.token_hex(8)
