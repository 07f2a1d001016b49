from __future__ import annotations

import time

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem
from memplan.solvers.heuristics import greedy, local_search
from memplan.solvers.search.incumbent import Search
from tests.support import oracle
from tests.support.constrained_problems import CONSTRAINTS, constrained_problem
from tests.support.random_problems import random_problem

FEATURES = ("holes", "conflicts", "pools", "alignment", "pins", "reserved", "cost")


def searching(problem: Problem, seed: int = 0, work_limit: int = 100_000) -> Search:
    return Search(
        compile_problem(problem),
        deadline=time.monotonic() + 60,
        seed=seed,
        deterministic=True,
        work_limit=work_limit,
    )


def mixed(mix: int) -> frozenset[str]:
    return frozenset(name for k, name in enumerate(FEATURES) if mix >> k & 1)


def test_small_constrained_problems_end_at_the_best_plan_there_is() -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        features = frozenset(name for name in CONSTRAINTS if rng.random() < 0.4)
        problem = constrained_problem(seed, 5, features)
        search = searching(problem)
        local_search.solve(search.instance, search)
        assert search.best is not None
        peaks = tuple(peak * search.instance.unit for peak in search.best.score[-len(problem.pools) :])
        score = (*search.best.score[: -len(peaks)], *peaks)
        counted = 1 if search.instance.is_cost_alone else len(score)
        best = oracle.best_score(problem)
        assert best is not None
        assert score[:counted] == best[:counted]


@pytest.mark.parametrize(("n", "seed"), [(8, 181), (10, 193), (10, 201)])
def test_what_the_quick_orders_leave_where_buffers_share_is_found(n: int, seed: int) -> None:
    search = searching(constrained_problem(seed, n, frozenset({"sharing"})))
    greedy.solve(search.instance, search)
    assert search.best is not None
    before = search.best.score
    local_search.solve(search.instance, search)
    assert search.best.score < before


@pytest.mark.parametrize("seed", [2, 5, 7, 12])
def test_a_peak_falls_while_pairs_with_weights_stay_in_different_banks(seed: int) -> None:
    features = frozenset({"bank-weights"})
    roomy = compile_problem(constrained_problem(seed, 24, features))
    capacity = int(1.15 * max(roomy.load()) * roomy.unit)
    search = searching(constrained_problem(seed, 24, features, capacity), work_limit=20_000)
    greedy.solve(search.instance, search)
    assert search.best is not None
    cost, peak = search.best.score
    local_search.solve(search.instance, search)
    assert search.best.score[0] == cost
    assert search.best.score[1] < peak


@pytest.mark.slow
def test_it_never_ends_worse_than_it_began_and_often_better() -> None:
    better = 0
    for seed in range(12):
        search = searching(random_problem(seed, 60, mixed(4 * (seed % 2))), work_limit=10_000)
        greedy.solve(search.instance, search)
        assert search.best is not None
        before = search.best.score
        if not search.is_over:
            local_search.solve(search.instance, search)
        assert search.best.score <= before
        better += search.best.score < before
    assert better >= 3


def test_it_finds_a_plan_where_the_quick_orders_find_none() -> None:
    found = 0
    for seed in range(12):
        roomy = searching(random_problem(seed, 60))
        greedy.solve(roomy.instance, roomy)
        assert roomy.best is not None
        tight = searching(random_problem(seed, 60, capacity=int(roomy.best.score[0]) - 1))
        if tight.is_over:
            continue
        greedy.solve(tight.instance, tight)
        assert tight.best is None
        local_search.solve(tight.instance, tight)
        found += tight.best is not None
    assert found >= 1
