"""Workers: they claim jobs from the store, run each in a child process, and write its end once."""

from __future__ import annotations

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
from memplan.api.logs import log_context
from memplan.api.metrics import Metrics
from memplan.api.settings import Settings
from memplan.api.store.errors import StoreError
from memplan.api.store.listening import NotificationThread
from memplan.api.store.store import PATIENCE_S, Store
from memplan.api.store.tables.jobs import SEEN_S
from memplan.api.workers.pool import ChildPool

_POLL_S = 0.1
"""The polling interval for jobs and cancellations."""
_LOOK_S = 5.0
"""The polling interval if notifications wake the worker."""
_LATEST_S = 0.25
"""The longest time between polls of a worker that is woken by notifications."""
_LAST_PLACE_S = 0.5
"""The interval between looks for another key's job for the last slot, as the whole queue may belong to one key."""
_LEAVE_S = 10.0
"""The time that stopping workers wait for their searches to end."""
_LOG = logging.getLogger("memplan")


CONNECTIONS = 1
"""The database connections of a worker besides the listener: transactions are short, and one may wait for another."""
_LEASE_S, _RENEW_S, _SEE_S = 15.0, 2.0, SEEN_S / 3
"""The duration of a lease, and the intervals between its renewals and between the worker's signs of life."""


class JobWorkers:
    """The workers of a process: they run `settings.workers` jobs of a key at a time, plus one of another key.

    One thread claims and renews leases; each job that runs has a thread that waits for its child.
    """

    def __init__(
        self, store: Store, settings: Settings, pool: ChildPool, lease_s: float = _LEASE_S, renew_s: float = _RENEW_S
    ) -> None:
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
        """True after a claim that may or may not have succeeded in the store."""
        self._listening: NotificationThread | None = None
        self._is_told = self._was_told = False
        self._late_s = 0.0
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._claiming = threading.Thread(target=self._claim_always, name="memplan-jobs", daemon=True)

    @property
    def run_count(self) -> int:
        """The number of running jobs here."""
        return len(self._runs)

    def start(self) -> None:
        """Start taking jobs."""
        self._listening = self._store.start_listening(self._hear)
        self._claiming.start()

    def close(self) -> None:
        """Stop taking jobs, and release running ones with their best plans."""
        self._stopping.set()
        self._wake.set()
        for run in list(self._runs):
            run.cancelled.set()
        if self._listening is not None:
            self._listening.close()
        give_up = time.monotonic() + _LEAVE_S
        for thread in (self._claiming, *list(self._threads)):
            thread.join(max(0.0, give_up - time.monotonic()))

    def _hear(self) -> None:
        self._is_told = True
        self._wake.set()

    def _claim_always(self) -> None:
        renewed_at = seen_at = -inf
        while not self._stopping.is_set():
            if time.monotonic() - seen_at >= _SEE_S:
                seen_at = time.monotonic()
                self._try_turn(self._see)
            self._wake.clear()
            self._was_told, self._is_told = self._is_told, False
            may_hold = self._runs or self._is_unsure
            if may_hold and time.monotonic() - renewed_at >= self._renew_s and self._try_turn(self._renew):
                renewed_at = time.monotonic()
            if not self._try_turn(self._claim):
                self._try_turn(self._cancel)
                self._wake.wait(self._pause_s)
                if self._is_told:  # and so are the keys of all workers that hold a slot
                    self._stopping.wait(uniform(0.0, self._late_s))

    @property
    def _pause_s(self) -> float:
        """Return the time until the next poll if nothing wakes the worker before."""
        if self._listening is None or not self._listening.hears:
            return self._poll_s
        if not self._runs and not self._is_unsure:
            return self._look_s
        return self._last_place_s if self._places - len(self._runs) == 1 else min(self._renew_s, self._look_s)

    def _try_turn(self, turn: Callable[[], bool]) -> bool:
        """Return the result of a turn; False if it failed, in which case the next turn may succeed."""
        try:
            return turn()
        except StoreError as error:
            _LOG.warning("cannot %s jobs: %s", turn.__name__.strip("_"), error)
            self._stopping.wait(AGAIN_S)
        except Exception as error:  # noqa: BLE001 - the border: other jobs must go on, whatever is wrong
            self._pool.faults.note(error, f"{turn.__name__.strip('_')} jobs")
            self._stopping.wait(AGAIN_S)
        return False

    def _claim(self) -> bool:
        """Claim as many jobs as there are free slots; return True if there may be more."""
        free = self._places - len(self._runs)
        if free <= 0:
            return False
        # The worker that was first last time claims at once; when nothing waits, a look is cheaper.
        is_first = self._was_told and not self._late_s
        if not is_first and not self._store.leases.is_any_waiting():
            self._note(came_late=True)
            return False
        if free == 1 and time.monotonic() - self._looked_at < self._last_place_s:
            return False
        self._looked_at, self._is_unsure = time.monotonic(), True
        jobs = self._store.leases.claim(self.holder, free, self._of_key, self._lease_s)
        self._is_unsure = False
        self._note(came_late=not jobs)
        for job in jobs:
            run = JobRun(job, self._store, self._pool, self._stopping, share_plans=self._share_plans)
            self._runs.add(run)
            thread = threading.Thread(target=self._do, args=(run,), daemon=True)
            self._threads.add(thread)
            thread.start()
        return bool(jobs)

    def _note(self, *, came_late: bool) -> None:
        """Delay the next poll if other workers were first, so that few compete for each job."""
        if came_late and self._was_told:
            self._late_s = min(_LATEST_S, 2.0 * self._late_s + _LATEST_S / 16)
        elif not came_late:
            self._late_s = 0.0

    def _do(self, run: JobRun) -> None:
        try:
            with log_context(None, run.job.id):
                if (state := run.work()) is not None:
                    _LOG.info("job ended: %s", state)
        finally:
            self._runs.discard(run)
            self._threads.discard(threading.current_thread())
            self._wake.set()

    def _renew(self) -> bool:
        """Renew the leases of running jobs, end jobs without a lease, and return unknown ones to the queue."""
        runs = list(self._runs)
        held = self._store.leases.renew(self.holder, [run.job for run in runs], self._lease_s)
        self._is_unsure = False
        for run in runs:
            if held.get(run.job.id) != run.job.lease:
                run.lose()  # or the job has just ended, so that nothing can be lost
        return True

    def _see(self) -> bool:
        """Tell the store that this worker is there."""
        self._store.leases.see(self.holder)
        return True

    def _cancel(self) -> bool:
        """End the jobs whose cancellation is requested."""
        if self._runs:
            asked = self._store.leases.cancelled_jobs(self.holder)
            for run in list(self._runs):
                if run.job.id in asked:
                    run.cancelled.set()
        return False


@contextmanager
def run_workers(settings: Settings) -> Iterator[JobWorkers]:
    """Open the store and run its jobs until the block ends; raises OptionError and StoreError."""
    store, metrics = Store.open(settings.database_url, settings.data_folder, PATIENCE_S, CONNECTIONS), Metrics()
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
