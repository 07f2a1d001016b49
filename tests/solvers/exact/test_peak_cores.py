"""The exact search on cores: what it proves, what it packs around, and in which turns."""

from __future__ import annotations

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.model.problem import Problem
from memplan.solvers.exact import branch_and_bound, peak_cores
from memplan.solvers.packing.orders import Traits
from memplan.solvers.packing.packer import Packer
from tests.support import oracle
from tests.support.depth import seeds
from tests.support.searches import exact_search
from tests.support.tight_problems import FEATURES, full_load, tight_problem

HARD = full_load(3, 24)
"""Some buffers whose least peak is above the bound."""


def among_easy_ones(hard: Problem, n: int, height: int = 700) -> Problem:
    """The hard problem, and `n` buffers alive long after it, two at a time, which never need `height`."""
    rng = np.random.default_rng(n)
    rows = [row.model_dump(exclude_none=True) for row in hard.buffers]
    for k in range(n):
        rows.append({"id": f"easy{k}", "size": int(rng.integers(1, height // 2)), "start": 100 + k, "end": 102 + k})
    return Problem.model_validate({"buffers": rows, "pools": [pool.model_dump() for pool in hard.pools]})


def test_a_proof_for_the_core_is_one_for_the_whole() -> None:
    alone = exact_search(compile_problem(HARD))
    bound = alone.bound
    branch_and_bound.solve(alone.instance, alone)
    assert alone.best is not None
    assert bound < alone.best.score
    whole = exact_search(compile_problem(among_easy_ones(HARD, 3000)))
    peak_cores.solve(whole.instance, whole)
    assert whole.stop_reason == "proved"
    assert whole.best is not None
    assert whole.best.score[0] * whole.instance.unit == alone.best.score[0] * alone.instance.unit
    assert whole.proof.witness.by == "core"


def test_what_is_found_is_a_plan_of_the_whole() -> None:
    problem = among_easy_ones(HARD, 300)
    search = exact_search(compile_problem(problem))
    peak_cores.solve(search.instance, search)
    assert search.best is not None
    assert oracle.check(problem, list(lift(problem, search.instance, search.best.pool, search.best.offset))) == []


@pytest.mark.drawn
@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.slow
def test_no_core_claims_too_much(feature: str) -> None:
    for seed in seeds(8):
        problem = tight_problem(seed, feature)
        least = oracle.best_score(problem)
        search = exact_search(compile_problem(problem))
        if search.infeasible is None:
            peak_cores.solve(search.instance, search)
        if least is None:
            assert search.infeasible is not None
            continue
        assert search.best is not None
        assert search.best.score[0] * search.instance.unit == search.bound[0] * search.instance.unit == least[0], seed
        too_little = exact_search(compile_problem(tight_problem(seed, feature, capacity=int(least[0]) - 1)))
        if too_little.infeasible is None:
            peak_cores.solve(too_little.instance, too_little)
        assert too_little.infeasible is not None


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(10))
def test_no_part_needs_more_than_the_whole(seed: int) -> None:
    problem = full_load(seed, 4, height=12, live=3)
    instance = compile_problem(problem)
    search = exact_search(instance)
    kept = np.random.default_rng(seed).random(len(instance)) < 0.7
    kept[seed % len(instance)] = True
    packer = Packer(instance, search.flag)
    assert sum(peak_cores.grown(packer, Traits(instance), search, kept, 10**4, 10**9)) > 0
    least = oracle.best_score(problem)
    assert least is not None
    assert search.bound[0] * instance.unit <= least[0]
    assert search.best is None or search.best.score[0] * instance.unit >= least[0]


@pytest.mark.parametrize("seed", [4, 6, 10])
def test_what_does_not_fit_around_a_core_joins_it_until_all_meets_the_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    start, life = np.cumsum(rng.random(2_000) < 0.5), rng.geometric(0.01, 2_000)
    size = 1 + rng.lognormal(10, 0.7, 2_000).astype(np.int64)
    rows = zip(size.tolist(), start.tolist(), (start + life).tolist(), strict=True)
    buffers = [{"id": f"b{k}", "size": size, "start": start, "end": end} for k, (size, start, end) in enumerate(rows)]
    search = exact_search(compile_problem(Problem.model_validate({"buffers": buffers})))
    packer, traits = Packer(search.instance, search.flag), Traits(search.instance)
    assert sum(peak_cores.grown(packer, traits, search, traits.pressure >= 0.95, 16, 10**9)) > 0
    assert search.best is not None
    assert search.best.score == search.bound


def test_the_search_ends_when_it_is_cancelled() -> None:
    search = exact_search(compile_problem(among_easy_ones(full_load(5, 60), 3000)))
    search.stop("cancelled")
    peak_cores.solve(search.instance, search)
    assert search.best is None
