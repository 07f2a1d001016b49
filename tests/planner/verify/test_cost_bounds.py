"""The verifier's own lower bounds on costs and live bytes: never above a plan, and often equal to the least."""

import random
from fractions import Fraction
from typing import Any

import pytest

import memplan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.cost_bounds import cost_bound
from memplan.planner.verify.live_bounds import live_bounds
from memplan.questions.verify.verify import verdict_lines, verdict_on
from memplan.solvers.certificates import verdicts
from memplan.solvers.portfolio.solve import solve
from tests.support import meeting_kinds, oracle
from tests.support.depth import seeds
from tests.support.meeting_kinds import problems
from tests.support.orientations import costs_that_fit


def two_memories(draw: random.Random, count: int) -> Problem:
    """A drawn problem with a fast memory of 100 bytes, a middle one of 150 at cost 0.25, and a large one at cost 2."""
    rows: list[dict[str, Any]] = []
    for k in range(count):
        start = draw.randrange(count)
        row: dict[str, Any] = {"id": k, "size": draw.randint(5, 60), "start": start, "end": start + draw.randint(1, 6)}
        if draw.random() < 0.2:
            row["traffic"] = draw.randint(0, 300)
        if draw.random() < 0.1:
            row["pools"] = ["middle", "large"]
        rows.append(row)
    two = [{"name": "fast", "size": 100, "cost": 0}, {"name": "middle", "size": 150, "cost": 0.25}]
    return Problem.model_validate({"pools": [*two, {"name": "large", "cost": 2}], "buffers": rows, "objective": "cost"})


@pytest.mark.parametrize("seed", range(24))
def test_the_recounted_bound_is_at_most_the_least_cost_and_usually_equal_to_it(seed: int) -> None:
    problem = two_memories(random.Random(seed), 8 + seed)
    plan = solve(problem, time_limit_s=20.0)
    assert plan.cost is not None
    assert cost_bound(problem, 2 * plan.cost + 1) <= plan.cost
    if plan.status == "optimal":
        verdict = verdict_on(problem, plan)
        assert verdict.recounted_cost is not None or plan.cost == 0
        claims = {each.claim: each.by for each in verdict.claims}
        is_reached = verdict.recounted_cost is None or verdict.recounted_cost >= plan.cost
        assert claims["cost_lower_bound"] == ("placements" if plan.cost == 0 else "witness" if is_reached else None)


def test_the_recounted_bound_is_valid_for_problems_with_all_kinds_of_constraints() -> None:
    compared = 0
    for _, problem, _ in problems(7, 400):
        if problem.objective != "cost" or len(problem.pools) < 2:
            continue
        plan = solve(problem, time_limit_s=10.0)
        if plan.cost is not None and plan.profile is None:
            assert cost_bound(problem, 2 * plan.cost + 1) <= plan.cost, problem.model_dump_json()
            compared += 1
    assert compared > 20


def test_a_claimed_cost_bound_that_the_verifier_does_not_reach_stays_unchecked() -> None:
    # Two buffers of 60 fit into 120 bytes by their sizes, but the alignment keeps one of them out.
    rows = [{"id": k, "size": 60, "start": 0, "end": 1, "alignment": 64} for k in range(2)]
    pools = [{"name": "fast", "size": 123, "cost": 0}, {"name": "slow", "cost": 1}]
    problem = Problem.model_validate({"pools": pools, "buffers": rows, "objective": "cost"})
    plan = solve(problem)
    assert (plan.status, plan.cost, plan.cost_lower_bound) == ("optimal", 60.0, 60.0)
    assert cost_bound(problem, 60.0) == 0
    verdict = verdict_on(problem, plan)
    assert {each.claim: each.by for each in verdict.claims}["cost_lower_bound"] is None
    assert "recounted: every plan costs at least 0" in list(verdict_lines(verdict))


def test_the_bound_of_many_choices_relaxes_the_most_expensive_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = two_memories(random.Random(5), 60)
    whole = cost_bound(problem, 1e9)
    for most in (1, 10, 100):
        monkeypatch.setattr("memplan.planner.verify.cost_bounds._MOST_CHOICES", most)
        assert 0 < cost_bound(problem, 1e9) <= whole


def test_reserved_bytes_and_repeated_lifetimes_count_in_the_bound() -> None:
    rows = [
        {"id": "a", "size": 50, "lifetimes": [[0, 2], [4, 6]], "traffic": 10},
        {"id": "b", "size": 50, "start": 1, "end": 5, "traffic": 7},
    ]
    pools = [{"name": "fast", "size": 120, "reserved": [[0, 30], [20, 40]], "cost": 0.1}, {"name": "slow", "cost": 1}]
    problem = Problem.model_validate({"pools": pools, "buffers": rows, "objective": "cost"})
    assert cost_bound(problem, 100.0) == 10 * Fraction("0.1") + 7
    assert solve(problem).cost == pytest.approx(8.0)


def test_the_bound_is_valid_when_time_is_over_at_any_step() -> None:
    problem = two_memories(random.Random(3), 60)
    whole, bounds = cost_bound(problem, 1e9), list[Fraction]()
    for steps in (0, 1, 30, 200, 1520):
        left = iter(range(steps))
        bounds.append(cost_bound(problem, 1e9, lambda left=left: next(left, None) is None))  # type: ignore[misc]
    assert all(0 <= bound <= whole for bound in bounds)
    assert bounds[0] < whole


def test_the_bound_is_valid_for_257_pools() -> None:
    pools = [{"name": f"p{k}", "size": 4, "cost": 10} for k in range(256)] + [{"name": "last", "size": 12, "cost": 1}]
    rows = [{"id": k, "size": 4, "start": 0, "end": 2} for k in range(3)]
    assert cost_bound(Problem.model_validate({"pools": pools, "buffers": rows, "objective": "cost"}), 48) == 12


def test_a_recounted_bound_above_the_cost_of_a_valid_plan_is_its_own_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = two_memories(random.Random(1), 6)
    plan = solve(problem)
    monkeypatch.setattr(verdicts, "cost_bound", lambda *_: Fraction(10**6))
    assert "the recount is at fault, not the plan, got 1000000.0" in next(verdict_lines(verdict_on(problem, plan)))


def test_the_bound_of_costs_beyond_64_bits_is_valid() -> None:
    rows = [{"id": k, "size": 60, "start": 0, "end": 1, "traffic": 2**50} for k in range(3)]
    pools = [{"name": "fast", "size": 100, "cost": 0.1234567890123}, {"name": "slow", "cost": 98765.4321098765}]
    problem = Problem.model_validate({"pools": pools, "buffers": rows, "objective": "cost"})
    plan = solve(problem)
    assert plan.cost is not None
    assert 0 < float(cost_bound(problem, 2 * plan.cost)) <= plan.cost * (1 + 1e-12)


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
    problem = Problem.model_validate({"buffers": rows, "pools": [{"name": "fast", "size": 8}, {"name": "slow"}]})
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
