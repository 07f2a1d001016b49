"""One search: first quickly, in this process; then by the workers, through the admission queue."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import inf
from typing import Protocol

import anyio
from anyio import CapacityLimiter, to_thread

from memplan.api.metrics import Metrics
from memplan.api.refusals import FullError, UnavailableError
from memplan.api.service.admission import AdmissionQueue
from memplan.api.service.plan_request import PlanRequest
from memplan.api.service.single_flight import OnProgress, SharedSearch
from memplan.api.workers.workers import PlanSearch
from memplan.solvers.portfolio.one_search import Solve
from memplan.solvers.search.control import Control
from memplan.solvers.search.deadline import Deadline
from memplan.solvers.search.result import Progress, SolveResult

_QUICK_S = 0.1
"""The time that a problem is tried in this process before it goes to the workers."""
_QUICK_BUFFERS = 20_000
"""For more buffers than that, nothing is quick; they are tried here only where a worker would have too little time."""
_CARRIED_S = 1e-5
"""The time for each buffer of which a worker makes nothing: to get the problem, to verify and to bring back a plan."""
_AT_ONCE_S = 0.01
"""The time that the event loop waits, after the quick orders of a small problem, for a thread to do the rest; to go on
with other requests beside it would hold all of them longer.
"""
_ANEW = 2**62
"""The difference of a worker's seed: where one seed has found nothing so far, another one is likely to be sooner."""
_GRACE_S = 0.3
"""The time after a deadline in which a search that is about to end is waited for, rather than to answer without it."""
_LEAST_S = 0.02
"""The time that every search gets, however little is left; with less, a worker makes nothing of it."""


class Solves(Protocol):
    """What solves that is not quick; the contract is that of `memplan.api.workers.workers.Workers`."""

    async def solve(
        self, asked: PlanSearch, *, on_progress: OnProgress | None = None, cancelled: asyncio.Event
    ) -> SolveResult:
        """Return a verified result, soon after its deadline at the latest."""


