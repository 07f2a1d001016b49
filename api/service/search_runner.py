"""One search: first quickly, in this process, so that what is quick waits for nobody; then by the workers, in line."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import anyio
from anyio import CapacityLimiter, to_thread

from memplan.api.cluster.task import News, Task
from memplan.api.metrics import Metrics
from memplan.api.options import Options
from memplan.api.refusals import FullError
from memplan.api.service.admission import AdmissionQueue
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.single_flight import OnNews
from memplan.planner.model.plan import Plan
from memplan.solvers.portfolio.solve import Steps, advance, finish, steps
from memplan.solvers.search.incumbent import Accept

_QUICK_S = 0.1
"""How long a problem is tried in this process before it goes to the workers."""
_QUICK_BUFFERS = 20_000
"""For more buffers than that, nothing is quick."""
_AT_ONCE_S = 0.03
"""How long the event loop waits, after the quick orders of a small problem, for a thread to do the rest; to go on
beside all of them would hold it longer.
"""
_ANEW = 2**62
"""What a worker's seed differs by: where one seed has found nothing so far, another one is likely to be sooner."""
_LEAST_S = 0.02
"""What everybody gets, however little time is left; with less than that, a worker makes nothing of it."""


@dataclass(frozen=True, eq=False)
class PlanRequest:
    """What one caller asks for: a plan by `deadline` (time.monotonic()), good enough where `target` is met.

    Who may be refused gets a FullError where the line is full, or no place becomes free in time. For the others the
    time limit counts from when they have a place, so that their `deadline` may be infinite.
    """

    posed: CompiledProblem
    options: Options
    target: Accept | None
    deadline: float
    priority: int
    may_be_refused: bool

    @property
    def left_s(self) -> float:
        """How much time is left."""
        return self.deadline - time.monotonic()


class Workers(Protocol):
    """Who solves what is not quick; the contract is that of `memplan.api.cluster.cluster.Cluster`."""

    async def solve(
        self,
        task: Task,
        *,
        deadline: float,
        priority: int = 0,
        on_news: OnNews | None = None,
        cancelled: asyncio.Event,
    ) -> Plan:
        """Return a verified plan of the task's problem, soon after the deadline at the latest."""


