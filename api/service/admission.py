"""The admission queue: requests have a place now, wait, or are turned away."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from math import inf

from memplan.api.refusals import FullError


@dataclass(eq=False)
class _Waiter:
    """A request in the queue."""

    caller: str | None
    counts: bool
    has_place: asyncio.Event = field(default_factory=asyncio.Event)


class AdmissionQueue:
    """`places` requests at once, of which one key's hold at most `of_key`; `length` more wait. For one event loop.

    First come, first served, but for those of a key that holds all it may. Requests that may not be refused wait beyond
    the length, and do not count as waiting.
    """

    def __init__(self, places: int, length: int, of_key: int | None = None) -> None:
        self.places, self.length = places, length
        self._of_key = places if of_key is None else of_key
        self.busy = self.waiting = 0
        """The numbers of places that are taken, and of requests that wait."""
        self._queue: list[_Waiter] = []
        self._held: Counter[str | None] = Counter()

    async def take(
        self,
        patience_s: float,
        *,
        cancelled: asyncio.Event | None = None,
        caller: str | None = None,
        may_be_refused: bool = True,
    ) -> bool:
        """Take a place; False where that was cancelled before.

        Raises FullError if the queue is full, or if no place is free within `patience_s`.
        """
        if self._is_free_for(caller):
            self._seat(caller)
            return True
        if may_be_refused and self.waiting >= self.length:
            raise FullError(f"memplan: all {self._of_key} places are taken and {self.waiting} callers wait already")
        waiter = _Waiter(caller, counts=may_be_refused)
        self._queue.append(waiter)
        self.waiting += waiter.counts
        events = [waiter.has_place] if cancelled is None else [waiter.has_place, cancelled]
        waiting = [asyncio.ensure_future(event.wait()) for event in events]
        try:
            timeout = None if patience_s == inf else patience_s
            await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        except BaseException:
            if waiter.has_place.is_set():  # the place came together with what ended the wait
                self.leave(caller)
            raise
        finally:
            for each in waiting:
                each.cancel()
            if waiter in self._queue:
                self._queue.remove(waiter)
                self.waiting -= waiter.counts
        if waiter.has_place.is_set() or (cancelled is not None and cancelled.is_set()):
            return waiter.has_place.is_set()
        raise FullError(f"memplan: all {self._of_key} places stayed taken for the whole time limit")

    def leave(self, caller: str | None = None) -> None:
        """Give a place back: to the first in the queue whose key may have one more."""
        self.busy -= 1
        self._held[caller] -= 1
        if self._held[caller] == 0:
            del self._held[caller]
        following = next((waiter for waiter in self._queue if self._is_free_for(waiter.caller)), None)
        if following is not None:
            self._queue.remove(following)
            self.waiting -= following.counts
            self._seat(following.caller)
            following.has_place.set()

    def _is_free_for(self, caller: str | None) -> bool:
        return self.busy < self.places and self._held[caller] < self._of_key

    def _seat(self, caller: str | None) -> None:
        self.busy += 1
        self._held[caller] += 1
