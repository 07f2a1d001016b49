"""Workers of jobs for tests: real workers on a separate store, with a scripted pool."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

from memplan.api.faults import Faults
from memplan.api.http.submissions import read_new_job
from memplan.api.jobs.workers import JobWorkers
from memplan.api.settings import Settings
from memplan.api.store.job import Job, WorkAnswer
from memplan.api.store.store import Store
from memplan.api.workers.pool import ChildPool
from memplan.api.workers.task import Task, TaskControl
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.questions.plan.answers import write_plan

PROBLEM = Problem.model_validate(
    {"buffers": [{"id": "a", "size": 10, "start": 0, "end": 3}, {"id": "b", "size": 20, "start": 2, "end": 5}]}
)
_PLACES = [{"id": "a", "pool": "default", "offset": 0}, {"id": "b", "pool": "default", "offset": 20}]
LOOSE = Plan.model_validate({"peak": 40, "lower_bound": 30, "placements": _PLACES, "solver": "test"})
"""A valid plan of the test problem that is not optimal."""
LOOSELY = {"peak": 40, "lower_bound": 30, "gap": 1 / 3, "solver": "test"}
LOOSE_ANSWER = WorkAnswer(write_plan(LOOSE), "feasible", is_plan=True, facts=LOOSELY)
PATIENCE_S = 20.0


@dataclass
class Pool:
    """A pool whose tasks run in this process once `may_run` is set; earlier cancelled tasks return a loose plan."""

    may_run: threading.Event = field(default_factory=threading.Event)
    error: Exception | None = None
    faults: Faults = field(default_factory=Faults)
    tasks: list[Task] = field(default_factory=list)
    in_work: int = 0
    most_at_once: int = 0

    def run(self, task: Task, report: Callable[[list[Any], Any], None], cancelled: threading.Event) -> Any:
        self.tasks.append(task)
        report([dict(LOOSELY) | {"elapsed_s": 0.1} for _ in range(2)], LOOSE_ANSWER)
        self.in_work += 1
        self.most_at_once = max(self.most_at_once, self.in_work)
        try:
            while not self.may_run.wait(0.01):
                if cancelled.is_set():
                    return LOOSE_ANSWER
        finally:
            self.in_work -= 1
        if self.error is not None:
            raise self.error
        return task.run(TaskControl(task.deadline_now(), cancelled), *task.arguments)


@contextmanager
def job_workers(store: Store, pool: Pool, workers: int = 1, lease_s: float = PATIENCE_S) -> Iterator[JobWorkers]:
    found = JobWorkers(store, Settings(workers=workers), cast(ChildPool, pool), lease_s, renew_s=0.05)
    found.start()
    try:
        yield found
    finally:
        found.close()


def submit(store: Store, deterministic: bool = False, **said: object) -> str:
    """Submit the problem as a job, and return the job's id."""
    return store.jobs.add(new_job(deterministic, **said), most=100).id


def new_job(deterministic: bool = False, **said: object) -> Job:
    query = f"time_limit_s=5&deterministic={str(deterministic).lower()}"
    body = write_problem(PROBLEM)
    new = read_new_job(body, "application/json", query, Settings(), {})
    return replace(new, **{"body": body, **said})  # type: ignore[arg-type]


def job(store: Store, job_id: str) -> Job:
    found = store.jobs.find(job_id)
    assert found is not None
    return found


def kinds(store: Store, job_id: str) -> list[str]:
    """Return the kinds of a job's events, in order."""
    return [event.kind for event in store.events.events_after(job_id, 0)]


def wait_until(is_so: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < give_up, "it has not come to be"
        time.sleep(0.01)


def wait_for_end(store: Store, job_id: str) -> Job:
    wait_until(lambda: job(store, job_id).finished_at is not None)
    return job(store, job_id)
