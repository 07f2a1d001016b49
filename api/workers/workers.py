"""Searches and answers in child processes for an event loop; a lost search restarts from its best plan so far."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from anyio import CapacityLimiter, to_thread

from memplan.api.refusals import NotInTimeError, UnavailableError
from memplan.api.workers.plan_search import PlanSearch, best_known, search
from memplan.api.workers.pool import ChildPool
from memplan.api.workers.task import LostWorkersError, Task, TooMuchMemoryError
from memplan.planner.model.plan import StopReason
from memplan.solvers.search.result import SolveResult

MAX_LOST = 3
"""How many times a search is restarted from the best known plan after its child process died."""
_CARRY_S, _GRACE_S = 4e-6, 0.25
"""The seconds per buffer to send it to a child and its placement back, and the seconds of grace for an answer."""


class Workers:
    """The child processes of a server, for one event loop, with at most `most` tasks at one time."""

    def __init__(self, pool: ChildPool, most: int) -> None:
        """Use a pool of child processes for at most `most` tasks at a time."""
        self.pool = pool
        self._threads = CapacityLimiter(most)

    async def solve(self, asked: PlanSearch, cancelled: asyncio.Event, is_short: threading.Event) -> SolveResult:
        """Search for a plan in a child process, and return the result within half a second of the deadline.

        When `cancelled` or `is_short` is set, the best result so far is returned. Raises OptionError, and
        LostWorkersError if children died repeatedly and no plan is known.
        """
        carry_s = _CARRY_S * len(asked.problem.buffers)
        deadline, start = asked.deadline.bring_forward(carry_s), asked.start

        def hear(_reports: list[Any], best: SolveResult | None) -> None:
            nonlocal start
            start = start if best is None else best.plan

        for lost in range(MAX_LOST + 1):
            start_given = asked.start if asked.options.deterministic else start
            what = asked.problem, asked.options, start_given
            try:
                task = Task(
                    search,
                    what,
                    "plan",
                    deadline,
                    grace_s=_GRACE_S + carry_s,
                    is_search=not asked.options.deterministic,
                )
                result: SolveResult = await self.run(task, cancelled, is_short, hear)
            except (NotInTimeError, UnavailableError):
                break
            except TooMuchMemoryError:
                if start is None:
                    raise
                break
            except LostWorkersError:
                if lost == MAX_LOST and start is None:
                    raise
            else:
                was_cut = result.stop_reason == "cancelled" and not cancelled.is_set()
                return replace(result, stop_reason="time_limit") if was_cut else result
        reason: StopReason = "cancelled" if cancelled.is_set() else "time_limit"
        return replace(await asyncio.to_thread(best_known, replace(asked, start=start)), stop_reason=reason)

    async def run(
        self,
        task: Task,
        cancelled: asyncio.Event,
        is_short: threading.Event | None = None,
        hear: Callable[[list[Any], Any], None] | None = None,
        noted: Callable[[], None] | None = None,
    ) -> Any:
        """Run a task in a child process without blocking the event loop, and return its answer.

        `cancelled` and `is_short` end the task early, `hear` gets its reports, and `noted` is called at its first
        interim answer; errors are those of `ChildPool.run`.
        """
        loop, over = asyncio.get_running_loop(), threading.Event()

        def report(reports: list[Any], best: Any) -> None:
            with suppress(RuntimeError):  # The event loop may have been closed already, so ignore the error.
                if hear is not None:
                    loop.call_soon_threadsafe(hear, reports, best)

        def note() -> None:
            with suppress(RuntimeError):
                if noted is not None:
                    loop.call_soon_threadsafe(noted)

        async def forward() -> None:
            await cancelled.wait()
            over.set()

        forwarding = asyncio.create_task(forward())
        try:
            work = partial(self.pool.run, task, report, over, is_short, note)
            return await to_thread.run_sync(work, limiter=self._threads, abandon_on_cancel=True)
        finally:
            over.set()
            forwarding.cancel()
