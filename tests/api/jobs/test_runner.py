"""Jobs in the hands of servers: each ends once, whatever happens to those who run it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memplan.api.cluster.task import LostWorkersError, NoAnswerError
from memplan.api.jobs.serialization import pack_plan, unpack_plan
from memplan.api.refusals import FullError
from memplan.api.store.store import Store
from memplan.api.store.tables.leases import MOST_ATTEMPTS
from memplan.planner.errors import OptionError
from memplan.planner.verify.verifier import verify
from tests.support.job_runners import LOOSE, PROBLEM, Solver, day, ended, job, job_runner, kinds, soon, submit
from tests.support.postgresql import PostgreSQL, postgresql, why_not


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(None, tmp_path)
    yield opened
    opened.close()


def test_a_job_is_solved_and_told_of(store: Store) -> None:
    async def run() -> None:
        job_id, solver = submit(store, priority=4), Solver()
        async with job_runner(store, solver):
            await soon(lambda: "better" in kinds(store, job_id))
            packed = store.jobs.plan(job_id)
            assert packed is not None
            assert unpack_plan(packed).peak == 40
            solver.may_solve.set()
            found = await ended(store, job_id)
        assert (found.state, found.attempts, found.plan_status, found.error) == ("succeeded", 1, "optimal", None)
        assert found.progress is not None
        assert (found.progress["peak"], found.progress["gap"]) == (30, 0.0)
        assert kinds(store, job_id) == ["queued", "started", "better", "finished"]
        plan = unpack_plan(store.jobs.plan(job_id) or b"")
        assert (plan.peak, plan.status) == (30, "optimal")
        assert verify(PROBLEM, plan) == ()
        assert (solver.priorities, solver.starts) == ([4], [None])

    day(run)


def test_as_many_jobs_run_as_there_are_places(store: Store) -> None:
    async def run() -> None:
        names, solver = [submit(store) for _ in range(5)], Solver()
        async with job_runner(store, solver, places=2) as here:
            await soon(lambda: solver.in_work == 2)
            assert store.jobs.counts() == {"running": 2, "queued": 3}
            assert here.running == 2
            solver.may_solve.set()
            for name in names:
                await ended(store, name)

    day(run)


def test_a_job_that_is_cancelled_keeps_its_best_plan(store: Store) -> None:
    async def run() -> None:
        job_id, solver = submit(store), Solver()
        async with job_runner(store, solver) as here:
            await soon(lambda: solver.in_work == 1)
            store.jobs.ask_to_cancel(job_id)
            here.cancel(job_id)
            found = await ended(store, job_id)
        assert (found.state, found.plan_status) == ("cancelled", "feasible")
        assert unpack_plan(store.jobs.plan(job_id) or b"").placements == LOOSE.placements

    day(run)


def test_a_job_that_is_cancelled_at_another_server_ends_here(store: Store) -> None:
    async def run() -> None:
        job_id, solver = submit(store), Solver()
        async with job_runner(store, solver):
            await soon(lambda: solver.in_work == 1)
            store.jobs.ask_to_cancel(job_id)
            assert (await ended(store, job_id)).state == "cancelled"

    day(run)


def test_a_server_that_stops_hands_its_jobs_to_another_which_goes_on_from_their_plans(store: Store) -> None:
    async def run() -> None:
        job_id, here, there = submit(store), Solver(), Solver()
        async with job_runner(store, here):
            await soon(lambda: here.in_work == 1)
        assert (job(store, job_id).state, job(store, job_id).attempts) == ("queued", 0)
        assert store.servers.beat("somebody") == {"somebody": 1}  # the other one has left the list
        there.may_solve.set()
        async with job_runner(store, there):
            assert (await ended(store, job_id)).state == "succeeded"
        assert [start and start.placements for start in there.starts] == [LOOSE.placements]

    day(run)


def test_jobs_of_a_server_that_died_are_taken_over_once(store: Store) -> None:
    async def run() -> None:
        job_id, solver = submit(store), Solver()
        store.servers.beat("dead")
        (claim,) = store.leases.claim("dead", 1)
        solver.may_solve.set()
        async with job_runner(store, solver, lease_s=0.3):
            assert (await ended(store, job_id)).attempts == 2
        assert not store.leases.hand_back(claim.lease, "too late")
        assert kinds(store, job_id) == ["queued", "started", "retried", "started", "finished"]

    day(run)


def test_jobs_of_an_unknown_server_are_taken_over(store: Store) -> None:
    async def run() -> None:
        job_id, solver = submit(store), Solver()
        store.leases.claim("nobody", 1)
        solver.may_solve.set()
        async with job_runner(store, solver):
            assert (await ended(store, job_id)).attempts == 2

    day(run)


def test_a_server_that_was_taken_for_dead_ends_its_search_and_writes_nothing(store: Store) -> None:
    async def run() -> None:
        job_id, solver = submit(store), Solver()
        async with job_runner(store, solver) as here:
            await soon(lambda: solver.in_work == 1)
            store.leases.take_over([here.server])
            store.servers.beat("another")
            (claim,) = store.leases.claim("another", 1)
            await soon(lambda: solver.in_work == 0)
        assert (job(store, job_id).state, job(store, job_id).attempts) == ("running", 2)
        assert store.leases.hand_back(claim.lease, "still its own")

    day(run)


def test_a_lease_that_its_server_did_not_hear_of_is_handed_back(store: Store) -> None:
    async def run() -> None:
        solver = Solver()
        solver.may_solve.set()
        async with job_runner(store, solver, places=0) as here:
            job_id = submit(store)
            store.leases.claim(here.server, 1)
            await soon(lambda: job(store, job_id).state == "queued")
        assert kinds(store, job_id) == ["queued", "started", "retried"]

    day(run)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OptionError("solver: x cannot do y"), "solver: x cannot do y"),
        (KeyError("x"), "memplan: failed; its log says where"),
    ],
)
def test_what_cannot_be_solved_fails_with_a_sentence(store: Store, error: Exception, sentence: str) -> None:
    async def run() -> None:
        job_id, solver = submit(store), Solver(error=error)
        solver.may_solve.set()
        async with job_runner(store, solver):
            found = await ended(store, job_id)
        assert (found.state, found.error) == ("failed", sentence)

    day(run)


def test_a_server_that_stops_together_with_its_workers_fails_no_job(store: Store) -> None:
    async def run() -> None:
        job_id, solver = submit(store), Solver(error=LostWorkersError("memplan: the problem lost 4 workers"))
        async with job_runner(store, solver):
            await soon(lambda: solver.in_work == 1)
        assert job(store, job_id).state == "queued"

    day(run)


def test_a_deterministic_job_starts_anew(store: Store) -> None:
    async def run() -> None:
        job_id, solver = submit(store, deterministic=True), Solver()
        (claim,) = store.leases.claim("before", 1)
        store.leases.hand_back(claim.lease, "its server stopped", pack_plan(LOOSE))
        solver.may_solve.set()
        async with job_runner(store, solver):
            await ended(store, job_id)
        assert solver.starts == [None]

    day(run)


def test_a_job_that_got_no_worker_waits_again(store: Store) -> None:
    async def run() -> None:
        job_id, solver = submit(store), Solver(error=FullError("all places are taken"))
        solver.may_solve.set()
        async with job_runner(store, solver):
            await soon(lambda: len(solver.starts) > 1)
            solver.error = None
            assert (await ended(store, job_id)).attempts == 1

    day(run)


def test_a_job_without_an_answer_waits_again_before_it_fails(store: Store) -> None:
    async def run() -> None:
        job_id, solver = submit(store), Solver(error=NoAnswerError("order: no answer came within its time limit"))
        solver.may_solve.set()
        async with job_runner(store, solver):
            found = await ended(store, job_id)
        assert (found.state, found.attempts) == ("failed", MOST_ATTEMPTS + 1)
        assert found.error == "order: no answer came within its time limit"
        assert kinds(store, job_id).count("retried") == MOST_ATTEMPTS

    day(run)


def test_a_deadline_bounds_the_time_limit(store: Store) -> None:
    async def run() -> None:
        job_id, solver = submit(store, deadline_at=time.time() + 2.0), Solver()
        solver.may_solve.set()
        async with job_runner(store, solver):
            await ended(store, job_id)
        assert 0 < solver.options[0].time_limit_s <= 2.0

    day(run)


def test_a_job_whose_deadline_passes_in_the_line_expires(store: Store) -> None:
    async def run() -> None:
        job_id = submit(store, deadline_at=time.time() + 0.1)
        async with job_runner(store, Solver(), places=0):
            assert (await ended(store, job_id)).state == "expired"

    day(run)


@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
@pytest.mark.slow
def test_a_job_that_ends_while_the_database_is_away_is_written_when_it_is_back(tmp_path: Path) -> None:
    async def run(server: PostgreSQL, store: Store) -> None:
        job_id, solver = submit(store), Solver()
        async with job_runner(store, solver):
            await soon(lambda: solver.in_work == 1)
            server.kill()
            solver.may_solve.set()
            await soon(lambda: solver.in_work == 0)
            await asyncio.to_thread(server.start)
            assert (await ended(store, job_id)).state == "succeeded"
        assert kinds(store, job_id)[-1] == "finished"

    with postgresql(is_safe=True) as server, closing(Store.open(server.url(), tmp_path)) as store:
        day(lambda: run(server, store))


def test_two_servers_share_the_jobs_and_run_none_twice(store: Store) -> None:
    async def run() -> None:
        names, here, there = [submit(store) for _ in range(30)], Solver(), Solver()
        here.may_solve.set()
        there.may_solve.set()
        async with job_runner(store, here, places=2), job_runner(store, there, places=2):
            for name in names:
                assert (await ended(store, name)).attempts == 1
        assert len(here.starts) + len(there.starts) == 30
        assert all(kinds(store, name)[-1] == "finished" for name in names)

    day(run)
