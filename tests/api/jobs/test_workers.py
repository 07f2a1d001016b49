"""Workers run jobs: each job ends once, even if a worker is killed or loses its lease."""

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memplan.api.refusals import NotInTimeError
from memplan.api.store.errors import StoreError
from memplan.api.store.job import Job
from memplan.api.store.store import Store
from memplan.api.store.tables.leases import MOST_FAILURES
from memplan.api.workers.task import LostWorkersError
from memplan.planner.errors import OptionError
from memplan.planner.model.plan import Plan
from memplan.planner.verify.verifier import verify
from tests.support.job_workers import (
    LOOSE,
    LOOSE_ANSWER,
    PROBLEM,
    Pool,
    job,
    job_workers,
    kinds,
    submit,
    wait_for_end,
    wait_until,
)
from tests.support.made_jobs import states
from tests.support.postgresql import PostgreSQL, obstacle, postgresql


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(None, tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def ready_pool() -> Pool:
    pool = Pool()
    pool.may_run.set()
    return pool


def plan_of(store: Store, job_id: str) -> Plan:
    return Plan.model_validate_json(store.jobs.answer(job_id) or b"")


def test_a_worker_plans_a_job_and_writes_its_events(store: Store) -> None:
    job_id, pool = submit(store), Pool()
    with job_workers(store, pool):
        wait_until(lambda: "better" in kinds(store, job_id))
        assert plan_of(store, job_id).peak == 40
        pool.may_run.set()
        found = wait_for_end(store, job_id)
    assert (found.state, found.attempts, found.plan_status, found.error) == ("succeeded", 1, "optimal", None)
    assert found.progress is not None
    assert (found.progress["peak"], found.progress["gap"]) == (30, 0.0)
    assert kinds(store, job_id) == ["queued", "started", "better", "finished"]
    plan = plan_of(store, job_id)
    assert (plan.peak, plan.status, verify(PROBLEM, plan)) == (30, "optimal", ())
    assert store.plans.find(found.problem_hash) is not None


def test_jobs_of_one_key_cannot_occupy_all_workers(store: Store) -> None:
    flood, pool = [submit(store, key_id="flood", priority=9) for _ in range(5)], Pool()
    with job_workers(store, pool, workers=2) as here:
        wait_until(lambda: pool.in_work == 2)
        other = submit(store, key_id="other")
        wait_until(lambda: pool.in_work == 3)
        assert (states(store), here.run_count) == ({"running": 3, "queued": 3}, 3)
        pool.may_run.set()
        assert all(wait_for_end(store, name).attempts == 1 for name in (*flood, other))
    assert pool.most_at_once == 3


def test_a_cancelled_job_keeps_its_best_plan(store: Store) -> None:
    job_id, pool = submit(store), Pool()
    with job_workers(store, pool):
        wait_until(lambda: pool.in_work == 1)
        store.jobs.ask_to_cancel(job_id)
        found = wait_for_end(store, job_id)
    assert (found.state, found.plan_status) == ("cancelled", "feasible")
    assert plan_of(store, job_id).placements == LOOSE.placements


def test_jobs_of_stopped_workers_are_continued_by_others_from_their_best_plan(store: Store, ready_pool: Pool) -> None:
    job_id, here = submit(store), Pool()
    with job_workers(store, here):
        wait_until(lambda: here.in_work == 1)
    assert (job(store, job_id).state, job(store, job_id).attempts) == ("queued", 0)
    with job_workers(store, ready_pool):
        assert wait_for_end(store, job_id).state == "succeeded"
    assert Plan.model_validate_json(ready_pool.tasks[0].arguments[0].before).placements == LOOSE.placements


def test_a_job_of_a_dead_worker_is_taken_over_once(store: Store, ready_pool: Pool) -> None:
    job_id = submit(store)
    (claim,) = store.leases.claim("dead", 1, 1, lease_s=0.1)
    with job_workers(store, ready_pool):
        time.sleep(0.2)
        assert store.leases.expire_jobs() == ([], [job_id])
        assert wait_for_end(store, job_id).attempts == 2
    assert not store.leases.release(claim, "too late")
    assert kinds(store, job_id) == ["queued", "started", "retried", "started", "better", "finished"]


def test_a_lease_is_renewed_while_its_job_runs(store: Store) -> None:
    job_id, pool = submit(store), Pool()
    with job_workers(store, pool, lease_s=3.0):
        wait_until(lambda: pool.in_work == 1)
        time.sleep(4.0)
        assert store.leases.expire_jobs() == ([], [])
        pool.may_run.set()
        assert wait_for_end(store, job_id).attempts == 1


def test_an_unconfirmed_claim_is_returned(store: Store, ready_pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id, claim = submit(store), store.leases.claim

    def unheard(*asked: Any) -> list[Job]:
        monkeypatch.undo()
        claim(*asked)
        raise StoreError("database: the connection was lost before the answer came")

    monkeypatch.setattr(store.leases, "claim", unheard)
    with job_workers(store, ready_pool):
        assert wait_for_end(store, job_id).attempts == 1
    assert kinds(store, job_id).count("retried") == 1


def test_a_worker_that_lost_its_claim_ends_its_search_and_writes_nothing(store: Store) -> None:
    job_id, pool = submit(store), Pool()
    with job_workers(store, pool):
        wait_until(lambda: pool.in_work == 1)
        assert store.leases.release(job(store, job_id), "as another worker would")
        (claim,) = store.leases.claim("another", 1, 1, PATIENCE)
        wait_until(lambda: pool.in_work == 0)
    assert (job(store, job_id).state, job(store, job_id).attempts) == ("running", 1)
    assert store.leases.release(claim, "still its own")


PATIENCE, FAULT = 60.0, 12 * "0"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OptionError("solver: x cannot do y"), "solver: x cannot do y"),
        (KeyError("x"), f"memplan: failed; memplan's log shows where, at fault {FAULT}"),
    ],
)
def test_a_job_fails_with_its_error_message(store: Store, ready_pool: Pool, error: Exception, sentence: str) -> None:
    job_id, ready_pool.error = submit(store), error
    with job_workers(store, ready_pool):
        found = wait_for_end(store, job_id)
    assert (found.state, re.sub(r"[0-9a-f]{12}$", FAULT, found.error or "")) == ("failed", sentence)


