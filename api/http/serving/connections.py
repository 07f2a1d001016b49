"""What uvicorn's connections lack: an end for those that do not send the head of a request."""

from __future__ import annotations

import asyncio
import resource
from typing import Any

from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

_OTHER_DESCRIPTORS, _LEAST_CONNECTIONS = 128, 16
"""The descriptors for files, workers and the database, and the connections that there are in any case."""
HEAD_S = 15.0
"""Half of the time that the head of a request may take at most."""


def most_connections() -> int:
    """Return how many connections leave enough descriptors for all else."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**31 if most == resource.RLIM_INFINITY else max(_LEAST_CONNECTIONS, most - _OTHER_DESCRIPTORS, most // 2)


def protocol(
    config: Config,
    server_state: ServerState,
    app_state: dict[str, Any],
    _loop: asyncio.AbstractEventLoop | None = None,
) -> H11Protocol:
    """Make uvicorn's protocol of a connection, which is closed where a head takes longer than twice the time for it."""
    made = H11Protocol(config, server_state, app_state, _loop)
    made.loop.call_soon(_look_first, made, HEAD_S)
    return made


def _look_first(made: H11Protocol, timeout_s: float) -> None:
    """Close a connection that comes to too many, with which it does not count yet, or begin to wait for requests."""
    if len(made.connections) >= most_connections():
        made.loop.call_soon(_close, made)
    else:
        _look_later(made, timeout_s, None)


def _look_later(made: H11Protocol, timeout_s: float, before: int | None) -> None:
    made.loop.call_later(timeout_s, _look, made, timeout_s, before)


def _look(made: H11Protocol, timeout_s: float, before: int | None) -> None:
    """Close a connection that waited for the same head at the last look; `before` is the request that came before."""
    if made not in made.connections:
        return
    is_answered = made.cycle is None or made.cycle.response_complete
    is_idle = made.timeout_keep_alive_task is not None and not made.conn.trailing_data[0]
    last = id(made.cycle) if is_answered and not is_idle else None
    if last is not None and last == before:
        _close(made)
    else:
        _look_later(made, timeout_s, last)


def _close(made: H11Protocol) -> None:
    if made.transport is not None:
        made.transport.abort()
