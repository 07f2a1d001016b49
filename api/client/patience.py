"""Waits for the service, and tries again."""

from __future__ import annotations

import time
from typing import Any

import httpx

from memplan.api.client.errors import AwayError, BusyError, ServiceError
from memplan.planner.errors import shown

PATIENCE_S = 10.0
SILENCE_S = 60.0
"""The longest silence of a stream, in which the service sends a comment several times."""
_CONNECT_S = 5.0
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.1, 2.0


class Patience:
    """Tries again for so many seconds: when a busy service says, else after waits that double."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._wait_s = _FIRST_WAIT_S

    def wait_s(self, error: ServiceError) -> float:
        """Return how long to wait before the next try; raises the error where there is none."""
        wait_s = error.retry_after_s if isinstance(error, BusyError) else self._wait_s
        self._wait_s = min(2 * self._wait_s, _LONGEST_WAIT_S)
        if time.monotonic() + wait_s > self._until:
            raise error
        return wait_s


def open_options(server: str, key: str | None) -> dict[str, Any]:
    """Return the keyword arguments for a client of httpx."""
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return {"base_url": server, "headers": headers, "timeout": timeout(SILENCE_S)}


def timeout(seconds: float) -> httpx.Timeout:
    """Return limits for httpx: so many seconds for an answer, few for a connection."""
    return httpx.Timeout(seconds, connect=_CONNECT_S)


def failure(error: httpx.TransportError | BusyError) -> ServiceError:
    """Return the error of the transport as one of this client."""
    if isinstance(error, BusyError):
        return error
    where = shown(str(error.request.url.copy_with(query=None)))
    return AwayError(f"{where}: {str(error) or type(error).__name__}")
