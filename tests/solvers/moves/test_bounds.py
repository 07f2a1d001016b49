"""Bounds on the cost of buffers that move, their certificates, and the agreement of plans with brute force."""

import random
from collections import Counter
from typing import Any

import pytest

import memplan
from lab.moves_agreement import faults
from memplan.checkers import check
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.model.problem import Problem, replace_fields
from memplan.questions.verify.verify import verify
from memplan.solvers.moves import bounds
from memplan.solvers.moves.certificate import certify_moves
from memplan.solvers.moves.prices import MovesChecker, Price
from memplan.solvers.search.control import Control
from tests.support.depth import seeds
from tests.support.values import require_value

Row = dict[str, Any]
TWO: Row = {
    "moves": True,
    "pools": [{"name": "sram", "size": 65536}, {"name": "psram", "size": 8388608, "cost": 4}],
    "buffers": [
        {"id": "skip", "size": 32768, "start": 0, "end": 10, "accesses": [0, 1, 8, 9]},
        {"id": "a", "size": 65536, "start": 2, "end": 5, "accesses": [2, 3, 4]},
        {"id": "b", "size": 32768, "start": 5, "end": 9, "accesses": [5, 6, 7, 8]},
    ],
}


def random_problem(count: int, seed: int) -> Problem:
    """Return a problem of buffers with four accesses, at half of the bytes that are alive together."""
    rng, buffers, load = random.Random(seed), [], [0] * 101
    for i in range(count):
        times = sorted(rng.sample(range(100), 4))
        size = rng.randrange(1, 9) * 64
        buffers.append({"id": i, "size": size, "start": times[0], "end": times[-1] + 1, "accesses": times})
        load = [each + size * (times[0] <= time <= times[-1]) for time, each in enumerate(load)]
    pools = [{"name": "fast", "size": max(load) // 2}, {"name": "slow", "cost": 1}]
    return Problem(moves=True, pools=pools, buffers=buffers)


def test_the_certificate_of_an_optimal_plan_proves_its_cost_and_no_more() -> None:
    problem = Problem.model_validate(TWO)
    plan = memplan.plan(problem)
    found = memplan.certify(problem, plan)
    assert plan.proof is not None
    assert (plan.proof.kind, plan.proof.by) == ("search", "multipliers")
    assert (found.kind, found.left_open) == ("multipliers", None)
    claims = {each.claim: each.by for each in verify(problem, plan, found.text).claims}
    assert claims["cost_lower_bound"] == claims["status"] == "certificate"
    text, lines = write_problem(problem).decode(), found.text.split("\n")[:-1]
    assert "no plan costs less than 262144/1" in check.check(text, lines)
    with pytest.raises(check.Refused, match="the prices must prove the claimed cost"):
        check.check(text, [line.replace("262144", "262145") for line in lines])
    for wrong in (["room 2 0 1"], ["step 0 1"], ["fill 0 2 4"], ["set time 0"]):
        with pytest.raises(ValueError):  # An unknown pool, no limit of bytes per step, a time twice, another line.
            check.check(text, [*lines, *wrong])


def test_claims_about_whole_buffers_are_refused_if_buffers_move() -> None:
    text = write_problem(Problem.model_validate(TWO)).decode()
    with pytest.raises(ValueError, match="unknown fields"):
        check.check(text, ["memplan-lemmas/1", "sizes 65536 8388608", "cost 262144 1", "claim 65536 8388608", "end -"])
    whole = '{"buffers": [{"id": "a", "size": 4, "start": 0, "end": 1}], "pools": [{"size": 4}]}'
    with pytest.raises(ValueError, match="in which buffers move"):
        check.check(whole, ["memplan-lemmas/1", "sizes 4", "moves 0 1", "scale 1"])


def test_a_certificate_says_the_gap_to_the_plan() -> None:
    problem = Problem.model_validate(TWO)
    found = certify_moves(problem, memplan.plan(problem).model_copy(update={"status": "feasible", "cost": 300_000.0}))
    assert found.left_open == "a cost from 262,144 up to that of the plan, 300,000 (0.14 above)"
    assert "moves 262144 1" in found.text


def test_bytes_that_no_sum_of_sizes_reaches_are_paid_for() -> None:
    buffers = [{"id": i, "size": 6, "start": 0, "end": 3, "accesses": [0, 2]} for i in range(4)]
    pools = [{"name": "fast", "size": 17}, {"name": "slow", "cost": 1}]
    checker = MovesChecker(Problem(moves=True, pools=pools, buffers=buffers))
    # The 7 bytes too many cost 14, or 18 as a multiple of 6; but two of the buffers must go.
    assert [checker.bound(1, [Price(0, 1, 2, fill)], 99).bound for fill in (False, True)] == [18, 24]


def test_an_access_in_the_cheapest_pool_needs_no_engine_to_be_proved() -> None:
    buffers = [{"id": i, "size": 4, "start": 0, "end": 3, "accesses": [0, 2]} for i in range(2)]
    pools = [{"name": "fast", "size": 8, "cost": 1}, {"name": "slow", "cost": 2}]
    plan = memplan.plan(Problem(moves=True, pools=pools, buffers=buffers))
    assert (plan.status, plan.cost, require_value(plan.proof).by) == ("optimal", 16.0, "multipliers")


@pytest.mark.slow
def test_a_problem_whose_program_is_too_large_has_a_bound_by_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(60, 1)
    exact = memplan.plan(problem, time_limit_s=5)
    monkeypatch.setattr(bounds, "_MOST_ENTRIES", 0)
    stepped = bounds.proved_bound(problem, exact.cost or 0.0, Control.from_limit(4.0))
    assert 0.9 * require_value(exact.cost_lower_bound) < stepped.cost <= (exact.cost or 0.0)
    assert require_value(memplan.plan(problem, time_limit_s=4).cost_lower_bound) > 0


def test_the_baseline_has_a_bound_above_its_accesses_in_a_fast_pool_with_a_cost() -> None:
    drawn = random_problem(60, 3)
    problem = replace_fields(drawn, pools=[{"name": "fast", "size": drawn.pools[0].size, "cost": 0.25}, drawn.pools[1]])
    plan = memplan.plan(problem, solver="greedy")
    assert (plan.cost_lower_bound or 0) > 1.1 * 0.25 * 4 * int(problem.buffers.size.sum())


@pytest.mark.slow
@pytest.mark.drawn
def test_plans_of_buffers_that_move_agree_with_brute_force() -> None:
    tally = Counter[str]()
    assert {seed: found for seed in seeds(30) if (found := [*faults(seed, tally)])} == {}
    assert tally["moved"] > 4


def test_a_pool_with_room_for_all_buffers_but_not_with_their_banks_is_left() -> None:
    assert [*faults(21193, Counter[str]())] == []
