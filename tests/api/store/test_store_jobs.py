"""Jobs in the store: run under leases, ended once. The same on SQLite and PostgreSQL."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from memplan.api.store.job import JobOutcome, WorkAnswer
from memplan.api.store.store import Store
from memplan.api.store.tables.leases import MOST_LAPSES
from tests.support.made_jobs import BETTER, FOUND, PLAN, REASON, add, claim, state, told


def test_the_highest_priority_goes_first_and_then_the_oldest(store: Store) -> None:
    names = [add(store, priority=priority, id=f"job{i}") for i, priority in enumerate((0, -5, 9, 0, 9))]
    claimed = store.leases.claim("here", 10, 10, 60.0)
    assert [one.job.id for one in claimed] == [names[i] for i in (2, 4, 0, 3, 1)]


def test_of_one_key_a_holder_runs_so_many_and_leaves_the_others_to_other_keys(store: Store) -> None:
    flood = [add(store, key_id="flood", priority=100) for _ in range(4)]
    nobodys = [add(store) for _ in range(3)]
    late = add(store, key_id="late", priority=-100)
    claimed = [one.job.id for one in store.leases.claim("here", 9, 2, 60.0)]
    assert claimed == [*flood[:2], *nobodys[:2], late]
    assert [one.job.id for one in store.leases.claim("there", 2, 1, 60.0)] == [flood[2], nobodys[2]]


def test_a_claim_brings_all_that_is_needed(store: Store) -> None:
    job_id = add(store, time_limit_s=2.5)
    claimed = claim(store)
    assert (claimed.head, claimed.body, claimed.answer, claimed.job.time_limit_s) == (
        "application/json\t",
        b"problem",
        None,
        2.5,
    )
    assert (claimed.job.state, claimed.job.attempts, claimed.lease.job_id) == ("running", 1, job_id)
    assert store.leases.claim("elsewhere", 1, 1, 60.0) == []


def test_workers_that_claim_at_once_never_get_the_same_job(store: Store) -> None:
    names = {add(store) for _ in range(40)}

    def take(server: str) -> list[str]:
        taken = []
        while claimed := store.leases.claim(server, 3, 99, 60.0):
            taken += [one.job.id for one in claimed]
        return taken

    with ThreadPoolExecutor(4) as servers:
        taken = [name for found in servers.map(take, "abcd") for name in found]
    assert sorted(taken) == sorted(names)


def test_what_is_found_is_told_in_order_and_kept(store: Store) -> None:
    job_id = add(store)
    lease = claim(store).lease
    assert store.leases.report(lease, [(FOUND, 0.1), (BETTER, 0.25)], PLAN)
    job = store.jobs.find(job_id)
    assert job is not None
    assert (job.progress, job.plan_status, store.jobs.answer(job_id)) == (BETTER, "feasible", b"plan")
    events = store.events.after(job_id, 2)
    assert [(event.seq, event.kind, event.data["peak"]) for event in events] == [
        (3, "better", 30),
        (4, "better", 2**70),
    ]
    assert store.leases.report(lease, [], WorkAnswer(b"another", "optimal"))
    assert store.jobs.answer(job_id) == b"another"
    assert told(store, job_id) == ["queued", "started", "better", "better"]


def test_a_job_ends_once(store: Store) -> None:
    job_id = add(store)
    lease = claim(store).lease
    assert store.leases.finish(lease, JobOutcome("succeeded", PLAN))
    assert not store.leases.finish(lease, JobOutcome("failed", error="no"))
    assert not store.leases.report(lease, [(BETTER, 0.25)], WorkAnswer(b"late", "optimal"))
    assert not store.leases.release(lease, REASON)
    job = store.jobs.find(job_id)
    assert job is not None
    assert (job.state, job.progress, job.plan_status, job.late_s) == ("succeeded", FOUND, "feasible", None)
    assert job.finished_at is not None
    assert store.jobs.answer(job_id) == b"plan"
    assert told(store, job_id) == ["queued", "started", "finished"]


def test_a_worker_that_lost_its_lease_changes_nothing(store: Store) -> None:
    job_id = add(store)
    old = claim(store, lease_s=-1.0).lease
    assert store.leases.tend() == ([], [job_id])
    new_one = claim(store).lease  # the same worker has it again, under another lease
    assert not store.leases.finish(old, JobOutcome("succeeded", PLAN))
    assert not store.leases.report(old, [(FOUND, 0.1)], PLAN)
    assert store.jobs.answer(job_id) is None
    assert store.leases.finish(new_one, JobOutcome("succeeded", PLAN))
    assert told(store, job_id) == ["queued", "started", "retried", "started", "finished"]


def test_of_several_finishes_at_once_one_succeeds(store: Store) -> None:
    add(store)
    lease = claim(store).lease
    with ThreadPoolExecutor(8) as threads:
        ended = list(threads.map(lambda _: store.leases.finish(lease, JobOutcome("succeeded")), range(8)))
    assert ended.count(True) == 1


def test_a_job_that_is_released_goes_on_from_its_plan(store: Store) -> None:
    job_id = add(store)
    assert store.leases.release(claim(store).lease, REASON, PLAN)
    again = claim(store, "elsewhere")
    assert (again.job.id, again.job.attempts, again.answer, again.job.plan_status) == (job_id, 1, b"plan", "feasible")
    assert told(store, job_id) == ["queued", "started", "retried", "started"]


def test_jobs_whose_lease_is_over_wait_again_and_others_go_on(store: Store) -> None:
    lost, kept = add(store), add(store)
    claim(store, "dead", lease_s=-1.0)
    claim(store, "alive", lease_s=0.0)
    assert list(store.leases.renew("alive", 60.0).values()) == [False]
    assert store.leases.tend() == ([], [lost])
    assert (state(store, lost), state(store, kept)) == ("queued", "running")


def test_a_job_whose_worker_ends_again_and_again_fails(store: Store) -> None:
    job_id = add(store)
    for _ in range(MOST_LAPSES):
        claim(store, lease_s=-1.0)
        store.leases.tend()
        assert state(store, job_id) == "queued"
    claim(store, lease_s=-1.0)
    store.leases.tend()
    job = store.jobs.find(job_id)
    assert job is not None
    assert (job.state, job.error) == ("failed", f"its worker ended while it ran, {MOST_LAPSES + 1} times")
    assert store.events.after(job_id, 0)[-1].data["error"] == job.error


def test_a_job_that_was_to_be_cancelled_is_when_its_worker_ends(store: Store) -> None:
    job_id = add(store)
    claim(store, lease_s=-1.0)
    asked = store.jobs.ask_to_cancel(job_id)
    assert asked is not None
    assert (asked.state, asked.is_cancel_asked) == ("running", True)
    store.leases.tend()
    assert state(store, job_id) == "cancelled"


def test_a_job_that_was_to_be_cancelled_is_when_its_worker_stops(store: Store) -> None:
    job_id = add(store)
    lease = claim(store).lease
    store.jobs.ask_to_cancel(job_id)
    assert store.leases.release(lease, REASON, PLAN)
    assert state(store, job_id) == "cancelled"
    assert told(store, job_id)[-1] == "finished"


def test_a_worker_sees_what_is_asked_of_its_jobs(store: Store) -> None:
    names = [add(store), add(store)]
    leases = [claim(store).lease, claim(store).lease]
    store.jobs.ask_to_cancel(names[1])
    assert store.leases.renew("here", 60.0) == {leases[0]: False, leases[1]: True}
    assert (store.leases.cancelled("here"), store.leases.cancelled("elsewhere")) == ({names[1]}, set())
    assert store.leases.renew("elsewhere", 60.0) == {}


def test_a_job_that_waits_is_cancelled_at_once_and_stays_so(store: Store) -> None:
    job_id = add(store)
    for _ in range(2):
        job = store.jobs.ask_to_cancel(job_id)
        assert job is not None
        assert job.state == "cancelled"
    assert told(store, job_id) == ["queued", "finished"]
    assert store.leases.claim("here", 1, 1, 60.0) == []


def test_cancelling_does_nothing_to_what_has_ended(store: Store) -> None:
    job_id = add(store)
    store.leases.finish(claim(store).lease, JobOutcome("succeeded", PLAN))
    job = store.jobs.ask_to_cancel(job_id)
    assert job is not None
    assert (job.state, job.is_cancel_asked) == ("succeeded", False)


def test_a_deadline_that_passes_in_the_line_ends_a_job(store: Store) -> None:
    late = add(store, deadline_at=time.time() - 1.5)
    in_time, without = add(store, deadline_at=time.time() + 1000), add(store)
    assert store.leases.tend() == ([late], [])
    assert [state(store, name) for name in (late, in_time, without)] == ["expired", "queued", "queued"]
    job = store.jobs.find(late)
    assert job is not None
    assert job.late_s is not None
    assert 1.5 <= job.late_s < 60


def test_a_job_that_ends_late_says_by_how_much(store: Store) -> None:
    job_id = add(store, deadline_at=time.time() - 2.0)
    store.leases.finish(claim(store).lease, JobOutcome("succeeded", PLAN))
    job = store.jobs.find(job_id)
    assert job is not None
    assert job.late_s is not None
    assert 2.0 <= job.late_s < 60
    assert store.events.after(job_id, 2)[0].data["late_s"] == job.late_s


def test_old_jobs_are_removed_with_all_that_is_theirs(store: Store) -> None:
    ended, waiting = add(store), add(store)
    store.leases.finish(claim(store).lease, JobOutcome("succeeded", PLAN))
    assert store.leases.remove_ended(time.time() - 100) == 0
    assert store.leases.remove_ended(time.time() + 1) == 1
    assert store.jobs.find(ended) is None
    assert (store.jobs.request(ended), store.jobs.answer(ended), store.events.after(ended, 0)) == (None, None, [])
    assert state(store, waiting) == "queued"
