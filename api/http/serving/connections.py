"""What uvicorn's connections lack: an end for those that do not send the head of a request, and a limit for heads."""

from __future__ import annotations

import asyncio
import resource
from typing import Any

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

_OTHER_DESCRIPTORS, _LEAST_CONNECTIONS = 128, 16
"""The descriptors for files, workers and the database, and the connections that there are in any case."""
HEAD_S, _HEAD_BYTES = 15.0, 2**16
"""Half of the time that the head of a request may take at most, and its bytes, to which those read at once are added.
"""


def most_connections() -> int:
    """Return how many connections leave enough descriptors for all else."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**31 if most == resource.RLIM_INFINITY else max(_LEAST_CONNECTIONS, most - _OTHER_DESCRIPTORS, most // 2)


class Connection(HttpToolsProtocol):
    """A connection that is closed where a head takes longer than twice the time for it, or is too large."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._is_in_head = self._is_read = False
        self._unread = 0
        """The bytes since the last head, or part of a body."""
        self.loop.call_soon(self._look_first, HEAD_S)

    def data_received(self, data: bytes) -> None:
        """Take bytes; refuse a head, or what stands between the parts of a body, where it is too large."""
        self._is_read = False
        super().data_received(data)
        self._unread = 0 if self._is_read else self._unread + len(data)
        if self._unread > _HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._is_in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin to answer a request whose head is whole."""
        self._is_in_head, self._is_read = False, True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._is_read = True
        super().on_body(body)

    def _look_first(self, timeout_s: float) -> None:
        """Close a connection that comes to too many, with which it does not count yet, or begin to wait."""
        if len(self.connections) >= most_connections():
            self.loop.call_soon(self._close)
        else:
            self._look_later(timeout_s, None)

    def _look_later(self, timeout_s: float, before: int | None) -> None:
        self.loop.call_later(timeout_s, self._look, timeout_s, before)

    def _look(self, timeout_s: float, before: int | None) -> None:
        """Close a connection that waits for the same head as at the last check; `before` is the request before that."""
        if self not in self.connections:
            return
        is_answered = self.cycle is None or self.cycle.response_complete
        is_idle = self.timeout_keep_alive_task is not None and not self._is_in_head
        last = id(self.cycle) if is_answered and not is_idle else None
        if last is not None and last == before:
            self._close()
        else:
            self._look_later(timeout_s, last)

    def _close(self) -> None:
        if self.transport is not None:
            self.transport.abort()