class SearchRunner:
    """Searches for plans, each time anew. For one event loop."""

    def __init__(self, workers: Workers, line: AdmissionQueue, metrics: Metrics, quick_places: int) -> None:
        self._workers, self._line, self._metrics = workers, line, metrics
        self._places = CapacityLimiter(quick_places)
        self._threads = ThreadPoolExecutor(quick_places, thread_name_prefix="memplan-quick")

    async def search(
        self,
        asked: PlanRequest,
        *,
        cancelled: asyncio.Event,
        start: Plan | None = None,
        trial: Future[Plan] | None = None,
        was_tried: bool = False,
        on_news: OnNews | None = None,
        wants_plans: bool = False,
    ) -> Plan | None:
        """Return the best plan found in time, verified; None where nothing came of it before it was cancelled.

        `start` is a plan that is known. What `was_tried` is not tried quickly again, nor what a `trial` is for, which
        may go on. Raises OptionError and FullError.
        """
        best = start
        if start is not None and on_news is not None:
            on_news(_news(start))
        if trial is not None or (not was_tried and len(asked.posed.problem.buffers) <= _QUICK_BUFFERS):
            quick = await (self._quickly(asked, start) if trial is None else _outcome(asked, trial))
            if quick is not None and quick.stop_reason != "time_limit":
                return quick
            best = quick or best
            if quick is not None and on_news is not None:
                on_news(_news(quick))
            if asked.may_be_refused and self._was_starved(asked, quick):
                count = int(self._places.total_tokens)
                raise FullError(f"memplan: all {count} places for what is quick stayed taken for the whole time limit")
        if best is not None and asked.left_s < _LEAST_S:
            return _in_time(best)
        try:
            return await self._by_workers(asked, best, cancelled, on_news, wants_plans)
        except FullError:
            if best is not None and best.placements and asked.left_s <= 0:
                return _in_time(best)  # which is more than nothing
            raise

    def at_once(self, asked: PlanRequest) -> Future[Plan]:
        """Try a small problem while everybody waits for a moment; return what came of it, or still will.

        What takes a search is handed to a thread, and goes on there when the moment is over: it is not begun again.
        """
        has_place, began = self._places.available_tokens >= 1, time.monotonic()
        # Without a place it ends with the moment; but most of what is small takes no more than that.
        solving = _solving(asked, None, _QUICK_S if has_place else _AT_ONCE_S)
        plan = advance(solving)
        if plan is None and has_place:
            return self._handed_over(asked, solving, began)
        trial: Future[Plan] = Future()
        trial.set_result(self._counted(asked, plan or finish(solving), began))
        return trial

    def _handed_over(self, asked: PlanRequest, solving: Steps, began: float) -> Future[Plan]:
        """Let a thread finish what was begun, and hold its place; wait for it, but only for a moment."""
        place, loop = object(), asyncio.get_running_loop()
        trial = self._threads.submit(self._finish, asked, solving, began)
        self._places.acquire_on_behalf_of_nowait(place)
        wait((trial,), _AT_ONCE_S)
        if trial.done():
            self._places.release_on_behalf_of(place)
        else:
            trial.add_done_callback(partial(_from_thread, loop, partial(self._places.release_on_behalf_of, place)))
        return trial

    async def _quickly(self, asked: PlanRequest, start: Plan | None) -> Plan | None:
        """Try in this process; None where others did so for the whole time."""
        with anyio.move_on_after(max(_LEAST_S, asked.left_s)):
            return await to_thread.run_sync(self._try, asked, start, _QUICK_S, limiter=self._places)
        return None

    def _try(self, asked: PlanRequest, start: Plan | None, quick_s: float) -> Plan:
        """Solve quickly, in any thread."""
        return self._finish(asked, _solving(asked, start, quick_s), time.monotonic())

    def _finish(self, asked: PlanRequest, solving: Steps, began: float) -> Plan:
        return self._counted(asked, finish(solving), began)

    def _counted(self, asked: PlanRequest, plan: Plan, began: float) -> Plan:
        seconds = time.monotonic() - began
        self._metrics.solved(plan, solver=asked.options.solver, place="server", seconds=seconds)
        return plan

    def _was_starved(self, asked: PlanRequest, quick: Plan | None) -> bool:
        """Whether waiting for others took all the time, and nothing came of the rest."""
        has_waited = asked.left_s < _LEAST_S and asked.options.time_limit_s > 2 * _QUICK_S
        return quick is None or (has_waited and quick.status == "unknown")

    async def _by_workers(
        self, asked: PlanRequest, best: Plan | None, cancelled: asyncio.Event, on_news: OnNews | None, wants_plans: bool
    ) -> Plan | None:
        """Wait for a place and have a worker solve it; who is cancelled in line has what was best before."""
        patience_s = max(0.0, asked.left_s)
        if not await self._line.take_unless(
            cancelled, patience_s, priority=asked.priority, may_be_refused=asked.may_be_refused
        ):
            return None if best is None else best.model_copy(update={"stop_reason": "cancelled"})
        began = time.monotonic()
        options, deadline = asked.options, asked.deadline
        if best is not None and not options.deterministic:
            options = options.model_copy(update={"seed": options.seed ^ _ANEW})
        if not asked.may_be_refused:  # who has all the time there is in line has his time limit from here
            deadline = min(deadline, began + options.time_limit_s)
        try:
            plan = await self._workers.solve(
                Task(
                    asked.posed.problem,
                    options,
                    time_limit_s=max(_LEAST_S, deadline - began),
                    start=None if options.deterministic else best,
                    wants_plans=wants_plans,
                ),
                deadline=deadline,
                priority=asked.priority,
                on_news=on_news,
                cancelled=cancelled,
            )
        finally:
            self._line.leave()
        self._metrics.solved(plan, solver=options.solver, place="worker", seconds=time.monotonic() - began)
        return plan


def _from_thread(loop: asyncio.AbstractEventLoop, release: Callable[[], None], _: Future[Plan]) -> None:
    with suppress(RuntimeError):  # a server that is gone has no places left
        loop.call_soon_threadsafe(release)


async def _outcome(asked: PlanRequest, trial: Future[Plan]) -> Plan | None:
    """Wait for what comes of a trial, as long as there is time."""
    with anyio.move_on_after(max(_LEAST_S, asked.left_s)):
        return await asyncio.shield(asyncio.wrap_future(trial))
    return None


def _in_time(plan: Plan) -> Plan:
    return plan.model_copy(update={"stop_reason": "time_limit"})


def _solving(asked: PlanRequest, start: Plan | None, quick_s: float) -> Steps:
    """Solve quickly, step by step."""
    options = asked.options
    return steps(
        asked.posed.problem,
        time_limit_s=options.time_limit_s,
        solver=options.solver,
        accept=options.accept,
        deterministic=options.deterministic,
        seed=options.seed,
        start=start,
        quick_s=min(quick_s, max(_LEAST_S, asked.left_s)),
        instance=asked.posed.instance,
    )


def _news(plan: Plan) -> News:
    """Tell of a plan that was made quickly."""
    return News(
        plan.peak,
        plan.lower_bound or 0,
        plan.gap,
        plan.solver or "",
        plan.wall_time_s or 0.0,
        plan if plan.placements else None,
    )
