"""A job in the hands of a worker: done by a child process, reported on meanwhile, and brought to its end once."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from memplan.api.jobs.planning import plan_job
from memplan.api.jobs.serialization import is_request, pack_answer, unpack_request
from memplan.api.logs import log_fault
from memplan.api.refusals import UnavailableError
from memplan.api.service.answering import perform
from memplan.api.store.errors import StoreError
from memplan.api.store.job import Claim, JobOutcome, JobProgress, PackedPlan
from memplan.api.store.store import Store
from memplan.api.store.tables.leases import MOST_ATTEMPTS
from memplan.api.workers.pool import ChildPool
from memplan.api.workers.task import LostWorkersError, NoAnswerError, Task
from memplan.planner.errors import InputError, MemplanError
from memplan.solvers.search.deadline import NEVER

T = TypeVar("T")
AGAIN_S = 1.0
"""The pause before the store is asked again that did not answer."""
_GRACE_S = 3.0
"""The time after its limit in which a job's answer may come, twice as long with each attempt."""
_LEAST_S = 0.05
"""The time of a job whose deadline passed between its claim and its start."""
_STOPPED = "its worker stopped"
_LOG = logging.getLogger("memplan")


class JobRun:
    """A job whose lease is held here, until `work` returns. `cancelled` ends it early with the best plan so far."""

    def __init__(self, claim: Claim, store: Store, pool: ChildPool, stopping: threading.Event) -> None:
        self.lease, self.cancelled = claim.lease, threading.Event()
        self._claim, self._store, self._pool, self._stopping = claim, store, pool, stopping
        self._is_lost = False
        self._progress = claim.job.progress
        self._began = time.monotonic()

    def lose(self) -> None:
        """End the search; another worker has the job, and nothing more is written."""
        self._is_lost = True
        self.cancelled.set()

    def work(self) -> JobOutcome | None:
        """Do the job and write how it ended; return that, None where it did not end here."""
        outcome = self._outcome()
        if outcome is None or self._is_lost:
            return None
        ended = self._insist(lambda: self._store.leases.finish(self.lease, outcome))
        return outcome if ended else None

    def _outcome(self) -> JobOutcome | None:
        """Do the work; None where it is left to another worker."""
        try:
            return self._answer() if is_request(self._claim.problem) else self._plan()
        except UnavailableError:
            return self._leave(_STOPPED) if self._stopping.is_set() else JobOutcome("cancelled")
        except InputError as error:
            return JobOutcome("failed", error=error.sentences[0])
        except (NoAnswerError, LostWorkersError) as error:
            if self._claim.job.attempts > MOST_ATTEMPTS:
                return JobOutcome("failed", error=str(error))
            return self._leave(str(error), counts=True)
        except MemplanError as error:
            return JobOutcome("failed", error=str(error))
        except Exception as error:  # noqa: BLE001 - the border: a job must end, whatever is wrong with the program
            log_fault(error, f"job {self.lease.job_id} failed")
            return JobOutcome("failed", error="memplan: failed; its log says where")

    def _plan(self) -> JobOutcome | None:
        job = self._claim.job
        record = self._insist(lambda: self._store.plans.find(job.problem_hash))
        options = dict(job.options) | {"time_limit_s": self._limit_s}
        found = self._run(plan_job, self._claim.problem, options, record, self._claim.plan)
        if found.record is not None:
            self._insist(
                lambda: self._store.plans.change(
                    {job.problem_hash: lambda now: found.record if now == record else None}
                )
            )
        return self._ended(found.answer, found.was_cancelled, found.facts)

    def _answer(self) -> JobOutcome | None:
        job = self._claim.job
        head, body = unpack_request(self._claim.problem)
        answer = self._run(perform, job.kind, head, body)
        return self._ended(pack_answer(answer), self.cancelled.is_set(), None)

    @property
    def _limit_s(self) -> float:
        limit_s, at = self._claim.time_limit_s, self._claim.job.deadline_at
        return limit_s if at is None else min(limit_s, max(_LEAST_S, at - time.time()))

    def _run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        grace_s = _GRACE_S * 2 ** (self._claim.job.attempts - 1)
        kind, limit_s = self._claim.job.kind, self._limit_s
        task = Task(function, arguments, kind, NEVER, limit_s=limit_s, grace_s=grace_s)
        return self._pool.run(task, self._report, self.cancelled)

    def _ended(self, answer: PackedPlan | None, was_cancelled: bool, facts: Any) -> JobOutcome | None:
        """Say how a job ended that has an answer, or the best one until it was cancelled; None: it has not ended."""
        if not was_cancelled:
            return JobOutcome("succeeded", facts, answer)
        if self._stopping.is_set():
            return self._leave(_STOPPED, answer)
        return JobOutcome("cancelled", facts, answer)

    def _leave(self, reason: str, plan: PackedPlan | None = None, *, counts: bool = False) -> JobOutcome | None:
        """Let the job wait again, with the best plan known: it has no outcome yet."""
        if not self._is_lost:
            self._insist(lambda: self._store.leases.release(self.lease, reason, plan, counts=counts))
        return None

    def _report(self, reports: list[dict[str, Any]], plan: PackedPlan | None) -> None:
        """Write what is new; where the lease is over, the work ends."""
        told: list[JobProgress] = []
        for content in reports:
            elapsed_s = content.pop("elapsed_s", time.monotonic() - self._began)
            if content != self._progress:
                self._progress = content
                told.append(JobProgress(content, elapsed_s))
        if (told or plan is not None) and not self._insist(lambda: self._store.leases.report(self.lease, told, plan)):
            self.lose()

    def _insist(self, write: Callable[[], T]) -> T:
        """Write until the store takes it; a store that is away comes back."""
        while True:
            try:
                return write()
            except StoreError as error:
                _LOG.warning("job %s is said again to the store: %s", self.lease.job_id, error)
                time.sleep(AGAIN_S)
