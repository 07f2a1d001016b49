"""The parts of a server for jobs, opened and closed together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from memplan.api.jobs.event_feed import Following
from memplan.api.jobs.runner import FreePlaces, JobRunner, KeptTimes
from memplan.api.jobs.submission import Intake
from memplan.api.jobs.work import Services
from memplan.api.metrics import Metrics
from memplan.api.service.admission import AdmissionQueue
from memplan.api.service.long_places import LONG_S
from memplan.api.settings import Settings
from memplan.api.store.store import Store


@dataclass(frozen=True)
class JobParts:
    """The intake of jobs, their runner, and the feed of their events."""

    intake: Intake
    runner: JobRunner
    following: Following

    def stop(self) -> None:
        """Take no more jobs, hand back those that run, and let go of all followers."""
        self.runner.stop()
        self.following.stop()


@asynccontextmanager
async def open_jobs(
    store: Store, services: Services, queue: AdmissionQueue, metrics: Metrics, settings: Settings
) -> AsyncIterator[JobParts]:
    """Take and run jobs until the block ends, and then until the store knows what became of those that ran."""
    following = Following(store)
    runner = JobRunner(
        store,
        services,
        free_places=partial(_free_places, queue),
        stir=following.stir,
        metrics=metrics,
        kept=KeptTimes(settings.job_kept_s, settings.certificate_kept_s),
    )
    following.open()
    runner.open()
    try:
        yield JobParts(Intake(store), runner, following)
    finally:
        await runner.close()
        await following.close()


def _free_places(queue: AdmissionQueue, running: int) -> FreePlaces:
    """Return the places for more jobs: one at least, which waits in the queue, lest callers starve all jobs.

    While long ones wait for their place only others are taken, for the place that long ones leave free.
    """
    if not queue.places:
        return FreePlaces(0)
    waiting = min(running, queue.long_waiting)
    number = max(queue.places - max(queue.busy, running - waiting), 1 - running)
    return FreePlaces(number, LONG_S) if waiting else FreePlaces(number)
