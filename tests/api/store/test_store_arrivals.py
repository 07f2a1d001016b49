"""Submitting and listing jobs in the store, on SQLite and PostgreSQL."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import event

from memplan.api.refusals import FullError
from memplan.api.store.errors import RepeatedKeyError
from memplan.api.store.job import STATES, new_id
from memplan.api.store.store import Store
from memplan.api.store.tables import jobs as jobs_table
from tests.support.made_jobs import add, claim, event_kinds, list_jobs, new_job, states

HASH = "sha256:" + 64 * "1"


def test_a_job_is_stored_as_it_was_submitted(store: Store) -> None:
    said = new_job(name="a\0name", priority=7, deadline_at=5.5, key_id="key")
    assert store.jobs.add(said, most=1) == said
    job = store.jobs.find(said.id)
    assert job is not None
    assert job == replace(said, head="", body=b"")
    assert (job.state, job.name, job.priority, job.deadline_at) == ("queued", "a\0name", 7, 5.5)
    assert (job.options, job.key_id, job.problem_hash, job.attempts) == ({"seed": 3}, "key", "sha256:0", 0)
    assert store.jobs.request(said.id) == ("application/json\t", b"problem")
    assert store.jobs.answer(said.id) is None
    assert event_kinds(store, said.id) == ["queued"]


def test_an_unknown_job_reads_as_none(store: Store) -> None:
    assert store.jobs.find("nobody") is None
    assert store.jobs.request("nobody") is None
    assert store.jobs.ask_to_cancel("nobody") is None
    assert store.events.events_after("nobody", 0) == []


def test_a_different_request_with_the_same_idempotency_key_is_refused(store: Store) -> None:
    first = add(store, idempotency_key="k", request_digest="one")
    with pytest.raises(RepeatedKeyError, match=f"must be new for a new request, but it was used for job {first}"):
        add(store, idempotency_key="k", request_digest="another")


def test_equal_requests_that_arrive_together_become_one_job(store: Store) -> None:
    with ThreadPoolExecutor(6) as callers:
        asked = [callers.submit(add, store, idempotency_key="k", request_digest="same") for _ in range(30)]
        assert len({one.result() for one in asked}) == 1
    assert states(store) == {"queued": 1}


def test_jobs_above_the_limits_in_total_or_per_key_are_refused(store: Store) -> None:
    for key in ("a", "a", "b"):
        add(store, most=3, most_of_key=2, key_id=key)
    for key in ("a", "b"):
        with pytest.raises(FullError, match="at most 3 unfinished in total, and at most 2 of one key"):
            add(store, most=3, most_of_key=2, key_id=key)
    store.jobs.ask_to_cancel(list_jobs(store)[0].id)
    add(store, most=3, most_of_key=2, key_id="b")


def test_job_ids_sort_by_time_of_creation() -> None:
    names = []
    for _ in range(20):
        names.append(new_id())
        time.sleep(0.001)
    assert all(one < two for one, two in pairwise(names))


def test_jobs_are_listed_newest_first_page_by_page(store: Store) -> None:
    names = [add(store) for _ in range(5)]
    seen: list[str] = []
    after = None
    while page := list_jobs(store, limit=2, after=after):
        seen += [job.id for job in page]
        after = page[-1].id
    assert seen == names[::-1]


def test_jobs_can_be_listed_by_state_name_and_hash(store: Store) -> None:
    mine = add(store, key_id="mine", name="a", problem_hash=HASH)
    claim(store)
    other = add(store, key_id="other", name="b")
    add(store)

    def listed_ids(**wanted: Any) -> list[str]:
        return [job.id for job in list_jobs(store, **wanted)]

    assert listed_ids(state="running") == listed_ids(name="a") == listed_ids(problem_hash=HASH) == [mine]
    assert (listed_ids(key_id="other"), listed_ids(key_id="other", name="a")) == ([other], [])
    assert len(listed_ids(key_id=None)) == 1
    assert all(isinstance(listed_ids(state=one), list) for one in STATES)


def test_open_jobs_are_recounted_only_near_their_limit(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_table, "_COUNT_S", 3600.0)
    counts: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        if "count(" in statement:
            counts.append(statement)

    event.listen(store._database.engine, "before_cursor_execute", note)
    for _ in range(20):
        add(store, 5000, 4000, key_id="key")
    assert len(counts) == 2  # of all, and of the key
    for _ in range(10):
        add(store, 1000)
    assert len(counts) == 12
    with pytest.raises(FullError, match="at most 30 unfinished"):
        add(store, 30)
    with pytest.raises(FullError, match="at most 5000 unfinished in total, and at most 20 of one key"):
        add(store, 5000, 20, key_id="key")
