"""What a server needs for jobs, opened and closed together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from memplan.api.jobs.event_feed import Following
from memplan.api.jobs.run import Solves
from memplan.api.jobs.runner import JobRunner
from memplan.api.jobs.submission import Intake
from memplan.api.metrics import Metrics
from memplan.api.service.admission import AdmissionQueue
from memplan.api.settings import Settings
from memplan.api.store.store import Store


@dataclass(frozen=True)
class JobRoom:
    """How jobs come in, who runs them, and who follows them."""

    intake: Intake
    desk: JobRunner
    following: Following

    def stop(self) -> None:
        """Take no more jobs, hand back those that run, and let go of all followers."""
        self.desk.stop()
        self.following.stop()


@asynccontextmanager
async def open_jobs(
    store: Store, solving: Solves, line: AdmissionQueue, metrics: Metrics, settings: Settings
) -> AsyncIterator[JobRoom]:
    """Take and run jobs until the block ends, and then until the store knows what became of those that ran."""
    following = Following(store)
    desk = JobRunner(
        store,
        solving,
        free_places=partial(_free_places, line),
        stir=following.stir,
        metrics=metrics,
        job_kept_s=settings.job_kept_s,
    )
    following.open()
    desk.open()
    try:
        yield JobRoom(Intake(store), desk, following)
    finally:
        await desk.close()
        await following.close()


def _free_places(line: AdmissionQueue, running: int) -> int:
    """Say how many more jobs to take: one at least, which waits in line like others, lest callers starve all jobs."""
    return max(line.places - max(line.busy, running), 1 - running) if line.places else 0
