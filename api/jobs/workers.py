"""Job workers: they claim jobs from the store, run each in a child process, and write each end state once."""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from random import uniform

from memplan.api.faults import Faults
from memplan.api.jobs.run import AGAIN_S, JobRun
from memplan.api.logs import count_refusals, log_context
from memplan.api.metrics import Metrics
from memplan.api.settings import Settings
from memplan.api.store.errors import StoreError
from memplan.api.store.listening import NotificationThread
from memplan.api.store.store import PATIENCE_S, Store
from memplan.api.store.tables.jobs import SEEN_S
from memplan.api.workers.pool import ChildPool

_POLL_S = 0.1
"""The seconds between polls of the store for jobs and cancellations."""
_LOOK_S = 5.0
"""The seconds between polls when the database's notifications wake the worker."""
_LATEST_S = 0.25
"""The maximum random delay, in seconds, of a worker that a notification has woken."""
_LAST_PLACE_S = 0.5
"""The seconds between polls with one slot free: it is for another key's job, and all waiting jobs may be of one key."""
_LEAVE_S = 10.0
"""The seconds for which stopping workers wait for their searches to end."""
_LOG = logging.getLogger("memplan")


CONNECTIONS = 1
"""The database connections of a worker besides its listener: transactions are short and can share one."""
_LEASE_S, _RENEW_S, _SEE_S = 15.0, 2.0, SEEN_S / 3
"""Seconds: the length of a lease, between its renewals, and between the worker's signs of life."""


