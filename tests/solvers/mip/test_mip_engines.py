"""CBC and HiGHS, each held to the same checks."""

from __future__ import annotations

from collections import Counter

import pytest

from lab.agreement import faults
from tests.support import engine_checks, oracle
from tests.support.depth import DEPTH
from tests.support.tied_problems import tied_problem

TAKEN = {
    "cbc": "MIPStart provided solution with cost",
    "highs": "MIP start solution is feasible, objective value is",
}
"""The words of each engine's log where it takes the start."""
each_engine = pytest.mark.parametrize("engine", TAKEN)


@pytest.mark.drawn
@each_engine
def test_it_keeps_every_constraint(engine: str) -> None:
    engine_checks.check_that_it_keeps_every_constraint(engine, count=(15 if engine == "cbc" else 20) * DEPTH)


@pytest.mark.drawn
@pytest.mark.parametrize("engine", ["cp-sat", "highs"])
def test_it_counts_what_pairs_cost(engine: str) -> None:
    engine_checks.check_that_it_counts_what_pairs_cost(engine, count=12 * DEPTH)


@each_engine
def test_it_proves_the_small_public_set(engine: str) -> None:
    engine_checks.check_that_it_proves_the_small_set(engine)


@each_engine
def test_it_takes_the_start(engine: str) -> None:
    log = engine_checks.minimised_from_a_start(engine).log
    assert TAKEN[engine] in log
    # By itself CBC's clock counts processor time, and not that of the deadline.
    assert engine != "cbc" or "-timeMode elapsed" in log


@each_engine
def test_large_sizes_make_no_false_claim(engine: str) -> None:
    engine_checks.check_that_large_sizes_make_no_false_claim(engine)


def test_an_optimum_within_the_gap_is_no_bound() -> None:
    problem = tied_problem(1014786)  # HiGHS ends at a third below 7, within its gap of the optimum, 6
    assert faults("highs", [(problem, oracle.best_score(problem))], Counter()) == []
