"""Memory choice by decomposition: proofs checked by brute force, no-goods, large and real problems."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from lab.families import draw_random_problem
from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.instance.instance import Instance
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.heuristics import greedy
from memplan.solvers.memory_choice import decomposition
from memplan.solvers.memory_choice.decomposition import Decomposition
from memplan.solvers.memory_choice.knapsack import Knapsack
from memplan.solvers.memory_choice.multipliers import ChoiceEffort
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.incumbent import Search
from tests.support import oracle, public_problems
from tests.support.random_problems import random_problem
from tests.support.small_problems import small_problems
from tests.support.tiny import FEATURES
from tests.support.values import require_value

RECORDED = public_problems.read_index("executorch_cadence")


def make_search(instance: Instance, limit_s: float = 60.0, **options: Any) -> Search:
    trusted = frozenset({decomposition.NAME, "greedy", "exact"})
    return Search(instance, deadline=time.monotonic() + limit_s, trusted=trusted, **options)


def proved_values(problem: Problem) -> tuple[float, ...] | str | None:
    """Return the proved optimal score (bytes), None for proved infeasibility, or a message if the search is wrong."""
    instance = compile_problem(problem)
    search = make_search(instance)
    if not search.is_over:
        decomposition.solve(instance, search)
    if search.infeasibility_witness is not None:
        return None
    best = search.best
    if best is None or best.score > search.bound:
        return "unsettled"
    wrong = oracle.check(problem, lift(problem, instance, best.pool, best.offset))
    p = len(instance.pools)
    return wrong[0] if wrong else (*best.score[:-p], *(end * instance.unit for end in best.score[-p:]))


def _knapsack(instance: Instance) -> Knapsack:
    return require_value(Knapsack.from_instance(instance))


@pytest.mark.parametrize("seed", range(0, 300, 15))
def test_memory_choice_agrees_with_brute_force_on_small_problems(seed: int) -> None:
    for problem in small_problems(seed, 4):
        if problem.objective != "fit" and not compile_problem(problem).unplaceable:
            expected = oracle.best_score(problem)
            assert proved_values(problem) == (None if expected is None else pytest.approx(expected, rel=1e-12))


@pytest.mark.parametrize("seed", range(1, 200, 8))
def test_memory_choice_with_a_small_work_limit_claims_no_false_bound(seed: int) -> None:
    for problem in small_problems(seed, 3):
        instance, least = compile_problem(problem), oracle.best_score(problem)
        search = make_search(instance)
        if search.is_over or problem.objective == "fit":
            continue
        chosen = Decomposition(_knapsack(instance), search)
        for _ in range(2):
            chosen.run(1, ChoiceEffort(partials=2))
        assert (search.infeasibility_witness is not None) <= (least is None)
        if least is not None:
            p = len(instance.pools)
            bound = (*search.bound[:-p], *(end * instance.unit for end in search.bound[-p:]))
            assert bound <= least or bound == pytest.approx(least, rel=1e-12)


def test_a_memory_choice_that_cannot_be_packed_becomes_a_no_good() -> None:
    """The fast pool holds any two adjacent buffers of a ring of conflicts, but not all five; a sixth one is apart."""
    ring = FEATURES["a ring of conflicts"]
    apart = {"id": "apart", "size": 1, "start": 70, "end": 71}
    pools = [{"name": "fast", "size": 5}, {"name": "slow", "cost": 1}]
    problem = Problem(buffers=[*ring.buffers, apart], conflicts=ring.conflicts, pools=pools, objective="cost")
    instance = compile_problem(problem)
    search = make_search(instance)
    chosen = Decomposition(_knapsack(instance), search)
    chosen.run(*decomposition.ROUNDS[0])
    assert [len(nogood.items) for nogood in chosen.nogoods] == [5]
    assert require_value(search.best).score[0] == 2
    assert proved_values(problem) == oracle.best_score(problem)


def test_memory_choice_moves_a_colocation_group_as_a_whole() -> None:
    rows = [{"id": k, "size": 6, "start": 0, "end": 2, "traffic": 100 - k} for k in range(6)]
    pools = [{"name": "fast", "size": 20, "cost": 1}, {"name": "slow", "cost": 9}]
    problem = Problem(buffers=rows, pools=pools, objective="cost", together=[[0, 1, 2, 3], [4, 5]])
    plan = solve(problem, time_limit_s=20, solver=decomposition.NAME)
    where = {place.id: place.pool for place in plan.placements}
    assert plan.status == "optimal"
    assert [where[k] for k in range(6)] == ["slow"] * 4 + ["fast"] * 2


def test_the_first_memory_choice_of_ten_thousand_buffers_improves_the_bound() -> None:
    drawn = draw_random_problem(1, 10_000)
    fast, middle = {"name": "tcm", "size": 2_000_000, "cost": 1}, {"name": "sram", "size": 2_800_000, "cost": 4}
    pools = [fast, middle, {"name": "dram", "cost": 20}]
    instance = compile_problem(Problem(buffers=drawn.buffers, pools=pools, objective="cost"))
    search = make_search(instance)
    greedy.solve(instance, search)
    assert search.best is not None
    plain = search.bound[0]
    Decomposition(_knapsack(instance), search)
    assert plain < 0.5 * search.best.score[0] < search.bound[0] < search.best.score[0]


def test_memory_choices_with_spare_capacity_are_packed_if_the_cheapest_cannot_be() -> None:
    drawn = public_problems.problem("minimalloc/A.1048576.csv").buffers
    rows = [row.model_copy(update={"traffic": row.size * (2 + k % 3)}) for k, row in enumerate(drawn)]
    pools = [{"name": "fast", "size": 13_107 * 64, "alignment": 64}, {"name": "slow", "cost": 1}]
    search = make_search(compile_problem(Problem(buffers=rows, pools=pools, objective="cost")), deterministic=True)
    chosen = Decomposition(_knapsack(search.instance), search)
    chosen.run(2_000, ChoiceEffort(partials=300))
    before = search.best
    with ThreadPoolExecutor(1) as beside:
        chosen.pack_at_once(beside)
    assert before is None
    assert search.bound[0] < require_value(search.best).score[0] < 1.15 * search.bound[0]


def test_pools_are_not_divided_at_reserved_ranges_if_buffers_need_separate_banks() -> None:
    rows = [{"id": k, "size": 4, "start": 0, "end": 1, "traffic": 9} for k in range(2)]
    pool = {"name": "fast", "size": 16, "reserved": [[4, 2], [12, 4]], "bank_size": 16, "cost": 1}
    pools = [pool, {"name": "slow", "cost": 9}]
    problem = Problem(buffers=rows, pools=pools, objective="cost", bank=[{"buffers": [0, 1]}])
    search = make_search(compile_problem(problem), deterministic=True)
    decomposition.solve(search.instance, search)
    best = require_value(search.best)
    assert oracle.check(problem, lift(problem, search.instance, best.pool, best.offset)) == []
    assert sorted(best.pool.tolist()) == [0, 1]


def test_deterministic_memory_choice_repeats_its_plan() -> None:
    problem = random_problem(5, 60, frozenset({"pools", "cost"}))
    plans = [solve(problem, deterministic=True, time_limit_s=2, solver=decomposition.NAME) for _ in range(2)]
    assert plans[0] == plans[1]


def recorded_problem(entry: dict[str, Any], objective: str) -> Problem:
    """Return a recorded problem; with objective "cost", the last pool costs 1 and the others 0."""
    table = public_problems.problem(f"executorch_cadence/{entry['file']}")
    pools = [dict(pool) for pool in entry["pools"]]
    if objective == "cost":
        pools[-1]["cost"] = 1
    return Problem(buffers=table.buffers, pools=pools, objective=objective)


@pytest.mark.parametrize("entry", RECORDED, ids=lambda entry: entry["file"])
def test_plans_of_executorch_problems_use_no_more_slow_memory_than_their_compiler(entry: dict[str, Any]) -> None:
    problem = recorded_problem(entry, "peak")
    plan = solve(problem, time_limit_s=20)
    assert verify(problem, plan) == ()
    slow = min(peer["bufsizes"][-1] for peer in entry["peer_peaks"].values() if isinstance(peer, dict))
    assert require_value(plan.pools[-1].used) <= slow
    assert plan.status == "optimal"


@pytest.mark.parametrize("name", ["handmade_transformer2_f50.csv", "resnet18_f25.csv"])
def test_memory_choice_proves_the_minimum_cost_of_executorch_problems(name: str) -> None:
    entry = next(entry for entry in RECORDED if entry["file"] == name)
    plan = solve(recorded_problem(entry, "cost"), time_limit_s=20)
    assert (plan.status, plan.cost) == ("optimal", plan.cost_lower_bound)
    assert plan.cost == {"handmade_transformer2_f50.csv": 360_448, "resnet18_f25.csv": 13_287_424}[name]
