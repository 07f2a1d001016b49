"""The admission queue: requests solve now, wait, or are turned away."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

import anyio

from memplan.api.refusals import FullError, UnavailableError
from memplan.api.service.long_places import LONG_S, LongPlaces
from memplan.api.service.recent_keys import RecentKeys

_MOST_KNOWN = 10_000
_HALVED_S, _HEAVY_S = 10.0, 2.0
"""The seconds in which the time that a key has used counts half; and that from which it leaves a worker to others."""
_LOOK_EVERY_S = 0.25
"""The time between two looks of a waiting request for new places: workers come and go."""


class _Lane(NamedTuple):
    """The waiting requests of one caller that are long, or those that are not."""

    caller: str | None
    is_long: bool


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

    Callers take turns: the next is the one who holds the fewest places, of those the one who used the least time of
    workers lately, and of those the one who had a turn longest ago; of its requests the urgent go first, then as they
    came. Of a key that used much while `others` came, all requests are long ones. Where the queue is full, the caller
    with most requests in it gives way. Requests that may not be refused wait beyond the length, and do not count as
    waiting. Long requests need one of the `long_places`, too, and others go before them while there is none.
    """

    def __init__(
        self,
        places: int | Callable[[], int],
        length: int,
        long_places: LongPlaces | None = None,
        others: RecentKeys | None = None,
    ) -> None:
        self._places, self._long_places, self._others = places, long_places, others
        self._used: dict[str | None, tuple[float, float]] = {}
        self.length = length
        self.busy = 0
        """The number of places that are taken."""
        self.waiting = 0
        self._queues: dict[_Lane, list[_Waiter]] = {}
        self._held: Counter[str | None] = Counter()
        self._turns: dict[str | None, int] = {}
        self._came = 0

    @property
    def places(self) -> int:
        """The number of places now."""
        return self._places if isinstance(self._places, int) else self._places()

    @property
    def long_waiting(self) -> int:
        """The number of long requests that wait, those that may not be refused included."""
        return sum(not waiter.has_left for lane, queue in self._queues.items() if lane.is_long for waiter in queue)

    def check(self, caller: str | None = None) -> None:
        """Raise FullError if a request that came now would be turned away."""
        if self.busy >= self.places:
            self._check_length(caller)

    @asynccontextmanager
    async def turn(self, patience_s: float, *, caller: str | None = None) -> AsyncIterator[None]:
        """Hold a place while the block runs; raises FullError as `take` does."""
        await self.take(patience_s, caller=caller)
        try:
            yield
        finally:
            self.leave(caller)

    async def take(
        self,
        patience_s: float,
        *,
        caller: str | None = None,
        priority: int = 0,
        may_be_refused: bool = True,
        is_long: bool = False,
    ) -> None:
        """Take a place; raises FullError if the queue is full, or if no place is free within `patience_s`.

        Where there are no places at all, that is UnavailableError.
        """
        lane = _Lane(caller, is_long)
        self._admit()
        if self.busy < self.places and self._has_long_place(lane):
            self._seat(caller)
            return
        if may_be_refused:
            self._check_length(caller, is_long)
        await self._wait(lane, patience_s, priority, counts=may_be_refused)

    async def take_unless(
        self,
        cancelled: asyncio.Event,
        patience_s: float,
        *,
        caller: str | None = None,
        priority: int = 0,
        may_be_refused: bool = True,
        is_long: bool = False,
    ) -> bool:
        """Take a place; False where that was cancelled before. Raises FullError."""
        with anyio.CancelScope() as waiting:
            watcher = asyncio.create_task(_end(waiting, cancelled))
            try:
                await self.take(
                    patience_s, caller=caller, priority=priority, may_be_refused=may_be_refused, is_long=is_long
                )
            finally:
                watcher.cancel()
            return True
        return False

    def must_leave_one(self, caller: str | None) -> bool:
        """Return True for a key whose requests must leave a worker to others: it used much, and others came lately."""
        if self._others is None or caller is None:
            return False
        self._others.note(caller)
        return self._used_by(caller) > _HEAVY_S and self._others.has_others(caller)

    def _used_by(self, caller: str | None) -> float:
        used_s, at = self._used.get(caller, (0.0, 0.0))
        return used_s and float(used_s * 0.5 ** ((time.monotonic() - at) / _HALVED_S))

    def leave(self, caller: str | None = None, is_long: bool = False, used_s: float = 0.0) -> None:
        """Give a place back, and charge the caller the seconds of a worker that were used."""
        self.busy -= 1
        if used_s > 0:
            now_used = self._used_by(caller) + used_s
            self._used.pop(caller, None)
            self._used[caller] = now_used, time.monotonic()
            if len(self._used) > _MOST_KNOWN:
                del self._used[next(iter(self._used))]
        if is_long and self._long_places is not None:
            self._long_places.leave()
        self._held[caller] -= 1
        if self._held[caller] == 0:
            del self._held[caller]
        self._admit()

    async def _wait(self, lane: _Lane, patience_s: float, priority: int, counts: bool) -> None:
        last = self._last_of_most(lane.caller) if counts and self.waiting >= self.length else None
        if last is not None:
            last.has_left = True
            self.waiting -= 1
            last.is_next.set()
        waiter = _Waiter(-priority, self._came, counts)
        self._came += 1
        heappush(self._queues.setdefault(lane, []), waiter)
        self.waiting += counts
        give_up = anyio.current_time() + patience_s
        try:
            while not waiter.is_next.is_set():
                self._admit()
                left_s = give_up - anyio.current_time()
                if left_s <= 0 and not waiter.is_next.is_set():
                    raise self._refusal(f"memplan: all {self._places_of(lane)} stayed taken for the whole time limit")
                with anyio.move_on_after(min(left_s, _LOOK_EVERY_S)):
                    await waiter.is_next.wait()
            if not waiter.has_place:
                places = self._places_of(lane)
                raise FullError(f"memplan: all {places} are taken and others wait with fewer requests")
        except BaseException:
            if waiter.has_place:  # the place came together with what ended the wait
                self.leave(*lane)
            elif not waiter.has_left:
                waiter.has_left = True
                self.waiting -= counts
            self._admit()
            raise

    def _admit(self) -> None:
        """Give free places to the next requests."""
        lanes = set(self._queues)
        while self.busy < self.places and lanes:
            lane = min(lanes, key=self._turn)
            queue = self._queues[lane]
            if not queue[0].has_left and not self._has_long_place(lane):
                lanes = {lane for lane in lanes if not lane.is_long}
                continue
            waiter = heappop(queue)
            if not queue:
                del self._queues[lane]
                lanes.remove(lane)
            if not waiter.has_left:
                self.waiting -= waiter.counts
                self._seat(lane.caller)
                waiter.has_place = True
                waiter.is_next.set()

    def _turn(self, lane: _Lane) -> tuple[int, int, int, _Waiter]:
        """Return what tells when it is the turn of a lane's first request."""
        used = int(self._used_by(lane.caller))
        return self._held[lane.caller], used, self._turns.get(lane.caller, 0), self._queues[lane][0]

    def _has_long_place(self, lane: _Lane) -> bool:
        """Take a long place for a lane's first request, where it needs one; return False if none is free."""
        return not lane.is_long or self._long_places is None or self._long_places.take()

    def _seat(self, caller: str | None) -> None:
        self.busy += 1
        self._held[caller] += 1
        self._turns.pop(caller, None)
        self._turns[caller] = self._came = self._came + 1
        if len(self._turns) > _MOST_KNOWN:
            del self._turns[next(iter(self._turns))]

    def _check_length(self, caller: str | None, is_long: bool = False) -> None:
        """Raise FullError if the queue is full, and no other caller gives way."""
        if self.waiting >= self.length and self._last_of_most(caller) is None:
            places = self._places_of(_Lane(caller, is_long))
            raise self._refusal(f"memplan: all {places} are taken and {self.waiting} callers wait already")

    def _refusal(self, sentence: str) -> FullError | UnavailableError:
        """Return the refusal that says so, or that no worker is there: they are being replaced."""
        return FullError(sentence) if self._workers else UnavailableError("memplan: no worker is there for now")

    @property
    def _workers(self) -> int:
        """The workers that there are; without a place here, other processes of the server hold them all."""
        return self.places or (0 if self._long_places is None else self._long_places.workers())

    def _places_of(self, lane: _Lane) -> str:
        """Return what is full where a lane's request waits, in words."""
        if self.busy < self.places and lane.is_long:
            if self._used_by(lane.caller) > _HEAVY_S:
                return "places for a key that used much while others came"
            return f"places for what may take more than {LONG_S:g} s"
        return f"{self._workers} places"

    def _last_of_most(self, caller: str | None) -> _Waiter | None:
        """Return the last request of who has most in the queue, if those are at least two more than the caller's."""
        waiting: dict[str | None, list[_Waiter]] = {}
        for lane, queue in self._queues.items():
            waiting.setdefault(lane.caller, []).extend(waiter for waiter in queue if _may_go(waiter))
        most = max(waiting.values(), key=len, default=[])
        return max(most) if len(most) >= len(waiting.get(caller, ())) + 2 else None


def _may_go(waiter: _Waiter) -> bool:
    return waiter.counts and not waiter.has_left


async def _end(waiting: anyio.CancelScope, cancelled: asyncio.Event) -> None:
    await cancelled.wait()
    waiting.cancel()
