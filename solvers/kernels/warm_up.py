"""Compile the kernels ahead; or, where that was not done, in a process of its own while a search goes on.

Where the package was built with them there is nothing to compile (`built.py`). Otherwise, compiling takes longer than
many a time limit, and cannot be interrupted. So no kernel is called before all of its group can be loaded at once. The
compiling process goes on when its parent ends, so the next call finds them. Only where it fails, as where no folder can
be written, a process compiles the kernels that it calls, and its search is late.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import cache as cache_calls
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels import abi, built, cache
from memplan.solvers.kernels.cache import GROUPS, PLANNING, KernelGroup
from memplan.solvers.kernels.kernel import Kernel, runs_as_python

_LOG = logging.getLogger("memplan")
_LOOK_EVERY_S = 0.02
_NICENESS = 5
_REAPED_WITHIN_S = 0.2

_starting = threading.Lock()
_processes: dict[KernelGroup, subprocess.Popen[bytes]] = {}


def warm_up(group: KernelGroup = PLANNING) -> Path | None:
    """Load all kernels, compiled before if need be; return the folder they are in, None if there is none."""
    wait(np.zeros(1, dtype=np.int64), group)
    for name in group.kernels:
        kernel_named(name).load()
    np.random.default_rng()  # imported by numpy on first use
    return built.FOLDER if built.find(group) is not None else cache.find(group)


def wait(flag: I64, group: KernelGroup = PLANNING) -> bool:
    """Wait until the kernels can be called; return False if flag[0] turned 1 first."""
    while not are_ready(group):
        if flag[0] != 0:
            return False
        time.sleep(_LOOK_EVERY_S)
    if group in _processes:
        with suppress(subprocess.TimeoutExpired):  # it has nothing left to do, unless it waits for another's lock
            _processes[group].wait(_REAPED_WITHIN_S)
    return True


def are_ready(group: KernelGroup = PLANNING) -> bool:
    """Return True if the kernels can be called; if not, start a process that compiles them, unless one runs."""
    if built.find(group) is not None or cache.find(group) is not None:
        return True
    if not abi.can_compile():
        _tell_none()
        return True
    with _starting:
        if group not in _processes:
            _LOG.warning("compiling the kernels, once, which takes about 10 s; `memplan warm-up` does it ahead")
            _processes[group] = subprocess.Popen(
                [sys.executable, "-P", "-m", "memplan.solvers.kernels.warm_up", group.name],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                process_group=0,
            )
        # Where it failed, calling them compiles them: nothing better can be waited for.
        return _processes[group].poll() is not None


@cache_calls
def _tell_none() -> None:
    _LOG.warning("no compiled kernels: searches run as Python, a hundred times slower; pip install 'memplan[jit]'")


def _forget_processes() -> None:
    """After a fork: the compiling processes are the children of another one."""
    global _starting
    _starting = threading.Lock()
    _processes.clear()


os.register_at_fork(after_in_child=_forget_processes)


def _compile(names: tuple[str, ...], folder: Path) -> None:
    """Compile each kernel in a process of its own."""
    # Imported here: searches that find the kernels compiled need none of it.
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(len(names), mp_context=get_context("fork")) as processes:
        for done in [processes.submit(_keep, name, folder) for name in names]:
            done.result()


def _keep(name: str, folder: Path) -> None:
    if not runs_as_python():
        kernel_named(name).keep(folder)


def kernel_named(name: str) -> Kernel:
    """Return a kernel by its `module.function` in this package."""
    module, _, function = name.rpartition(".")
    kernel: Kernel = getattr(import_module(f"memplan.solvers.kernels.{module}"), function)
    return kernel


def main() -> None:
    """Run the compiling process: fill the cache with the group that the first argument names."""
    os.nice(_NICENESS)
    (group,) = (group for group in GROUPS if group.name == sys.argv[1])
    cache.fill(partial(_compile, group.kernels), group)


if __name__ == "__main__":
    main()
