"""The same problem and options give the same bytes in any process, in whatever order it goes through sets of names."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from memplan.planner.formats.memplan_json import write_plan
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.registry import BY_NAME, CONSTRAINTS, EVERYTHING
from memplan.solvers.portfolio.solve import solve
from tests.support import constrained_problems
from tests.support.constrained_problems import constrained_problem
from tests.support.tight_problems import full_load

TIGHT = full_load(3, 24)
EVERY_FEATURE = constrained_problem(1, 10, frozenset((*constrained_problems.CONSTRAINTS, *constrained_problems.OTHERS)))
CASES: tuple[tuple[str, Problem], ...] = (
    ("auto", TIGHT),
    ("exact", TIGHT),
    ("core", TIGHT),
    ("cp-sat", TIGHT),
    ("auto", EVERY_FEATURE),
)


def planned() -> bytes:
    """The plans of all cases, a line each."""
    cases = [(solver, problem) for solver, problem in CASES if solver == "auto" or BY_NAME[solver].is_installed]
    return b"".join(
        write_plan(solve(problem, solver=solver, deterministic=True, time_limit_s=4, seed=5), problem)
        for solver, problem in cases
    )


def test_a_case_has_every_feature() -> None:
    assert compile_problem(EVERY_FEATURE).features >= (EVERYTHING | CONSTRAINTS)


@pytest.mark.slow
def test_fresh_processes_give_equal_bytes() -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-c", "from tests.solvers.portfolio.test_determinism import main; main()"],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdout=subprocess.PIPE,
        )
        for seed in ("1", "2")
    ]
    first, second = (process.communicate()[0] for process in running)
    assert first == second == planned()


def main() -> None:
    """Be one of the processes."""
    sys.stdout.buffer.write(planned())