class JobWorkers:
    """The job workers of a process: `settings.workers` slots for jobs, and one more that a single key cannot occupy.

    One thread claims jobs and renews leases; each running job has a thread that waits for its child process.
    """

    def __init__(
        self, store: Store, settings: Settings, pool: ChildPool, lease_s: float = _LEASE_S, renew_s: float = _RENEW_S
    ) -> None:
        """Choose a random name as lease holder; a lease lasts `lease_s` and is renewed every `renew_s` seconds."""
        self.holder = secrets.token_hex(8)
        self._store, self._lease_s, self._renew_s = store, lease_s, renew_s
        self._poll_s, self._look_s, self._last_place_s = _POLL_S, _LOOK_S, _LAST_PLACE_S
        self._of_key, self._places = settings.workers, settings.workers + 1
        self._share_plans = settings.share_plans
        self._pool = pool
        self._runs: set[JobRun] = set()
        self._threads: set[threading.Thread] = set()
        self._looked_at = -inf
        self._is_unsure = False
        """True after a failed claim whose transaction may have been committed nevertheless."""
        self._listening: NotificationThread | None = None
        self._is_told = self._was_told = False
        self._late_s = 0.0
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._claiming = threading.Thread(target=self._claim_always, name="memplan-jobs", daemon=True)

    @property
    def run_count(self) -> int:
        """The number of jobs that currently run in this process."""
        return len(self._runs)

    def start(self) -> None:
        """Start the thread that claims jobs."""
        self._listening = self._store.start_listening(self._handle_notification)
        self._claiming.start()

    def close(self) -> None:
        """Stop claiming jobs, end the running searches, and return their jobs with their best plans to the queue."""
        self._stopping.set()
        self._wake.set()
        for run in list(self._runs):
            run.cancelled.set()
        if self._listening is not None:
            self._listening.close()
        give_up = time.monotonic() + _LEAVE_S
        for thread in (self._claiming, *list(self._threads)):
            thread.join(max(0.0, give_up - time.monotonic()))

    def _handle_notification(self) -> None:
        self._is_told = True
        self._wake.set()

    def _claim_always(self) -> None:
        """Claim jobs and renew leases until the worker stops; the claiming thread runs this."""
        renewed_at = seen_at = -inf
        while not self._stopping.is_set():
            if time.monotonic() - seen_at >= _SEE_S:
                seen_at = time.monotonic()
                self._try_turn(self._record_sign_of_life)
            self._wake.clear()
            self._was_told, self._is_told = self._is_told, False
            may_hold = self._runs or self._is_unsure
            if may_hold and time.monotonic() - renewed_at >= self._renew_s and self._try_turn(self._renew):
                renewed_at = time.monotonic()
            if not self._try_turn(self._claim):
                self._try_turn(self._cancel)
                self._wake.wait(self._pause_s)
                if self._is_told:  # a notification wakes all workers at once, so spread their polls over time
                    self._stopping.wait(uniform(0.0, self._late_s))

    @property
    def _pause_s(self) -> float:
        if self._listening is None or not self._listening.hears:
            return self._poll_s
        if not self._runs and not self._is_unsure:
            return self._look_s
        return self._last_place_s if self._places - len(self._runs) == 1 else min(self._renew_s, self._look_s)

    def _try_turn(self, turn: Callable[[], bool]) -> bool:
        """Run one step of the claiming thread and return its result; after an error, log it, wait, and return False."""
        try:
            return turn()
        except StoreError as error:
            _LOG.warning("cannot %s jobs: %s", turn.__name__.strip("_"), error)
            self._stopping.wait(AGAIN_S)
        except Exception as error:  # noqa: BLE001 - other jobs must continue after any error
            self._pool.faults.note(error, f"{turn.__name__.strip('_')} jobs")
            self._stopping.wait(AGAIN_S)
        return False

    def _claim(self) -> bool:
        """Claim as many jobs as there are free slots; return True if further jobs may be waiting."""
        free = self._places - len(self._runs)
        if free <= 0:
            return False
        # A worker that lost the last race for a job first reads whether jobs wait, which costs less than a claim.
        is_first = self._was_told and not self._late_s
        if not is_first and not self._store.leases.is_any_waiting():
            self._adapt_delay(came_late=True)
            return False
        if free == 1 and time.monotonic() - self._looked_at < self._last_place_s:
            return False
        self._looked_at, self._is_unsure = time.monotonic(), True
        jobs = self._store.leases.claim(self.holder, free, self._of_key, self._lease_s)
        self._is_unsure = False
        self._adapt_delay(came_late=not jobs)
        for job in jobs:
            run = JobRun(job, self._store, self._pool, self._stopping, share_plans=self._share_plans)
            self._runs.add(run)
            thread = threading.Thread(target=self._run_job, args=(run,), daemon=True)
            self._threads.add(thread)
            thread.start()
        return bool(jobs)

    def _adapt_delay(self, *, came_late: bool) -> None:
        """Adapt the delay after a notification, so that few workers compete for each job.

        The delay grows if another worker was faster (`came_late`), and otherwise returns to 0.
        """
        if came_late and self._was_told:
            self._late_s = min(_LATEST_S, 2.0 * self._late_s + _LATEST_S / 16)
        elif not came_late:
            self._late_s = 0.0

    def _run_job(self, run: JobRun) -> None:
        try:
            with log_context(None, run.job.id):
                if (state := run.run_job()) is not None:
                    _LOG.info("job ended: %s", state)
        finally:
            self._runs.discard(run)
            self._threads.discard(threading.current_thread())
            self._wake.set()

    def _renew(self) -> bool:
        """Renew the leases of running jobs, and end the runs without a lease; jobs of unanswered claims are requeued.

        Return True, which means that the step succeeded.
        """
        runs = list(self._runs)
        held = self._store.leases.renew(self.holder, [run.job for run in runs], self._lease_s)
        self._is_unsure = False
        for run in runs:
            if held.get(run.job.id) != run.job.lease:
                run.end_without_writing()  # A job that has just ended has no lease either; a second end is harmless.
        return True

    def _record_sign_of_life(self) -> bool:
        self._store.leases.record_sign_of_life(self.holder)
        return True

    def _cancel(self) -> bool:
        if self._runs:
            asked = self._store.leases.cancelled_jobs(self.holder)
            for run in list(self._runs):
                if run.job.id in asked:
                    run.cancelled.set()
        return False


@contextmanager
def run_workers(settings: Settings) -> Iterator[JobWorkers]:
    """Open the store, and run its jobs while the block runs; raises OptionError and StoreError."""
    store, metrics = Store.open(settings.database_url, settings.data_folder, PATIENCE_S, CONNECTIONS), Metrics()
    count_refusals(metrics.count_refused_result)
    pool = ChildPool(settings, metrics.count_lost_worker, Faults(metrics.count_fault))
    workers = JobWorkers(store, settings, pool)
    workers.start()
    try:
        pool.warm_up()
        yield workers
    finally:
        workers.close()
        pool.close()
        store.close()
