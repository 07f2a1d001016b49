from __future__ import annotations

import time

import numpy as np
import pytest

from memplan.api.bench.generators import random, tight
from memplan.planner.formats import read_problem
from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.instance.objective import total_cost
from memplan.planner.model.problem import Problem
from memplan.solvers.heuristics import greedy
from memplan.solvers.packing.orders import RULES
from memplan.solvers.search.incumbent import Search
from tests.support import public_problems
from tests.support.constrained_problems import CONSTRAINTS, OTHERS, constrained_problem
from tests.support.depth import DEPTH
from tests.support.oracle import best_score, check
from tests.support.random_problems import random_problem
from tests.support.small_problems import small_problems

FEATURES = ("holes", "conflicts", "pools", "alignment", "pins", "reserved", "cost")


def solved(problem: Problem, deterministic: bool = False, work_limit: int = 2**62, limit_s: float = 60) -> Search:
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
    return Problem.model_validate({"buffers": buffers, **rest})


def row(name: str | int, size: int, start: int, end: int, **rest: object) -> dict[str, object]:
    return {"id": name, "size": size, "start": start, "end": end, **rest}


@pytest.mark.parametrize("mix", range(128))
def test_every_mix_of_features_gets_a_plan_that_passes_a_pairwise_check(mix: int) -> None:
    features = frozenset(name for k, name in enumerate(FEATURES) if mix >> k & 1)
    problem = random_problem(mix, 25, features)
    search = solved(problem)
    assert search.best is not None
    assert check(problem, lift(problem, search.instance, search.best.pool, search.best.offset)) == []
    assert search.best.by.startswith("greedy:")


@pytest.mark.drawn
@pytest.mark.slow
def test_small_problems_get_valid_plans_never_better_than_the_best_there_is() -> None:
    met = 0
    for problem in small_problems(seed=11, count=100 * DEPTH, most=5):
        search, least = solved(problem), best_score(problem)
        if least is None:
            assert search.best is None
            continue
        if search.best is None:
            continue
        instance = search.instance
        assert check(problem, lift(problem, instance, search.best.pool, search.best.offset)) == []
        units = tuple(peak * instance.unit for peak in search.best.score[-len(problem.pools) :])
        score = (
            (total_cost(instance, search.best.pool, search.best.offset), *units)
            if problem.objective == "cost"
            else units
        )
        assert score >= least
        met += score == least
    assert met > 50


@pytest.mark.parametrize("mix", range(64))
def test_every_mix_of_constraints_gets_a_plan_that_breaks_none(mix: int) -> None:
    features = frozenset(name for k, name in enumerate(CONSTRAINTS) if mix >> k & 1)
    problem = constrained_problem(mix, 25, features | frozenset(OTHERS[mix % 7 : 5]))
    search = solved(problem)
    assert search.best is not None
    assert check(problem, lift(problem, search.instance, search.best.pool, search.best.offset)) == []


def test_small_constrained_problems_get_the_best_plan_there_is_most_of_the_time() -> None:
    met = tried = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        features = frozenset(name for name in CONSTRAINTS if rng.random() < 0.4)
        problem = constrained_problem(seed, 4, features)
        search, least = solved(problem), best_score(problem)
        assert search.best is not None
        assert least is not None
        peaks = tuple(peak * search.instance.unit for peak in search.best.score[-len(problem.pools) :])
        score = (*search.best.score[: -len(peaks)], *peaks)
        assert score >= least
        met, tried = met + (score == least), tried + 1
    assert met >= 0.8 * tried


def test_pins_that_overlap_are_a_proof_that_nothing_fits() -> None:
    search = solved(problem_of(row("a", 4, 0, 2, offset=0), row("b", 4, 1, 3, offset=3), row("c", 1, 0, 3)))
    assert search.infeasible is not None
    assert search.best is None


def test_pins_side_by_side_are_kept() -> None:
    search = solved(problem_of(row("a", 4, 0, 2, offset=0), row("b", 4, 1, 3, offset=4), row("c", 2, 0, 3)))
    assert search.best is not None
    assert (search.best.offset * search.instance.unit).tolist() == [0, 4, 8]
    assert search.stop_reason == "proved"


def test_pins_at_one_offset_are_no_proof_where_buffers_may_share() -> None:
    rows = [row("a", 4, 0, 2, offset=2), row("b", 5, 1, 3, offset=2)]
    search = solved(problem_of(*rows, may_share=[("a", "b")]))
    assert search.best is not None
    assert (search.best.offset * search.instance.unit).tolist() == [2, 2]


def test_an_output_takes_the_room_of_its_input() -> None:
    chain = [row(k, 4, k, k + 2) for k in range(5)]
    search = solved(problem_of(*chain, may_share=[(k, k + 1) for k in range(4)]))
    assert search.best is not None
    assert search.instance.unit == 4
    assert search.best.score == (1,)


