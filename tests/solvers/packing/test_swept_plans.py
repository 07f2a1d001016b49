"""Sweeps over time: valid plans for the rules that they follow, and none for other rules."""

import time

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.memory_choice import decomposition
from memplan.solvers.packing.sweep import swept_plan
from memplan.solvers.portfolio import one_search
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control, Deadline
from memplan.solvers.search.incumbent import Search
from tests.support.random_problems import random_problem
from tests.support.values import require_value

FOLLOWED = ("holes", "pools", "alignment", "reserved", "cost")


@pytest.mark.parametrize("n", [2, 7, 90])
def test_swept_plans_are_valid(n: int) -> None:
    swept = 0
    for seed in range(64):
        features = frozenset(name for k, name in enumerate(FOLLOWED) if seed >> k & 1)
        problem = random_problem(seed, n, features, capacity=None if seed % 3 else 60)
        instance = compile_problem(problem)
        if (plan := swept_plan(instance, tuple(range(len(instance.pools))))) is not None:
            swept += 1
            assert verify(problem, Plan.model_construct(placements=lift(problem, instance, *plan))) == ()
    assert swept >= 20


@pytest.mark.parametrize("feature", ["pins", "conflicts"])
def test_a_rule_that_sweeps_do_not_follow_gets_no_plan(feature: str) -> None:
    instance = compile_problem(random_problem(1, 30, frozenset({feature})))
    assert feature in instance.features
    assert swept_plan(instance, (0,)) is None


def test_many_buffers_with_a_rule_beyond_sweeps_have_a_plan_if_no_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_search, "MOST_OF_FIRST", 10)
    monkeypatch.setattr(one_search, "_VERIFY_S", 1.0)  # all of the time is kept for verifying and writing a plan
    problem = random_problem(1, 30, frozenset({"pins"}))
    plan = solve(problem, time_limit_s=0.1)
    assert (plan.status != "unknown", verify(problem, plan)) == (True, ())


def test_groups_of_one_pool_stay_together() -> None:
    buffers = [{"id": i, "size": 4, "start": 0, "end": 9} for i in range(6)]
    problem = Problem(buffers=buffers, pools=[{"name": "a", "size": 12}, {"name": "b"}])
    problem = problem.model_copy(update={"together": ((2, 3, 4),)})
    instance = compile_problem(problem)
    plan = swept_plan(instance, (0, 1))
    assert verify(problem, Plan.model_construct(placements=lift(problem, instance, *require_value(plan)))) == ()


@pytest.mark.slow
@pytest.mark.parametrize("pools", [[{"name": "a"}], [{"name": "a", "size": 10**6}, {"name": "b"}]])
def test_many_long_lived_buffers_have_a_plan_however_little_time_is_left(pools: list[dict[str, object]]) -> None:
    rng, n = np.random.default_rng(1), 50_000
    start, life = rng.integers(0, n, n).tolist(), rng.integers(1, n, n).tolist()
    lives = enumerate(zip(start, life, strict=True))
    buffers = [{"id": i, "size": 1000 + i % 997, "start": a, "end": a + b} for i, (a, b) in lives]
    problem = Problem(buffers=buffers, pools=pools)
    found = solve(problem, control=Control(Deadline(time.monotonic() - 1.0, time.monotonic())), time_limit_s=1.0)
    assert (found.status, found.solver) == ("feasible", "greedy:sweep")


def test_a_choice_of_pools_is_not_prepared_in_too_little_time() -> None:
    instance = compile_problem(random_problem(1, 30, frozenset({"pools", "cost"})))
    search = Search(instance, deadline=time.monotonic())
    decomposition.solve(instance, search)
    assert search.is_out_of_time
