"""The admission queue: on arrival, a request gets a slot, starts to wait for one, or is refused."""

import asyncio
import heapq
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from memplan.api.refusals import FullError, NoTurnError

_PARTS = 4
"""How many times a waiting request tries to make room before its time limit ends."""
MOST = 3
"""The factor by which slots may be overbooked: for long requests, light requests, and requests that would be late."""
_SHARE_S, _END_S = 0.05, 0.05
"""The minimum seconds for which a slot is held, and the seconds in which its holder ends after the signal to do so."""
_LATE_S = 0.2
"""The seconds by which an answer may exceed its deadline."""
_SOON_S = 0.01
"""The minimum seconds between two attempts of one waiting request."""
_LIGHT_S, _LIGHT_BITS = 0.1, 14
"""A request is light up to these expected seconds; a request of an unknown sort, up to this bit length (16 KiB)."""
_LIGHT_HELD_S = 0.25
"""The seconds after which a light request that is still running counts as an ordinary one."""
_FADE_S, _USUAL = 30.0, 8
"""The half-life of measurements, in seconds, and the number of recent requests that predict an unknown sort."""
_ALIKE_S = 0.25
"""The seconds after which a full queue reads another request of a sort that it refuses."""
_OF_TIME = 0.5
"""The fraction of its time limit after which a request should start, however much time is left."""
Sort = tuple[str, int]
"""The question of a request and the bit length of its body: requests of one sort take similar time."""


def sort_of(kind: str, body: bytes) -> Sort:
    """Return the sort of a request."""
    return kind, len(body).bit_length()


@dataclass(eq=False)
class Seat:
    """A request that waits for a slot or occupies one; times are in seconds of the monotonic clock.

    caller: the id of the caller's key, which may not hold all slots.
    due: the deadline; infinite for a request that is never refused.
    sort: the question and the bit length of the body; None for a search for a plan.
    least_s: the seconds needed for a first answer, estimated on arrival from recent requests of the sort.
    can_end: True if it may end early with its best answer so far; if other requests wait, `is_short` is set to end it.
    has_answer: True if the caller already has an answer, so that the request may not start in an overbooked slot.
    first_at: the time of the first answer.
    is_beyond: True if the request started in an overbooked slot.
    refusal: the error if the request was refused; set before `is_decided`.
    """

    caller: str | None
    due: float = inf
    sort: Sort | None = None
    least_s: float = 0.0
    can_end: bool = True
    has_answer: bool = False
    arrived: float = field(default_factory=time.monotonic)
    began: float | None = None
    first_at: float | None = None
    is_light: bool = False
    is_beyond: bool = False
    refusal: FullError | None = None
    is_decided: asyncio.Event = field(default_factory=asyncio.Event)
    is_short: threading.Event = field(default_factory=threading.Event)

    @property
    def turn(self) -> float:
        """The time by which the request should start, so as to wait for at most half of its time limit."""
        return inf if self.due == inf else self.arrived + _OF_TIME * (self.due - self.arrived)


