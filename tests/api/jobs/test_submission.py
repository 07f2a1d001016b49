"""Jobs that come at once are written together, each with its own answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from memplan.api.jobs.submission import Intake
from memplan.api.refusals import FullError
from memplan.api.store.database import FILE, Database
from memplan.api.store.errors import RepeatedKeyError, StoreError
from memplan.api.store.job import NewJob
from memplan.api.store.store import Store
from tests.support.made_jobs import listed, new


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(None, tmp_path)
    yield opened
    opened.close()


def test_all_that_come_at_once_are_kept(store: Store) -> None:
    async def run() -> None:
        intake, jobs = Intake(store), [new() for _ in range(300)]
        kept = await asyncio.gather(*(intake.add(one) for one in jobs))
        assert [job.id for job in kept] == [one.id for one in jobs]
        assert store.jobs.counts() == {"queued": 300}
        await intake.add(new())  # and it goes on

    asyncio.run(run())


def test_each_hears_what_became_of_its_own(store: Store) -> None:
    async def run() -> None:
        intake, room = Intake(store), {"most": 2}
        asked = [
            intake.add(new(idempotency_key="k", request_digest="one", **room)),
            intake.add(new(idempotency_key="k", request_digest="two", **room)),
            intake.add(new(**room)),
            intake.add(new(**room)),
        ]
        results = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(one) for one in results] == [NewJob, RepeatedKeyError, NewJob, FullError]

    asyncio.run(run())


def test_a_caller_that_leaves_before_the_answer_disturbs_no_other(store: Store) -> None:
    async def run() -> None:
        intake = Intake(store)
        leaves = asyncio.create_task(intake.add(new()))
        await asyncio.sleep(0)
        leaves.cancel()
        await intake.add(new())
        assert len(listed(store)) == 2

    asyncio.run(run())


def test_all_hear_of_a_store_that_fails(store: Store, tmp_path: Path) -> None:
    async def run() -> None:
        database = Database.open(f"sqlite:///{tmp_path / FILE}", tmp_path)
        with database.writing() as connection:
            connection.execute(text("DROP TABLE job_events"))
        database.close()
        intake = Intake(store)
        results = await asyncio.gather(*(intake.add(new()) for _ in range(3)), return_exceptions=True)
        assert [str(one) for one in results] == ["database: no such table: job_events"] * 3
        assert all(isinstance(one, StoreError) for one in results)
        assert store.jobs.counts() == {}

    asyncio.run(run())
