"""A few of the problems of `lab.agreement`."""

from __future__ import annotations

from collections import Counter

import pytest

from lab.agreement import draw, faults
from tests.support import oracle
from tests.support.depth import seeds
from tests.support.tied_problems import tied_problem


@pytest.mark.drawn
def test_the_exact_search_and_brute_force_agree() -> None:
    problems = [draw(seed) for seed in seeds(60)]
    tally: Counter[str] = Counter()
    assert faults("exact", [(problem, oracle.best_score(problem)) for problem in problems], tally) == []
    assert tally.keys() == {"exact proved"}


@pytest.mark.drawn
@pytest.mark.parametrize("solver", ["greedy", "local-search", "cp-sat"])
def test_what_mixes_all_constraints_is_planned_as_brute_force_says(solver: str) -> None:
    problems = [tied_problem(seed) for seed in seeds(20)]
    tally: Counter[str] = Counter()
    assert faults(solver, [(problem, oracle.best_score(problem)) for problem in problems], tally) == []
    assert tally[f"{solver} proved"] > 0
