"""Isolated solvers for tests; `python -m tests.support.isolated` runs as the parent of one until it is killed."""

import time

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.registry import SolverRow
from memplan.solvers.portfolio.subprocess_solver import run_isolated
from memplan.solvers.search.incumbent import Search


def row(function: str) -> SolverRow:
    return SolverRow(function, "a solver for tests", f"misbehaving:{function}", is_isolated=True)


def instance_with_a_gap() -> Instance:
    """Return an instance of three buffers, only two alive together, so stacking all three is not optimal."""
    buffers = [{"id": 0, "size": 3, "start": 0, "end": 2}, {"id": 1, "size": 5, "start": 1, "end": 3}]
    return compile_problem(Problem.model_validate({"buffers": [*buffers, {"id": 2, "size": 2, "start": 3, "end": 4}]}))


def search_for(instance: Instance, limit_s: float) -> Search:
    return Search(instance, deadline=time.monotonic() + limit_s)


if __name__ == "__main__":
    gap = instance_with_a_gap()
    run_isolated(row("has_a_sleeping_child"), gap, search_for(gap, 600))
