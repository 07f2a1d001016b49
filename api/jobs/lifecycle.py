"""The jobs of a running server: maintenance of the store, job workers, and the event feed."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from anyio import to_thread

from memplan.api.jobs.event_feed import Following
from memplan.api.jobs.workers import JobWorkers
from memplan.api.metrics import Metrics
from memplan.api.settings import Settings
from memplan.api.store.errors import StoreError
from memplan.api.store.store import Store
from memplan.api.workers.pool import ChildPool

_TEND_S, _REMOVE_S, _FIRST_S = 0.5, 60.0, 5.0
"""Seconds: between maintenance rounds, between removals of old jobs, and before the first removal."""
_LOG = logging.getLogger("memplan")


@asynccontextmanager
async def open_jobs(store: Store, metrics: Metrics, settings: Settings, pool: ChildPool) -> AsyncIterator[Following]:
    """Maintain and run jobs, `settings.workers` at a time, while the block runs; yield their event feed."""
    following = Following(store)
    following.open()
    tending = asyncio.create_task(_maintain_always(store, metrics, settings))
    workers = JobWorkers(store, settings, pool) if settings.workers > 0 else None
    if workers is not None:
        workers.start()
    try:
        yield following
    finally:
        tending.cancel()
        await asyncio.gather(tending, return_exceptions=True)
        if workers is not None:
            await to_thread.run_sync(workers.close)
        await following.close()


async def _maintain_always(store: Store, metrics: Metrics, settings: Settings) -> None:
    """Repeatedly expire waiting jobs, requeue jobs of dead workers, and remove old jobs."""
    removed_at = time.monotonic() - _REMOVE_S + _FIRST_S
    while True:
        try:
            expired, freed = await store.run_in_thread(store.leases.expire_jobs)
            for _ in expired:
                metrics.missed_deadline()
            if freed:
                _LOG.warning("%d jobs of workers that ended are taken over", len(freed))
            if time.monotonic() - removed_at >= _REMOVE_S:
                removed_at, before = time.monotonic(), time.time() - settings.job_kept_s
                remove = partial(store.leases.remove_ended, before)
                while await store.run_in_thread(remove):
                    pass
                await store.run_in_thread(store.tidy)
        except StoreError as error:
            _LOG.warning("jobs cannot be tended: %s", error)
        await asyncio.sleep(_TEND_S)
