"""The admission queue: requests solve now, wait, or are turned away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from heapq import heappop, heappush

import anyio

from memplan.api.refusals import FullError

_LOOK_EVERY_S = 0.25
"""The time between two looks of a waiting request for new places: workers come and go."""


@dataclass(order=True)
class _Waiter:
    """A request in the queue: the urgent before others, and then first come, first served."""

    rank: int
    number: int
    is_next: anyio.Event = field(default_factory=anyio.Event, compare=False)
    has_left: bool = field(default=False, compare=False)


class AdmissionQueue:
    """`places` callers at once, `length` more in the queue, by priority and then as they came. For one event loop.

    Requests that may not be refused wait beyond the length, and do not count as waiting.
    """

    def __init__(self, places: int | Callable[[], int], length: int) -> None:
        self._places = places
        self.length = length
        self.busy = 0
        """The number of places that are taken."""
        self.waiting = 0
        self._queue: list[_Waiter] = []
        self._came = 0

    @property
    def places(self) -> int:
        """The number of places now."""
        return self._places if isinstance(self._places, int) else self._places()

    def check(self) -> None:
        """Raise FullError if a request that came now would be turned away."""
        if self.busy >= self.places and self.waiting >= self.length:
            raise FullError(f"memplan: all {self.places} places are taken and {self.waiting} callers wait already")

    @asynccontextmanager
    async def turn(self, patience_s: float) -> AsyncIterator[None]:
        """Hold a place while the block runs; raises FullError as `take` does."""
        await self.take(patience_s)
        try:
            yield
        finally:
            self.leave()

    async def take(self, patience_s: float, *, priority: int = 0, may_be_refused: bool = True) -> None:
        """Take a place; raises FullError if the queue is full, or if no place is free within `patience_s`."""
        if may_be_refused:
            self.check()
        if self.busy < self.places and not self._queue:
            self.busy += 1
        else:
            await self._wait(patience_s, priority, counts=may_be_refused)

    async def take_unless(
        self, cancelled: asyncio.Event, patience_s: float, *, priority: int = 0, may_be_refused: bool = True
    ) -> bool:
        """Take a place; False where that was cancelled before. Raises FullError."""
        with anyio.CancelScope() as waiting:
            watcher = asyncio.create_task(_end(waiting, cancelled))
            try:
                await self.take(patience_s, priority=priority, may_be_refused=may_be_refused)
            finally:
                watcher.cancel()
            return True
        return False

    def leave(self) -> None:
        """Give a place back."""
        self.busy -= 1
        self._admit()

    async def _wait(self, patience_s: float, priority: int, counts: bool) -> None:
        waiter = _Waiter(-priority, self._came)
        self._came += 1
        heappush(self._queue, waiter)
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
        except BaseException:
            waiter.has_left = True
            if waiter.is_next.is_set():  # the place came together with what ended the wait
                self.busy -= 1
            self._admit()
            raise
        finally:
            self.waiting -= counts

    def _admit(self) -> None:
        """Give free places to the next requests."""
        while self._queue and (self._queue[0].has_left or self.busy < self.places):
            waiter = heappop(self._queue)
            if not waiter.has_left:
                self.busy += 1
                waiter.is_next.set()


async def _end(waiting: anyio.CancelScope, cancelled: asyncio.Event) -> None:
    await cancelled.wait()
    waiting.cancel()
