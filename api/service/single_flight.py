"""Single flight: one search for all requests that ask the same at the same time, each answered for its own problem."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import replace

from memplan.api.service.cache.cached_plan import CachedPlan, result_of
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.solvers.search.result import Progress, SolveResult

OnProgress = Callable[[Progress], None]
Search = Callable[["SharedSearch"], Coroutine[None, None, SolveResult | None]]


class SharedSearch:
    """A running search and the requests that wait for it. It is cancelled when the last of them has left."""

    def __init__(self, problem: CompiledProblem) -> None:
        self.problem = problem
        self.cancelled = asyncio.Event()
        self.waiting = 0
        """The number of requests that wait for the result."""
        self._best: SolveResult | None = None
        self._listeners: list[tuple[CompiledProblem, OnProgress]] = []
        self._task: asyncio.Task[SolveResult | None] | None = None

    def tell(self, progress: Progress) -> None:
        """Tell every listener of a better plan or bound."""
        self._best = progress.found or self._best
        for problem, on_progress in self._listeners:
            on_progress(progress if problem is self.problem else _translated_progress(progress, self.problem, problem))

    def start(self, search: Search) -> asyncio.Task[SolveResult | None]:
        """Start the search."""
        self._task = asyncio.create_task(search(self))
        # An error is raised for the requests that wait; nobody else is told.
        self._task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._task

    async def wait(
        self, problem: CompiledProblem, cancelled: asyncio.Event, on_progress: OnProgress | None
    ) -> SolveResult | None:
        """Wait for the result, as one of `problem`, which has the same hash; raises the search's errors.

        A request that is cancelled leaves with the best result so far, None where there is none; the last one to leave
        ends the search, and waits for its result.
        """
        assert self._task is not None
        listener = None if on_progress is None else (problem, on_progress)
        self._listeners += [] if listener is None else [listener]
        self.waiting += 1
        left = asyncio.create_task(cancelled.wait())
        try:
            await asyncio.wait((self._task, left), return_when=asyncio.FIRST_COMPLETED)
        finally:
            left.cancel()
            self.waiting -= 1
            if listener is not None:
                self._listeners.remove(listener)
            if self.waiting == 0:
                self.cancelled.set()
        if self.waiting == 0 or self._task.done():
            return _translated(await self._task, self.problem, problem)
        best = _translated(self._best, self.problem, problem)
        return None if best is None else replace(best, stop_reason="cancelled")


class SharedSearches:
    """The searches that run now, by what they search for. For one event loop."""

    def __init__(self) -> None:
        self.running: dict[Hashable, SharedSearch] = {}
        """The searches by their keys, with those that are about to end, which no request may join any more."""

    def find(self, key: Hashable) -> SharedSearch | None:
        """Return the running search of a key, if requests may still join it."""
        found = self.running.get(key)
        return None if found is None or found.cancelled.is_set() else found

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a search."""
        return sum(search.waiting for search in self.running.values())

    def start(self, key: Hashable, problem: CompiledProblem, search: Search) -> SharedSearch:
        """Start a search that others may join."""
        shared = self.running[key] = SharedSearch(problem)

        def end(_task: asyncio.Task[SolveResult | None]) -> None:
            if self.running.get(key) is shared:
                del self.running[key]

        shared.start(search).add_done_callback(end)
        return shared


def _translated(result: SolveResult | None, of: CompiledProblem, to: CompiledProblem) -> SolveResult | None:
    """Return the result of one problem as that of another one with the same hash."""
    if to is of or result is None:
        return result
    known = CachedPlan.of(of, result, 0.0)
    found = None if known is None else result_of(known, to, is_of_now=True)
    return None if found is None else replace(found, stop_reason=result.stop_reason)


def _translated_progress(progress: Progress, of: CompiledProblem, to: CompiledProblem) -> Progress:
    """Return the progress of one problem as that of another: bytes count in other units, and the plan has other ids."""

    def scaled(count: int) -> int:
        return count * to.instance.unit // of.instance.unit

    return replace(
        progress,
        peak=None if progress.peak is None else scaled(progress.peak),
        lower_bound=scaled(progress.lower_bound),
        found=_translated(progress.found, of, to),
    )