@pytest.mark.parametrize(("size", "score"), [(None, (0.0, 3)), (8, (3.0, 1))])
def test_pairs_with_a_weight_lie_in_different_banks_where_there_is_room(
    size: int | None, score: tuple[float, ...]
) -> None:
    search = solved(
        problem_of(
            row("a", 4, 0, 2),
            row("b", 4, 5, 7),
            pools=[{"name": "banked", "bank_size": 8, "size": size}],
            bank=[{"buffers": ["a", "b"], "weight": 3}],
            objective="cost",
        )
    )
    assert search.best is not None
    assert search.best.score == score


def test_what_does_not_fit_in_the_first_pool_spills_to_the_next() -> None:
    rows = [row("a", 6, 0, 2), row("b", 5, 0, 2), row("c", 2, 0, 2)]
    search = solved(problem_of(*rows, pools=[{"name": "fast", "size": 8}, {"name": "slow"}]))
    assert search.best is not None
    assert search.best.score == (5, 8)


def test_buffers_confined_to_a_pool_find_their_place_before_those_which_may_go_elsewhere() -> None:
    rows = [row("big", 7, 0, 2), row("small", 3, 0, 2, pools=["fast"])]
    search = solved(problem_of(*rows, pools=[{"name": "fast", "size": 8}, {"name": "slow", "size": 8}]))
    assert search.best is not None
    assert search.best.pool.tolist() == [1, 0]


def test_the_cheap_pool_holds_what_is_moved_most_wherever_it_stands_in_the_list() -> None:
    rows = [row("calm", 8, 0, 2, traffic=1), row("busy", 8, 0, 2, traffic=1000)]
    pools = [{"name": "dear", "cost": 5}, {"name": "cheap", "size": 8, "cost": 1}]
    search = solved(problem_of(*rows, pools=pools, objective="cost"))
    assert search.best is not None
    assert search.best.pool.tolist() == [0, 1]


def test_it_stops_at_the_first_order_that_meets_the_bound() -> None:
    search = solved(problem_of(row("a", 3, 0, 2), row("b", 5, 1, 3)))
    assert search.best is not None
    assert search.best.by == f"greedy:{RULES[0].name}"
    assert search.stop_reason == "proved"


def test_without_time_nothing_is_tried() -> None:
    assert solved(random_problem(1, 20), limit_s=0).best is None


def test_a_little_work_still_gives_a_plan_and_more_work_never_a_worse_one() -> None:
    problem = random_problem(5, 60)
    found = [solved(problem, deterministic=True, work_limit=limit).best for limit in (1, 200, 10_000)]
    scores = [assignment.score for assignment in found if assignment is not None]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)


def test_the_same_problem_gives_the_same_plan() -> None:
    for mix in (0, 31, 127):
        problem = random_problem(mix, 50, frozenset(name for k, name in enumerate(FEATURES) if mix >> k & 1))
        first, second = (solved(problem, deterministic=True).best for _ in range(2))
        assert first is not None
        assert second is not None
        assert (first.by, first.offset.tolist()) == (second.by, second.offset.tolist())


def test_sums_of_sizes_beyond_int64_are_planned_exactly() -> None:
    rows = [row(f"b{i}", 2**62 - i, 2 * i, 2 * i + 3) for i in range(6)]
    problem = problem_of(*rows)
    search = solved(problem)
    assert search.best is not None
    assert check(problem, lift(problem, search.instance, search.best.pool, search.best.offset)) == []


def test_nine_of_ten_problems_of_real_compilers_end_at_the_bound() -> None:
    folders = ("executorch", "iree", "onnx", "tflite", "tflite_arena", "torch_train", "vela", "xla")
    paths = [path for folder in folders for path in public_problems.files(folder)]
    searches = [solved(read_problem(path.read_bytes(), path.name)) for path in paths]
    at_bound = [search.best is not None and search.best.score <= search.bound for search in searches]
    assert sum(at_bound) >= 0.9 * len(at_bound)


def test_before_an_exact_search_orders_that_are_far_from_the_bound_are_few() -> None:
    instance = compile_problem(tight(seed=2, n=60, height=100_000, live=7, turnover=2.0).problem)
    all_orders, first_orders = (Search(instance, deadline=time.monotonic() + 60) for _ in range(2))
    greedy.solve(instance, all_orders)
    greedy.begin(instance, first_orders)
    assert all_orders.best is not None
    assert first_orders.best is not None
    assert all_orders.best.score < first_orders.best.score
    assert first_orders.best.by in [f"greedy:{rule.name}" for rule in RULES[:4]]


def test_before_an_exact_search_orders_that_are_near_the_bound_are_all_tried() -> None:
    instance = compile_problem(random(seed=1, n=300, alpha=0.01, sigma=0.7).problem)
    search = Search(instance, deadline=time.monotonic() + 60)
    greedy.begin(instance, search)
    assert search.best is not None
    assert search.best.by not in [f"greedy:{rule.name}" for rule in RULES[:4]]
