"""The admission queue: which request gets a slot next, and which is refused."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from math import inf
from types import SimpleNamespace
from typing import Any

import pytest

from memplan.api.refusals import FullError, NoTurnError
from memplan.api.service import admission
from memplan.api.service.admission import AdmissionQueue, Seat, Sort
from tests.support.event_loops import run_in_loop

LARGE: Sort = ("sweep", 20)
LIGHT: Sort = ("order", 9)


def wish(limit_s: float = 60.0, caller: str | None = None, sort: Sort | None = None, **more: Any) -> Seat:
    return Seat(caller, time.monotonic() + limit_s, sort, **more)


async def take_seat(queue: AdmissionQueue, each: Seat) -> Seat:
    assert await queue.wait_for_slot(each)
    return each


def run(day: Callable[[], Awaitable[None]]) -> None:
    async def run_limited() -> None:
        async with asyncio.timeout(20.0):
            await day()

    asyncio.run(run_limited())


def admission_order(arrivals: list[tuple[str, float]], places: int = 1, of_key: int | None = None) -> list[str]:
    """Return the callers in their order of admission, if all arrive while caller `a` holds a slot."""
    order: list[str] = []

    async def ask(queue: AdmissionQueue, caller: str, limit_s: float) -> None:
        place = await take_seat(queue, wish(limit_s, caller))
        order.append(caller)
        await asyncio.sleep(0)
        queue.release_slot(place)

    async def day() -> None:
        queue = AdmissionQueue(places, 99, of_key)
        place = await take_seat(queue, wish(caller="a"))
        async with asyncio.TaskGroup() as callers:
            for each in arrivals:
                callers.create_task(ask(queue, *each))
            await asyncio.sleep(0)
            queue.release_slot(place)
        assert (queue.busy_slots, queue.waiting_count) == (0, 0)

    run(day)
    return order


def test_waiting_requests_are_admitted_by_deadline_then_by_arrival() -> None:
    assert admission_order([("b", 60.0), ("c", 20.0), ("d", 40.0)]) == ["c", "d", "b"]
    assert admission_order([(name, 60.0) for name in "bacab"]) == list("bacab")


@run_in_loop
async def test_a_request_waits_in_the_queue_for_at_most_half_of_its_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = AdmissionQueue(places=1, length=9)
    place = await take_seat(queue, wish())
    waiting = [wish(), wish(15.0)]
    for each in waiting:
        queue.decide_request(each)
    monkeypatch.setattr(admission, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + 40.0))
    late = wish(70.0, arrived=time.monotonic() + 40.0)  # it arrives now, and may wait for 15 of its 30 s
    queue.decide_request(late)
    assert [each.turn < late.turn for each in waiting] == [True, True]
    queue._make_room(waiting[0])
    assert (waiting[0].is_beyond, late.began, place.is_short.is_set()) == (True, None, False)
    assert 19.0 < waiting[0].due - (waiting[0].began or 0.0) < 20.0
    queue._make_room(late)
    assert (late.began, place.is_short.is_set()) == (None, True)


@run_in_loop
async def test_the_admission_queue_halves_old_measured_search_times(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = AdmissionQueue(places=1, length=9)
    slow = await take_seat(queue, wish(sort=LARGE))
    slow.began = time.monotonic() - 4.0
    queue.release_slot(slow, is_measured=True)
    for passed_s, least_s in ((0.0, 4.0), (30.0, 2.0), (3600.0, 2.0)):
        monkeypatch.setattr(admission, "time", SimpleNamespace(monotonic=lambda s=passed_s: time.monotonic() + s))
        place = wish(9e9, sort=LARGE)
        queue.decide_request(place)
        queue.release_slot(place)
        assert place.least_s == pytest.approx(least_s, abs=0.1)


def test_a_key_at_its_slot_limit_leaves_the_remaining_slots_to_other_keys() -> None:
    assert admission_order([(name, 60.0) for name in "aaba"], places=2, of_key=1) == ["b", "a", "a", "a"]


@run_in_loop
async def test_a_full_queue_refuses_requests_and_a_free_slot_is_granted_immediately() -> None:
    queue = AdmissionQueue(places=1, length=0)
    place = await take_seat(queue, wish(0.0))
    with pytest.raises(FullError, match="all 1 places are taken and 0 callers wait already"):
        await queue.wait_for_slot(wish())
    queue.release_slot(place)
    await take_seat(queue, wish(0.0))


@run_in_loop
async def test_a_request_that_would_wait_too_long_is_refused_on_arrival_with_a_retry_time() -> None:
    queue = AdmissionQueue(places=1, length=9)
    place = await take_seat(queue, wish(10.0, can_end=False))
    place.began = time.monotonic() - 3.0  # it may need as long again, as it has no answer yet
    queue.decide_request(late := wish(1.0))
    assert isinstance(late.refusal, NoTurnError)  # refused synchronously, before the event loop runs
    assert "all 1 places stay taken for 7." in str(late.refusal)
    assert late.refusal.headers["Retry-After"] in ("7", "8")
    assert queue.waiting_count == 0
    waiting = asyncio.ensure_future(queue.wait_for_slot(wish(9.0)))
    await asyncio.sleep(0)
    assert queue.waiting_count == 1
    with pytest.raises(NoTurnError):  # a search needs 3 s, and less time is left
        await queue.wait_for_slot(wish(8.5, least_s=3.0))
    queue.release_slot(place)
    assert await waiting


@pytest.mark.slow
@run_in_loop
async def test_an_urgent_request_shortens_a_running_search_then_overbooks_its_slot() -> None:
    queue = AdmissionQueue(places=1, length=9)
    place = await take_seat(queue, wish())
    admitted = [await take_seat(queue, wish(2.0)) for _ in range(2)]
    assert (place.is_short.is_set(), queue.busy_slots, queue.waiting_count) == (True, 3, 0)
    with pytest.raises(
        NoTurnError, match="all 1 places stay taken for"
    ):  # all running searches are asked to end, but none has ended
        await queue.wait_for_slot(wish(2.0))
    for each in admitted:
        queue.release_slot(each)
    waiting = asyncio.ensure_future(queue.wait_for_slot(wish()))
    await asyncio.sleep(0)
    assert not waiting.done()  # the place is still taken
    queue.release_slot(place)
    assert await waiting


@run_in_loop
async def test_a_key_whose_slots_stay_occupied_is_refused_at_once_while_other_keys_have_slots() -> None:
    queue = AdmissionQueue(places=2, length=9, of_key=1)
    place = await take_seat(queue, wish(10.0, "a", can_end=False))
    place.began = time.monotonic() - 3.0
    queue.decide_request(late := wish(1.0, "a"))
    assert isinstance(late.refusal, NoTurnError)
    await take_seat(queue, wish(1.0, "b"))


@run_in_loop
async def test_a_request_with_little_time_left_begins_in_an_overbooked_slot() -> None:
    queue = AdmissionQueue(places=1, length=9)
    slow = await take_seat(queue, wish(sort=LARGE))
    slow.began = time.monotonic() - 2.0
    queue.release_slot(slow, is_measured=True)  # the queue measures a search time of two seconds
    place = await take_seat(queue, wish())
    soon_due, others = (asyncio.ensure_future(queue.wait_for_slot(wish(limit_s, sort=LARGE))) for limit_s in (2.4, 9.0))
    assert await soon_due  # with two seconds left
    assert not others.done()
    queue.release_slot(place)
    assert not others.done()
    with pytest.raises(NoTurnError):  # too little time would be left at its turn
        await queue.wait_for_slot(wish(2.1, sort=LARGE))


@run_in_loop
async def test_light_requests_bypass_the_search_queue_until_they_prove_slow() -> None:
    queue = AdmissionQueue(places=1, length=9)
    search = await take_seat(queue, wish())
    light = await take_seat(queue, wish(sort=LIGHT))
    assert queue.busy_slots == 2
    other = asyncio.ensure_future(queue.wait_for_slot(wish(sort=LIGHT)))
    await asyncio.sleep(0.3)  # longer than a light request should take
    assert not light.is_light
    assert not other.done()
    queue.release_slot(light, is_measured=True)
    assert await other
    with pytest.raises(NoTurnError):  # light requests now queue together with searches
        await queue.wait_for_slot(wish(0.1, sort=LIGHT))
    queue.release_slot(search)


@run_in_loop
async def test_unrefusable_requests_may_exceed_the_queue_length() -> None:
    queue = AdmissionQueue(places=1, length=0)
    place = await take_seat(queue, wish())
    waiting = asyncio.ensure_future(queue.wait_for_slot(Seat(None)))
    await asyncio.sleep(0)
    assert (waiting.done(), queue.waiting_count) == (False, 0)
    queue.release_slot(place)
    assert await waiting
    cancelled = asyncio.Event()
    cancelled.set()
    assert not await queue.wait_for_slot(Seat(None, inf), cancelled)