class AdmissionQueue:
    """The slots of a server for simultaneous work, and the requests that wait for them; for one event loop.

    There are `places` slots, of which requests of one key may occupy `of_key`; at most `length` requests may wait.

    Requests start in the order in which they reach half of their time limits; requests of a key at its maximum are
    passed over. A request is refused on arrival if it would get no answer in time, judged by recent requests of its
    sort and by the requests ahead.

    A request that has waited for a quarter of its time asks another request to end soon: the longest-running one that
    was not asked before. If the request would still be late, or half of its time is over, the request starts in an
    overbooked slot. It is refused only if the slots are overbooked `MOST` times and less time is left than its sort
    needs. Light requests have the same number of separate slots. Requests with an infinite deadline, which are never
    refused, do not count as waiting.
    """

    def __init__(self, places: int, length: int, of_key: int | None = None) -> None:
        """Make a queue with all slots free; without `of_key`, one key may occupy all slots."""
        self.places, self.length = places, length
        self._of_key = places if of_key is None else of_key
        self._held: list[Seat] = []
        self._queue: list[Seat] = []
        self._measured: dict[Sort, tuple[float, float, float]] = {}
        """For each sort, the seconds until the first and the last answer, and the time of that measurement."""
        self._refused_at: dict[Sort, float] = {}
        """For each sort refused since a quick search has answered one, the time of the last request that tried."""
        self._usual_s = 0.0
        """The mean seconds until the first answer of recent requests of any sort."""

    @property
    def busy_slots(self) -> int:
        """The number of slots in use."""
        return len(self._held)

    @property
    def waiting_count(self) -> int:
        """The number of waiting requests that may still be refused."""
        return sum(wish.due < inf for wish in self._queue)

    @property
    def is_full(self) -> bool:
        """True if no slot is free, and no further request may wait for one."""
        return len(self._held) >= self.places and self.waiting_count >= self.length

    def full_error(self, free_s: float = 0.0) -> FullError:
        """Return the refusal of a request that may not wait; a slot becomes free in about `free_s` seconds."""
        rule = f"all {self._of_key} places are taken and {self.waiting_count} callers wait already"
        return FullError(f"memplan: {rule}", free_s)

    def note_refused(self, sort: Sort) -> None:
        """Record that a request of a sort was refused after it was read."""
        self._refused_at[sort] = time.monotonic()

    def note_quick(self, sort: Sort) -> None:
        """Record that a request of a sort was answered without a slot."""
        self._refused_at.pop(sort, None)

    def refuse_like_last(self, sort: Sort) -> None:
        """Raise FullError if the queue is full, so that a request would be refused like the last one of its sort."""
        now, tried_at = time.monotonic(), self._refused_at.get(sort)
        if tried_at is None or not self.is_full:
            return
        if now - tried_at < _ALIKE_S:
            raise self.full_error()
        self._refused_at[sort] = now

    def note_first(self, place: Seat) -> None:
        """Record the time of a request's first answer."""
        place.first_at = place.first_at or time.monotonic()

    async def wait_for_slot(self, wish: Seat, cancelled: asyncio.Event | None = None) -> bool:
        """Wait for a slot; return False if the request was cancelled before it got one. Raises FullError."""
        self.decide_request(wish)
        if not wish.is_decided.is_set():
            try:
                await wait_for_any(wish.is_decided, *([] if cancelled is None else [cancelled]))
            except BaseException:
                self.release_slot(wish)
                raise
        if wish.refusal is not None:
            raise wish.refusal
        if wish.began is None:
            self.release_slot(wish)
        return wish.began is not None

    def decide_request(self, wish: Seat) -> None:
        """Grant an arriving request a slot, refuse the request, or let it wait."""
        if wish.sort is not None:
            first_s, whole_s = self._recent_times(wish.sort)
            wish.is_light = whole_s <= _LIGHT_S or (wish.can_end and 0.0 < first_s <= _LIGHT_S / 2)
            wish.least_s = max(wish.least_s, first_s)
        if self._is_free_for(wish):
            self._grant_slot(wish)
            return
        if wish.due < inf:
            free_s, is_late, are_others_late = self._expected_wait(wish)
            if self.waiting_count >= self.length:
                self._refuse(wish, self.full_error(free_s))
                return
            if is_late or are_others_late:
                self._refuse_after_wait(wish, free_s)
                return
        self._queue.append(wish)
        if wish.due < inf:
            self._schedule_attempt(wish)

    def release_slot(self, place: Seat, *, is_measured: bool = False) -> None:
        """Release a request's slot for the next waiting request, or withdraw a request that has no slot yet.

        If `is_measured`, the request's duration is recorded for later requests of its sort (question and size).
        """
        if place in self._queue:
            self._queue.remove(place)
        elif place in self._held:
            self._held.remove(place)
            if is_measured:
                self._record_times(place)
            self._fill_slots()

    def _fill_slots(self) -> None:
        """Grant free slots to waiting requests; refuse a request that has less time left than it needs."""
        while may := [wish for wish in self._queue if self._is_free_for(wish)]:
            following = min(may, key=lambda wish: wish.turn)
            self._queue.remove(following)
            if self._is_over(following):
                self._refuse_after_wait(following, following.least_s)
            else:
                self._grant_slot(following)

    def _make_room(self, wish: Seat) -> None:
        """End another request to make room for a waiting one, or else overbook a slot or refuse the waiting one."""
        if wish not in self._queue:
            return
        free_s, is_late, _ = self._expected_wait(wish)
        is_to_begin = is_late or time.monotonic() >= wish.turn
        if is_to_begin and not wish.has_answer and self._is_below(MOST, wish, self._held):
            self._queue.remove(wish)
            wish.is_beyond = True
            self._grant_slot(wish)
            return
        if (is_late and wish.has_answer) or self._is_over(wish):
            self._queue.remove(wish)
            self._refuse_after_wait(wish, free_s)
            return
        now = time.monotonic()
        may_end = [place for place in self._held if place.can_end and not place.is_short.is_set()]
        longest = min(may_end, key=lambda place: place.began or now, default=None)
        if longest is not None and now - (longest.began or now) >= _SHARE_S:
            longest.is_short.set()
        self._schedule_attempt(wish)

    def _schedule_attempt(self, wish: Seat) -> None:
        part_s, least_s = (wish.due - wish.arrived) / _PARTS, wish.least_s
        last_s = wish.due + _LATE_S - least_s - time.monotonic()
        delay_s = min(part_s, max(last_s - _SHARE_S - _END_S, last_s / 2, _SOON_S))
        if (turn_s := wish.turn - time.monotonic()) > -_SOON_S:
            delay_s = min(delay_s, max(turn_s, _SOON_S))
        asyncio.get_running_loop().call_later(delay_s, self._make_room, wish)

    def _refuse_after_wait(self, wish: Seat, free_s: float) -> None:
        """Refuse a request because no slot becomes free in time; `free_s` is the expected wait in seconds."""
        rule = f"all {self._of_key} places stay taken for {free_s:.1f} s, longer than the request's time limit allows"
        self._refuse(wish, NoTurnError(f"memplan: {rule}", free_s))

    def _refuse(self, wish: Seat, refusal: FullError) -> None:
        wish.refusal = refusal
        wish.is_decided.set()

    def _is_free_for(self, wish: Seat) -> bool:
        lane = [place for place in self._held if place.is_light == wish.is_light]
        if len(lane) >= self.places or _caller_slot_count(lane, wish.caller) >= self._of_key:
            return False
        # Light requests that run too long count as ordinary requests in extra slots, so do not count them here.
        return not wish.is_light or self._is_below(MOST - 1, wish, [each for each in self._held if not each.is_beyond])

    def _is_below(self, times: int, wish: Seat, held: list[Seat]) -> bool:
        return len(held) < times * self.places and _caller_slot_count(held, wish.caller) < times * self._of_key

    def _is_over(self, wish: Seat) -> bool:
        return time.monotonic() + wish.least_s > wish.due + _LATE_S

    def _grant_slot(self, wish: Seat) -> None:
        wish.began = time.monotonic()
        self._held.append(wish)
        if wish.is_light:
            asyncio.get_running_loop().call_later(_LIGHT_HELD_S, self._make_ordinary, wish)
        wish.is_decided.set()

    def _make_ordinary(self, place: Seat) -> None:
        if place in self._held:
            place.is_light = False
            self._fill_slots()

    def _expected_wait(self, wish: Seat) -> tuple[float, bool, bool]:
        """Return (expected wait in seconds, True if it makes this request late, True if it makes later requests late).

        The waiting requests of the same lane (ordinary or light) are assumed to start in the order of their turns.
        """
        now = time.monotonic()
        lane = [place for place in self._held if place.is_light == wish.is_light]
        ends, of_callers = self._free_times(lane, self.places, now), dict[str | None, list[float]]()
        others = [other for other in self._queue if other.is_light == wish.is_light and other is not wish]
        its, late = now, set[bool]()
        for each in sorted([*others, wish], key=lambda other: other.turn):
            if each.caller not in of_callers:
                own = [place for place in lane if place.caller == each.caller]
                of_callers[each.caller] = self._free_times(own, self._of_key, now)
            start = max(heapq.heappop(ends), heapq.heappop(of_callers[each.caller]))
            its = start if each is wish else its
            least_s = each.least_s
            if each.turn >= wish.turn and start + least_s > each.due + _LATE_S:
                late.add(each is wish)
            for each_ends in (ends, of_callers[each.caller]):
                heapq.heappush(each_ends, start + max(_SHARE_S + _END_S, least_s))
        return max(0.0, its - now), True in late, False in late

    def _free_times(self, held: list[Seat], places: int, now: float) -> list[float]:
        ends = [self._expected_end(place, now) for place in held] + [now] * (places - len(held))
        return sorted(ends)[len(ends) - places :]

    def _expected_end(self, place: Seat, now: float) -> float:
        began = place.began or now
        if not place.can_end:
            return max(now, min(place.due, now + 2 * (now - began) + 1.0))
        least_s = max(_SHARE_S, place.least_s)
        is_over = place.first_at is not None or now - began > least_s
        more_s = _END_S if place.first_at is not None else max(_END_S, (now - began) / 2)
        return now + more_s if is_over else began + least_s + _END_S

    def _recent_times(self, sort: Sort) -> tuple[float, float]:
        """Return the expected seconds until a request's first and last answer, measured on recent requests of its sort.

        Old measurements count less, down to a half. Without any, the first number is the mean over all requests.
        """
        if (measured := self._measured.get(sort)) is None:
            return self._usual_s, 0.0 if sort[1] <= _LIGHT_BITS else inf
        first_s, whole_s, at = measured
        faded = max(0.5, 0.5 ** ((time.monotonic() - at) / _FADE_S))
        return first_s * faded, whole_s * faded

    def _record_times(self, place: Seat) -> None:
        now = time.monotonic()
        if place.sort is not None and place.began is not None:
            before = self._recent_times(place.sort) if place.sort in self._measured else (0.0, inf)
            took = (place.first_at or now) - place.began, now - place.began
            first_s, whole_s = (_weighted_mean(old, new) for old, new in zip(before, took, strict=True))
            self._measured[place.sort] = first_s, whole_s, now
            self._usual_s += (took[0] - self._usual_s) / _USUAL


async def wait_for_any(*events: asyncio.Event, limit_s: float = inf) -> None:
    """Wait until one of the events is set, for at most `limit_s` seconds."""
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()


def _weighted_mean(old: float, new: float) -> float:
    return new if old in (0.0, inf) else old + (new - old) * (0.5 if new > old else 0.25)


def _caller_slot_count(places: Sequence[Seat], caller: str | None) -> int:
    return sum(place.caller == caller for place in places)
