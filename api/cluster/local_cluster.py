"""The scheduler and the workers that a server brings itself."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from memplan.api.cluster import dask, unix_sockets
from memplan.api.cluster.worker_pool import WorkerPool
from memplan.api.settings import Settings
from memplan.planner.errors import OptionError

_LONGEST = 60
"""The longest path of a folder for which what is in it can be the name of a socket."""


@asynccontextmanager
async def local_cluster(settings: Settings) -> AsyncIterator[str]:
    """Run a scheduler with `settings.workers` processes, or with threads of this one (0), and give its address."""
    if settings.workers == 0:
        async with dask.scheduler(None, protocol="inproc") as running, dask.worker(running.address, settings.solves):
            yield running.address
        return
    with _private_folder() as folder:
        unix_sockets.use_folder(Path(folder))
        async with dask.scheduler(None, protocol="unix") as running, WorkerPool(running.address, settings).running():
            yield running.address


def _private_folder() -> TemporaryDirectory[str]:
    """Make a folder that no other user can enter, with a name short enough for sockets; raises OptionError."""
    where = tempfile.gettempdir()
    try:
        return TemporaryDirectory(
            prefix="memplan-", dir=where if len(where) <= _LONGEST else "/tmp", ignore_cleanup_errors=True
        )
    except OSError as error:
        raise OptionError(f"workers: need a folder for their sockets, but in {where}: {error.strerror}") from error
