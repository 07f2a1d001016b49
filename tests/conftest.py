"""What comes before all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from memplan.planner.model.buffer_table import column
from memplan.solvers.kernels import warm_up


def pytest_sessionstart() -> None:
    """Have the kernels compiled and kept, so that no test meets a machine without them by chance."""
    warm_up.wait(column([0]))


_TESTS = Path(__file__).parent
_ONE_AFTER_THE_OTHER = (
    *("faults", "api/cluster", "api/executorch", "packaging/test_cmake.py", "packaging/test_deployment.py"),
    *("solvers/portfolio/test_subprocess_solver.py", "solvers/portfolio/test_watchdog.py"),
    *("solvers/kernels/test_warm_up.py", "solvers/kernels/test_kernel_cache.py"),
    *("api/cli/test_cli_process.py", "api/http/test_limits.py", "solvers/bench/test_bench_measuring.py"),
)
"""Tests with clocks, many processes or much memory: of those that run in parallel, one process runs all of these."""


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the marks in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests that disturb each other into one group."""
    for item in items:
        if item.path.relative_to(_TESTS).as_posix().startswith(_ONE_AFTER_THE_OTHER):
            item.add_marker(pytest.mark.xdist_group("one after the other"))
