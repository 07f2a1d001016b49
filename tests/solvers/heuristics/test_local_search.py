from __future__ import annotations

import time
from itertools import islice

import numpy as np
import pytest

from memplan.api.bench.generators import random
from memplan.api.bench.suites import with_changes
from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64, column
from memplan.planner.model.problem import Problem
from memplan.solvers.heuristics import greedy, local_search
from memplan.solvers.heuristics.moves import MoveSearch
from memplan.solvers.packing.orders import Rule
from memplan.solvers.search.incumbent import Search
from tests.support import oracle
from tests.support.constrained_problems import CONSTRAINTS, OTHERS, constrained_problem
from tests.support.oracle import check
from tests.support.random_problems import random_problem

FEATURES = ("holes", "conflicts", "pools", "alignment", "pins", "reserved", "cost")
RUNNING = column([0])


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


@pytest.mark.parametrize("mix", [0, 1, 2, 4, 8, 16, 32, 68, 127, 59])
def test_every_mix_of_features_gets_plans_that_pass_a_pairwise_check(mix: int) -> None:
    problem = random_problem(mix, 25, mixed(mix))
    search = searching(problem, work_limit=3_000)
    local_search.solve(search.instance, search)
    assert search.best is not None
    assert check(problem, lift(problem, search.instance, search.best.pool, search.best.offset)) == []
    assert search.best.by.startswith("local-search:")


@pytest.mark.parametrize("mix", [1, 2, 4, 8, 16, 32, 63, 42, 21])
def test_every_mix_of_constraints_gets_plans_that_break_none(mix: int) -> None:
    features = frozenset(name for k, name in enumerate(CONSTRAINTS) if mix >> k & 1)
    problem = constrained_problem(mix, 25, features | frozenset(OTHERS[mix % 7 : 5]))
    search = searching(problem, work_limit=1_000)
    local_search.solve(search.instance, search)
    assert search.best is not None
    assert check(problem, lift(problem, search.instance, search.best.pool, search.best.offset)) == []


def test_small_constrained_problems_end_at_the_best_plan_there_is() -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        features = frozenset(name for name in CONSTRAINTS if rng.random() < 0.4)
        problem = constrained_problem(seed, 5, features)
        search = searching(problem)
        local_search.solve(search.instance, search)
        assert search.best is not None
        peaks = tuple(peak * search.instance.unit for peak in search.best.score[-len(problem.pools) :])
        assert (*search.best.score[: -len(peaks)], *peaks) == oracle.best_score(problem)


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


def test_one_seed_gives_one_plan_and_another_seed_another() -> None:
    offsets = []
    for seed in (1, 1, 2):
        search = searching(random_problem(3, 80), seed, work_limit=2_000)
        local_search.solve(search.instance, search)
        assert search.best is not None
        offsets.append(search.best.offset.tolist())
    assert offsets[0] == offsets[1]
    assert offsets[0] != offsets[2]


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


def test_it_gives_up_where_nothing_fits() -> None:
    problem = random_problem(0, 6, capacity=13)
    search = searching(problem, work_limit=2**62)
    assert search.infeasible is not None
    search = searching(problem, work_limit=2**62)
    local_search.solve(search.instance, search)
    assert search.best is None


def moves_of(instance: Instance) -> tuple[MoveSearch, list[int]]:
    peaks: list[int] = []

    def take(offset: I64, _by: str) -> None:
        peaks.append(int((offset + instance.size).max()))

    return MoveSearch(instance, RUNNING, np.random.default_rng(0), take), peaks


@pytest.mark.parametrize("move", ["flips", "restarts", "cores"])
def test_each_way_gains_from_step_to_step(move: str) -> None:
    instance = compile_problem(random_problem(8, 150))
    moves, peaks = moves_of(instance)
    moves.start_from(instance.pin + 1 + np.concatenate(([0], np.cumsum(instance.size)[:-1])))
    counts = list(islice(getattr(moves, move)(), 60))
    assert all(0 < count <= len(instance) for count in counts)
    assert peaks == sorted(set(peaks), reverse=True)
    assert peaks[-1] == moves.peak < instance.size.sum()


