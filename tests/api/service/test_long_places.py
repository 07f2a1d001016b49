from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from memplan.api.refusals import FullError
from memplan.api.service.admission import AdmissionQueue
from memplan.api.service.long_places import LONG_S, LongPlaces, is_long_work
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S


def new_queue(workers: int, length: int = 9) -> AdmissionQueue:
    return AdmissionQueue(workers, length, LongPlaces(lambda: workers))


async def is_waiting(task: asyncio.Task[None]) -> bool:
    """Say whether a task that could take a place at once would still wait."""
    for _ in range(5):
        await asyncio.sleep(0)
    return not task.done()


def test_work_without_a_time_limit_of_its_own_is_not_long() -> None:
    assert not is_long_work(DEFAULT_TIME_LIMIT_S)
    assert is_long_work(LONG_S * 1.01)


def test_long_work_leaves_a_place_to_short_work_whatever_came_first() -> None:
    async def day() -> None:
        line = new_queue(workers=2)
        await line.take(0.0, is_long=True)
        second = asyncio.create_task(line.take(60.0, is_long=True))
        assert await is_waiting(second)
        assert (line.busy, line.waiting, line.long_waiting) == (1, 1, 1)
        await line.take(0.0)  # without patience
        third = asyncio.create_task(line.take(60.0))
        assert await is_waiting(third)
        line.leave()
        await third
        assert await is_waiting(second)
        line.leave(is_long=True)
        await second
        assert (line.busy, line.waiting, line.long_waiting) == (2, 0, 0)

    asyncio.run(day())


def test_one_worker_takes_long_work_too() -> None:
    async def day() -> None:
        line = new_queue(workers=1)
        await line.take(0.0, is_long=True)
        with pytest.raises(FullError, match="all 1 places stayed taken"):
            await line.take(0.0)
        line.leave(is_long=True)
        await line.take(0.0, is_long=True)

    asyncio.run(day())


def test_while_a_worker_is_being_replaced_long_work_leaves_the_last_one_to_others(tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        assert not LongPlaces(lambda: 1, folder, usually=2).take()
        assert LongPlaces(lambda: 2, folder, usually=2).take()
        assert LongPlaces(lambda: 1, folder, usually=1).take()


def test_keys_take_turns_among_long_requests_and_among_short_ones() -> None:
    turns: list[str] = []

    async def ask(line: AdmissionQueue, caller: str, is_long: bool) -> None:
        await line.take(60.0, caller=caller, is_long=is_long)
        turns.append(caller + ("-long" if is_long else ""))

    async def day() -> None:
        line = new_queue(workers=2)
        await line.take(0.0, caller="a", is_long=True)
        await line.take(0.0, caller="a")
        asked = [("a", True), ("a", True), ("b", True), ("a", False), ("a", False), ("b", False)]
        async with asyncio.TaskGroup() as callers:
            for caller, is_long in asked:
                callers.create_task(ask(line, caller, is_long))
                await asyncio.sleep(0)
            held = [("a", True), ("a", False)]
            while held:
                caller, is_long = held.pop()
                told = len(turns)
                line.leave(caller, is_long)
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                held += [(name[0], name.endswith("-long")) for name in turns[told:]]
        assert (line.busy, line.waiting) == (0, 0)

    asyncio.run(day())
    assert turns == ["b", "a", "a", "b-long", "a-long", "a-long"]


def test_a_long_request_that_leaves_the_queue_or_is_refused_holds_nothing() -> None:
    async def day() -> None:
        line = new_queue(workers=2, length=1)
        await line.take(0.0, is_long=True)
        second = asyncio.create_task(line.take(60.0, is_long=True))
        assert await is_waiting(second)
        with pytest.raises(FullError, match="all places for what may take more than 10 s are taken and 1 callers wait"):
            await line.take(60.0, is_long=True)
        second.cancel()
        await asyncio.wait({second})
        with pytest.raises(FullError, match="all places for what may take more than 10 s stayed taken"):
            await line.take(0.0, is_long=True)
        line.leave(is_long=True)
        await line.take(0.0, is_long=True)
        assert (line.busy, line.waiting) == (1, 0)

    asyncio.run(day())


def test_processes_of_one_server_share_the_long_places(tmp_path: Path) -> None:
    here, there = (LongPlaces(lambda: 3, tmp_path) for _ in range(2))
    assert [here.take(), there.take(), here.take(), there.take()] == [True, True, False, False]
    here.leave()
    assert [there.take(), here.take()] == [True, False]
    there.leave()
    there.leave()
    assert [here.take(), here.take(), there.take()] == [True, True, False]
    here.leave()
    here.leave()


@pytest.mark.parametrize("is_shared", [False, True])
def test_fewer_workers_than_places_that_are_held_take_no_more(tmp_path: Path, is_shared: bool) -> None:
    workers = [4]
    places = LongPlaces(lambda: workers[0], tmp_path if is_shared else None)
    assert [places.take() for _ in range(4)] == [True, True, True, False]
    workers[0] = 2
    places.leave()
    places.leave()
    assert not places.take()
    places.leave()
    assert places.take()
    places.leave()