@pytest.mark.parametrize("error", [NotInTimeError("plan: no answer came"), LostWorkersError("plan: no answer came")])
def test_a_job_without_an_answer_is_retried_ever_later(store: Store, ready_pool: Pool, error: Exception) -> None:
    job_id, ready_pool.error = submit(store), error
    with job_workers(store, ready_pool):
        found = wait_for_end(store, job_id)
    assert (found.state, found.failures, found.error) == ("failed", MOST_FAILURES, "plan: no answer came")
    assert kinds(store, job_id).count("retried") == MOST_FAILURES
    assert [task.grace_s for task in ready_pool.tasks] == [3.0, 6.0, 12.0, 24.0]


def test_a_resumed_deterministic_job_ignores_its_earlier_plan(store: Store, ready_pool: Pool) -> None:
    job_id = submit(store, deterministic=True)
    (claim,) = store.leases.claim("before", 1, 1, PATIENCE)
    store.leases.release(claim, "its worker stopped", LOOSE_ANSWER)
    with job_workers(store, ready_pool):
        assert wait_for_end(store, job_id).plan_status == "optimal"
    plan = plan_of(store, job_id)
    assert (plan.reproducible, plan.wall_time_s) == (True, None)


def test_the_deadline_of_a_job_shortens_its_time_limit(store: Store, ready_pool: Pool) -> None:
    job_id = submit(store, deadline_at=time.time() + 2.0)
    with job_workers(store, ready_pool):
        wait_for_end(store, job_id)
    limit_s = ready_pool.tasks[0].limit_s
    assert limit_s is not None
    assert 0 < limit_s <= 2.0


def test_a_later_equal_job_is_passed_the_known_plan(store: Store, ready_pool: Pool) -> None:
    with job_workers(store, ready_pool):
        first, again = (wait_for_end(store, submit(store)) for _ in range(2))
    assert (first.plan_status, again.plan_status) == ("optimal", "optimal")
    assert [task.arguments[0].record is None for task in ready_pool.tasks] == [True, False]


@pytest.mark.skipif(obstacle() is not None, reason=str(obstacle()))
@pytest.mark.slow
def test_a_job_result_is_written_after_an_unreachable_database_returns(tmp_path: Path) -> None:
    def check(server: PostgreSQL, store: Store) -> None:
        job_id, pool = submit(store), Pool()
        with job_workers(store, pool):
            wait_until(lambda: pool.in_work == 1)
            server.kill()
            pool.may_run.set()
            wait_until(lambda: pool.in_work == 0)
            with ThreadPoolExecutor(1) as starting:  # a worker that starts while its database does waits for it
                late = starting.submit(Store.open, server.url(), tmp_path, 60.0)
                server.start()
                late.result().close()
            assert wait_for_end(store, job_id).state == "succeeded"
        assert kinds(store, job_id)[-1] == "finished"

    with postgresql(is_safe=True) as server, closing(Store.open(server.url(), tmp_path)) as store:
        check(server, store)


def test_two_workers_share_all_jobs_and_run_each_once(store: Store) -> None:
    names, here, there = [submit(store) for _ in range(30)], Pool(), Pool()
    here.may_run.set()
    there.may_run.set()
    with job_workers(store, here, workers=2), job_workers(store, there, workers=2):
        assert all(wait_for_end(store, name).attempts == 1 for name in names)
    assert len(here.tasks) + len(there.tasks) == 30
    assert all(kinds(store, name)[-1] == "finished" for name in names)
