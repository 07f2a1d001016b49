"""The admission queue: requests have a place now, wait, or are turned away."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass, field
from math import inf

from memplan.api.refusals import FullError

_PARTS = 4
"""A request that waits asks for room after each such part of its time."""
_SHARE_S = 0.05
"""The time that every place is held, whatever waits."""


@dataclass(eq=False)
class Seat:
    """The place of a request, or its wish for one; where others wait, it `is_short`: the best answer so far is due."""

    caller: str | None
    due: float = inf
    has_begun: asyncio.Event = field(default_factory=asyncio.Event)
    began: float = 0.0
    is_short: threading.Event = field(default_factory=threading.Event)


class AdmissionQueue:
    """`places` requests at once, of which one key's hold at most `of_key`; `length` more wait. For one event loop.

    Those that are due first go first, but for those of a key that holds all it may. One that has waited for a part of
    its time asks the one that has held a place for longest, and was not asked yet, to be short.
    Requests that may not be refused wait beyond the length, and do not count as waiting.
    """

    def __init__(self, places: int, length: int, of_key: int | None = None) -> None:
        self.places, self.length = places, length
        self._of_key = places if of_key is None else of_key
        self._held: list[Seat] = []
        self._queue: list[Seat] = []

    @property
    def busy(self) -> int:
        """The number of places that are taken."""
        return len(self._held)

    @property
    def waiting(self) -> int:
        """The number of requests that wait, and may be refused."""
        return sum(wish.due < inf for wish in self._queue)

    async def take(
        self, patience_s: float, *, cancelled: asyncio.Event | None = None, caller: str | None = None
    ) -> Seat | None:
        """Take a place; None where that was cancelled before. With endless patience it is never refused.

        Raises FullError if the queue is full, or if no place is free within `patience_s`.
        """
        wish = Seat(caller, time.monotonic() + patience_s)
        if self._is_free_for(wish):
            return self._seated(wish)
        if patience_s < inf and self.waiting >= self.length:
            raise FullError(f"memplan: all {self._of_key} places are taken and {self.waiting} callers wait already")
        self._queue.append(wish)
        events = [wish.has_begun] if cancelled is None else [wish.has_begun, cancelled]
        waiting = [asyncio.ensure_future(event.wait()) for event in events]
        try:
            for _ in range(_PARTS):
                timeout = None if patience_s == inf else patience_s / _PARTS
                if (await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED))[0]:
                    break
                self._make_room()
        except BaseException:
            if wish.has_begun.is_set():  # the place came together with what ended the wait
                self.leave(wish)
            raise
        finally:
            for each in waiting:
                each.cancel()
            if wish in self._queue:
                self._queue.remove(wish)
        if wish.has_begun.is_set():
            return wish
        if cancelled is not None and cancelled.is_set():
            return None
        raise FullError(f"memplan: all {self._of_key} places stayed taken for the whole time limit")

    def leave(self, place: Seat) -> None:
        """Give a place back: to the first in the queue whose key may have one more."""
        self._held.remove(place)
        if may := [wish for wish in self._queue if self._is_free_for(wish)]:
            following = min(may, key=lambda wish: wish.due)
            self._queue.remove(following)
            self._seated(following).has_begun.set()

    def _make_room(self) -> None:
        asked_for = [place for place in self._held if not place.is_short.is_set()]
        if asked_for and time.monotonic() - asked_for[0].began >= _SHARE_S:  # which has held it for longest
            asked_for[0].is_short.set()

    def _is_free_for(self, wish: Seat) -> bool:
        of_key = sum(place.caller == wish.caller for place in self._held)
        return self.busy < self.places and of_key < self._of_key

    def _seated(self, wish: Seat) -> Seat:
        wish.began = time.monotonic()
        self._held.append(wish)
        return wish