class SearchRunner:
    """Searches for plans, each time anew. For one event loop."""

    def __init__(self, workers: Solves, queue: AdmissionQueue, metrics: Metrics, quick_places: int) -> None:
        self._workers, self._queue, self._metrics = workers, queue, metrics
        self._places = CapacityLimiter(quick_places)
        self._threads = ThreadPoolExecutor(quick_places, thread_name_prefix="memplan-quick")

    async def search(
        self,
        request: PlanRequest,
        shared: SharedSearch,
        *,
        start: SolveResult | None = None,
        trial: Future[SolveResult] | None = None,
        was_tried: bool = False,
    ) -> SolveResult | None:
        """Return the best result found in time, verified; None where nothing was found before it was cancelled.

        `start` is a known result. A problem that `was_tried` is not tried quickly again, nor one of which a `trial`
        still runs. The shared search hears of progress, and says when to stop. Raises OptionError and FullError.
        """
        best = start
        if start is not None:
            shared.tell(_progress(start))
        is_large = _is_large(request)
        least_s = _LEAST_S + _CARRIED_S * len(request.problem.problem.buffers) if is_large else _LEAST_S
        if trial is not None or (not was_tried and (not is_large or request.deadline.left_s < least_s)):
            waiting_since = time.monotonic()
            if trial is None:
                quick = await self._quickly(request, start, request.deadline.left_s)
            else:
                quick = await self._tried(request, trial)
            if quick is not None and quick.stop_reason != "time_limit":
                return quick
            best = quick or best
            if quick is not None:
                shared.tell(_progress(quick))
            waited_s = time.monotonic() - waiting_since - (0.0 if quick is None else quick.elapsed_s)
            if request.may_be_refused and trial is None and _was_starved(request, quick, waited_s):
                places = int(self._places.total_tokens)
                raise FullError(f"memplan: all {places} places for what is quick stayed taken for the whole time limit")
        if best is not None and request.deadline.left_s < least_s:
            return replace(best, stop_reason="time_limit")
        try:
            return await self._by_workers(request, shared, best)
        except (FullError, UnavailableError):
            if best is not None and best.plan.placements and request.deadline.left_s <= 0:
                return replace(best, stop_reason="time_limit")  # which is more than nothing
            raise

    def at_once(self, request: PlanRequest) -> Future[SolveResult]:
        """Try a small problem on the event loop for up to 10 ms after the quick orders.

        Returns a future: done already, or completed by a thread, which goes on with the search that was begun.
        """
        has_place = self._places.available_tokens >= 1
        # Without a place it ends with the moment; but most of what is small takes no more than that.
        solving = _solving(request, None, _QUICK_S if has_place else _AT_ONCE_S)
        result = solving.begin()
        if result is None and has_place:
            return self._handed_over(request, solving)
        trial: Future[SolveResult] = Future()
        trial.set_result(self._finish(request, solving, result))
        return trial

    def _handed_over(self, request: PlanRequest, solving: Solve) -> Future[SolveResult]:
        """Let a thread finish a search, and hold its place; wait for it, but only for a moment."""
        place, loop = object(), asyncio.get_running_loop()
        trial = self._threads.submit(self._finish, request, solving)
        self._places.acquire_on_behalf_of_nowait(place)
        wait((trial,), _AT_ONCE_S)
        if trial.done():
            self._places.release_on_behalf_of(place)
        else:
            trial.add_done_callback(partial(_from_thread, loop, partial(self._places.release_on_behalf_of, place)))
        return trial

    async def _tried(self, request: PlanRequest, trial: Future[SolveResult]) -> SolveResult | None:
        """Return what a trial came to; one that ended with its moment, as no place was free, is made in turn.

        Most of what is small takes little more than the moment, and less than to bring it to a worker and back.
        """
        found = await _outcome(request, trial)
        if found is None or found.stop_reason != "time_limit" or found.elapsed_s > _QUICK_S / 2:
            return found
        return await self._quickly(request, found, request.deadline.left_s / 2) or found

    async def _quickly(self, request: PlanRequest, start: SolveResult | None, patience_s: float) -> SolveResult | None:
        """Try in this process; None where others did so for as long as it is waited."""
        with anyio.move_on_after(max(_LEAST_S, patience_s)):
            return await to_thread.run_sync(self._try, request, start, limiter=self._places)
        return None

    def _try(self, request: PlanRequest, start: SolveResult | None) -> SolveResult:
        """Solve quickly, in any thread."""
        return self._finish(request, _solving(request, start, inf if _is_large(request) else _QUICK_S))

    def _finish(self, request: PlanRequest, solving: Solve, result: SolveResult | None = None) -> SolveResult:
        """Finish a search, if it has no result yet, and count it."""
        result = result or solving.finish()
        self._metrics.solved(result.plan, solver=request.options.solver, place="server", seconds=result.elapsed_s)
        return result

    async def _by_workers(
        self, request: PlanRequest, shared: SharedSearch, best: SolveResult | None
    ) -> SolveResult | None:
        """Wait for a place and have a worker solve it; what is cancelled while it waits has the best so far."""
        patience_s, may_be_refused = max(0.0, request.deadline.left_s), request.may_be_refused
        if not await self._queue.take_unless(
            shared.cancelled, patience_s, caller=request.key_id, may_be_refused=may_be_refused
        ):
            return None if best is None else replace(best, stop_reason="cancelled")
        options = request.options
        if best is not None and not options.deterministic:
            options = options.model_copy(update={"seed": options.seed ^ _ANEW})
        taken = Deadline.after(options.time_limit_s)
        began = request.deadline.began if may_be_refused else taken.began
        asked = PlanSearch(
            request.problem.problem,
            options,
            Deadline(began, max(request.deadline.at, taken.began + _LEAST_S)),
            start=None if options.deterministic or best is None else best.plan,
            limit_s=None if may_be_refused else options.time_limit_s,
        )
        try:
            result = await self._workers.solve(asked, on_progress=shared.tell, cancelled=shared.cancelled)
        finally:
            self._queue.leave(request.key_id)
        self._metrics.solved(result.plan, solver=options.solver, place="worker", seconds=taken.passed_s)
        return result


def _is_large(request: PlanRequest) -> bool:
    return len(request.problem.problem.buffers) > _QUICK_BUFFERS


def _from_thread(loop: asyncio.AbstractEventLoop, release: Callable[[], None], _: Future[SolveResult]) -> None:
    with suppress(RuntimeError):  # a server that is gone has no places left
        loop.call_soon_threadsafe(release)


def _was_starved(request: PlanRequest, quick: SolveResult | None, waited_s: float) -> bool:
    """Return True if waiting for others took the time, and the rest was too short to find anything."""
    if quick is None:
        return True
    has_waited = request.deadline.left_s < _LEAST_S and waited_s > request.options.time_limit_s / 2
    return has_waited and quick.plan.status == "unknown"


async def _outcome(request: PlanRequest, trial: Future[SolveResult]) -> SolveResult | None:
    """Wait for the result of a trial, which ends by itself in time, or hardly later."""
    with anyio.move_on_after(max(0.0, request.deadline.left_s) + _GRACE_S):
        return await asyncio.shield(asyncio.wrap_future(trial))
    return None


def _solving(request: PlanRequest, start: SolveResult | None, quick_s: float) -> Solve:
    """Prepare a quick solve."""
    limit_s = min(request.options.time_limit_s, quick_s, max(_LEAST_S, request.deadline.left_s))
    return Solve(
        request.problem.problem,
        request.options,
        Control(Deadline.after(limit_s)),
        start=None if start is None else start.plan,
        is_quick=True,
        instance=request.problem.instance,
    )


def _progress(result: SolveResult) -> Progress:
    """Return the progress that a result is."""
    plan = result.plan
    found = result if plan.placements else None
    return Progress(result.elapsed_s, plan.peak, plan.lower_bound or 0, plan.solver or "", found)
