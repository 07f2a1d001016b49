"""Compile the kernels ahead; or, where that was not done, in a process of its own while a search goes on.

Compiling takes longer than many a time limit, and cannot be interrupted. So no kernel is called before all of them can
be loaded at once. The compiling process goes on when its parent ends, so the next call finds them. Only where it fails,
as where no folder can be written, a process compiles the kernels that it calls, and its search is late.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels import cache
from memplan.solvers.kernels.kernel import Kernel, runs_as_python

_LOG = logging.getLogger("memplan")
_LOOK_EVERY_S = 0.02
_NICENESS = 5
_REAPED_WITHIN_S = 0.2

_starting = threading.Lock()
_process: subprocess.Popen[bytes] | None = None


def warm_up() -> Path | None:
    """Load all kernels, compiled before if need be; return the folder they are kept in, None if there is none."""
    wait(np.zeros(1, dtype=np.int64))
    for kernel in _kernels():
        kernel.load()
    np.random.default_rng()  # imported by numpy on first use
    return cache.find()


def wait(flag: I64) -> bool:
    """Wait until the kernels can be called; return False if flag[0] turned 1 first."""
    while not are_ready():
        if flag[0] != 0:
            return False
        time.sleep(_LOOK_EVERY_S)
    if _process is not None:
        with suppress(subprocess.TimeoutExpired):  # it has nothing left to do, unless it waits for another's lock
            _process.wait(_REAPED_WITHIN_S)
    return True


def are_ready() -> bool:
    """Return True if the kernels can be called; if not, start a process that compiles them, unless one runs."""
    global _process
    if cache.find() is not None:
        return True
    with _starting:
        if _process is None:
            _LOG.warning("compiling the kernels, once, which takes about 15 s; `memplan warm-up` does it ahead")
            _process = subprocess.Popen(
                [sys.executable, "-P", "-m", "memplan.solvers.kernels.warm_up"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        # Where it failed, calling them compiles them: nothing better can be waited for.
        return _process.poll() is not None


def _forget_process() -> None:
    """After a fork: the compiling process is the child of another one."""
    global _starting, _process
    _starting, _process = threading.Lock(), None


os.register_at_fork(after_in_child=_forget_process)


def _compile(folder: Path) -> None:
    """Compile each kernel in a process of its own."""
    # Imported here: searches that find the kernels compiled need none of it.
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(len(_kernels()), mp_context=get_context("fork")) as processes:
        for done in [processes.submit(_keep, which, folder) for which in range(len(_kernels()))]:
            done.result()


def _keep(which: int, folder: Path) -> None:
    if not runs_as_python():
        _kernels()[which].keep(folder)


def _kernels() -> tuple[Kernel, ...]:
    from memplan.solvers.kernels.exact import search
    from memplan.solvers.kernels.order.beam import beam_order
    from memplan.solvers.kernels.order.closure import close_cheaply
    from memplan.solvers.kernels.order.depth_first import search_order
    from memplan.solvers.kernels.packing import pack

    return search, search_order, beam_order, pack, close_cheaply


def main() -> None:
    """Run the compiling process: fill the cache."""
    os.nice(_NICENESS)
    cache.fill(_compile)


if __name__ == "__main__":
    main()
