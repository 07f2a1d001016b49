"""Can this server solve? It tries a tiny problem; before its first request it solves one that loads the kernels."""

from __future__ import annotations

import logging
import time
from importlib import import_module
from pkgutil import iter_modules

import anyio
from anyio import to_thread

from planner.errors import MemplanError
from planner.problem import Problem
from solvers import kernels
from solvers.registry import SOLVERS
from solvers.solve import solve

_KEPT_S = 3.0
_LOG = logging.getLogger("memplan")
_TINY = Problem.model_validate(
    {"buffers": [{"id": i, "size": 64 + i, "start": i, "end": i + 3} for i in range(8)], "name": "ready?"}
)
_ABOVE_ITS_BOUND = Problem.model_validate(
    {
        "buffers": [
            {"id": i, "size": size, "start": start, "end": end}
            for i, (size, start, end) in enumerate(
                [(1, 1, 3), (2, 1, 5), (5, 0, 1), (3, 4, 7), (2, 1, 4), (4, 3, 7), (2, 2, 4), (5, 0, 2)]
            )
        ]
    }
)
"""Ten bytes are alive at once, but no plan needs less than eleven: a search has to prove it."""


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
    """Load what solving needs, which compiles the kernels where no cache has them.

    Some are compiled when they are imported, the others when the searches that prove something first run.
    """
    for module in iter_modules(kernels.__path__, f"{kernels.__name__}."):
        import_module(module.name)
    for row in SOLVERS:
        if row.proves and not row.is_isolated:
            solve(_ABOVE_ITS_BOUND, time_limit_s=120.0, solver=row.name)
    _solves_a_tiny_problem()
