"""Keys pay for the time of workers that they use: one that used much leaves a worker to the others."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from memplan.api.refusals import FullError, UnavailableError
from memplan.api.service.admission import AdmissionQueue
from memplan.api.service.long_places import LongPlaces
from memplan.api.service.recent_keys import RecentKeys


def new_queue(workers: int, folder: Path | None = None) -> AdmissionQueue:
    return AdmissionQueue(workers, 9, LongPlaces(lambda: workers, folder), RecentKeys(folder))


def test_a_key_that_used_much_leaves_a_worker_to_keys_that_came_lately(tmp_path: Path) -> None:
    async def day() -> None:
        line, other_process = new_queue(2, tmp_path), new_queue(2, tmp_path)
        await line.take(0.0, caller="heavy")
        line.leave("heavy", used_s=5.0)
        assert not line.must_leave_one("heavy")  # nobody else is there
        assert not other_process.must_leave_one("light")
        line._others = RecentKeys(tmp_path)  # which looks anew
        assert line.must_leave_one("heavy")
        await line.take(0.0, caller="heavy", is_long=True)
        with pytest.raises(FullError, match="places for a key that used much while others came"):
            await line.take(0.01, caller="heavy", is_long=True)
        await line.take(0.0, caller="light")

    asyncio.run(day())


def test_of_two_keys_the_one_that_used_less_goes_first() -> None:
    async def day() -> list[str]:
        line, order = new_queue(1), list[str]()
        await line.take(0.0, caller="x")
        line.leave("x", used_s=30.0)
        await line.take(0.0, caller="y")
        line.leave("y", used_s=3.0)
        await line.take(0.0, caller="z")

        async def wait(caller: str) -> None:
            await line.take(60.0, caller=caller)
            order.append(caller)
            line.leave(caller)

        waiting = [asyncio.create_task(wait(caller)) for caller in ("x", "y")]
        await asyncio.sleep(0)
        line.leave("z")
        await asyncio.gather(*waiting)
        return order

    assert asyncio.run(day()) == ["y", "x"]


def test_where_workers_are_being_replaced_it_is_no_matter_of_the_caller() -> None:
    async def day() -> None:
        with pytest.raises(UnavailableError, match="no worker is there for now"):
            await new_queue(0).take(0.0)

    asyncio.run(day())


def test_where_other_processes_hold_all_workers_none_is_said_to_be_away() -> None:
    async def refused(workers: int) -> str:
        queue = AdmissionQueue(lambda: 0, 0, LongPlaces(lambda: workers))
        with pytest.raises((FullError, UnavailableError)) as refusal:
            await queue.take(0.0)
        return str(refusal.value)

    assert asyncio.run(refused(2)) == "memplan: all 2 places are taken and 0 callers wait already"
    assert asyncio.run(refused(0)) == "memplan: no worker is there for now"
