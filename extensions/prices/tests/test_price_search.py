"""Tests of the search for the least price of shared bytes."""

import time

from memplan import read_problem
from memplan.extensions.prices import search as prices
from memplan.extensions.prices.pieces import suits
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem
from memplan.solvers.search.incumbent import Search
from tests.support import public_problems


def search_counted(problem: Problem, work: int = 100_000, limit_s: float = 600) -> Search | None:
    """Return the state of a finished search with counted work, or None for an unsupported problem."""
    instance = compile_problem(problem)
    if not len(instance.priced_pairs) or not suits(instance):
        return None
    trusted = frozenset({"prices"})
    search = Search(instance, deadline=time.monotonic() + limit_s, deterministic=True, work_limit=work, trusted=trusted)
    if not search.is_over:
        prices.solve(instance, search)
    return search


def test_a_price_search_with_counted_work_ends_when_no_work_is_left() -> None:
    problem = read_problem(public_problems.library_file("reuse/dsa-solver-lift_a.json"))
    assert search_counted(problem, work=1_000, limit_s=10).stop_reason is None, "the clock ended it"


def test_a_price_search_with_counted_work_is_reproducible() -> None:
    problem = Problem(
        buffers=[{"id": k, "size": 3 + k % 4, "start": k % 11, "end": k % 11 + 2} for k in range(40)],
        reuse=[{"pairs": [[i, j] for j in range(40) for i in range(j) if (i + j) % 3], "cost": 1}],
        pools=[{"name": "ub", "size": 46}],
        objective="cost",
    )
    first, second = (search_counted(problem) for _ in range(2))
    assert first.best.offset.tolist() == second.best.offset.tolist()
    assert first.bound == second.bound