def test_what_passed_the_bound_is_packed_earlier_until_that_gains_no_more() -> None:
    instance = compile_problem(random(seed=1, n=1_000, alpha=0.02, sigma=0.7).problem)
    moves, peaks = moves_of(instance)
    raises, urgency = moves.raises(), moves.traits.urgency
    next(raises)
    assert moves.best is not None
    passes = moves.best + instance.size > moves.bound
    next(raises)
    assert 0 < passes.sum() < len(instance)
    assert ((urgency > 1) == passes).all()
    assert any((urgency == 1).all() for _ in islice(raises, 60)), "another rule is drawn, which begins afresh"
    assert peaks[-1] < peaks[0]


def test_what_is_gained_where_a_packing_passes_the_bound_is_gained_for_the_whole() -> None:
    instance = compile_problem(random(seed=1, n=2_000, alpha=0.05, sigma=0.7).problem)
    moves, peaks = moves_of(instance)
    next(moves.restarts((Rule(("size",), "start"),)))
    counts = list(islice(moves.overflows(), 40))
    assert min(counts) < len(instance) / 2
    assert peaks[-1] == moves.peak < peaks[0]


def test_times_that_pass_the_bound_are_packed_apart_from_each_other() -> None:
    rows = random(seed=1, n=300, alpha=0.05, sigma=0.7).problem.buffers
    crowd = [(row.size, row.start or 0, row.end or 0) for row in rows]
    last = max(end for _, _, end in crowd)
    later = [(size, start + 2 * last, end + 2 * last) for size, start, end in crowd]
    others = [(1, last + k % last, last + k % last + 1) for k in range(600)]
    lives = enumerate([*crowd, *later, *others])
    buffers = [{"id": i, "size": size, "start": start, "end": end} for i, (size, start, end) in lives]
    instance = compile_problem(Problem(buffers=buffers))
    moves, peaks = moves_of(instance)
    next(moves.restarts((Rule(("size",), "start"),)))
    counts = list(islice(moves.overflows(), 300))
    assert max(count for count in counts if count < len(instance)) <= len(crowd)
    assert peaks[-1] == moves.peak < peaks[0]


@pytest.mark.parametrize("seed", range(8))
def test_a_core_at_the_bound_with_others_around_it_that_do_not_fit_ends_its_way(seed: int) -> None:
    problem = random_problem(seed, 100)
    search = searching(problem)
    greedy.solve(search.instance, search)
    assert search.best is not None
    memory = {"name": "only", "size": search.best.score[0] * search.instance.unit}
    instance = compile_problem(with_changes(problem, pools=[memory]))
    moves, _ = moves_of(instance)
    moves.start_from(search.best.offset)
    for _ in islice(moves.overflows(), 50):
        assert moves.peak <= search.best.score[0]


def test_a_core_whose_constraints_lift_it_around_others_ends_its_way() -> None:
    search = searching(constrained_problem(203, 25, frozenset({"banks", "pages", "relative", "sharing"})))
    local_search.solve(search.instance, search)
    assert search.best is not None


def test_where_a_packing_passes_the_bound_at_all_times_there_is_no_core() -> None:
    instance = compile_problem(random_problem(8, 30))
    moves, _ = moves_of(instance)
    moves.start_from(column(np.cumsum(instance.size) + moves.bound))
    assert list(moves.overflows()) == []


def test_flipping_a_packing_without_alignment_never_raises_it() -> None:
    for seed in range(20):
        instance = compile_problem(random_problem(seed, 60))
        moves, _ = moves_of(instance)
        start = column(np.concatenate(([0], np.cumsum(instance.size)[:-1])))
        moves.start_from(start)
        for _ in islice(moves.flips(), 3):
            assert moves.peak <= int((start + instance.size).max())


def test_a_climb_at_its_bound_says_so() -> None:
    problem = Problem.model_validate({"buffers": [{"id": i, "size": 2, "start": i, "end": i + 2} for i in range(5)]})
    moves, _ = moves_of(compile_problem(problem))
    assert not moves.is_at_bound
    next(moves.restarts())
    assert moves.is_at_bound
