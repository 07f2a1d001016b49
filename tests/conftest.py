"""What comes before all tests."""

from __future__ import annotations

import fcntl
import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from memplan.solvers.kernels import built
from memplan.solvers.kernels.groups import GROUPS
from tests.support.depth import DEPTH

_EXAMPLES = 50
_ON_LOADED_MACHINES = [HealthCheck.too_slow]
settings.register_profile(
    "explore",
    max_examples=_EXAMPLES * DEPTH,
    deadline=None,
    print_blob=True,
    suppress_health_check=_ON_LOADED_MACHINES,
)
settings.register_profile("gate", settings.get_profile("explore"), derandomize=True, database=None)
settings.load_profile("gate")
# The gate draws the same few cases each time; `--hypothesis-profile=explore` draws new ones, `lab.deep` many of them.


@functools.cache
def _shares_a_setup(module: Path) -> bool:
    """Say whether the tests of a module share what is made once: each process that runs one would make it anew."""
    return 'scope="module"' in module.read_text(encoding="utf-8")


def pytest_sessionstart() -> None:
    """Have the kernels built of these sources, by one process, so that no test runs them as Python by chance.

    A fault of a solver is an error in all processes that tests start, as it is in theirs (`filterwarnings`).
    """
    os.environ.setdefault("PYTHONWARNINGS", "error:a fault of solver")
    if built.folder() != built.OF_PACKAGE or all(map(built.find, GROUPS)):
        return
    folder = os.open(built.OF_PACKAGE.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        subprocess.run([sys.executable, "-m", "memplan.solvers.kernels.build"], check=True)
    finally:
        os.close(folder)
    built.look.cache_clear()


_TESTS = Path(__file__).parent
_ONE_AFTER_THE_OTHER = (
    *("faults", "api/cluster", "packaging/test_deployment.py"),
    *("solvers/portfolio/test_subprocess_solver.py", "solvers/portfolio/test_watchdog.py"),
    *("api/cli/test_cli_process.py", "api/http/test_limits.py", "solvers/bench/test_bench_measuring.py"),
)
"""Tests with clocks or many processes: where tests run in parallel, one process runs all of these."""
_EXPORTS = "api/executorch"
"""Tests that export models: one process runs them all, so that each model is exported once."""


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the marks in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests that disturb each other, and those that share what is dear to make, into groups."""
    for item in items:
        path = item.path.relative_to(_TESTS).as_posix()
        if path.startswith(_EXPORTS):
            item.add_marker(pytest.mark.xdist_group("exports"))
        elif path.startswith(_ONE_AFTER_THE_OTHER):
            item.add_marker(pytest.mark.xdist_group("one after the other"))
        elif item.get_closest_marker("xdist_group") is None and _shares_a_setup(item.path):
            item.add_marker(pytest.mark.xdist_group(path))
