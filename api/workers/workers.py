"""Solving and answering in child processes, for an event loop: on time, and from the best plan known where one ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from memplan.api.refusals import UnavailableError
from memplan.api.workers.pool import ChildPool
from memplan.api.workers.task import LostWorkersError, NoAnswerError, Task, TaskControl, TooMuchMemoryError, WorkAnswer
from memplan.planner.model.plan import Plan, StopReason
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.one_search import Solve
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.search.control import Control
from memplan.solvers.search.deadline import Deadline
from memplan.solvers.search.result import Progress, SolveResult

MAX_LOST = 3
"""The number of times that a search which lost its child is begun again, from the best plan known."""
_CARRY_S, _GRACE_S = 4e-6, 0.25
"""The seconds that bringing a buffer to a child and its placement back takes; and those that an answer may be late."""


@dataclass(eq=False)
class PlanSearch:
    """A search for a plan in a child, and the best result known of it.

    deadline: when the answer is due.
    limit_s: where given, the time that counts from when a child begins.
    start: the best plan known.
    """

    problem: Problem
    options: SolveOptions
    deadline: Deadline
    start: Plan | None = None
    limit_s: float | None = None
    _told: tuple[int | None, int] | None = field(default=None, init=False)
    _best: SolveResult | None = field(default=None, init=False)

    def task(self) -> Task:
        """Return what is left to be done, from the best plan known; a deterministic search starts as it always does."""
        carry_s = _CARRY_S * len(self.problem.buffers)
        start = self.start if self._best is None or self.options.deterministic else self._best.plan
        deadline = self.deadline.earlier(carry_s)
        what = (self.problem, self.options, start)
        return Task(search, what, "plan", deadline, limit_s=self.limit_s, grace_s=_GRACE_S + carry_s)

    def hear(self, reports: list[Progress], best: SolveResult | None, on_progress: Callable[[Progress], None]) -> None:
        """Pass on what is new in the progress that a child reports."""
        self._best = best or self._best
        if reports and best is not None:
            reports[-1] = replace(reports[-1], found=best)
        for progress in reports:
            if self._told != (progress.peak, progress.lower_bound) or progress.found is not None:
                self._told = progress.peak, progress.lower_bound
                on_progress(progress)

    @property
    def has_result(self) -> bool:
        """True where something is known already, should the child be lost."""
        return self._best is not None or self.start is not None

    def best_known(self, reason: StopReason) -> SolveResult:
        """Return the best result known without more searching, verified, or an honest `unknown`."""
        over = threading.Event()
        over.set()
        start = self.start if self._best is None else self._best.plan
        options = self.options.model_copy(update={"solver": "auto", "accept": None, "deterministic": False})
        found = Solve(self.problem, options, Control(self.deadline, over), start=start).finish()
        return found if found.stop_reason == "proved" else replace(found, stop_reason=reason)


def search(control: TaskControl, problem: Problem, options: SolveOptions, start: Plan | None) -> SolveResult:
    """Search for a plan, in a child."""
    solving = Solve(problem, options, control, start=start)
    control.watch(solving.so_far)
    return solving.finish()


class Workers:
    """The child processes of a server, for one event loop, which has so many tasks at a time."""

    def __init__(self, pool: ChildPool, places: int) -> None:
        self.pool = pool
        self._threads = ThreadPoolExecutor(places, thread_name_prefix="memplan-worker")

    @property
    def count(self) -> int:
        """The number of children that are ready or at work."""
        return self.pool.count

    async def solve(
        self, asked: PlanSearch, *, on_progress: Callable[[Progress], None] | None = None, cancelled: asyncio.Event
    ) -> SolveResult:
        """Search in a child; return the result, verified, within half a second of the deadline.

        When `cancelled` is set, that is the best so far. Raises OptionError, and LostWorkersError where children end
        and nothing is known.
        """
        began = Deadline.after(0.0)

        def hear(reports: list[Any], best: Any) -> None:
            asked.hear(reports, best, on_progress or (lambda _: None))

        for lost in range(MAX_LOST + 1):
            try:
                found: SolveResult = await self._run(asked.task(), hear, cancelled)
            except (NoAnswerError, UnavailableError):
                break
            except TooMuchMemoryError:
                if not asked.has_result:
                    raise
                break
            except LostWorkersError:
                if lost == MAX_LOST and not asked.has_result:
                    raise
            else:
                has_been_cut = found.stop_reason == "cancelled" and not cancelled.is_set()
                passed_s = asked.deadline.passed_s if asked.limit_s is None else began.passed_s
                return replace(
                    found, elapsed_s=passed_s, stop_reason="time_limit" if has_been_cut else found.stop_reason
                )
        return await asyncio.to_thread(asked.best_known, "cancelled" if cancelled.is_set() else "time_limit")

    async def work(
        self,
        task: Task,
        *,
        on_progress: Callable[[Mapping[str, Any]], None] | None = None,
        cancelled: asyncio.Event,
    ) -> WorkAnswer:
        """Have a child do a task; raises what ChildPool.run raises, and begins once again where the child is lost."""

        def hear(reports: list[Any], _best: Any) -> None:
            if on_progress is not None:
                for report in reports:
                    on_progress(report)

        try:
            answer: WorkAnswer = await self._run(task, hear, cancelled)
        except LostWorkersError:
            answer = await self._run(task, hear, cancelled)
        return answer

    async def _run(self, task: Task, hear: Callable[[list[Any], Any], None], cancelled: asyncio.Event) -> Any:
        """Run a task in a thread that waits for its child; one whose caller is gone is cancelled."""
        loop, over = asyncio.get_running_loop(), threading.Event()

        def report(reports: list[Any], best: Any) -> None:
            with suppress(RuntimeError):  # the loop is gone
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
