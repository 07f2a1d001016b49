"""Lower bounds of several pools that the verifier recomputes from live bytes, and how they confirm claims."""

from __future__ import annotations

import pytest

import memplan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.live_bounds import live_bounds
from tests.support import meeting_kinds, oracle
from tests.support.depth import seeds
from tests.support.orientations import costs_that_fit


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.filterwarnings("ignore:buffer .* has no lifetime")
def test_live_bounds_never_exceed_the_pool_usage_of_a_plan(seed: int) -> None:
    compared = 0
    for name, problem, _ in meeting_kinds.problems(seed, 150):
        if len(problem.pools) < 2:
            continue
        plan = memplan.solve(problem, time_limit_s=0.1)
        if plan.peak is None:
            continue
        least, in_all = live_bounds(problem, plan)
        used = [use.used or 0 for use in plan.pools]
        assert all(bound <= mine for bound, mine in zip(least, used, strict=True)), name
        if problem.equal_use:
            continue
        for q in range(len(used)):
            sizes = [pool.size if p <= q else used[p] for p, pool in enumerate(problem.pools)]
            pools = [pool.model_copy(update={"size": n}) for pool, n in zip(problem.pools, sizes, strict=True)]
            fitting = costs_that_fit(problem.model_copy(update={"pools": tuple(pools)}))
            assert least[q] <= min((ends[q] for _, ends in fitting), default=least[q]), (name, q)
        assert in_all <= (oracle.min_total(problem) or 0), name
        compared += 1
    assert compared > 10


def test_verify_confirms_bounds_of_several_pools_by_live_bytes() -> None:
    rows = [{"id": k, "size": 4, "start": 0, "end": 2} for k in range(3)]
    pools = [{"name": "fast", "size": 8}, {"name": "slow"}]
    problem = Problem.model_validate({"buffers": rows, "pools": pools})
    plan = memplan.solve(problem, profile="size")
    assert live_bounds(problem, plan) == ([8, 4], 12)
    by = {each.claim: each.by for each in memplan.verify(problem, plan).claims}
    names = ("status", "lower_bound", "pools[0].lower_bound", "pools[1].lower_bound")
    assert [by[name] for name in names] == ["witness"] * 4
    priced = {each.claim: each.by for each in memplan.verify(problem, memplan.solve(problem)).claims}
    assert (priced["status"], priced["pools[1].lower_bound"]) == (
        None,
        "witness",
    )  # the verifier does not recompute a bound on the cost


def test_live_bounds_under_equal_use_equal_the_bound_of_the_fullest_pool() -> None:
    rows = [{"id": k, "size": 4 + k, "start": 0, "end": 2, "pools": ["ab"[k]]} for k in range(2)]
    problem = Problem.model_validate({"buffers": rows, "pools": [{"name": "a"}, {"name": "b"}], "equal_use": True})
    assert live_bounds(problem, memplan.solve(problem)) == ([5, 5], 10)
