"""The job runner: it claims jobs, and sees to it that each of them ends, its own and those of servers that died."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import NamedTuple

from memplan.api.jobs.heartbeats import HeartbeatMonitor, HeartbeatTimes
from memplan.api.jobs.run import JobRun
from memplan.api.jobs.work import Services
from memplan.api.logs import about_job
from memplan.api.metrics import Metrics
from memplan.api.store.errors import StoreError
from memplan.api.store.job import Claim, Lease
from memplan.api.store.store import Store

_TIMES = HeartbeatTimes()
_LOOK_S = 0.5
"""The time between two looks for jobs that another server has accepted or handed back, and for those that expired."""
_REMOVE_S = 60.0
_LEAVE_S = 10.0
"""The time that a server that stops waits for its searches to end."""
_FRAMES_LOGGED = 12
_LOG = logging.getLogger("memplan")


@dataclass(frozen=True)
class KeptTimes:
    """The seconds that jobs are kept after their end, and those of certificates, where these are others."""

    jobs_s: float
    certificates_s: float | None = None


class FreePlaces(NamedTuple):
    """How many more jobs can run beside those that a server runs already, and their longest time limit."""

    number: int
    longest_s: float = inf


class JobRunner:
    """The jobs of one server. `work` takes and runs them until `stop`; `close` waits until all are written."""

    def __init__(
        self,
        store: Store,
        services: Services,
        *,
        free_places: Callable[[int], FreePlaces],
        stir: Callable[[str], None],
        metrics: Metrics,
        kept: KeptTimes,
        times: HeartbeatTimes = _TIMES,
    ) -> None:
        """`free_places` is asked with the number of jobs that this server runs already."""
        self.server = secrets.token_hex(8)
        self._store, self._services, self._stir, self._metrics = store, services, stir, metrics
        self._free_places, self._kept = free_places, kept
        self._runs: dict[Lease, JobRun] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loops: list[asyncio.Task[None]] = []
        self._is_stopping = False
        self._is_listed = False  # as one of the servers: one that claims before is taken for dead
        self._poked = asyncio.Event()
        # Between a claim and its run, the store knows of a lease that no run here seems to have.
        self._claiming = asyncio.Lock()
        self._monitor, self._beat_s = HeartbeatMonitor(times.lease_s), times.beat_s
        self._removed_at = time.monotonic()

    @property
    def running(self) -> int:
        """The number of jobs that run here."""
        return len(self._runs)

    def open(self) -> None:
        """Begin to take jobs."""
        self._loops = [asyncio.create_task(self._claim_always()), asyncio.create_task(self._beat_always())]

    def poke(self) -> None:
        """Say that there may be a job to take."""
        self._poked.set()

    def cancel(self, job_id: str) -> None:
        """End a job that runs here; the store has been told already."""
        for lease, run in self._runs.items():
            if lease.job_id == job_id:
                run.cancel()

    def stop(self) -> None:
        """Take no more jobs, and hand back those that run."""
        self._is_stopping = True
        self._poked.set()
        for run in self._runs.values():
            run.hand_back()

    async def close(self) -> None:
        """Stop, and wait until the store knows; what it cannot be told in time is taken over by another server."""
        self.stop()
        claiming, beating = self._loops
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LEAVE_S):
                await asyncio.wait([claiming])  # whose last claim is handed back as well
                await asyncio.gather(*self._tasks, return_exceptions=True)
        for task in (left := [claiming, beating, *self._tasks]):
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        try:
            await self._store.briefly(partial(self._store.servers.forget, self.server))
        except StoreError as error:
            _LOG.warning("the store could not be told that this server stops: %s", error)

    async def _claim_always(self) -> None:
        while not self._is_stopping:
            self._poked.clear()
            has_claimed = await self._tried(self._claim, "take jobs")
            if not has_claimed:
                await _wait(self._poked, _LOOK_S)

    async def _beat_always(self) -> None:
        while True:
            if not await self._tried(self._beat, "say that this server is alive"):
                self._monitor.forget()  # no server could, then
            await asyncio.sleep(self._beat_s)

    async def _tried(self, turn: Callable[[], Awaitable[bool]], what: str) -> bool:
        """Return what a turn says; False where it failed, which the next one may mend."""
        try:
            return await turn()
        except StoreError as error:
            _LOG.warning("cannot %s: %s", what, error)
        except Exception as error:  # noqa: BLE001  the border: the jobs of others must go on, whatever is wrong
            frames = "".join(traceback.format_tb(error.__traceback__)[-_FRAMES_LOGGED:])
            _LOG.error("%s: cannot %s\n%s", type(error).__name__, what, frames)
        return False

    async def _claim(self) -> bool:
        """Take as many jobs as there are places; return whether there may be more to take."""
        for job_id in await self._store.briefly(self._store.leases.expire):
            self._metrics.finished_job("expired")
            self._metrics.missed_deadline()
            self._stir(job_id)
        free = self._free_places(len(self._runs)) if self._is_listed else FreePlaces(0)
        if free.number <= 0:
            return False
        async with self._claiming:
            claims = await self._store.briefly(partial(self._store.leases.claim, self.server, *free))
            for claim in claims:
                self._start(claim)
        return bool(claims)

    def _start(self, claim: Claim) -> None:
        run = JobRun(claim, self._store, self._services, self._stir)
        self._runs[claim.lease] = run
        if self._is_stopping:
            run.hand_back()
        task = asyncio.create_task(self._run(run))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, run: JobRun) -> None:
        with about_job(run.lease.job_id):
            try:
                outcome = await run.work()
            except StoreError as error:  # the lease is found without a run, and handed back
                _LOG.warning("left: %s", error)
                return
            finally:
                del self._runs[run.lease]
                self._poked.set()
            if outcome is not None:
                _LOG.info("job ended: %s", outcome.state)
                self._metrics.finished_job(outcome.state)

    async def _beat(self) -> bool:
        """Say that this server is alive, see to the jobs of those that are not, and to what is asked of its own."""
        store = self._store
        beats = await store.briefly(partial(store.servers.beat, self.server))
        if not self._is_listed:
            self._is_listed = True
            self._poked.set()
        await self._take_over(beats)
        async with self._claiming:
            held = await store.briefly(partial(store.leases.held_by, self.server))
            for lease, run in self._runs.items():
                if lease not in held:
                    run.lose()  # or it has just ended, and nothing is left to be lost
                elif held[lease]:
                    run.cancel()
            # A claim that the store kept, but whose answer was lost on its way.
            for lease in held.keys() - self._runs.keys():
                await store.briefly(partial(store.leases.hand_back, lease, "its server did not hear that it has it"))
        if time.monotonic() - self._removed_at >= _REMOVE_S:
            self._removed_at = time.monotonic()
            now = time.time()
            certificates_s = self._kept.jobs_s if self._kept.certificates_s is None else self._kept.certificates_s
            remove = partial(store.leases.remove_ended, now - self._kept.jobs_s, now - certificates_s)
            while await store.briefly(remove):
                pass
        return True

    async def _take_over(self, beats: Mapping[str, int]) -> None:
        """Let the jobs of dead servers wait again."""
        store, dead = self._store, self._monitor.dead(beats)
        holders = await store.briefly(store.leases.servers)
        gone = (holders - beats.keys()) | dead.keys()
        if not gone:
            return
        taken = await store.briefly(partial(store.leases.take_over, gone))
        for server, count in dead.items():
            await store.briefly(partial(store.servers.forget, server, count))
        for job_id in taken:
            self._stir(job_id)
        if taken:
            _LOG.warning("%d jobs of servers that died are taken over", len(taken))
            self._poked.set()


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):  # not wait_for, which loses a cancellation that comes with the event
            await event.wait()
