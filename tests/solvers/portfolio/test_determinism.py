"""The same problem and options give the same bytes in any process, in whatever order it goes through sets of names."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.solvers.portfolio.registry import CONSTRAINTS, EVERYTHING
from tests.support.fixed_plans import EVERY_FEATURE, planned


def test_a_case_has_every_feature() -> None:
    assert compile_problem(EVERY_FEATURE).features >= (EVERYTHING | CONSTRAINTS)


@pytest.mark.slow
def test_fresh_processes_give_equal_bytes() -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.fixed_plans"],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdout=subprocess.PIPE,
        )
        for seed in ("1", "2")
    ]
    first, second = (process.communicate()[0] for process in running)
    assert first == second == planned()
