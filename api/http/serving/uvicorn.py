"""The one module that knows the insides of uvicorn: what it calls when it starts and stops, and its h11 protocol.

`tests/api/http/test_uvicorn.py` names what is assumed of it; pyproject.toml caps its version.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from memplan.api.http.limits.descriptors import most_connections
from memplan.api.http.limits.turns import Turns
from memplan.api.settings import Settings

_LAST_ANSWERS_S = 5
WAITING_CONNECTIONS = 2048
"""The connections that may wait to be accepted."""
_ACCEPTED_AT_ONCE = 1
"""The connections that a process accepts before it looks at others: so several on one socket get equal shares."""
_HEAD_START_S = 0.003
"""The time that a connection is left, again and again, to processes that have fewer."""
_PAUSE_S = 1.0
"""The pause where no connection can be accepted."""
_MOST_BEHIND = 64 * 2**10
"""The bytes that are read behind a request that is at work: only who reads notices that a client hangs up."""
_LOG = logging.getLogger("memplan")


class UvicornServer(uvicorn.Server):
    """Serves an app over HTTP/1.1; `on_stop` is called before it waits for the last answers.

    `on_start` is called once it serves; without it, the addresses are logged then.
    """

    def __init__(
        self,
        app: Any,
        settings: Settings,
        log_level: str,
        on_stop: Callable[[], None],
        on_start: Callable[[], object] | None = None,
        turns: Turns | None = None,
    ) -> None:
        self.on_stop, self.on_start, self.turns = on_stop, on_start, turns
        self._accepting: list[asyncio.Task[None]] = []
        super().__init__(
            uvicorn.Config(
                app,
                http=protocol(settings.header_timeout_s, most_connections()),
                ws="none",
                log_config=None,
                log_level=log_level,
                access_log=False,  # the app's own says more, and less of what callers send
                server_header=False,
                timeout_keep_alive=settings.idle_timeout_s,
                timeout_graceful_shutdown=_LAST_ANSWERS_S,
                backlog=_ACCEPTED_AT_ONCE,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Make ready, then log the addresses."""
        listeners = sockets or []
        await super().startup(sockets if self.turns is None else [])
        for listener in listeners:
            listener.listen(WAITING_CONNECTIONS)  # asyncio has asked for as few as it accepts at once
        if self.turns is not None and self.started:
            self._accepting = [asyncio.create_task(self._accept(one, self.turns)) for one in listeners]
        if self.on_start is not None:
            if self.started:
                self.on_start()
            return
        for listener in listeners:
            host, port = listener.getsockname()[:2]
            _LOG.info("memplan listens on http://%s:%d", f"[{host}]" if ":" in host else host, port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, answer the requests that wait, and end."""
        self.on_stop()
        for task in self._accepting:
            task.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        await super().shutdown(sockets)

    async def _accept(self, listener: socket.socket, turns: Turns) -> None:
        """Accept connections, each after moments in which processes with fewer may take it."""
        loop, connections = asyncio.get_running_loop(), self.server_state.connections
        listener.setblocking(False)
        turns.note(len(connections))
        while True:
            await _readable(loop, listener)
            if turns.must_wait(len(connections)):
                await asyncio.sleep(_HEAD_START_S)
                continue
            try:
                connection, _ = listener.accept()
            except (BlockingIOError, ConnectionError):  # another process took it, or its client is gone
                continue
            except OSError as error:  # no descriptors are left
                _LOG.error("a connection cannot be accepted: %s", error.strerror)
                await asyncio.sleep(_PAUSE_S)
                continue
            connection.setblocking(False)
            with suppress(OSError):
                await loop.connect_accepted_socket(self._protocol, connection)
            turns.note(len(connections))

    def _protocol(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]  # as uvicorn does
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made


async def _readable(loop: asyncio.AbstractEventLoop, listener: socket.socket) -> None:
    """Wait until a connection waits."""
    ready = loop.create_future()

    def done() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(listener, done)
    try:
        await ready
    finally:
        loop.remove_reader(listener)


class _SteadyProtocol(H11Protocol):
    """Notices a hang-up behind another request; a break of the protocol while an answer is on its way is no failure."""

    def handle_events(self) -> None:
        """Act on what came; read on behind a request that is at work, up to a limit."""
        super().handle_events()
        is_behind = self.flow.read_paused and self.conn.their_state is h11.DONE
        if is_behind and len(self.conn.trailing_data[0]) < _MOST_BEHIND:
            self.flow.resume_reading()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, if no answer has begun; the app hears that its client is gone, and ends."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()


def protocol(header_timeout_s: float, most: int) -> type[H11Protocol]:
    """Return uvicorn's protocol with what it lacks: a limit for the time to the headers of a request, and one for
    connections; where there are more than `most`, the one that has been silent for longest is closed.
    """
    silent: dict[H11Protocol, None] = {}

    class HeaderTimeoutProtocol(_SteadyProtocol):
        """Closes connections that send no request, an incomplete request, or data after the response."""

        _timeout: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            """Begin to wait for a request."""
            super().connection_made(transport)
            if len(self.connections) > most:
                _close_one(silent, self)
            self._wait_for_headers()

        def data_received(self, data: bytes) -> None:
            """Wait on, counted from the first byte of a request, until its headers are whole.

            A body may go on after its response, such as one that says that it is too large; it has as much time.
            """
            super().data_received(data)
            self._wait_for_headers()

        def connection_lost(self, exc: Exception | None) -> None:
            """Wait no more."""
            self._stop_waiting()
            super().connection_lost(exc)

        def _wait_for_headers(self) -> None:
            is_answered = self.cycle is not None and self.cycle.response_complete
            is_in_request = self.conn.their_state is not h11.IDLE and not is_answered
            if is_in_request or self.timeout_keep_alive_task is not None:
                self._stop_waiting()
            elif self._timeout is None:
                self._timeout = self.loop.call_later(header_timeout_s, self.transport.abort)
                silent[self] = None

        def _stop_waiting(self) -> None:
            if self._timeout is not None:
                self._timeout.cancel()
                self._timeout = None
                silent.pop(self, None)

    return HeaderTimeoutProtocol


def _close_one(silent: dict[H11Protocol, None], newest: H11Protocol) -> None:
    """Close the connection that waits longest for a request, or one between requests, or else the newest."""
    idle: Iterator[Any] = (one for one in newest.connections if getattr(one, "timeout_keep_alive_task", None))
    closed: Any = next(iter(silent), None) or next(idle, newest)
    silent.pop(closed, None)
    newest.connections.discard(closed)
    closed.transport.abort()
