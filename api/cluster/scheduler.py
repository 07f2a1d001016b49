"""Schedulers: one for a server and the workers that it brings itself, and one for all."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from distributed import Scheduler, Worker
from distributed.scheduler import DEFAULT_EXTENSIONS

from memplan.api.cluster import unix_sockets
from memplan.api.cluster.dask_settings import NO_PAGES
from memplan.api.cluster.worker_pool import WorkerPool
from memplan.api.settings import Settings
from memplan.planner.errors import OptionError

_WITHOUT = ("spans", "stealing")
"""Dask's statistics, which keep something of every task for ever; and second thoughts about who has which task."""
_LONGEST = 60
"""How long the path of a folder may be for what is in it to be the name of a socket."""


def scheduler(host: str | None, port: int = 0, protocol: str = "tcp") -> Scheduler:
    """Make a scheduler without pages of its own; it runs when it is awaited, or for as long as it is entered."""
    extensions = {name: kind for name, kind in DEFAULT_EXTENSIONS.items() if name not in _WITHOUT}
    return Scheduler(
        host=host, port=port, protocol=protocol, dashboard=False, dashboard_address=NO_PAGES, extensions=extensions
    )


def worker(scheduler: str, threads: int = 1, name: str | None = None) -> Worker:
    """Make a worker of a scheduler, to be run likewise in this process."""
    return Worker(scheduler, nthreads=threads, name=name, memory_limit=0, dashboard_address=NO_PAGES, extensions={})


@asynccontextmanager
async def local_cluster(settings: Settings) -> AsyncIterator[str]:
    """Run a scheduler with `settings.workers` processes, or with threads of this one (0), and give its address."""
    if settings.workers == 0:
        async with scheduler(None, protocol="inproc") as running, worker(running.address, settings.solves):
            yield running.address
        return
    with _private_folder() as folder:
        unix_sockets.use_folder(Path(folder))
        async with scheduler(None, protocol="unix") as running, WorkerPool(running.address, settings).at_work():
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
