"""Event streams deliver every event of a job once and in order, whichever server writes it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from memplan.api.jobs.event_feed import Following
from memplan.api.store.store import Store
from tests.support.event_loops import run_in_loop
from tests.support.job_workers import submit

BETTER = {"peak": 30, "lower_bound": 20, "gap": 0.5, "solver": "exact"}, 0.1


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(None, tmp_path)
    yield opened
    opened.close()


async def heard(following: Following, job_id: str, after: int = 0) -> list[str]:
    return [event.kind async for event in following.events(job_id, after)]


@run_in_loop
async def test_an_event_stream_receives_events_written_by_another_server(store: Store) -> None:
    following, job_id = Following(store), submit(store)
    following.open()
    listening = [asyncio.create_task(heard(following, job_id, after)) for after in (0, 0, 1)]
    await asyncio.sleep(0.1)
    (claim,) = store.leases.claim("another", 1, 1, 60.0)
    store.leases.report(claim, [BETTER, BETTER])
    await asyncio.sleep(0.6)
    store.leases.finish(claim, "succeeded")
    everything = ["queued", "started", "better", "better", "finished"]
    assert await asyncio.gather(*listening) == [everything, everything, everything[1:]]
    await following.close()


@run_in_loop
async def test_a_notified_event_stream_delivers_events_without_polling(store: Store) -> None:
    following, job_id = Following(store), submit(store)  # it does not poll, because it was not opened
    listening = asyncio.create_task(heard(following, job_id))
    await asyncio.sleep(0.1)
    store.jobs.ask_to_cancel(job_id)
    following.wake_followers(job_id)
    assert await listening == ["queued", "finished"]


@run_in_loop
async def test_an_event_stream_delivers_more_events_than_one_database_read_returns(store: Store) -> None:
    following, job_id = Following(store), submit(store)
    (claim,) = store.leases.claim("here", 1, 1, 60.0)
    store.leases.report(claim, [BETTER] * 1200)
    store.leases.finish(claim, "succeeded")
    assert len(await heard(following, job_id)) == 1203


@run_in_loop
async def test_removing_a_job_ends_its_event_stream(store: Store) -> None:
    following, job_id = Following(store), submit(store)
    following.open()
    (claim,) = store.leases.claim("here", 1, 1, 60.0)
    store.leases.finish(claim, "succeeded")
    listening = asyncio.create_task(heard(following, job_id, after=3))
    await asyncio.sleep(0.1)
    store.leases.remove_ended(2e9)
    assert await listening == []
    await following.close()
