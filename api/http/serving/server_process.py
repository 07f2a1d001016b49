"""One of several server processes on a port: it serves on a socket that its parent opened, and ends with its parent.

It writes a byte to its parent once it serves.
"""

from __future__ import annotations

import logging.config
import os
import socket
from pathlib import Path

from distributed import Security

from memplan.api.http.limits.turns import Turns
from memplan.api.http.serving.answering_server import Server
from memplan.api.logs import log_config
from memplan.api.metrics import COUNTS_FOLDER
from memplan.api.settings import read_settings
from memplan.solvers.processes.harden import keep_to_itself
from memplan.solvers.processes.parent import Parent


def main() -> None:
    """Run the process."""
    parent = Parent()
    told = parent.task
    settings = read_settings(**told["settings"])
    if settings.has_secrets:
        keep_to_itself()
    logging.config.dictConfig(log_config(settings.log_format, settings.log_problems))
    workers = None
    if "workers" in told:
        workers = told["workers"], None if told["security"] is None else Security(**told["security"])
    turns = Turns(Path(os.environ[COUNTS_FOLDER]) / "connections", told["number"], told["processes"])
    server = Server(settings, workers=workers, on_start=lambda: os.write(parent.answers.fileno(), b"."), turns=turns)
    with socket.socket(fileno=told["socket"]) as listener:
        server.run([listener])


if __name__ == "__main__":
    main()
