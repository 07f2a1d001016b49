"""Exact search on peak cores (buffers around the peak), on few buffers, and with offset ranges."""

import random
import time
from dataclasses import replace

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.instance.instance import I64_MAX, Instance
from memplan.planner.model.problem import Problem
from memplan.solvers.exact import branch_and_bound, few_buffers, peak_cores
from memplan.solvers.heuristics import greedy, local_search
from memplan.solvers.packing.orders import Traits
from memplan.solvers.packing.packer import Packer
from memplan.solvers.portfolio import registry
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.incumbent import Search
from tests.support import oracle
from tests.support.depth import seeds
from tests.support.oracle import best_score
from tests.support.tied_problems import priced_tied_problem, tied_problem
from tests.support.tight_problems import FEATURES, full_load, tight_problem
from tests.support.values import require_value


def exact_search(instance: Instance, work_limit: int = 10**7) -> Search:
    deadline, trusted = time.monotonic() + 60.0, frozenset({"core", "exact"})
    return Search(instance, deadline=deadline, deterministic=True, work_limit=work_limit, trusted=trusted)


HARD = full_load(3, 24)
"""A problem whose minimum peak is above its lower bound."""


def add_easy_buffers(hard: Problem, n: int, height: int = 700) -> Problem:
    """Return the hard problem with `n` more buffers, alive later, whose live bytes stay below `height`."""
    rng = np.random.default_rng(n)
    rows = [row.model_dump(exclude_none=True) for row in hard.buffers]
    for k in range(n):
        rows.append({"id": f"easy{k}", "size": int(rng.integers(1, height // 2)), "start": 100 + k, "end": 102 + k})
    return Problem(buffers=rows, pools=[pool.model_dump() for pool in hard.pools])


def test_a_proof_for_the_peak_core_proves_the_bound_of_the_whole_problem() -> None:
    alone = exact_search(compile_problem(HARD))
    bound = alone.bound
    branch_and_bound.solve(alone.instance, alone)
    assert alone.best is not None
    assert bound < alone.best.score
    whole = exact_search(compile_problem(add_easy_buffers(HARD, 3000)))
    peak_cores.solve(whole.instance, whole)
    assert whole.stop_reason == "proved"
    assert require_value(whole.best).score[0] * whole.instance.unit == alone.best.score[0] * alone.instance.unit
    assert whole.proof.witness.by == "core"


def test_the_peak_core_search_yields_a_valid_plan_of_the_whole_problem() -> None:
    problem = add_easy_buffers(HARD, 300)
    search = exact_search(compile_problem(problem))
    peak_cores.solve(search.instance, search)
    assert search.best is not None
    assert oracle.check(problem, list(lift(problem, search.instance, search.best.pool, search.best.offset))) == []


@pytest.mark.drawn
@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.slow
def test_peak_core_searches_never_claim_more_than_the_optimum(feature: str) -> None:
    for seed in seeds(8):
        problem = tight_problem(seed, feature)
        least = oracle.best_score(problem)
        search = exact_search(compile_problem(problem))
        if search.infeasibility_witness is None:
            peak_cores.solve(search.instance, search)
        if least is None:
            assert search.infeasibility_witness is not None
            continue
        assert search.best is not None
        assert search.best.score[0] * search.instance.unit == search.bound[0] * search.instance.unit == least[0], seed
        too_little = exact_search(compile_problem(tight_problem(seed, feature, capacity=int(least[0]) - 1)))
        if too_little.infeasibility_witness is None:
            peak_cores.solve(too_little.instance, too_little)
        assert too_little.infeasibility_witness is not None


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(10))
def test_the_lower_bound_of_any_peak_core_is_at_most_the_optimum(seed: int) -> None:
    problem = full_load(seed, 4, height=12, live=3)
    instance = compile_problem(problem)
    search = exact_search(instance)
    kept = np.random.default_rng(seed).random(len(instance)) < 0.7
    kept[seed % len(instance)] = True
    assert sum(peak_cores.grow_core(Packer(instance, search.flag), Traits(instance), search, kept, 10**4, 10**9)) > 0
    least = require_value(oracle.best_score(problem))
    assert search.bound[0] * instance.unit <= least[0]
    assert search.best is None or search.best.score[0] * instance.unit >= least[0]


@pytest.mark.parametrize("seed", [4, 6, 10])
def test_a_peak_core_grows_by_unplaced_buffers_until_the_bound_is_met(seed: int) -> None:
    rng = np.random.default_rng(seed)
    start, life = np.cumsum(rng.random(2_000) < 0.5), rng.geometric(0.01, 2_000)
    size = 1 + rng.lognormal(10, 0.7, 2_000).astype(np.int64)
    rows = zip(size.tolist(), start.tolist(), (start + life).tolist(), strict=True)
    buffers = [{"id": f"b{k}", "size": size, "start": start, "end": end} for k, (size, start, end) in enumerate(rows)]
    search = exact_search(compile_problem(Problem(buffers=buffers)))
    packer, traits = Packer(search.instance, search.flag), Traits(search.instance)
    assert sum(peak_cores.grow_core(packer, traits, search, traits.pressure >= 0.95, 16, 10**9)) > 0
    assert require_value(search.best).score == search.bound


def test_the_peak_core_search_ends_when_it_is_cancelled() -> None:
    search = exact_search(compile_problem(add_easy_buffers(full_load(5, 60), 3000)))
    search.stop("cancelled")
    peak_cores.solve(search.instance, search)
    assert search.best is None


CAN = registry.BY_NAME["few"].can


@pytest.mark.drawn
@pytest.mark.parametrize("draw", [tied_problem, priced_tied_problem])
def test_the_solver_few_agrees_with_brute_force(draw: object) -> None:
    proved = 0
    for seed in seeds(25):
        problem: Problem = draw(seed)  # type: ignore[operator]  # a function of a seed
        instance = compile_problem(problem)
        search = Search(instance, deadline=time.monotonic() + 600, trusted=frozenset({"few"}))
        if not instance.features <= CAN or problem.objective == "fit" or search.is_over:
            continue
        few_buffers.solve(instance, search)
        least = best_score(problem)
        assert search.stop_reason == "proved"
        if least is None:
            assert search.infeasibility_witness is not None
        else:
            cost = [least[0]] if problem.objective == "cost" else []
            ends = [end / instance.unit for end in least[len(cost) :]]
            assert list(require_value(search.best).score) == pytest.approx([*cost, *ends])
        proved += 1
    assert proved > 5


@pytest.mark.parametrize("objective", ["cost", ["peak", "cost"]])
def test_deterministic_searches_prove_small_problems_with_costs(objective: object) -> None:
    rows = [{"id": k, "size": 2 + k, "start": k % 2, "end": k % 2 + 2, "alignment": 1 + k % 2} for k in range(5)]
    pools = [{"name": "fast", "size": 9, "bank_size": 3}, {"name": "slow", "cost": 2, "bank_size": 4}]
    banks = [{"buffers": [0, 1, 2], "weight": 2.5}, {"buffers": [3, 4]}]
    problem = Problem(buffers=rows, pools=pools, bank=banks, objective=objective)
    plan = solve(problem, time_limit_s=0.3, deterministic=True)
    assert (plan.status, plan.reproducible) == ("optimal", True)


def draw_ranged_instance(seed: int) -> Instance:
    """Return an instance of one pool in which some buffers have a lowest offset, and some a highest offset."""
    rng, n = random.Random(seed), 5
    start = [rng.randrange(3) for _ in range(n)]
    rows = [
        {"id": k, "size": rng.randint(1, 4), "start": start[k], "end": start[k] + rng.randint(1, 3)} for k in range(n)
    ]
    rows.append({"id": n, "size": 1, "start": 9, "end": 10})  # makes the unit one byte
    instance = compile_problem(Problem(buffers=rows, pools=[{"name": "p", "size": 14}]))
    lowest, highest = np.zeros((1, n + 1), dtype=np.int64), np.full((1, n + 1), I64_MAX)
    for k in range(n):
        lowest[0, k] = rng.choice([0, 0, rng.randint(1, 6)])
        highest[0, k] = rng.choice([I64_MAX, lowest[0, k] + rng.randint(0, 5)])
    return replace(instance, lowest=lowest, highest=highest)


def min_peak(instance: Instance) -> int | None:
    """Return the minimum peak over all legal offsets by enumeration; None if there are none."""
    best: int | None = None
    size, start, end = (values.tolist() for values in (instance.size, instance.start, instance.end))

    def place(offset: list[int], peak: int) -> None:
        nonlocal best
        i = len(offset)
        if best is not None and peak >= best:
            return
        if i == len(size):
            best = peak
            return
        for at in range(int(instance.lowest[0, i]), min(int(instance.highest[0, i]), 14 - size[i]) + 1):
            is_free = all(
                start[j] >= end[i] or start[i] >= end[j] or at >= offset[j] + size[j] or offset[j] >= at + size[i]
                for j in range(i)
            )
            if is_free:
                place([*offset, at], max(peak, at + size[i]))

    place([], 0)
    return best


@pytest.mark.parametrize("seed", range(60))
def test_searches_respect_offset_ranges_and_prove_the_minimum_peak(seed: int) -> None:
    instance = draw_ranged_instance(seed)
    least = min_peak(instance)
    for search_with in (greedy.solve, local_search.solve, branch_and_bound.solve):
        trusted = frozenset({"exact"})
        search = Search(instance, time.monotonic() + 60, deterministic=True, work_limit=400_000, trusted=trusted)
        search_with(instance, search)
        if search.best is not None:
            offset = search.best.offset
            assert (offset >= instance.lowest[0]).all()
            assert (offset <= instance.highest[0]).all()
            assert search.best.score[-1] >= require_value(least)
    assert (None if search.best is None else search.best.score[-1]) == least
    assert (search.infeasibility_witness is not None) == (least is None)
    assert least is None or search.bound[-1] == least
