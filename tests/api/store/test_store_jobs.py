"""Jobs in the store: let in, listed, run under leases, ended once. The same on SQLite and PostgreSQL."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest

from api.jobs.states import STATES
from api.refusals import FullError
from api.store.arrivals import Room
from api.store.errors import RepeatedKeyError
from api.store.job import Claim, NewJob, News, Outcome, PackedPlan, Progress, new_id
from api.store.jobs import Wanted
from api.store.leases import MOST_ATTEMPTS
from api.store.store import Store

ROOM = Room(jobs=1000)
EVERYBODY = Wanted(of_everybody=True)
FOUND = Progress(peak=30, lower_bound=20, gap=0.5, solver="greedy")
BETTER = Progress(peak=2**70, lower_bound=2**70, gap=0.0, solver="exact")
REASON = "its server stopped"
PLAN = PackedPlan(b"plan", "feasible")


def new(**said: Any) -> NewJob:
    usual: dict[str, Any] = {"problem": b"problem", "problem_hash": "sha256:0", "n_buffers": 2, "time_limit_s": 10.0}
    return NewJob(**usual | {"options": {"seed": 3}} | said)


def add(store: Store, **said: Any) -> str:
    return store.arrivals.add(new(**said), ROOM).id


def claim(store: Store, owner: str = "here") -> Claim:
    (claimed,) = store.leases.claim(owner, 1)
    return claimed


def told(store: Store, job_id: str) -> list[str]:
    events = store.events.after(job_id, 0)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    return [event.kind for event in events]


def state(store: Store, job_id: str) -> str:
    job = store.jobs.find(job_id)
    assert job is not None
    return job.state


def test_a_job_is_kept_as_it_was_submitted(store: Store) -> None:
    said = new(name="a\0name", priority=7, deadline_at=5.5, key_id="key")
    assert store.arrivals.add(said, ROOM) == store.jobs.find(said.id)
    job = store.jobs.find(said.id)
    assert job is not None
    assert (job.state, job.name, job.priority, job.deadline_at) == ("queued", "a\0name", 7, 5.5)
    assert (job.options, job.key_id, job.problem_hash, job.attempts) == ({"seed": 3}, "key", "sha256:0", 0)
    assert store.jobs.problem(said.id) == b"problem"
    assert store.jobs.plan(said.id) is None
    assert told(store, said.id) == ["queued"]


def test_what_is_not_there_is_none(store: Store) -> None:
    assert store.jobs.find("nobody") is None
    assert store.jobs.problem("nobody") is None
    assert store.jobs.ask_to_cancel("nobody") is None
    assert store.events.after("nobody", 0) == []


def test_the_same_request_is_one_job(store: Store) -> None:
    first = add(store, idempotency_key="k", request_digest="same")
    assert add(store, idempotency_key="k", request_digest="same") == first
    assert add(store, idempotency_key="k", request_digest="same", key_id="another") != first
    assert len(store.jobs.page(EVERYBODY)) == 2


def test_another_request_with_the_same_key_is_refused(store: Store) -> None:
    first = add(store, idempotency_key="k", request_digest="one")
    with pytest.raises(RepeatedKeyError, match=f"must be new for a new request, this one made job {first}"):
        add(store, idempotency_key="k", request_digest="another")


def test_requests_that_come_together_are_one_job_as_well(store: Store) -> None:
    same = [(new(idempotency_key="k", request_digest="same"), ROOM) for _ in range(3)]
    other = (new(idempotency_key="k", request_digest="another"), ROOM)
    one, two, three, refused = store.arrivals.add_all([*same, other])
    assert one == two == three
    assert isinstance(refused, RepeatedKeyError)


def test_requests_that_come_at_once_are_one_job_as_well(store: Store) -> None:
    with ThreadPoolExecutor(6) as callers:
        asked = [callers.submit(add, store, idempotency_key="k", request_digest="same") for _ in range(30)]
        assert len({one.result() for one in asked}) == 1
    assert store.jobs.counts() == {"queued": 1}


def test_there_is_room_for_so_many(store: Store) -> None:
    room = Room(jobs=3, jobs_of_key=2)
    results = store.arrivals.add_all([(new(key_id=key), room) for key in ("a", "a", "a", "b", "b")])
    assert [isinstance(one, FullError) for one in results] == [False, False, True, False, True]
    with pytest.raises(FullError, match="at most 2 of one key, and 3 of all, may wait or run at a time"):
        store.arrivals.add(new(key_id="a"), room)
    store.jobs.ask_to_cancel(store.jobs.page(EVERYBODY)[0].id)
    store.arrivals.add(new(key_id="b"), room)


def test_ids_sort_by_when_they_were_made() -> None:
    names = []
    for _ in range(20):
        names.append(new_id())
        time.sleep(0.001)
    assert all(one < two for one, two in pairwise(names))


def test_the_highest_priority_goes_first_and_then_the_oldest(store: Store) -> None:
    names = [add(store, priority=priority, id=f"job{i}") for i, priority in enumerate((0, -5, 9, 0, 9))]
    claimed = store.leases.claim("here", 10)
    assert [one.job.id for one in claimed] == [names[i] for i in (2, 4, 0, 3, 1)]


def test_a_claim_brings_all_that_is_needed(store: Store) -> None:
    job_id = add(store, time_limit_s=2.5)
    claimed = claim(store)
    assert (claimed.problem, claimed.plan, claimed.time_limit_s) == (b"problem", None, 2.5)
    assert (claimed.job.state, claimed.job.attempts, claimed.lease.job_id) == ("running", 1, job_id)
    assert store.leases.claim("elsewhere", 1) == []


def test_servers_that_claim_at_once_never_get_the_same_job(store: Store) -> None:
    names = {add(store) for _ in range(40)}

    def take(owner: str) -> list[str]:
        taken = []
        while claimed := store.leases.claim(owner, 3):
            taken += [one.job.id for one in claimed]
        return taken

    with ThreadPoolExecutor(4) as servers:
        taken = [name for found in servers.map(take, "abcd") for name in found]
    assert sorted(taken) == sorted(names)


def test_what_is_found_is_told_in_order_and_kept(store: Store) -> None:
    job_id = add(store)
    lease = claim(store).lease
    assert store.leases.report(lease, [News(FOUND, 0.1), News(BETTER, 0.25)], PLAN)
    job = store.jobs.find(job_id)
    assert job is not None
    assert (job.progress, job.plan_status, store.jobs.plan(job_id)) == (BETTER, "feasible", b"plan")
    events = store.events.after(job_id, 2)
    assert [(event.seq, event.kind, event.data["peak"]) for event in events] == [
        (3, "better", 30),
        (4, "better", 2**70),
    ]
    assert store.leases.report(lease, [], PackedPlan(b"another", "optimal"))
    assert store.jobs.plan(job_id) == b"another"
    assert told(store, job_id) == ["queued", "started", "better", "better"]


def test_a_job_ends_once(store: Store) -> None:
    job_id = add(store)
    lease = claim(store).lease
    assert store.leases.finish(lease, Outcome("succeeded", FOUND, PLAN))
    assert not store.leases.finish(lease, Outcome("failed", error="no"))
    assert not store.leases.report(lease, [News(BETTER, 1.0)], PackedPlan(b"late", "optimal"))
    assert not store.leases.hand_back(lease, REASON)
    job = store.jobs.find(job_id)
    assert job is not None
    assert (job.state, job.progress, job.plan_status, job.late_s) == ("succeeded", FOUND, "feasible", None)
    assert job.finished_at is not None
    assert store.jobs.plan(job_id) == b"plan"
    assert told(store, job_id) == ["queued", "started", "finished"]


def test_who_lost_a_lease_changes_nothing(store: Store) -> None:
    job_id = add(store)
    old = claim(store).lease
    assert store.leases.take_over(["here"]) == [job_id]
    new_one = claim(store).lease  # the same server has it again, under another lease
    assert not store.leases.finish(old, Outcome("succeeded", FOUND, PLAN))
    assert not store.leases.report(old, [News(FOUND, 0.1)], PLAN)
    assert store.jobs.plan(job_id) is None
    assert store.leases.finish(new_one, Outcome("succeeded", FOUND, PLAN))
    assert told(store, job_id) == ["queued", "started", "retried", "started", "finished"]


def test_only_one_of_many_who_finish_at_once_does(store: Store) -> None:
    add(store)
    lease = claim(store).lease
    with ThreadPoolExecutor(8) as threads:
        ended = list(threads.map(lambda _: store.leases.finish(lease, Outcome("succeeded")), range(8)))
    assert ended.count(True) == 1


def test_a_job_that_is_handed_back_goes_on_from_its_plan(store: Store) -> None:
    job_id = add(store)
    assert store.leases.hand_back(claim(store).lease, REASON, PLAN)
    again = claim(store, "elsewhere")
    assert (again.job.id, again.job.attempts, again.plan, again.job.plan_status) == (job_id, 1, b"plan", "feasible")
    assert told(store, job_id) == ["queued", "started", "retried", "started"]


def test_jobs_of_a_dead_server_wait_again_and_those_of_others_go_on(store: Store) -> None:
    lost, kept = add(store), add(store)
    claim(store, "dead")
    claim(store, "alive")
    assert store.leases.owners() == {"dead", "alive"}
    assert store.leases.take_over(["dead"]) == [lost]
    assert (state(store, lost), state(store, kept)) == ("queued", "running")
    assert store.leases.owners() == {"alive"}


def test_a_job_whose_server_dies_again_and_again_fails(store: Store) -> None:
    job_id = add(store)
    for _ in range(MOST_ATTEMPTS):
        claim(store)
        store.leases.take_over(["here"])
        assert state(store, job_id) == "queued"
    claim(store)
    store.leases.take_over(["here"])
    job = store.jobs.find(job_id)
    assert job is not None
    assert (job.state, job.error) == ("failed", f"its server died while it ran, {MOST_ATTEMPTS + 1} times")
    assert store.events.after(job_id, 0)[-1].data["error"] == job.error


def test_a_job_that_was_to_be_cancelled_is_when_its_server_dies(store: Store) -> None:
    job_id = add(store)
    claim(store)
    asked = store.jobs.ask_to_cancel(job_id)
    assert asked is not None
    assert (asked.state, asked.is_cancel_asked) == ("running", True)
    store.leases.take_over(["here"])
    assert state(store, job_id) == "cancelled"


def test_a_job_that_was_to_be_cancelled_is_when_its_server_stops(store: Store) -> None:
    job_id = add(store)
    lease = claim(store).lease
    store.jobs.ask_to_cancel(job_id)
    assert store.leases.hand_back(lease, REASON, PLAN)
    assert state(store, job_id) == "cancelled"
    assert told(store, job_id)[-1] == "finished"


def test_a_server_sees_what_is_asked_of_its_jobs(store: Store) -> None:
    names = [add(store), add(store)]
    leases = [claim(store).lease, claim(store).lease]
    store.jobs.ask_to_cancel(names[1])
    assert store.leases.held_by("here") == {leases[0]: False, leases[1]: True}
    assert store.leases.held_by("elsewhere") == {}


def test_a_job_that_waits_is_cancelled_at_once_and_stays_so(store: Store) -> None:
    job_id = add(store)
    for _ in range(2):
        job = store.jobs.ask_to_cancel(job_id)
        assert job is not None
        assert job.state == "cancelled"
    assert told(store, job_id) == ["queued", "finished"]
    assert store.leases.claim("here", 1) == []


def test_cancelling_does_nothing_to_what_has_ended(store: Store) -> None:
    job_id = add(store)
    store.leases.finish(claim(store).lease, Outcome("succeeded", FOUND, PLAN))
    job = store.jobs.ask_to_cancel(job_id)
    assert job is not None
    assert (job.state, job.is_cancel_asked) == ("succeeded", False)


def test_a_deadline_that_passes_in_the_line_ends_a_job(store: Store) -> None:
    late = add(store, deadline_at=time.time() - 1.5)
    in_time, without = add(store, deadline_at=time.time() + 1000), add(store)
    assert store.leases.expire() == [late]
    assert [state(store, name) for name in (late, in_time, without)] == ["expired", "queued", "queued"]
    job = store.jobs.find(late)
    assert job is not None
    assert job.late_s is not None
    assert 1.5 <= job.late_s < 60


def test_a_job_that_ends_late_says_by_how_much(store: Store) -> None:
    job_id = add(store, deadline_at=time.time() - 2.0)
    store.leases.finish(claim(store).lease, Outcome("succeeded", FOUND, PLAN))
    job = store.jobs.find(job_id)
    assert job is not None
    assert job.late_s is not None
    assert 2.0 <= job.late_s < 60
    assert store.events.after(job_id, 2)[0].data["late_s"] == job.late_s


def test_jobs_are_listed_newest_first_page_by_page(store: Store) -> None:
    names = [add(store, id=f"job{i}") for i in range(5)]
    seen: list[str] = []
    after = None
    while page := store.jobs.page(Wanted(of_everybody=True, limit=2, after=after)):
        seen += [job.id for job in page]
        after = page[-1].id
    assert seen == names[::-1]


def test_jobs_are_listed_by_what_is_known_of_them(store: Store) -> None:
    mine = add(store, key_id="mine", name="a", problem_hash="sha256:1")
    other = add(store, key_id="other", name="b")
    add(store)
    claim(store)

    def found(**wanted: Any) -> list[str]:
        return [job.id for job in store.jobs.page(Wanted(**{"of_everybody": True} | wanted))]

    assert found(state="running") == found(name="a") == found(problem_hash="sha256:1") == [mine]
    assert found(of_everybody=False, key_id="other") == [other]
    assert found(of_everybody=False, key_id="other", name="a") == []
    assert len(found(of_everybody=False, key_id=None)) == 1
    assert all(isinstance(found(state=one), list) for one in STATES)


def test_old_jobs_are_removed_with_all_that_is_theirs(store: Store) -> None:
    ended, waiting = add(store), add(store)
    store.leases.finish(claim(store).lease, Outcome("succeeded", FOUND, PLAN))
    assert store.leases.remove_ended(time.time() - 100) == 0
    assert store.leases.remove_ended(time.time() + 1) == 1
    assert store.jobs.find(ended) is None
    assert (store.jobs.problem(ended), store.jobs.plan(ended), store.events.after(ended, 0)) == (None, None, [])
    assert state(store, waiting) == "queued"
