"""Connections of uvicorn with two additions: a timeout and a size limit for the head of a request."""

import asyncio
import resource
from typing import Any

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

_OTHER_DESCRIPTORS, _LEAST_CONNECTIONS = 128, 16
"""File descriptors reserved for files, workers and the database, and the minimum number of connections."""
_REST_S = 0.5
"""The seconds in which the rest of a body may arrive after the request was answered early."""
HEAD_S, _HEAD_BYTES = 15.0, 2**16
"""Half of the time limit, in seconds, for the head of a request, and the maximum size of the head in bytes."""


def max_connections() -> int:
    """Return the maximum number of connections, which leaves enough file descriptors for all other uses."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**31 if most == resource.RLIM_INFINITY else max(_LEAST_CONNECTIONS, most - _OTHER_DESCRIPTORS, most // 2)


class Connection(HttpToolsProtocol):
    """A connection that closes if the head of a request arrives too slowly (twice HEAD_S) or is too large."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Make a connection, and schedule the first check of whether a head has arrived."""
        super().__init__(config, server_state, app_state, _loop)
        self._is_in_head = self._is_read = False
        self._whole: RequestResponseCycle | None = None
        self._unread = 0
        """The number of bytes received since the last complete head or piece of a body."""
        self.loop.call_soon(self._check_new_connection, HEAD_S)

    def data_received(self, data: bytes) -> None:
        """Handle received bytes; a request head or chunk head above the size limit is answered with status 400."""
        self._is_read = False
        super().data_received(data)
        self._unread = 0 if self._is_read else self._unread + len(data)
        if self._unread > _HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        """Record that the head of a request has begun."""
        self._is_in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Record that the head of a request is complete, so that its answer can begin."""
        self._is_in_head, self._is_read = False, True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Record that a piece of a body was received, which does not count toward a head's size."""
        self._is_read = True
        super().on_body(body)

    def on_response_complete(self) -> None:
        """Handle the end of an answer; if the body has not arrived completely, close the connection soon."""
        answered = self.cycle
        super().on_response_complete()
        is_early = answered is not None and answered.response_complete and answered is not self._whole
        if is_early and not self.transport.is_closing():
            self.loop.call_later(_REST_S, self._close_after, answered)

    def _close_after(self, answered: RequestResponseCycle | None) -> None:
        if self.cycle is answered and answered is not self._whole:
            self._close()

    def on_message_complete(self) -> None:
        """Record that the body of a request has arrived completely."""
        self._whole = self.cycle
        super().on_message_complete()

    def _check_new_connection(self, timeout_s: float) -> None:
        if len(self.connections) >= max_connections():
            self.loop.call_soon(self._close)
        else:
            self._schedule_head_check(timeout_s, None)

    def _schedule_head_check(self, timeout_s: float, before: int | None) -> None:
        self.loop.call_later(timeout_s, self._check_head, timeout_s, before)

    def _check_head(self, timeout_s: float, before: int | None) -> None:
        """Close the connection if the head missing at the last check is still missing; else schedule another check.

        `before` identifies the last request answered before that missing head; None if no head was missing.
        """
        if self not in self.connections:
            return
        is_answered = self.cycle is None or self.cycle.response_complete
        is_idle = self.timeout_keep_alive_task is not None and not self._is_in_head
        last = id(self.cycle) if is_answered and not is_idle else None
        if last is not None and last == before:
            self._close()
        else:
            self._schedule_head_check(timeout_s, last)

    def _close(self) -> None:
        if self.transport is not None:
            self.transport.abort()
