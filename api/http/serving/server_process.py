"""One of several server processes on a port: it serves on a socket that its parent opened, and ends with its parent.

It reads its arguments (a line of JSON) from standard input, which is open for as long as the parent lives, and writes a
byte to standard output once it serves.
"""

from __future__ import annotations

import json
import logging.config
import os
import socket
import sys
import threading
from pathlib import Path

from distributed import Security

from memplan.api.http.limits.turns import Turns
from memplan.api.http.serving.server import Server
from memplan.api.logs import log_config
from memplan.api.metrics import COUNTS_FOLDER
from memplan.api.settings import read_settings


def main() -> None:
    """Run the process."""
    told = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    settings = read_settings(**told["settings"])
    logging.config.dictConfig(log_config(settings.log_format, settings.log_problems))
    workers = None
    if "workers" in told:
        workers = told["workers"], None if told["security"] is None else Security(**told["security"])
    tell = os.dup(1)
    os.dup2(2, 1)
    turns = Turns(Path(os.environ[COUNTS_FOLDER]) / "connections", told["number"], told["processes"])
    server = Server(settings, workers=workers, on_start=lambda: os.write(tell, b"."), turns=turns)
    with socket.socket(fileno=told["socket"]) as listener:
        server.run([listener])


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
