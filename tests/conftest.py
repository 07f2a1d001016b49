"""What comes before all tests."""

from __future__ import annotations

from memplan.planner.model.buffer_table import column
from memplan.solvers.kernels import warm_up


def pytest_sessionstart() -> None:
    """Have the kernels compiled and kept, so that no test meets a machine without them by chance."""
    warm_up.wait(column([0]))
