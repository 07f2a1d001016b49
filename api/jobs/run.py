"""One run of a job: a child process works, the worker stores its reports, and the end state is written once."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from memplan.api.faults import BODY
from memplan.api.refusals import NotInTimeError, UnavailableError
from memplan.api.request_bodies import PLAN
from memplan.api.service.request_task import RequestTask, run
from memplan.api.store.errors import StoreError
from memplan.api.store.job import Job, State, WorkAnswer
from memplan.api.store.store import Store
from memplan.api.store.stored_plan import cache_name
from memplan.api.store.tables.leases import MOST_FAILURES
from memplan.api.workers.pool import ChildPool
from memplan.api.workers.task import LostWorkersError, Task
from memplan.planner.errors import MAX_SHOWN, InputError, MemplanError
from memplan.solvers.search.control import NEVER

T = TypeVar("T")
AGAIN_S = 1.0
"""The seconds between attempts to reach a store that does not answer."""
_GRACE_S = 3.0
"""The seconds after a job's time limit in which its answer may arrive; they double with each failed attempt."""
_LEAST_S = 0.05
"""The time limit, in seconds, of a job whose deadline passed after it was claimed."""
_STOPPED = "its worker stopped"
_LOG = logging.getLogger("memplan")


class JobRun:
    """The run of one leased job, until `run_job` returns; `cancelled` ends it early with the best plan so far."""

    def __init__(
        self, job: Job, store: Store, pool: ChildPool, stopping: threading.Event, *, share_plans: bool = True
    ) -> None:
        """Set the job, and start its clock; `stopping` is set when the worker stops."""
        self.job, self.cancelled = job, threading.Event()
        self._known_as = cache_name(job.problem_hash, None if share_plans else job.key_id)
        self._store, self._pool, self._stopping = store, pool, stopping
        self._is_lost = False
        self._progress = job.progress
        self._began = time.monotonic()

    def end_without_writing(self) -> None:
        """End the search without writing anything more, because another worker has taken over the job."""
        self._is_lost = True
        self.cancelled.set()

    def run_job(self) -> State | None:
        """Run the job and write its end state; return that state, or None if the job did not end in this run."""
        BODY.set(self.job.body)
        try:
            answer = self._work_answer()
        except UnavailableError:
            return self._release_job(_STOPPED) if self._stopping.is_set() else self._write_end("cancelled")
        except InputError as error:
            return self._write_end("failed", error="\n".join(error.sentences[:MAX_SHOWN]))
        except (NotInTimeError, LostWorkersError) as error:
            if self.job.failures >= MOST_FAILURES:
                return self._write_end("failed", error=str(error))
            return self._release_job(str(error), counts=True)
        except MemplanError as error:
            return self._write_end("failed", error=str(error))
        except Exception as error:  # noqa: BLE001 - every job must end, even after an internal fault
            return self._write_end("failed", error=str(self._pool.faults.note(error, self.job.kind)))
        if not self.cancelled.is_set():
            return self._write_end("succeeded", answer)
        return self._release_job(_STOPPED, answer) if self._stopping.is_set() else self._write_end("cancelled", answer)

    def _work_answer(self) -> WorkAnswer:
        """Return the answer that a child process finds for the job; a better known plan is stored first."""
        job, limit_s = self.job, self.job.time_limit_s
        plans, name = self._store.plans, self._known_as
        record = self._retry_write(lambda: plans.find(name)) if job.kind == PLAN else None
        if job.deadline_at is not None:
            limit_s = min(limit_s, max(_LEAST_S, job.deadline_at - time.time()))
        grace_s = _GRACE_S * 2**job.failures
        what = RequestTask(job.kind, job.head, job.body, record=record, before=job.answer)
        file_bytes = None if job.n_buffers else len(job.body)  # Only files of other systems are stored without a count.
        task = Task(run, (what,), job.kind, NEVER, limit_s=limit_s, grace_s=grace_s, file_bytes=file_bytes)
        answer: WorkAnswer = self._pool.run(task, self._write_reports, self.cancelled)
        if answer.known is not None:
            # The answer is valid even if the cache entry cannot be stored, so ignore the error.
            with suppress(StoreError):
                plans.replace(name, record, answer.known.compress(name))
        return answer

    def _write_end(self, state: State, answer: WorkAnswer | None = None, error: str | None = None) -> State | None:
        """Write the job's end state and return it; None if the lease was lost, so that nothing is written."""
        finish = self._store.leases.finish
        is_written = not self._is_lost and self._retry_write(lambda: finish(self.job, state, answer, error))
        return state if is_written else None

    def _release_job(self, reason: str, best: WorkAnswer | None = None, *, counts: bool = False) -> State | None:
        """Return the unfinished job, with its best answer so far, to the queue. The result is None: no end state."""
        if not self._is_lost:
            self._retry_write(lambda: self._store.leases.release(self.job, reason, best, counts=counts))
        return None

    def _write_reports(self, reports: list[dict[str, Any]], best: WorkAnswer | None) -> None:
        """Write the child's new reports to the store; a lost lease ends the run."""
        progress: list[tuple[dict[str, Any], float]] = []
        for facts in reports:
            elapsed_s = facts.pop("elapsed_s", time.monotonic() - self._began)
            if facts != self._progress:
                self._progress = facts
                progress.append((facts, elapsed_s))
        if not (progress or best is not None):
            return
        if not self._retry_write(lambda: self._store.leases.report(self.job, progress, best)):
            self.end_without_writing()

    def _retry_write(self, write: Callable[[], T]) -> T:
        while True:
            try:
                return write()
            except StoreError as error:
                _LOG.warning("job %s is said again to the store: %s", self.job.id, error)
                time.sleep(AGAIN_S)
