"""The readiness of a server, tested by solving and storing, and its warm-up before the first request."""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from importlib import import_module

import anyio
import numpy as np
from anyio import to_thread

from memplan.planner.errors import MemplanError
from memplan.planner.model.problem import Problem
from memplan.questions import QUESTIONS
from memplan.solvers.core.tables import CORE
from memplan.solvers.portfolio.registry import SOLVERS
from memplan.solvers.portfolio.solve import solve

_KEPT_S, _AGAIN_S = 3.0, 0.5
"""The seconds for which a passed check, and a failed check, is cached."""
_PATIENCE_S = 3.0
_LOG = logging.getLogger("memplan")
Check = Callable[[], Awaitable[bool]]
_TINY = Problem.model_validate(
    {"buffers": [{"id": i, "size": 64 + i, "start": i, "end": i + 3} for i in range(8)], "name": "ready?"}
)


class Readiness:
    """The readiness checks of a server; they run again when the last result is a few seconds old.

    `checks` has each check under a sentence that says what the server cannot do if the check fails.
    """

    def __init__(self, checks: Mapping[str, Check], patience_s: float = _PATIENCE_S) -> None:
        """Store the checks, each of which may take `patience_s` seconds."""
        self.checks, self.patience_s = checks, patience_s
        self._lock = anyio.Lock()
        self._checked_at = -_KEPT_S
        self._lacks: tuple[str, ...] = ()

    async def lacks(self) -> tuple[str, ...]:
        """Return the sentences of all failed checks; simultaneous callers share one round of checks."""
        async with self._lock:
            if time.monotonic() - self._checked_at >= (_AGAIN_S if self._lacks else _KEPT_S):
                lacks = tuple([says for says, holds in self.checks.items() if not await self._run_check(holds)])
                self._checked_at = time.monotonic()
                if lacks != self._lacks:
                    _LOG.warning("not ready: %s" if lacks else "ready again%s", "; ".join(lacks))
                self._lacks = lacks
            return self._lacks

    async def _run_check(self, holds: Check) -> bool:
        """Return the result of a check; False if it takes too long or raises an error."""
        with anyio.move_on_after(self.patience_s):
            try:
                return await holds()
            except MemplanError as error:
                _LOG.error("not ready: %s: %s", type(error).__name__, error)
        return False


async def solves_a_tiny_problem() -> bool:
    """Return True if a tiny problem is solved and proved optimal within two seconds."""
    return await to_thread.run_sync(_solve_a_tiny_problem, abandon_on_cancel=True)


def _solve_a_tiny_problem() -> bool:
    return solve(_TINY, time_limit_s=2.0).status == "optimal"


def warm_up() -> None:
    """Import all modules that solving needs, and solve a tiny problem to initialise them."""
    load_solvers()
    with suppress(MemplanError):  # A server whose solvers fail must still start, to report that it is not ready.
        _solve_a_tiny_problem()


def load_solvers() -> None:
    """Import all modules that solving needs."""
    _ = CORE.handle
    np.random.default_rng()  # numpy imports its random module on first use, so use it once now.
    # Imports would delay the first request, so import these modules at the start of the server.
    for name in ("json", "memplan.planner.verify.verifier"):
        import_module(name)
    for row in SOLVERS:
        if not row.is_isolated and row.is_installed:
            _ = row.function


def load_all() -> None:
    """Import all modules that any answer needs, except readers of other systems' files."""
    load_solvers()
    for question in QUESTIONS.values():
        _ = question.options, question.answer
