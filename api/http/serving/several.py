"""Several server processes on one port, as uvicorn workers, under a parent that runs the jobs."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import socket
import tempfile
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from memplan.api.garbage import collect_rarely
from memplan.api.service.cache.shared_plans import make_shared
from memplan.api.service.cache.written_plans import WRITTEN, WRITTEN_BYTES
from memplan.api.service.shared_admission import ADMISSION, admitting, queue_of
from memplan.api.settings import PREFIX, Settings, read_settings
from memplan.api.workers.template import FORKED
from memplan.planner.errors import OptionError
from memplan.solvers.processes.harden import keep_to_itself

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

_LAST_ANSWERS_S, _START_S = 5, 120
_ACCEPTED_AT_ONCE = 128
_ARENAS = "2"
"""The number of malloc arenas: by default each thread has its own, which retains freed memory."""
_COUNTS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_IDLE_S = 75
"""The seconds that an idle connection stays open: more than the timeout of a proxy in front."""


def take_all_descriptors() -> None:
    """Raise the limit of descriptors for this process and its children as far as the system allows."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def config(app: Any, settings: Settings, log: dict[str, Any] | None) -> uvicorn.Config:
    """Return the uvicorn settings for an app, or for the name of its factory function."""
    import uvicorn

    from memplan.api.http.serving.connections import Connection, most_connections

    return uvicorn.Config(
        app,
        factory=isinstance(app, str),
        http=Connection,
        ws="none",
        workers=settings.processes,
        log_config=log,
        log_level="warning",
        access_log=False,  # the app logs more itself, and less of what callers send
        server_header=False,
        proxy_headers=False,
        limit_concurrency=most_connections(),
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=_LAST_ANSWERS_S,
        timeout_worker_healthcheck=_START_S,
        backlog=_ACCEPTED_AT_ONCE,
    )


def serve_by_several(settings: Settings, listener: socket.socket, log: dict[str, Any]) -> None:
    """Serve by uvicorn workers, with the jobs below this process. Raises OptionError if they do not start."""
    from uvicorn.config import STARTUP_FAILURE

    with tempfile.TemporaryDirectory(prefix="memplan-counts-") as folder:
        for name, value in {"require_keys": settings.require_keys, "workers": 0}.items():
            if value is not None:
                os.environ[f"{PREFIX}{name.upper()}"] = str(value)
        os.environ[_COUNTS_FOLDER] = folder
        os.environ.setdefault("MALLOC_ARENA_MAX", _ARENAS)
        # Imported here, after the variable that the counters read when they are imported was set.
        from memplan.api.http.serving.supervisor import begin_forks, forked_template, supervisor

        several = supervisor(config(f"{__name__}:one_of_several", settings, log), [listener])
        with ExitStack() as stack:
            os.environ[ADMISSION] = path = f"{folder}/admission"
            queue = queue_of(settings.solves, settings.waiting, bool(settings.require_keys))
            try:
                stack.enter_context(admitting(queue, path))
            except OSError as error:
                raise OptionError(f"TMPDIR: must be a folder for a socket, got {path}: {error}") from error
            with suppress(OSError):  # without room, each process has its own
                make_shared(Path(folder) / "written", WRITTEN_BYTES)
                os.environ[WRITTEN] = f"{folder}/written"
            begin_forks()  # it loads at the same time as this process
            if settings.workers > 0:
                from memplan.api.jobs.workers import working

                FORKED.append(forked_template())
                stack.enter_context(working(settings))
            collect_rarely()
            several.run()
    if any(process.exitcode == STARTUP_FAILURE for process in several.processes):
        raise OptionError("processes: a server process did not start; its log says why")


def one_of_several() -> FastAPI:
    """Make the app of one of several processes; it ends with its parent."""
    from memplan.api.http.app import create_app

    settings = read_settings()
    if settings.has_secrets:
        keep_to_itself()
    _forget_gauges(Path(os.environ[_COUNTS_FOLDER]))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    return create_app(settings)


def _end_with_parent() -> None:
    parent, forked_by = multiprocessing.parent_process(), os.getppid()
    assert parent is not None
    while parent.is_alive() and os.getppid() == forked_by:  # without it, the parent takes this process for ended
        parent.join(1.0)
    os.kill(os.getpid(), signal.SIGTERM)


def _forget_gauges(folder: Path) -> None:
    """Remove the gauges of ended processes; their counters stay."""
    from prometheus_client.multiprocess import mark_process_dead

    for pid in {path.stem.rpartition("_")[2] for path in folder.glob("gauge_live*.db")}:
        if not psutil.pid_exists(int(pid)):
            mark_process_dead(int(pid), str(folder))  # type: ignore[no-untyped-call]
