"""The start of a server of one process: it has no secrets until the template of its children was forked from it.

The readers of files are forked from the template, and must have none. A template that starts by itself would load all
that the server has loaded once more.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import socket
import sys
from importlib import import_module

from memplan.solvers.processes.harden import plain_environment
from memplan.solvers.processes.threads import processors

_REST = "REST_OF_ENVIRONMENT"
"""The variable with the descriptor of the file that has the rest of the environment."""


def start_bare() -> None:
    """Start this process again with the environment of its readers, and the rest in a file without a name.

    It returns where several server processes are wanted, which are forked otherwise.
    """
    is_alone = (os.environ.get("MEMPLAN_PROCESSES") or str(processors())) == "1"
    if sys.platform == "linux" and is_alone and _REST not in os.environ:
        shown, number = plain_environment(), os.memfd_create(_REST, 0)
        with open(number, "w", closefd=False) as file:
            json.dump({name: text for name, text in os.environ.items() if name not in shown}, file)
        os.execve(sys.executable, sys.orig_argv, shown | {_REST: str(number)})


def fork_template() -> None:
    """Load everything, fork the template, and take the rest of the environment, in a process that was started so."""
    if (number := os.environ.pop(_REST, None)) is None:
        return
    handler = signal.getsignal(signal.SIGTERM)
    import_module("memplan.api.http.serving.loaded")
    signal.signal(signal.SIGTERM, handler)
    # Imported here: the first of the two starts needs neither.
    from memplan.api.workers.child import run_template
    from memplan.api.workers.template import FORKED

    ours, its = socket.socketpair()
    with its, os.fdopen(int(number)) as rest:

        def run() -> None:
            ours.close()
            rest.close()
            run_template(its)

        multiprocessing.get_context("fork").Process(target=run, daemon=True).start()
        rest.seek(0)
        os.environ.update(json.load(rest))
    FORKED.append(ours)
