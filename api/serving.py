"""Serve over HTTP: listen, and on the way out answer every caller with the best plan so far."""

from __future__ import annotations

import logging
import socket

import uvicorn

from api.app import create_app
from api.service import Service
from api.settings import Settings, read_settings
from planner.errors import OptionError

_LAST_ANSWERS_S = 5
_LOG = logging.getLogger("uvicorn.error")


class Server(uvicorn.Server):
    """A server of the service; when it is told to stop, it ends its solves instead of waiting for their limits."""

    def __init__(self, settings: Settings, log_level: str = "info") -> None:
        app = create_app(settings)
        self.service: Service = app.state.service
        super().__init__(
            uvicorn.Config(app, log_level=log_level, server_header=False, timeout_graceful_shutdown=_LAST_ANSWERS_S)
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Make ready, then say where it listens."""
        await super().startup(sockets)
        for listener in sockets or ():
            host, port = listener.getsockname()[:2]
            _LOG.info("memplan listens on http://%s:%d", f"[{host}]" if ":" in host else host, port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, answer who waits, and end."""
        self.service.stop()
        await super().shutdown(sockets)


def serve(host: str, port: int) -> None:
    """Serve until a signal says to stop; port 0 takes a free one. Raises OptionError."""
    server = Server(read_settings())
    with listening(host, port) as listener:
        server.run([listener])


def listening(host: str, port: int) -> socket.socket:
    """Open a socket to listen on; raises OptionError where that is not allowed or somebody else does."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise OptionError(f"port: cannot listen on {host}:{port}: {error.strerror}") from error
    # asyncio does so only where it opens the socket itself; without, each answer waits 40 ms for an acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
