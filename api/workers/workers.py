"""Solving and answering in child processes, for an event loop: on time, and from the best plan known where one ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from memplan.api.refusals import UnavailableError
from memplan.api.workers.pool import ChildPool
from memplan.api.workers.task import LostWorkersError, NoAnswerError, Task, TaskControl, TooMuchMemoryError
from memplan.capabilities.plan.planning import REASON_S, with_reason
from memplan.planner.instance.instance import Instance
from memplan.planner.model.plan import Plan, StopReason
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.one_search import Solve
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.portfolio.profiles import so_far, solve_profile
from memplan.solvers.search.control import Control
from memplan.solvers.search.deadline import Deadline
from memplan.solvers.search.result import SolveResult

MAX_LOST = 3
"""The number of times that a search which lost its child is begun again, from the best plan known."""
_CARRY_S, _GRACE_S = 4e-6, 0.25
"""The seconds that bringing a buffer to a child and its placement back takes; and those that an answer may be late."""


@dataclass(frozen=True, eq=False)
class PlanSearch:
    """A search for a plan in a child: when its answer is due, and the best plan known."""

    problem: Problem
    options: SolveOptions
    deadline: Deadline
    start: Plan | None = None


def search(
    control: TaskControl,
    problem: Problem,
    options: SolveOptions,
    start: Plan | None,
    instance: Instance | None = None,
) -> SolveResult:
    """Search for a plan as the profile of the options says, and for the reason where nothing fits; in a child."""
    profile = options.profile_of(problem)
    if profile is None:
        one = Solve(problem, options, control, start=start, instance=instance)
        control.watch(one.so_far)
        found = one.finish()
    else:

        def watch(best: Callable[[], SolveResult | None]) -> None:
            def of_profile() -> SolveResult | None:
                return None if (known := best()) is None else so_far(problem, profile, known)

            control.watch(of_profile)

        found = solve_profile(problem, options, control, profile, start, watch=watch)
    running = replace(control, counted_s=REASON_S if options.deterministic else None)
    return replace(found, plan=with_reason(problem, found.plan, running))


class Workers:
    """The child processes of a server, for one event loop, which has so many tasks at a time."""

    def __init__(self, pool: ChildPool, places: int) -> None:
        self.pool = pool
        self._threads = ThreadPoolExecutor(places, thread_name_prefix="memplan-worker")

    @property
    def count(self) -> int:
        """The number of children that are ready or at work."""
        return self.pool.count

    async def solve(self, asked: PlanSearch, cancelled: asyncio.Event) -> SolveResult:
        """Search in a child; return the result, verified, within half a second of the deadline.

        When `cancelled` is set, that is the best so far. Raises OptionError, and LostWorkersError where children end
        and nothing is known.
        """
        carry_s = _CARRY_S * len(asked.problem.buffers)
        deadline, start = asked.deadline.earlier(carry_s), asked.start

        def hear(_reports: list[Any], best: SolveResult | None) -> None:
            nonlocal start
            start = start if best is None else best.plan

        for lost in range(MAX_LOST + 1):
            given = asked.start if asked.options.deterministic else start
            what = asked.problem, asked.options, given
            try:
                found: SolveResult = await self.run(
                    Task(search, what, "plan", deadline, grace_s=_GRACE_S + carry_s), cancelled, hear
                )
            except (NoAnswerError, UnavailableError):
                break
            except TooMuchMemoryError:
                if start is None:
                    raise
                break
            except LostWorkersError:
                if lost == MAX_LOST and start is None:
                    raise
            else:
                was_cut = found.stop_reason == "cancelled" and not cancelled.is_set()
                return replace(found, stop_reason="time_limit") if was_cut else found
        reason: StopReason = "cancelled" if cancelled.is_set() else "time_limit"
        return replace(await asyncio.to_thread(_best_known, replace(asked, start=start)), stop_reason=reason)

    async def run(
        self,
        task: Task,
        cancelled: asyncio.Event,
        hear: Callable[[list[Any], Any], None] | None = None,
    ) -> Any:
        """Run a task in a thread that waits for its child, as ChildPool.run does; `cancelled` ends it early."""
        loop, over = asyncio.get_running_loop(), threading.Event()

        def report(reports: list[Any], best: Any) -> None:
            with suppress(RuntimeError):  # the loop is gone
                if hear is not None:
                    loop.call_soon_threadsafe(hear, reports, best)

        async def forward() -> None:
            await cancelled.wait()
            over.set()

        forwarding = asyncio.create_task(forward())
        try:
            return await loop.run_in_executor(self._threads, self.pool.run, task, report, over)
        finally:
            over.set()
            forwarding.cancel()

    def close(self) -> None:
        """End all children."""
        self.pool.close()
        self._threads.shutdown()


def _best_known(asked: PlanSearch) -> SolveResult:
    """Return the best plan known as a result, verified, without more of a search, or an honest `unknown`."""
    over = threading.Event()
    over.set()
    options = asked.options.model_copy(update={"solver": "auto", "accept": None, "deterministic": False})
    return Solve(asked.problem, options, Control(asked.deadline, over), start=asked.start).finish()
