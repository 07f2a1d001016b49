"""Windows that are freed and placed anew: valid plans, near the cheapest choice, the same for the same work."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.memory_choice import decomposition, windows
from memplan.solvers.memory_choice.decomposition import Decomposition
from memplan.solvers.memory_choice.knapsack import Knapsack
from memplan.solvers.memory_choice.windows import Windows
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.incumbent import Search
from memplan.solvers.search.to_plan import of_assignment
from tests.support.depth import seeds
from tests.support.small_problems import small_problems

KINDS = ("", "mixed", "confined", "pinned", "groups", "holes", "conflicts", "reserved", "limited")


def drawn(seed: int, n: int, kind: str = "") -> Problem:
    """Return a problem of short lifetimes and three memories."""
    rng, rows = random.Random(seed), list[dict[str, Any]]()
    for i in range(n):
        size = rng.randrange(1, 60) * 64
        row: dict[str, Any] = {"id": i, "size": size, "start": i, "end": i + rng.choice([2, 3, 4, 8, 20])}
        row |= {"alignment": 64, "traffic": size * rng.choice([1, 2, 3])}
        if kind == "mixed":
            row["alignment"] = rng.choice([64, 1024])
        if kind == "confined" and rng.random() < 0.1:
            row["pools"] = ["sram", "dram"]
        if kind == "holes" and rng.random() < 0.3:
            del row["start"], row["end"]
            row["lifetimes"] = [[i, i + 2], [i + 5, i + 7]]
        rows.append(row)
    pools: list[dict[str, Any]] = [
        {"name": "tcm", "size": 16384, "cost": 0},
        {"name": "sram", "size": 24576, "cost": 4},
    ]
    pools.append({"name": "dram", "cost": 20} | ({"size": 400_000} if kind == "limited" else {}))
    more: dict[str, Any] = {}
    if kind == "pinned":
        for i in range(5, n, 25):
            rows[i] |= {"offset": 64 * rng.randrange(100), "pools": ["tcm"]}
    if kind == "groups":
        more["together"] = [[i, i + 2] for i in range(4, n - 3, 20)]
    if kind == "conflicts":
        more["conflicts"] = [[i, i + 25] for i in range(0, n - 26, 9)]
    if kind == "reserved":
        pools[0]["reserved"] = [[4096, 2048]]
    return Problem.model_validate({"objective": "cost", "pools": pools, "buffers": rows, **more})


def searching(problem: Problem, work: int = 400_000) -> tuple[Knapsack, Search]:
    instance = compile_problem(problem)
    knapsack = Knapsack.of(instance)
    assert knapsack is not None
    search = Search(
        instance, deadline=np.inf, deterministic=True, work_limit=work, trusted=frozenset({decomposition.NAME})
    )
    return knapsack, search


@pytest.mark.drawn
@pytest.mark.parametrize("kind", KINDS)
def test_plans_of_windows_are_valid_and_near_the_bound(kind: str) -> None:
    problem = drawn(7, 150, kind)
    knapsack, search = searching(problem)
    assert windows.suits(knapsack.instance)
    found, choice = Windows(knapsack, search), Decomposition(knapsack, search)
    assert choice.go_through(found)
    assert search.best is not None
    plan = of_assignment(problem, knapsack.instance, search.best, search.proof)
    assert not verify(problem, plan)
    # What mixed alignments waste, the bound does not know.
    assert search.best.score[0] <= (2 if kind == "mixed" else 1.3) * search.bound[0] + 1


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(6))
def test_what_is_proved_of_small_problems_is_what_it_was_without_windows(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for problem in small_problems(seed, 10, most=6):
        if problem.objective != "cost":
            continue
        options: dict[str, Any] = {"solver": "memory-choice", "deterministic": True, "time_limit_s": 2.0}
        usual = solve(problem, **options)
        with monkeypatch.context() as patch:
            patch.setattr(windows, "_LEAST", 1)
            other = solve(problem, **options)
        assert not other.placements or not verify(problem, other)
        if usual.status == "optimal" and usual.cost is not None:
            assert other.cost is None or other.cost >= usual.cost
            assert other.status != "infeasible"
            assert (other.cost_lower_bound or 0) <= usual.cost
        if usual.status == "infeasible":
            assert not other.placements


def test_the_same_work_gives_the_same_plan() -> None:
    problem = drawn(3, 120)
    plans = [solve(problem, solver="memory-choice", deterministic=True, time_limit_s=3.0) for _ in range(2)]
    assert plans[0].placements == plans[1].placements


def test_a_window_leaves_all_others_where_they_are() -> None:
    knapsack, search = searching(drawn(5, 200))
    found = Windows(knapsack, search)
    choice = Decomposition(knapsack, search)
    home = choice._cheapest(choice.ends, choice.multipliers, [], choice.dearest).home
    assert home is not None
    assert found.begin(home)
    before = found._cost()
    for _ in range(3):
        found.improve()
        assert found._cost() <= before
        before = found._cost()
