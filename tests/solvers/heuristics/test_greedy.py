"""Greedy orders, and the local search that starts from their plans."""

import time

import numpy as np
import pytest

from memplan.planner.formats import read_problem
from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.instance.objective import reaches
from memplan.planner.model.problem import Problem
from memplan.solvers.heuristics import greedy, local_search
from memplan.solvers.search.incumbent import Search
from tests.support import oracle, public_problems
from tests.support.constrained_problems import CONSTRAINTS, constrained_problem
from tests.support.oracle import best_score, check
from tests.support.random_problems import random_problem
from tests.support.values import require_value


def solve_greedy(problem: Problem, deterministic: bool = False, work_limit: int = 2**62, limit_s: float = 60) -> Search:
    search = Search(
        compile_problem(problem),
        deadline=time.monotonic() + limit_s,
        deterministic=deterministic,
        work_limit=work_limit,
        trusted=frozenset({"greedy"}),
    )
    if not search.is_over:
        greedy.solve(search.instance, search)
    return search


def problem_of(*buffers: dict[str, object], **rest: object) -> Problem:
    return Problem(buffers=buffers, **rest)


def row(name: str | int, size: int, start: int, end: int, **rest: object) -> dict[str, object]:
    return {"id": name, "size": size, "start": start, "end": end, **rest}


def test_greedy_orders_find_most_optima_of_small_constrained_problems() -> None:
    met = tried = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        problem = constrained_problem(seed, 4, frozenset(name for name in CONSTRAINTS if rng.random() < 0.4))
        search, least = solve_greedy(problem), best_score(problem)
        assert search.best is not None
        assert least is not None
        peaks = tuple(peak * search.instance.unit for peak in search.best.score[-len(problem.pools) :])
        score = (*search.best.score[: -len(peaks)], *peaks)
        assert score >= least
        met, tried = met + (score == least), tried + 1
    assert met >= 0.8 * tried


def test_greedy_orders_prove_overlapping_pins_infeasible() -> None:
    search = solve_greedy(problem_of(row("a", 4, 0, 2, offset=0), row("b", 4, 1, 3, offset=3), row("c", 1, 0, 3)))
    assert search.infeasibility_witness is not None
    assert search.best is None


@pytest.mark.parametrize(("size", "score"), [(None, (0.0, 3)), (8, (3.0, 1))])
def test_greedy_orders_separate_weighted_bank_pairs_if_they_fit(size: int | None, score: tuple[float, ...]) -> None:
    pool, bank = {"name": "banked", "bank_size": 8, "size": size}, {"buffers": ["a", "b"], "weight": 3}
    rows = row("a", 4, 0, 2), row("b", 4, 5, 7)
    search = solve_greedy(problem_of(*rows, pools=[pool], bank=[bank], objective="cost"))
    assert require_value(search.best).score == score


def test_greedy_orders_plan_sums_of_sizes_beyond_int64_exactly() -> None:
    problem = problem_of(*[row(f"b{i}", 2**62 - i, 2 * i, 2 * i + 3) for i in range(6)])
    search = solve_greedy(problem)
    assert search.best is not None
    assert check(problem, lift(problem, search.instance, search.best.pool, search.best.offset)) == []


def test_greedy_orders_reach_the_lower_bound_of_90_percent_of_compiler_problems() -> None:
    folders = ("executorch", "iree", "onnx", "tflite", "tflite_arena", "torch_train", "vela", "xla")
    paths = [path for folder in folders for path in public_problems.files(folder)]
    searches = [solve_greedy(read_problem(path.read_bytes(), path.name)) for path in paths]
    at_bound = [search.best is not None and search.best.score <= search.bound for search in searches]
    assert sum(at_bound) >= 0.9 * len(at_bound)


FEATURES = ("holes", "conflicts", "pools", "alignment", "pins", "reserved", "cost")


def make_search(problem: Problem, seed: int = 0, work_limit: int = 100_000) -> Search:
    instance = compile_problem(problem)
    return Search(instance, deadline=time.monotonic() + 60, seed=seed, deterministic=True, work_limit=work_limit)


def feature_mix(mix: int) -> frozenset[str]:
    return frozenset(name for k, name in enumerate(FEATURES) if mix >> k & 1)


def test_local_search_finds_the_optima_of_small_constrained_problems() -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        problem = constrained_problem(seed, 5, frozenset(name for name in CONSTRAINTS if rng.random() < 0.4))
        search = make_search(problem)
        local_search.solve(search.instance, search)
        assert search.best is not None
        peaks = tuple(peak * search.instance.unit for peak in search.best.score[-len(problem.pools) :])
        score = (*search.best.score[: -len(peaks)], *peaks)
        best = oracle.best_score(problem)
        assert best is not None
        assert reaches(search.instance, score, best)
        assert reaches(search.instance, best, score)


@pytest.mark.parametrize(("n", "seed"), [(8, 181), (10, 193), (10, 201)])
def test_local_search_improves_plans_by_sharing_bytes(n: int, seed: int) -> None:
    search = make_search(constrained_problem(seed, n, frozenset({"sharing"})))
    greedy.solve(search.instance, search)
    assert search.best is not None
    before = search.best.score
    local_search.solve(search.instance, search)
    assert search.best.score < before


@pytest.mark.parametrize("seed", [2, 5, 7, 12])
def test_local_search_lowers_the_peak_at_the_same_cost_of_bank_clashes(seed: int) -> None:
    features = frozenset({"bank-weights"})
    roomy = compile_problem(constrained_problem(seed, 24, features))
    capacity = int(1.15 * max(roomy.loads()) * roomy.unit)
    search = make_search(constrained_problem(seed, 24, features, capacity), work_limit=20_000)
    greedy.solve(search.instance, search)
    assert search.best is not None
    cost, peak = search.best.score
    local_search.solve(search.instance, search)
    assert search.best.score[0] == cost
    assert search.best.score[1] < peak


@pytest.mark.slow
def test_local_search_never_worsens_and_often_improves_a_plan() -> None:
    better = 0
    for seed in range(12):
        search = make_search(random_problem(seed, 60, feature_mix(4 * (seed % 2))), work_limit=10_000)
        greedy.solve(search.instance, search)
        assert search.best is not None
        before = search.best.score
        if not search.is_over:
            local_search.solve(search.instance, search)
        assert search.best.score <= before
        better += search.best.score < before
    assert better >= 3


def test_local_search_finds_plans_if_the_greedy_orders_find_none() -> None:
    found = 0
    for seed in range(12):
        roomy = make_search(random_problem(seed, 60))
        greedy.solve(roomy.instance, roomy)
        tight = make_search(random_problem(seed, 60, capacity=int(require_value(roomy.best).score[0]) - 1))
        if tight.is_over:
            continue
        greedy.solve(tight.instance, tight)
        assert tight.best is None
        local_search.solve(tight.instance, tight)
        found += tight.best is not None
    assert found >= 1
