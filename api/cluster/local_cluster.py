"""The scheduler and the workers that a server brings itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from distributed import Security

from memplan.api.cluster import dask
from memplan.api.cluster.worker_pool import WorkerPool
from memplan.api.settings import Settings


@asynccontextmanager
async def local_cluster(settings: Settings) -> AsyncIterator[tuple[str, Security | None]]:
    """Run a scheduler with `settings.workers` processes, or with threads of this one (0); give its address.

    A process that reaches a scheduler can have it run programs. So processes of other users are kept out: it takes the
    certificate that is given with the address, and is in memory alone, or (None) only calls within this process.
    """
    if settings.workers == 0:
        async with dask.scheduler(None, protocol="inproc") as running, dask.worker(running.address, settings.solves):
            yield running.address, None
        return
    security = Security.temporary()
    async with (
        dask.scheduler("127.0.0.1", protocol="tls", security=security) as running,
        WorkerPool(running.address, settings, security).running(),
    ):
        yield running.address, security
