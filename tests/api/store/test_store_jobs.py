"""Claiming, reporting and ending jobs under leases in the store, on SQLite and PostgreSQL."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from memplan.api.store.job import WorkAnswer
from memplan.api.store.store import Store
from memplan.api.store.tables.leases import MOST_LAPSES
from tests.support.made_jobs import BETTER, FOUND, PLAN, REASON, add, claim, event_kinds, state
from tests.support.values import require_value


@pytest.mark.parametrize("seed", range(6))
def test_claims_that_skip_keys_at_their_limit_match_a_scan_of_all_jobs(seed: int, store: Store) -> None:
    drawn, waiting = Random(seed), dict[str, tuple[str | None, int]]()
    for _ in range(25):
        key, priority = drawn.choice([None, "a", "b", "c", "d"]), drawn.randint(-1, 1)
        waiting[add(store, key_id=key, priority=priority)] = key, priority
    runs = Counter[str | None]()
    while waiting:
        of_key = drawn.randint(1, 3)
        wanted = [name for name, (key, _) in waiting.items() if runs[key] < of_key]
        first = min(wanted, key=lambda name: (-waiting[name][1], name), default=None)
        assert [one.id for one in store.leases.claim("here", 1, of_key, 60.0)] == ([] if first is None else [first])
        if first is None:
            if of_key == 3 and drawn.random() < 0.5:
                break
            continue
        runs[waiting.pop(first)[0]] += 1


def test_a_claimed_job_carries_its_request_and_time_limit(store: Store) -> None:
    job_id = add(store, time_limit_s=2.5)
    job = claim(store)
    assert (job.head, job.body, job.answer, job.time_limit_s) == ("application/json\t", b"problem", None, 2.5)
    assert (job.state, job.attempts, job.id) == ("running", 1, job_id)
    assert store.leases.claim("elsewhere", 1, 1, 60.0) == []


def test_concurrent_claims_never_return_the_same_job(store: Store) -> None:
    names = {add(store) for _ in range(40)}

    def take(server: str) -> list[str]:
        taken = []
        while claimed := store.leases.claim(server, 3, 99, 60.0):
            taken += [one.id for one in claimed]
        return taken

    with ThreadPoolExecutor(4) as servers:
        taken = [name for found in servers.map(take, "abcd") for name in found]
    assert sorted(taken) == sorted(names)


def test_better_plans_of_a_job_are_recorded_in_order(store: Store) -> None:
    job_id = add(store)
    claimed = claim(store)
    assert store.leases.report(claimed, [(FOUND, 0.1), (BETTER, 0.25)], PLAN)
    job = require_value(store.jobs.find(job_id))
    assert (job.progress, job.plan_status, store.jobs.answer(job_id)) == (BETTER, "feasible", b"plan")
    better = [(event.seq, event.kind, event.data["peak"]) for event in store.events.events_after(job_id, 2)]
    assert better == [(3, "better", 30), (4, "better", 2**70)]
    assert store.leases.report(claimed, [], WorkAnswer(b"another", "optimal"))
    assert store.jobs.answer(job_id) == b"another"
    assert event_kinds(store, job_id) == ["queued", "started", "better", "better"]


def test_a_finished_job_accepts_no_further_report_finish_or_release(store: Store) -> None:
    job_id = add(store)
    claimed = claim(store)
    assert store.leases.finish(claimed, "succeeded", PLAN)
    assert not store.leases.finish(claimed, "failed", error="no")
    assert not store.leases.report(claimed, [(BETTER, 0.25)], WorkAnswer(b"late", "optimal"))
    assert not store.leases.release(claimed, REASON)
    job = require_value(store.jobs.find(job_id))
    assert (job.state, job.progress, job.plan_status, job.late_s) == ("succeeded", FOUND, "feasible", None)
    assert job.finished_at is not None
    assert (store.jobs.answer(job_id), event_kinds(store, job_id)) == (b"plan", ["queued", "started", "finished"])


def test_exactly_one_of_several_concurrent_finishes_succeeds(store: Store) -> None:
    add(store)
    claimed = claim(store)
    with ThreadPoolExecutor(8) as threads:
        ended = list(threads.map(lambda _: store.leases.finish(claimed, "succeeded"), range(8)))
    assert ended.count(True) == 1


def test_a_released_job_continues_from_its_best_plan(store: Store) -> None:
    job_id = add(store)
    assert store.leases.release(claim(store), REASON, PLAN)
    again = claim(store, "elsewhere")
    assert (again.id, again.attempts, again.answer, again.plan_status) == (job_id, 1, b"plan", "feasible")
    assert event_kinds(store, job_id) == ["queued", "started", "retried", "started"]


def test_a_job_fails_after_too_many_expired_leases(store: Store) -> None:
    job_id = add(store)
    for _ in range(MOST_LAPSES):
        claim(store, lease_s=-1.0)
        store.leases.expire_jobs()
        assert state(store, job_id) == "queued"
    claim(store, lease_s=-1.0)
    store.leases.expire_jobs()
    job = require_value(store.jobs.find(job_id))
    assert (job.state, job.error) == ("failed", f"the worker ended while it ran the job, {MOST_LAPSES + 1} times")
    assert store.events.events_after(job_id, 0)[-1].data["error"] == job.error


def test_a_job_expires_if_its_deadline_passes_in_the_queue(store: Store) -> None:
    late = add(store, deadline_at=time.time() - 1.5)
    in_time, without = add(store, deadline_at=time.time() + 1000), add(store)
    assert store.leases.expire_jobs() == ([late], [])
    assert [state(store, name) for name in (late, in_time, without)] == ["expired", "queued", "queued"]
    assert 1.5 <= require_value(require_value(store.jobs.find(late)).late_s) < 60


def test_a_job_that_ends_after_its_deadline_records_the_delay(store: Store) -> None:
    job_id = add(store, deadline_at=time.time() - 2.0)
    store.leases.finish(claim(store), "succeeded", PLAN)
    job = require_value(store.jobs.find(job_id))
    assert job.late_s is not None
    assert 2.0 <= job.late_s < 60
    assert store.events.events_after(job_id, 2)[0].data["late_s"] == job.late_s


def test_old_jobs_are_removed_with_all_their_data(store: Store) -> None:
    over, waiting = add(store), add(store)
    store.leases.finish(claim(store), "succeeded", PLAN)
    assert (store.leases.remove_ended(time.time() - 100), store.leases.remove_ended(time.time() + 1)) == (0, 1)
    assert store.jobs.find(over) is None
    assert (store.jobs.request(over), store.jobs.answer(over), store.events.events_after(over, 0)) == (None, None, [])
    assert state(store, waiting) == "queued"
