"""One job in the hands of a server: worked on, reported on while it is, and brought to its end once."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable
from functools import partial

from anyio import to_thread

from memplan.api.cluster.task import NoAnswerError
from memplan.api.jobs.serialization import pack_plan
from memplan.api.jobs.work import Services, Worked, worked
from memplan.api.refusals import RefusalError
from memplan.api.store.errors import StoreError
from memplan.api.store.job import Claim, JobOutcome, JobProgress, PackedPlan
from memplan.api.store.store import Store
from memplan.api.store.tables.leases import MOST_ATTEMPTS
from memplan.planner.errors import InputError, MemplanError
from memplan.planner.model.plan import Plan
from memplan.solvers.search.result import Progress

_GATHER_S = 0.2
"""The time that progress is gathered before it is written."""
_AGAIN_S = 1.0
"""The pause before a write that the store did not take is repeated."""
_STOPPED = "its server stopped"
_FRAMES_LOGGED = 12
_LOG = logging.getLogger("memplan")


class JobRun:
    """A job that this server holds the lease of, until `work` returns.

    `cancel` ends it with the plan so far; `hand_back` lets another server go on from there; `lose` says that another
    has it already. `stir` is called when there is something new in the store about it.
    """

    def __init__(self, claim: Claim, store: Store, services: Services, stir: Callable[[str], None]) -> None:
        self.lease = claim.lease
        self._claim, self._store, self._services, self._stir = claim, store, services, stir
        self._cancelled = asyncio.Event()
        self._is_leaving = self._is_lost = False
        before = claim.job.progress
        self._told: object = (before["peak"], before["gap"]) if before is not None and "gap" in before else before
        self._better: list[JobProgress] = []
        self._plan: Plan | None = None
        self._has_progress = asyncio.Event()

    def cancel(self) -> None:
        """End the search; the job is cancelled."""
        self._cancelled.set()

    def hand_back(self) -> None:
        """End the search; the job waits for another server, unless it has its answer."""
        self._is_leaving = True
        self._cancelled.set()

    def lose(self) -> None:
        """End the search; nothing more is written."""
        self._is_lost = True
        self._cancelled.set()

    async def work(self) -> JobOutcome | None:
        """Do the job and write how it ended; return that, None where it did not end here."""
        self._stir(self.lease.job_id)
        reporting = asyncio.create_task(self._report())
        try:
            outcome = await self._outcome()
        finally:
            reporting.cancel()
        if outcome is None:
            return None
        if left := [one for one in self._better if not isinstance(one, Progress)]:  # what came in the last moment
            await self._insist(partial(self._store.leases.report, self.lease, left, None))
        ended = await self._insist(partial(self._store.leases.finish, self.lease, outcome))
        return outcome if ended else None

    async def _outcome(self) -> JobOutcome | None:
        """Do the work; None where it goes to another server."""
        try:
            ended = await worked(self._claim, self._services, self._cancelled, self._hear)
        except (RefusalError, StoreError):  # what is in the way now will not always be
            if self._cancelled.is_set() and not self._is_leaving:
                return None if self._is_lost else JobOutcome("cancelled")
            return await self._leave("no worker was free in its time")
        except InputError as error:
            return JobOutcome("failed", error=error.sentences[0])
        except NoAnswerError as error:
            if self._claim.job.attempts > MOST_ATTEMPTS:
                return JobOutcome("failed", error=str(error))
            return await self._leave(str(error), counts=True)
        except MemplanError as error:
            if self._is_leaving:  # the workers stop as well, if all are told at once
                return await self._leave(_STOPPED)
            return JobOutcome("failed", error=str(error))
        except Exception as error:  # noqa: BLE001  the border: a job must end, whatever is wrong with the program
            frames = "".join(traceback.format_tb(error.__traceback__)[-_FRAMES_LOGGED:])
            _LOG.error("%s in job %s\n%s", type(error).__name__, self.lease.job_id, frames)
            return JobOutcome("failed", error="memplan: failed; its log says where")
        return None if self._is_lost else await self._ended(ended)

    async def _ended(self, ended: Worked) -> JobOutcome | None:
        """Say how a job ended that has an answer, or the best one until it was cancelled; None: it has not ended."""
        if not ended.was_cancelled:
            return JobOutcome("succeeded", ended.progress, ended.answer)
        if self._is_leaving:
            return await self._leave(_STOPPED, ended.answer)
        return JobOutcome("cancelled", ended.progress, ended.answer)

    async def _leave(self, reason: str, plan: PackedPlan | None = None, *, counts: bool = False) -> JobOutcome | None:
        """Let the job wait again, with the best plan known: it has no outcome yet."""
        await self._insist(partial(self._store.leases.hand_back, self.lease, reason, plan, counts=counts))
        return None

    def _hear(self, progress: JobProgress, plan: Plan | None) -> None:
        told = (progress.peak, progress.gap) if isinstance(progress, Progress) else progress.facts()
        if self._told != told:
            self._told = told
            self._better.append(progress)
        self._plan = self._plan if plan is None else plan
        self._has_progress.set()

    async def _report(self) -> None:
        """Write what is heard, until it is cancelled; all that came in a moment at once."""
        while True:
            await self._has_progress.wait()
            await asyncio.sleep(_GATHER_S)
            self._has_progress.clear()
            (better, self._better), (plan, self._plan) = (self._better, []), (self._plan, None)
            packed = None if plan is None else await to_thread.run_sync(pack_plan, plan)
            if not better and packed is None:
                continue
            if not await self._insist(partial(self._store.leases.report, self.lease, better, packed)):
                self.lose()
                return

    async def _insist(self, write: Callable[[], bool]) -> bool:
        """Write until the store takes it; a store that is away comes back. Return what it says."""
        while True:
            try:
                said = await self._store.briefly(write)
            except StoreError as error:
                _LOG.warning("job %s is said again to the store: %s", self.lease.job_id, error)
                await asyncio.sleep(_AGAIN_S)
            else:
                self._stir(self.lease.job_id)
                return said
