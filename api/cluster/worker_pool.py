"""The worker processes of one machine, replaced when they end, give no heartbeat or use too much memory."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psutil
from distributed import Security

from memplan.api.cluster.dask import MEMORY_BYTES, SILENT_S, worker_certificate
from memplan.api.settings import Settings

_START_S = 60.0
"""The time that a process may take to its first heartbeat."""
_WEIGH_EVERY_S = 0.5
_PART_OF_MEMORY = 0.9
_SHORT_LIFE_S, _PAUSE_S = 5.0, 2.0
"""A process that ends so soon is replaced only after a pause."""
_LOG = logging.getLogger("memplan")


class WorkerPool:
    """`settings.workers` processes for a scheduler, which each solve one task at a time. For one event loop."""

    def __init__(self, scheduler: str, settings: Settings, security: Security | None = None) -> None:
        certificate = None if security is None else worker_certificate(security)
        self.arguments = {"scheduler": scheduler, "log_format": settings.log_format, "security": certificate}
        self.workers = settings.workers
        # Each may use its part of this machine, or of what its container is given.
        self.most_bytes = settings.worker_memory_bytes or int(_PART_OF_MEMORY * MEMORY_BYTES / max(1, self.workers))
        self.processes: dict[int, Process] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep the processes running until the block ends; they are ready some seconds later than it begins."""
        tasks = [asyncio.create_task(self._keep(number)) for number in range(self.workers)]
        tasks.append(asyncio.create_task(self._weigh()))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _keep(self, number: int) -> None:
        """Keep one process running, replaced whenever it ends."""
        while True:
            started = time.monotonic()
            process = self.processes[number] = await self._started()
            try:
                await _ended(process)
            finally:
                del self.processes[number]
                _kill(process.pid)
                await process.wait()
            _LOG.warning("worker process %d ended, and is replaced", process.pid)
            if time.monotonic() - started < _SHORT_LIFE_S:
                await asyncio.sleep(_PAUSE_S)

    async def _started(self) -> Process:
        command = [sys.executable, "-P", "-m", "memplan.api.cluster.worker_process"]
        process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, process_group=0)
        assert process.stdin is not None
        process.stdin.write(json.dumps(self.arguments).encode() + b"\n")
        return process

    async def _weigh(self) -> None:
        while True:
            await asyncio.sleep(_WEIGH_EVERY_S)
            pids = [process.pid for process in self.processes.values()]
            await asyncio.to_thread(lighten, pids, self.most_bytes)


async def _ended(process: Process) -> None:
    """Return when a process has ended, or gives no heartbeat any more."""
    assert process.stdout is not None
    patience_s = _START_S
    try:
        while await asyncio.wait_for(process.stdout.read(4096), patience_s):
            patience_s = SILENT_S
    except TimeoutError:
        _LOG.warning("worker process %d gave no heartbeat for %.0f s", process.pid, patience_s)


def lighten(pids: list[int], most_bytes: int) -> None:
    """End, for each worker that uses too much memory with its engines, the largest process of them.

    Without an engine its search goes on; without its worker the task goes to another one.
    """
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            worker = psutil.Process(pid)
            used = {process.pid: process.memory_info().rss for process in (worker, *worker.children(recursive=True))}
            if sum(used.values()) > most_bytes:
                largest = max(used, key=used.__getitem__)
                what = "the worker" if largest == pid else "its largest engine"
                _LOG.warning("worker process %d uses more than %d bytes; %s is ended", pid, most_bytes, what)
                _kill(largest)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
