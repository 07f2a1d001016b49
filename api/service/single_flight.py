"""One search for everybody who asks the same at the same time: each is answered in his own spelling."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import replace

from memplan.api.cluster.task import News
from memplan.api.service.cache.cached_plan import CachedPlan, plan_of
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.planner.model.plan import Plan

OnNews = Callable[[News], None]
Search = Callable[["SharedSearch"], Coroutine[None, None, Plan | None]]


class SharedSearch:
    """A search that runs, and who waits for it. It is cancelled when the last of them has left."""

    def __init__(self, posed: CompiledProblem) -> None:
        self.posed = posed
        self.cancelled = asyncio.Event()
        self.best: Plan | None = None
        """The best plan so far, as the first asker spells it."""
        self._listeners: list[tuple[CompiledProblem, OnNews]] = []
        self._members = 0
        self._landed: asyncio.Task[Plan | None] | None = None

    @property
    def wants_plans(self) -> bool:
        """Whether somebody wants to hear of better plans."""
        return bool(self._listeners)

    def tell(self, news: News) -> None:
        """Tell everybody who listens of a better plan or bound."""
        self.best = news.plan or self.best
        for posed, on_news in self._listeners:
            on_news(news if posed is self.posed else _told(news, self.posed, posed))

    def take_off(self, search: Search) -> asyncio.Task[Plan | None]:
        """Start the search."""
        self._landed = asyncio.create_task(search(self))
        return self._landed

    async def ride(self, posed: CompiledProblem, cancelled: asyncio.Event, on_news: OnNews | None) -> Plan | None:
        """Wait for the plan, in one's own spelling; raises what the search does.

        Who is cancelled leaves with the best plan so far, None where there is none; the last to leave ends the search,
        and waits for what it has.
        """
        assert self._landed is not None
        listener = None if on_news is None else (posed, on_news)
        self._listeners += [] if listener is None else [listener]
        self._members += 1
        left = asyncio.create_task(cancelled.wait())
        try:
            await asyncio.wait((self._landed, left), return_when=asyncio.FIRST_COMPLETED)
        finally:
            left.cancel()
            self._members -= 1
            if listener is not None:
                self._listeners.remove(listener)
            if self._members == 0:
                self.cancelled.set()
        if self._members == 0 or self._landed.done():
            return self._spelled(await self._landed, posed)
        return None if self.best is None else self._spelled(self.best.model_copy(update=_LEFT), posed)

    @property
    def riders(self) -> int:
        """How many wait for the plan."""
        return self._members

    @property
    def is_over(self) -> bool:
        """Whether nobody can board any more."""
        return self.cancelled.is_set()

    def _spelled(self, plan: Plan | None, posed: CompiledProblem) -> Plan | None:
        if posed is self.posed or plan is None:
            return plan
        known = CachedPlan.of(self.posed, plan, 0.0)
        return None if known is None else plan_of(known, posed, plan.stop_reason)


_LEFT = {"stop_reason": "cancelled"}


class SharedSearches:
    """The searches that run now, by what they search for. For one event loop."""

    def __init__(self) -> None:
        self._by_key: dict[Hashable, SharedSearch] = {}

    def find(self, key: Hashable) -> SharedSearch | None:
        """Return the search that runs for the same, if there is one that one may still join."""
        flight = self._by_key.get(key)
        return None if flight is None or flight.is_over else flight

    @property
    def riders(self) -> int:
        """How many wait for a search."""
        return sum(flight.riders for flight in self._by_key.values())

    def start(self, key: Hashable, posed: CompiledProblem, search: Search) -> SharedSearch:
        """Start a search that others may join."""
        flight = self._by_key[key] = SharedSearch(posed)

        def land(task: asyncio.Task[Plan | None]) -> None:
            if self._by_key.get(key) is flight:
                del self._by_key[key]
            if not task.cancelled():
                task.exception()  # it was raised for those who waited, if any did

        flight.take_off(search).add_done_callback(land)
        return flight


def _told(news: News, theirs: CompiledProblem, mine: CompiledProblem) -> News:
    """Say news of one spelling in another: bytes count in other units, and the plan has other ids."""

    def scaled(count: int) -> int:
        return count * mine.instance.unit // theirs.instance.unit

    known = None if news.plan is None else CachedPlan.of(theirs, news.plan, 0.0)
    return replace(
        news,
        peak=None if news.peak is None else scaled(news.peak),
        lower_bound=scaled(news.lower_bound),
        plan=None if known is None else plan_of(known, mine, None),
    )
