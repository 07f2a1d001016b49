"""A database that memplan 0.1.0 wrote opens, is brought up to date, and says what it said."""

from __future__ import annotations

import asyncio
import json
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from memplan.api.service.cache.cached_plan import result_of
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.cache.plan_cache import PlanCache
from memplan.api.store.api_key import Key
from memplan.api.store.database import FILE
from memplan.api.store.job import StoredJob
from memplan.api.store.store import Store
from memplan.api.store.tables.jobs import JobsWanted
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify

DATABASE = Path(__file__).parents[2] / "data" / "store-0.1.0.db"
"""Written by 0.1.0: two jobs that its server solved, and four that its store was left with."""
SOLVED, INFEASIBLE = "01a1fbd6-4e71-708a-bc1a-e23d82a9e883", "01a1fbd6-4e91-731a-bc9e-1ce0637de356"
EASY = Problem.model_validate(
    {
        "name": "easy",
        "buffers": [
            {"id": "a", "size": 64, "start": 0, "end": 3},
            {"id": "b", "size": 32, "start": 2, "end": 5},
            {"id": "c", "size": 64, "start": 4, "end": 6},
        ],
        "pools": [{"name": "sram", "size": 1024, "alignment": 16}],
    }
)
LARGE = 2**70


@pytest.fixture
def old_store(tmp_path: Path) -> Iterator[Store]:
    shutil.copy(DATABASE, tmp_path / FILE)
    opened = Store.open(None, tmp_path)
    yield opened
    opened.close()


def found(store: Store, job_id: str) -> StoredJob:
    job = store.jobs.find(job_id)
    assert job is not None
    return job


def test_jobs_keep_their_states_and_numbers(old_store: Store) -> None:
    assert old_store.jobs.counts() == {"succeeded": 2, "failed": 1, "cancelled": 1, "running": 1, "queued": 1}
    assert [job.name for job in old_store.jobs.page(JobsWanted(of_all_keys=True))] == [
        *("running", "queued", "failed", "cancelled"),
        *("night build", "easy"),
    ]
    assert found(old_store, "job-running") == StoredJob(
        id="job-running",
        key_id="key1",
        state="running",
        priority=7,
        problem_hash=f"sha256:{3:064}",
        name="running",
        n_buffers=2,
        options={"seed": 3, "solver": "auto"},
        deadline_at=None,
        created_at=1795226603.0,
        started_at=1795226555.4351852,
        finished_at=None,
        attempts=1,
        is_cancel_asked=False,
        last_event=4,
        progress={"peak": LARGE, "lower_bound": LARGE, "gap": 0.0, "solver": "exact"},
        plan_status="feasible",
        error=None,
        late_s=None,
    )
    queued, failed = found(old_store, "job-queued"), found(old_store, "job-failed")
    assert (queued.priority, queued.deadline_at, queued.attempts, queued.key_id) == (-2, 1795300000.0, 0, None)
    assert (failed.error, failed.finished_at) == ("its process ended early", 1795226555.3905687)
    assert found(old_store, "job-cancelled").is_cancel_asked


def test_problems_plans_and_events_of_jobs_are_kept(old_store: Store) -> None:
    problem, plan = old_store.jobs.problem("job-queued"), old_store.jobs.plan(SOLVED)
    assert problem is not None
    assert json.loads(zlib.decompress(problem))["buffers"][0] == {"id": "a", "size": 68, "start": 0, "end": 3}
    assert plan is not None
    told = json.loads(zlib.decompress(plan))
    assert (told["status"], told["peak"], told["stop_reason"]) == ("optimal", 96, "proved")
    assert [row["offset"] for row in told["placements"]] == [0, 64, 0]
    assert found(old_store, INFEASIBLE).plan_status == "infeasible"
    events = old_store.events.after("job-running", 2)
    assert [(event.seq, event.kind, event.data["peak"]) for event in events] == [
        (3, "better", 160),
        (4, "better", LARGE),
    ]


def test_a_known_plan_answers_its_problem(old_store: Store) -> None:
    compiled = CompiledProblem.of(EASY)
    stored = old_store.plans.find(compiled.hash)
    assert stored is not None
    assert (stored.status, stored.is_final, stored.peak, stored.searched_s) == ("feasible", False, 3, 0.0)
    known = asyncio.run(PlanCache(old_store, memory_bytes=2**20, most_plans=9, most_bytes=2**20).find(compiled))
    assert known is not None
    result = result_of(known, compiled)
    assert result is not None
    plan = result.plan
    assert (plan.status, plan.peak, verify(EASY, plan)) == ("optimal", 96, ())


def test_keys_are_kept_also_those_that_were_revoked(old_store: Store) -> None:
    assert old_store.keys.all() == [
        Key("key1", "build-farm", "5f1d", frozenset({"plan", "read"}), 1795226000.5, 50, used_at=1795226400.25),
        Key("key2", "dashboard", "77aa", frozenset({"read"}), 1795226001.0, None, 120, revoked_at=1795226500.0),
    ]


def test_jobs_go_on_where_they_were(old_store: Store) -> None:
    old_store.leases.take_over(["server1"])
    claims = old_store.leases.claim("server2", 9)
    assert [(claim.job.id, claim.time_limit_s, claim.plan is None) for claim in claims] == [
        ("job-queued", 14.0, True),
        ("job-running", 13.0, False),
    ]
