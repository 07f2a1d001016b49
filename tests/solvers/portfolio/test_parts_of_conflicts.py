"""Conflict graphs split into parts: the peak is the maximum over parallel parts and the sum over stacked parts."""

from itertools import combinations
from typing import Any

import pytest

from memplan import Problem, solve
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.application import Application
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio import parts
from memplan.solvers.search.incumbent import Search
from memplan.solvers.search.to_plan import plan_of_assignment
from tests.support.applications import conflicts_of, draw_application, min_peak
from tests.support.values import require_value

RING = [(1, 2), (2, 3), (3, 4), (4, 5), (5, 1)]


def problem_of_conflicts(count: int, pairs: list[tuple[int, int]], **fields: Any) -> Problem:
    return Problem(buffers=[{"id": k, "size": k + 1, **fields} for k in range(count)], conflicts=pairs)


def search_parts(problem: Problem) -> Search:
    instance = compile_problem(problem)
    search = Search(instance, deadline=float("inf"), trusted=frozenset({"parts"}))
    parts.solve(instance, search)
    return search


@pytest.mark.parametrize("seed", range(30))
def test_the_parts_solver_agrees_with_brute_force(seed: int) -> None:
    application = draw_application(seed)
    search = search_parts(Application.model_validate(application).problem)
    if search.best is not None:
        unit = search.instance.unit
        assert search.best.score[0] * unit == search.bound[0] * unit == min_peak(*conflicts_of(application))


def test_a_ring_of_five_cannot_be_split_into_parts_but_two_stacked_rings_can() -> None:
    assert search_parts(problem_of_conflicts(6, RING)).best is not None  # the sixth buffer is not part of the ring
    assert search_parts(Problem(buffers=[{"id": k, "size": 1} for k in range(1, 6)], conflicts=RING)).best is None
    other = [(a + 5, b + 5) for a, b in RING]
    across = [(a, b) for a in range(1, 6) for b in range(6, 11)]
    twice = Problem(buffers=[{"id": k, "size": 1} for k in range(1, 11)], conflicts=[*RING, *other, *across])
    assert (solve(twice).status, solve(twice).peak) == ("optimal", 6)


def test_stacked_parts_of_aligned_buffers_give_a_valid_plan() -> None:
    problem = problem_of_conflicts(3, [*combinations(range(3), 2)], alignment=4)
    assert search_parts(problem).best is not None
    assert not verify(problem, solve(problem, solver="parts"))


def test_the_parts_solver_proves_sums_beyond_the_capacity_infeasible() -> None:
    problem = problem_of_conflicts(6, [*RING, *((0, k) for k in range(1, 6))]).with_capacity(8)
    assert search_parts(problem).infeasibility_witness is not None


@pytest.mark.parametrize("fields", [{"offset_mod": {"modulus": 5, "remainder": 2}}, {"alignment": 4}])
def test_parts_respect_remainders_and_base_addresses(fields: dict[str, Any]) -> None:
    rows = [{"id": k, "size": 3, "start": 0, "end": 1, **fields} for k in range(2)]
    problem = Problem(buffers=rows, pools=[{"base_address": 2}], conflicts=[(0, 1)])
    search = search_parts(problem)
    assert verify(problem, plan_of_assignment(problem, search.instance, require_value(search.best), search.proof)) == ()
