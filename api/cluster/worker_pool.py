"""The worker processes of one machine, replaced when they end, give no heartbeat or use too much memory."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

import psutil
from distributed import Security

from memplan.api.cluster.dask import MEMORY_BYTES, SILENT_S, worker_certificate
from memplan.api.settings import Settings
from memplan.solvers.processes.supervisor import Supervisor

_START_S = 60.0
"""The time that a process may take to its first heartbeat."""
_WEIGH_EVERY_S = 0.5
_PART_OF_MEMORY = 0.9
TOO_HEAVY_SIGNAL = signal.SIGUSR1
"""The signal to a worker to end for its memory; one that has not by the next look is killed."""
_LOG = logging.getLogger("memplan")


class WorkerPool:
    """`settings.workers` processes for a scheduler, which each solve one task at a time. For one event loop."""

    def __init__(self, scheduler: str, settings: Settings, security: Security | None = None) -> None:
        certificate = None if security is None else worker_certificate(security)
        self.workers = settings.workers
        # Each may use its part of this machine, or of what its container is given.
        self.most_bytes = settings.worker_memory_bytes or int(_PART_OF_MEMORY * MEMORY_BYTES / max(1, self.workers))
        self.task = {
            "scheduler": scheduler,
            "log_format": settings.log_format,
            "security": certificate,
            "most_bytes": self.most_bytes,
        }

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep the processes running until the block ends; they are ready some seconds later than it begins."""
        processes = Supervisor("worker process", "memplan.api.cluster.worker_process", _START_S, SILENT_S)
        for _ in range(self.workers):
            processes.keep(self.task)
        weighing = asyncio.create_task(self._weigh(processes))
        try:
            yield
        finally:
            weighing.cancel()
            await asyncio.gather(weighing, return_exceptions=True)
            await processes.stop()

    async def _weigh(self, processes: Supervisor) -> None:
        told: set[int] = set()
        while True:
            await asyncio.sleep(_WEIGH_EVERY_S)
            told = await asyncio.to_thread(lighten, processes.pids, self.most_bytes, told)


def lighten(pids: list[int], most_bytes: int, told: Collection[int] = ()) -> set[int]:
    """End, for each worker that uses too much memory with its engines, the largest process of them.

    Without an engine its search goes on. A worker is told to end, and tells that its task is to go to no other one;
    one that was `told` so before is killed. Returns those that are told now.
    """
    now: set[int] = set()
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            worker = psutil.Process(pid)
            used = {process.pid: process.memory_info().rss for process in (worker, *worker.children(recursive=True))}
            if sum(used.values()) > most_bytes:
                largest = max(used, key=used.__getitem__)
                what = "the worker" if largest == pid else "its largest engine"
                _LOG.warning("worker process %d uses more than %d bytes; %s is ended", pid, most_bytes, what)
                is_first = largest == pid and pid not in told
                psutil.Process(largest).send_signal(TOO_HEAVY_SIGNAL if is_first else signal.SIGKILL)
                now |= {pid} if is_first else set()
    return now
