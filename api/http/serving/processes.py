"""Several server processes on one port: they share the socket, the store and the workers; one that ends is replaced.

The parent holds the socket and the scheduler of the workers, and answers no request itself.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import socket
import tempfile
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from distributed import Security

from memplan.api.cluster import dask
from memplan.api.cluster.local_cluster import local_cluster
from memplan.api.metrics import COUNTS_FOLDER
from memplan.api.settings import Settings
from memplan.planner.errors import OptionError
from memplan.solvers.processes.supervisor import Supervisor

LAST_ANSWERS_S = 15.0
"""The time that server processes have to answer and to end, once they are told to."""
_START_S = 120.0
_FOLDER = "memplan-counts-"
_ARENAS = "2"
"""The arenas of the C library's allocator: by default each thread has one of its own, which keeps what others freed."""
_LOG = logging.getLogger("memplan")


class ServerProcesses:
    """`settings.processes` servers on one socket, until a signal says to stop. For one event loop.

    What one server may hold, keep open or let wait, each of the processes may in part, so that together it is as much.
    """

    def __init__(self, settings: Settings, listener: socket.socket) -> None:
        self._settings, self._listener = settings, listener
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Serve; raises OptionError where the processes do not start."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        async with AsyncExitStack() as stack:
            remove_left_folders()
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=f"{_FOLDER}{os.getpid()}-"))
            workers: dict[str, Any] = {}
            if self._settings.scheduler is None and self._settings.workers > 0:
                dask.set_up()
                workers = _told(*await stack.enter_async_context(local_cluster(self._settings)))
            processes = Supervisor(
                "server process",
                "memplan.api.http.serving.server_process",
                _START_S,
                environment={"MALLOC_ARENA_MAX": _ARENAS} | os.environ | {COUNTS_FOLDER: folder},
                pass_fds=(self._listener.fileno(),),
                on_end=partial(_forget_gauges, folder),
            )
            try:
                for k in range(self._settings.processes):
                    processes.keep(self._task(k) | workers)
                await self._first_start(processes)
                await self._stopping.wait()
            finally:
                await processes.stop(LAST_ANSWERS_S)

    def _task(self, k: int) -> dict[str, Any]:
        """Return what a process is told beside the environment."""
        count, settings = self._settings.processes, self._settings
        share = {
            "waiting": -(-settings.waiting // count),
            "max_streams": -(-settings.max_streams // count),
            "cache_memory_bytes": settings.cache_memory_bytes // count,
            "solves": max(1, settings.solves // count),
        }
        if settings.max_held_bytes is not None:
            share["max_held_bytes"] = max(1, settings.max_held_bytes // count)
        decided = {"require_keys": settings.require_keys, "without_keys": settings.without_keys, "processes": 1}
        return {"number": k, "processes": count, "socket": self._listener.fileno(), "settings": share | decided}

    async def _first_start(self, processes: Supervisor) -> None:
        """Wait until all processes serve; raises OptionError where one cannot."""
        while processes.n_ready < self._settings.processes and not self._stopping.is_set():
            if processes.has_failed:
                raise OptionError("processes: a server process did not start; its log says why")
            await asyncio.sleep(0.02)
        if not self._stopping.is_set():
            host, port = self._listener.getsockname()[:2]
            where = f"[{host}]" if ":" in host else host
            _LOG.info("memplan listens on http://%s:%d with %d processes", where, port, self._settings.processes)


def remove_left_folders() -> None:
    """Remove the folders of servers that were killed, and could not do it themselves."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*-*"):
        pid = folder.name.removeprefix(_FOLDER).partition("-")[0]
        if pid.isdecimal() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)  # those of other users stay


def _told(address: str, security: Security | None) -> dict[str, Any]:
    return {"workers": address, "security": None if security is None else dask.client_certificate(security)}


def _forget_gauges(folder: str, pid: int) -> None:
    """Forget how much a process that ended had of what comes and goes; what it counted stays."""
    # Imported here, after the variable that it reads when it is imported may have been set.
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(pid, folder)  # type: ignore[no-untyped-call]
