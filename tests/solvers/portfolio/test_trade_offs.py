"""Weighted sums of pools and bounds on slowdown, against every choice of pools tried."""

from __future__ import annotations

import random
from typing import Any

import pytest

from memplan.planner.errors import OptionError
from memplan.planner.model.problem import Problem, with_profile
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.solve import solve
from tests.support.orientations import costs_that_fit


def drawn(seed: int) -> Problem:
    draw = random.Random(seed)
    buffers = []
    for name in "abcdef":
        start = draw.randrange(4)
        buffers.append({"id": name, "size": draw.randint(1, 6), "start": start, "end": start + draw.randint(1, 4)})
    sizes = [draw.randint(3, 8), draw.randint(3, 8)][: 1 + seed % 2]
    pools = [{"name": f"fast{k}", "size": size} for k, size in enumerate(sizes)]
    return Problem.model_validate({"buffers": buffers, "pools": [*pools, {"name": "slow", "size": 30}]})


@pytest.mark.parametrize(("seed", "solver"), [(1, "auto"), (4, "auto"), (44, "auto"), (5, "highs"), (6, "cp-sat")])
def test_a_weighted_sum_is_the_least_of_all_plans(seed: int, solver: str) -> None:
    problem, draw = drawn(seed), random.Random(seed)
    weights = {pool.name: draw.choice([1, 2, 3, 1.5]) for pool in problem.pools if draw.random() < 0.8} or {"slow": 2}
    least = min(
        sum(weights.get(pool.name, 0) * end for pool, end in zip(problem.pools, ends, strict=True))
        for _, ends in costs_that_fit(problem)
    )
    plan = solve(problem, profile=weights, solver=solver)
    assert verify(problem, plan) == ()
    assert plan.weighted is not None
    assert (plan.weighted.sum, plan.weighted.lower_bound, plan.status) == (least, least, "optimal")
    for wrong in ({"sum": least + 1}, {"lower_bound": least + 1}, {"lower_bound": least - 1}, {"weights": {"x": 1}}):
        forged = plan.model_copy(update={"weighted": plan.weighted.model_copy(update=wrong)})
        assert {found.rule for found in verify(problem, forged)} == {"false-claim"}


@pytest.mark.parametrize(("seed", "percent"), [(3, 0), (7, 10), (8, 50), (10, 100)])
def test_a_bound_on_slowdown_leaves_the_least_of_the_last_pool_at_that_cost(seed: int, percent: float) -> None:
    problem = drawn(seed)
    priced = with_profile(problem, "speed")
    found = list(costs_that_fit(priced))
    limit = min(cost for cost, _ in found) * (1 + percent / 100)
    least = min((ends[-1], cost) for cost, ends in found if cost <= limit)
    plan = solve(problem, profile=f"balanced+{percent}%")
    assert verify(problem, plan) == ()
    assert (plan.pools[-1].used, plan.cost, plan.status) == (*least, "optimal")
    assert plan.cost_limit == pytest.approx(limit)
    assert verify(problem, plan.model_copy(update={"cost_limit": least[1] - 1})) != () or least[1] == 0


def test_what_does_not_fit_is_infeasible_with_weights() -> None:
    problem = drawn(1).with_capacity({"fast0": 1, "fast1": 1, "slow": 1})
    plan = solve(problem, profile={"slow": 1})
    assert (plan.status, verify(problem, plan)) == ("infeasible", ())


@pytest.mark.parametrize(
    ("profile", "sentence"),
    [
        ({"flash": 1}, 'profile: must name pools of the problem .fast0, slow., got "flash"'),
        ({"slow": 0}, "profile: must be speed, balanced, balanced.5%, size, or weights of pools above 0"),
        ("size+5%", "profile: must be speed"),
        ("O3", "did you mean speed"),
    ],
)
def test_profiles_that_are_none_are_refused(profile: Any, sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        solve(drawn(2), profile=profile)
