"""The plans of a few problems, made deterministically, a line each: `python -m lab.fixed_plans`."""

from __future__ import annotations

import sys

from memplan.planner.formats.memplan_json import write_plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.registry import BY_NAME
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


if __name__ == "__main__":
    sys.stdout.buffer.write(planned())
