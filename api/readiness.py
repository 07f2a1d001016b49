"""Can this server solve? It tries a tiny problem; before its first request it solves one that loads the kernels."""

from __future__ import annotations

import logging
import time

import anyio
from anyio import to_thread

import solvers.warm_up
from planner.errors import MemplanError
from planner.problem import Problem
from solvers.solve import solve

_KEPT_S = 3.0
_LOG = logging.getLogger("memplan")
_TINY = Problem.model_validate(
    {"buffers": [{"id": i, "size": 64 + i, "start": i, "end": i + 3} for i in range(8)], "name": "ready?"}
)


class Readiness:
    """Whether a tiny problem was solved and proved, asked again when the last answer is a few seconds old."""

    def __init__(self) -> None:
        self._lock = anyio.Lock()
        self._asked = -_KEPT_S
        self._is_ready = False

    async def __call__(self) -> bool:
        """Return whether the server can solve; solves in a thread, and once for all who ask at the same time."""
        async with self._lock:
            if time.monotonic() - self._asked >= _KEPT_S:
                self._is_ready = await to_thread.run_sync(_solves_a_tiny_problem)
                self._asked = time.monotonic()
            return self._is_ready


def _solves_a_tiny_problem() -> bool:
    try:
        return solve(_TINY, time_limit_s=2.0).status == "optimal"
    except MemplanError as error:
        _LOG.error("not ready: %s", type(error).__name__)
        return False


def warm_up() -> None:
    """Load what solving needs, the kernels above all, which are compiled where that was not done before."""
    solvers.warm_up.warm_up()
    _solves_a_tiny_problem()
