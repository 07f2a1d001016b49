from __future__ import annotations

from collections import Counter

import pytest

from lab.agreement import faults
from tests.support import engine_checks, oracle
from tests.support.depth import DEPTH
from tests.support.tied_problems import tied_problem


@pytest.mark.drawn
def test_it_keeps_every_constraint() -> None:
    engine_checks.check_that_it_keeps_every_constraint("highs", count=20 * DEPTH)


def test_it_proves_the_small_public_set() -> None:
    engine_checks.check_that_it_proves_the_small_set("highs")


def test_it_takes_the_start() -> None:
    answer = engine_checks.minimised_from_a_start("highs")
    assert "MIP start solution is feasible, objective value is" in answer.log


def test_large_sizes_make_no_false_claim() -> None:
    engine_checks.check_that_large_sizes_make_no_false_claim("highs")


def test_an_optimum_within_the_gap_is_no_bound() -> None:
    problem = tied_problem(1014786)  # HiGHS ends at a third below 7, within its gap of the optimum, 6
    assert faults("highs", [(problem, oracle.best_score(problem))], Counter()) == []
