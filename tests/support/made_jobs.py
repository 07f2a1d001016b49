"""Jobs for tests, and shortcuts for calls of the store."""

from collections import Counter
from typing import Any

from memplan.api.store.caller import ANY_CALLER, Caller
from memplan.api.store.job import Job, WorkAnswer
from memplan.api.store.store import Store
from memplan.api.store.tables.jobs import JobQuery
from memplan.solvers.search.result import Progress

FOUND = Progress(0.1, 30, 20, "greedy").facts()
BETTER = Progress(0.25, 2**70, 2**70, "exact").facts()
REASON = "its worker stopped"
PLAN = WorkAnswer(b"plan", "feasible", facts=FOUND)


def new_job(**said: Any) -> Job:
    usual: dict[str, Any] = {"problem_hash": "sha256:0", "n_buffers": 2, "time_limit_s": 10.0}
    return Job(**usual | {"head": "application/json\t", "body": b"problem"} | {"options": {"seed": 3}} | said)


def add(store: Store, most: int = 1000, most_of_key: int | None = None, **said: Any) -> str:
    return store.jobs.add(new_job(**said), most, most_of_key).id


def list_jobs(store: Store, **wanted: Any) -> list[Job]:
    key_id = wanted.pop("key_id", "")
    caller = ANY_CALLER if key_id == "" else Caller(key_id, None, frozenset({"read"}))
    return store.jobs.page(JobQuery(**wanted), caller)


def states(store: Store) -> dict[str, int]:
    return dict(Counter(job.state for job in list_jobs(store, limit=1000)))


def claim(store: Store, holder: str = "here", lease_s: float = 60.0) -> Job:
    (claimed,) = store.leases.claim(holder, 1, 99, lease_s)
    return claimed


def event_kinds(store: Store, job_id: str) -> list[str]:
    events = store.events.events_after(job_id, 0)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    return [event.kind for event in events]


def state(store: Store, job_id: str) -> str:
    job = store.jobs.find(job_id)
    assert job is not None
    return job.state
