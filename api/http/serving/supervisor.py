"""Server processes, and the templates of their children, are forked from one process that has loaded everything.

It is the fork server of `multiprocessing`. A process that starts anew loads for more than two seconds.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
from multiprocessing import forkserver

from uvicorn import Config
from uvicorn._subprocess import subprocess_started
from uvicorn.supervisors import Multiprocess, multiprocess

from memplan.api.metrics import COUNTS_FOLDER
from memplan.api.workers.child import run_template
from memplan.api.workers.template import FORKED
from memplan.solvers.processes.harden import plain_environment

_FORKS = multiprocessing.get_context("forkserver")
_LOADED = "memplan.api.http.serving.loaded"


def begin_forks() -> None:
    """Start the process that others are forked from, unless it runs.

    It has no secrets, as the readers of files, which are forked from it, must have none.
    """
    own = dict(os.environ)
    shown = plain_environment() | {COUNTS_FOLDER: own[COUNTS_FOLDER]}
    os.environ.clear()
    os.environ.update(shown)
    _FORKS.set_forkserver_preload([_LOADED])
    forkserver.ensure_running()
    os.environ.update(own)


def forked_template() -> socket.socket:
    """Return the line to a new template."""
    begin_forks()
    ours, its = socket.socketpair()
    with its:
        _FORKS.Process(target=run_template, args=(its,), daemon=True).start()
    return ours


class ServerProcess(multiprocess.Process):
    """A server process of uvicorn that is forked, with a template of its own."""

    def __init__(self, config: Config, sockets: list[socket.socket]) -> None:
        super().__init__(config, sockets)
        self._line = forked_template()
        self._environment = dict(os.environ)
        asked = {"config": config, "target": self.target, "sockets": sockets, "stdin_fileno": None}
        self.process = _FORKS.Process(target=subprocess_started, kwargs=asked)  # type: ignore[assignment]

    def start(self) -> None:
        """Start the process, and leave it its end of each pipe.

        While an end is open here, a pipe to a killed process does not end, and its sign of life is waited for.
        """
        super().start()
        self.child_conn.close()
        self._line.close()

    def target(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve, in the process."""
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.environ.update(self._environment)
        FORKED.append(self._line)
        super().target(sockets)


def supervisor(config: Config, sockets: list[socket.socket]) -> Multiprocess:
    """Return the supervisor, which starts the server processes, and replaces those that end."""
    multiprocess.Process = ServerProcess  # type: ignore[misc] # the name by which it makes them
    return Multiprocess(config, sockets)
