"""The admission queue: requests solve now, wait, or are turned away."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from heapq import heappop, heappush

import anyio

from memplan.api.refusals import FullError

_MOST_KNOWN = 10_000
_LOOK_EVERY_S = 0.25
"""The time between two looks of a waiting request for new places: workers come and go."""


@dataclass(order=True)
class _Waiter:
    """A request in the queue: of its caller's the urgent before others, and then first come, first served."""

    rank: int
    number: int
    counts: bool = field(compare=False)
    is_next: anyio.Event = field(default_factory=anyio.Event, compare=False)
    has_place: bool = field(default=False, compare=False)
    has_left: bool = field(default=False, compare=False)


class AdmissionQueue:
    """`places` requests at once, `length` more in the queue. For one event loop.

    Callers take turns: the next is the one who holds the fewest places, of those the one who had a turn longest ago; of
    its requests the urgent go first, then as they came. Where the queue is full, the caller with most requests in it
    gives way. Requests that may not be refused wait beyond the length, and do not count as waiting.
    """

    def __init__(self, places: int | Callable[[], int], length: int) -> None:
        self._places = places
        self.length = length
        self.busy = 0
        """The number of places that are taken."""
        self.waiting = 0
        self._queues: dict[str | None, list[_Waiter]] = {}
        self._held: Counter[str | None] = Counter()
        self._turns: dict[str | None, int] = {}
        self._came = 0

    @property
    def places(self) -> int:
        """The number of places now."""
        return self._places if isinstance(self._places, int) else self._places()

    def check(self, caller: str | None = None) -> None:
        """Raise FullError if a request that came now would be turned away."""
        if self.busy >= self.places and self.waiting >= self.length and self._last_of_most(caller) is None:
            raise FullError(f"memplan: all {self.places} places are taken and {self.waiting} callers wait already")

    @asynccontextmanager
    async def turn(self, patience_s: float, *, caller: str | None = None) -> AsyncIterator[None]:
        """Hold a place while the block runs; raises FullError as `take` does."""
        await self.take(patience_s, caller=caller)
        try:
            yield
        finally:
            self.leave(caller)

    async def take(
        self, patience_s: float, *, caller: str | None = None, priority: int = 0, may_be_refused: bool = True
    ) -> None:
        """Take a place; raises FullError if the queue is full, or if no place is free within `patience_s`."""
        if may_be_refused:
            self.check(caller)
        if self.busy < self.places and not self._queues:
            self._seat(caller)
        else:
            await self._wait(caller, patience_s, priority, counts=may_be_refused)

    async def take_unless(
        self,
        cancelled: asyncio.Event,
        patience_s: float,
        *,
        caller: str | None = None,
        priority: int = 0,
        may_be_refused: bool = True,
    ) -> bool:
        """Take a place; False where that was cancelled before. Raises FullError."""
        with anyio.CancelScope() as waiting:
            watcher = asyncio.create_task(_end(waiting, cancelled))
            try:
                await self.take(patience_s, caller=caller, priority=priority, may_be_refused=may_be_refused)
            finally:
                watcher.cancel()
            return True
        return False

    def leave(self, caller: str | None = None) -> None:
        """Give a place back."""
        self.busy -= 1
        self._held[caller] -= 1
        if self._held[caller] == 0:
            del self._held[caller]
        self._admit()

    async def _wait(self, caller: str | None, patience_s: float, priority: int, counts: bool) -> None:
        last = self._last_of_most(caller) if counts and self.waiting >= self.length else None
        if last is not None:
            last.has_left = True
            self.waiting -= 1
            last.is_next.set()
        waiter = _Waiter(-priority, self._came, counts)
        self._came += 1
        heappush(self._queues.setdefault(caller, []), waiter)
        self.waiting += counts
        give_up = anyio.current_time() + patience_s
        try:
            while not waiter.is_next.is_set():
                self._admit()
                left_s = give_up - anyio.current_time()
                if left_s <= 0 and not waiter.is_next.is_set():
                    raise FullError(f"memplan: all {self.places} places stayed taken for the whole time limit")
                with anyio.move_on_after(min(left_s, _LOOK_EVERY_S)):
                    await waiter.is_next.wait()
            if not waiter.has_place:
                raise FullError(f"memplan: all {self.places} places are taken and others wait with fewer requests")
        except BaseException:
            if waiter.has_place:  # the place came together with what ended the wait
                self.leave(caller)
            elif not waiter.has_left:
                waiter.has_left = True
                self.waiting -= counts
            self._admit()
            raise

    def _admit(self) -> None:
        """Give free places to the next requests."""
        while self.busy < self.places and self._queues:
            caller = min(self._queues, key=lambda one: (self._held[one], self._turns.get(one, 0)))
            queue = self._queues[caller]
            waiter = heappop(queue)
            if not queue:
                del self._queues[caller]
            if not waiter.has_left:
                self.waiting -= waiter.counts
                self._seat(caller)
                waiter.has_place = True
                waiter.is_next.set()

    def _seat(self, caller: str | None) -> None:
        self.busy += 1
        self._held[caller] += 1
        self._turns.pop(caller, None)
        self._turns[caller] = self._came = self._came + 1
        if len(self._turns) > _MOST_KNOWN:
            del self._turns[next(iter(self._turns))]

    def _last_of_most(self, caller: str | None) -> _Waiter | None:
        """Return the last request of who has most in the queue, if those are at least two more than the caller's."""
        waiting = {one: [waiter for waiter in queue if _may_go(waiter)] for one, queue in self._queues.items()}
        most = max(waiting.values(), key=len, default=[])
        return max(most) if len(most) >= len(waiting.get(caller, ())) + 2 else None


def _may_go(waiter: _Waiter) -> bool:
    return waiter.counts and not waiter.has_left


async def _end(waiting: anyio.CancelScope, cancelled: asyncio.Event) -> None:
    await cancelled.wait()
    waiting.cancel()
