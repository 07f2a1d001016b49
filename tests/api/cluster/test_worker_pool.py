"""What a machine does with worker processes that take too much memory; sizes are in MiB."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from memplan.api.cluster.worker_pool import lighten

MIB = 1 << 20
HOLDER = """
import subprocess, sys
script, mine, *others = sys.argv[1:]
held = b"x" * (int(mine) << 20)
if others:
    subprocess.Popen([sys.executable, "-c", script, script, *others])
else:
    print("all hold", flush=True)
sys.stdin.read()
"""


@contextmanager
def holding(*sizes: int) -> Iterator[list[psutil.Process]]:
    """Run processes, each a child of the one before, that hold so much memory, and a little more for themselves."""
    command = [sys.executable, "-c", HOLDER, HOLDER, *map(str, sizes)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"all hold\n"
        family = [psutil.Process(first.pid)]
        family += family[0].children(recursive=True)
        try:
            yield family
        finally:
            for process in family:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()


def alive(family: list[psutil.Process]) -> list[bool]:
    """Say which processes run, once those that were killed have ended."""
    psutil.wait_procs(family, timeout=0.5)
    return [process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in family]


@pytest.mark.parametrize(
    ("sizes", "most", "left"),
    [
        ((20, 100), 100, [True, False]),
        ((100, 20), 100, [False, True]),
        ((20, 100), 300, [True, True]),
    ],
)
def test_too_much_memory_ends_the_largest_process(sizes: tuple[int, ...], most: int, left: list[bool]) -> None:
    with holding(*sizes) as family:
        lighten([family[0].pid], most * MIB)
        assert alive(family) == left


def test_a_worker_that_has_ended_weighs_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    lighten([process.pid], 1)
