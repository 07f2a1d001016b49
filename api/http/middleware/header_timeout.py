"""Connections of clients that are slow, silent or gone."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_PROBE_AFTER_S, _PROBE_EVERY_S, _PROBES = 15, 5, 3
_UNREAD_S = 30


def protocol(header_timeout_s: float) -> type[H11Protocol]:
    """Return uvicorn's protocol, which waits for ever for the headers of a request, with an end to that."""

    class Impatient(H11Protocol):
        """Closes connections that send no request, an incomplete request, or data after the response."""

        _give_up: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            """Begin to wait for a request."""
            super().connection_made(transport)
            self._wait_for_headers()

        def data_received(self, data: bytes) -> None:
            """Wait on, counted from the first byte of a request, until its headers are whole.

            A body may go on after its answer, which said that it is too large, or for others: that is let pass as long.
            """
            super().data_received(data)
            self._wait_for_headers()

        def connection_lost(self, exc: Exception | None) -> None:
            """Wait no more."""
            self._stop_waiting()
            super().connection_lost(exc)

        def _wait_for_headers(self) -> None:
            is_answered = self.cycle is not None and self.cycle.response_complete
            is_asking = self.conn.their_state is not h11.IDLE and not is_answered
            if is_asking or self.timeout_keep_alive_task is not None:
                self._stop_waiting()
            elif self._give_up is None:
                self._give_up = self.loop.call_later(header_timeout_s, self.transport.abort)

        def _stop_waiting(self) -> None:
            if self._give_up is not None:
                self._give_up.cancel()
                self._give_up = None

    return Impatient


def find_out_who_is_gone(listener: socket.socket) -> None:
    """Let the system end connections with a client that vanished, or does not read the answer.

    Accepted connections inherit these options where the system has them (Linux does).
    """
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _PROBE_AFTER_S),
        ("TCP_KEEPINTVL", _PROBE_EVERY_S),
        ("TCP_KEEPCNT", _PROBES),
        ("TCP_USER_TIMEOUT", _UNREAD_S * 1000),
    ):
        if hasattr(socket, name):
            listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
