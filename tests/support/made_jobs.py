"""Jobs for tests, and what a store says of them."""

from __future__ import annotations

from typing import Any

from memplan.api.store.job import Claim, NewJob, PackedPlan
from memplan.api.store.store import Store
from memplan.api.store.tables.arrivals import JobLimits
from memplan.api.store.tables.jobs import JobsWanted
from memplan.solvers.search.result import Progress

ROOM = JobLimits(jobs=1000)
EVERYBODY = JobsWanted(of_all_keys=True)
FOUND = Progress(0.1, 30, 20, "greedy").facts()
BETTER = Progress(0.25, 2**70, 2**70, "exact").facts()
REASON = "its worker stopped"
PLAN = PackedPlan(b"plan", "feasible")


def new(**said: Any) -> NewJob:
    usual: dict[str, Any] = {"problem": b"problem", "problem_hash": "sha256:0", "n_buffers": 2, "time_limit_s": 10.0}
    return NewJob(**usual | {"options": {"seed": 3}} | said)


def add(store: Store, **said: Any) -> str:
    return store.arrivals.add(new(**said), ROOM).id


def claim(store: Store, holder: str = "here", lease_s: float = 60.0) -> Claim:
    (claimed,) = store.leases.claim(holder, 1, 99, lease_s)
    return claimed


def told(store: Store, job_id: str) -> list[str]:
    events = store.events.after(job_id, 0)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    return [event.kind for event in events]


def state(store: Store, job_id: str) -> str:
    job = store.jobs.find(job_id)
    assert job is not None
    return job.state
