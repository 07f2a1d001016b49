"""Choices of memories by an integer program without offsets: true bounds, valid plans, and no need for an engine."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from memplan.planner.errors.extras import is_installed
from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.model.problem import Buffer, Pool, Problem
from memplan.solvers.formulation.stricter import relax_offset_rules, restrict_rules, stricter
from memplan.solvers.memory_choice import program
from memplan.solvers.memory_choice.knapsack import Knapsack
from memplan.solvers.memory_choice.multipliers import Multipliers, refit
from memplan.solvers.memory_choice.program import ProgramSolver
from memplan.solvers.packing.packer import Packer
from memplan.solvers.packing.place import place
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.incumbent import Search
from tests.support import oracle
from tests.support.small_problems import small_problems
from tests.support.values import require_value

HAS_ENGINE = pytest.mark.skipif(not is_installed("highspy"), reason="highspy is not installed")


def training_step(seed: int, n: int) -> Problem:
    """Return a problem of a forward and a backward pass: what an operation keeps lives until its mirror image runs."""
    rng, rows = random.Random(seed), list[dict[str, Any]]()
    for i in range(n):
        kept, size = rng.random() < 0.5, rng.randrange(1, 4000) * 512
        end = 2 * n - i if kept else i + rng.choice([1, 2, 3])
        rows.append({"id": i, "size": size, "start": i, "end": end, "traffic": size * rng.choice([1, 2, 4])})
    half = sum(row["size"] for row in rows if row["end"] >= n) // 2 // 512 * 512
    pools = [{"name": "fast", "size": half, "cost": 1}, {"name": "slow", "cost": 8}]
    return Problem(objective="cost", pools=pools, buffers=rows)


def ask(problem: Problem) -> tuple[Knapsack, ProgramSolver]:
    knapsack = require_value(Knapsack.from_instance(compile_problem(problem)))
    return knapsack, ProgramSolver(knapsack, Search(knapsack.instance, deadline=np.inf))


@pytest.mark.parametrize("has_engine", [pytest.param(True, marks=HAS_ENGINE), False])
def test_training_steps_are_planned_close_to_their_bound(monkeypatch: pytest.MonkeyPatch, has_engine: bool) -> None:
    if not has_engine:
        monkeypatch.setattr(program, "is_installed", lambda _: False)
    plan = solve(training_step(3, 150), time_limit_s=10, solver="memory-choice")
    assert require_value(plan.cost) <= (1.002 if has_engine else 1.03) * require_value(plan.cost_lower_bound)


@HAS_ENGINE
@pytest.mark.drawn
@pytest.mark.parametrize("seed", range(4))
def test_relaxed_programs_bound_the_cost_of_every_choice(seed: int) -> None:
    for problem in small_problems(seed, 2):
        knapsack, solver = ask(problem)
        if problem.objective != "cost" or knapsack.costs is None or knapsack.n_items == 0:
            continue
        limit = knapsack.limits([pool.capacity for pool in knapsack.instance.pools])
        with solver:
            relaxed = solver.relax(limit, [])
            least = oracle.best_score(problem)
            if relaxed is None or least is None:
                continue
            bound = knapsack.costs.cost_of_steps(max(0, relaxed[1].cost_bound(knapsack, limit)))
            assert bound <= least[0] * (1 + 1e-12)
            home = refit(knapsack, relaxed[0], limit, solver.search.flag)
            assert home is None or (knapsack.loads(home) <= limit).all()


def test_choices_that_are_tried_near_another_one_are_cheaper_and_within_the_limits() -> None:
    knapsack, solver = ask(training_step(3, 150))
    limit = knapsack.limits([pool.capacity for pool in knapsack.instance.pools])
    fast = np.zeros(knapsack.n_items, dtype=np.int64)
    found = [require_value(refit(knapsack, fast, limit, solver.search.flag, tries)) for tries in (0, 30, 300)]
    assert knapsack.cost(found[0]) > knapsack.cost(found[1]) > knapsack.cost(found[2])
    assert all((knapsack.loads(home) <= limit).all() for home in found)


def test_buffers_that_must_be_together_only_move_where_both_fit() -> None:
    pools = [Pool(name="a", size=10), Pool(name="b", size=10, cost=1), Pool(name="c", cost=5)]
    rows = [Buffer(id=name, size=6, start=0, end=2, traffic=6) for name in "xy"]
    knapsack, solver = ask(Problem(pools=pools, buffers=rows, together=[("x", "y")]))
    limit = knapsack.limits([pool.capacity for pool in knapsack.instance.pools])
    home = refit(knapsack, np.zeros(1, dtype=np.int64), limit, solver.search.flag, 10)
    assert require_value(home).tolist() == [2]


def test_any_prices_give_multipliers_with_a_true_bound() -> None:
    knapsack, _ = ask(training_step(5, 40))
    limit = knapsack.limits([pool.capacity for pool in knapsack.instance.pools])
    all_slow = knapsack.cost(np.ones(knapsack.n_items, dtype=np.int64))
    rng = np.random.default_rng(5)
    for scale in (0.0, 1e-6, 1.0, 1e30):
        multipliers = Multipliers.from_prices(knapsack, rng.random(limit.shape) * scale)
        assert multipliers.cost_bound(knapsack, limit) <= all_slow


def paged_problem(seed: int, more: dict[str, Any], n: int = 12) -> Problem:
    rng = random.Random(seed)
    rows = list[dict[str, Any]]()
    for i in range(n):
        size = rng.randrange(1, 9)
        rows.append({"id": i, "size": size, "start": i, "end": i + rng.randrange(1, 5), "traffic": size})
        if rng.random() < 0.5:
            rows[-1]["no_cross"] = rng.choice([size, 12, 16])
    if "relative" in more:
        rows[4] |= {"relative": {"to": 3, "offset": rows[3]["size"]}, "end": 6}
    pools = [{"name": "fast", "size": 40, "base_address": seed % 5}, {"name": "slow", "cost": 3}]
    shared = {key: value for key, value in more.items() if key != "relative"}
    return Problem(objective="cost", pools=pools, buffers=rows, **shared)


@pytest.mark.parametrize("make", [restrict_rules, lambda instance: stricter(instance)[0]])
@pytest.mark.parametrize("more", [{}, {"relative": True}, {"may_share": [[0, 1], [5, 6]]}])
@pytest.mark.parametrize("seed", range(12))
def test_plans_of_stricter_instances_are_valid(make: Callable[[Any], Any], more: dict[str, Any], seed: int) -> None:
    problem = paged_problem(seed, more)
    instance = compile_problem(problem)
    strict = make(instance)
    packed = place(Packer(strict, np.zeros(1, dtype=np.int64)), strict, np.arange(len(strict)), (0, 1))
    if packed is not None:
        assert oracle.check(problem, lift(problem, instance, *packed)) == []


def test_rules_on_offsets_are_left_out_for_a_bound_and_nothing_else_is() -> None:
    instance = compile_problem(paged_problem(1, {"may_share": [[0, 1]]}))
    looser = relax_offset_rules(instance)
    assert instance.features - looser.features == {"pages"}
    assert relax_offset_rules(looser) is looser


def test_a_few_buffers_with_pages_are_placed_at_least_cost_without_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "is_installed", lambda _: False)
    for seed in range(4):
        plan = solve(paged_problem(seed, {}, 8), time_limit_s=5, solver="memory-choice")
        assert plan.cost == plan.cost_lower_bound
