"""`verify --better`: the excess over the best peak, the buffers above it, and the fewest moves."""

from typing import Any

import pytest

from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.questions.verify.better import compare_with_best, lines_beside_best
from memplan.questions.verify.verify import VerifyOptions
from memplan.questions.verify.verify import verify as verdict_of
from memplan.solvers.portfolio.solve import solve
from tests.support import public_problems
from tests.support.values import buffer_rows, require_value

ROWS = buffer_rows(a=(8, 0, 4), b=(8, 0, 2), c=(4, 2, 4))


def problem_of(*rows: dict[str, Any], **more: Any) -> Problem:
    return Problem.model_validate({"buffers": list(rows), **more})


def plan_at(**offsets: int) -> Plan:
    return Plan.model_validate(
        {"placements": [{"id": name, "pool": "default", "offset": value} for name, value in offsets.items()]}
    )


def test_verify_better_lists_the_buffers_and_moves_of_a_plan_above_the_best_peak() -> None:
    found = compare_with_best(problem_of(*ROWS), plan_at(a=0, b=8, c=18))
    assert (found.peak, found.best, found.lower_bound, found.too_much_bytes) == (22, 16, 16, 6)
    assert found.gap == pytest.approx(0.375)
    (pool,) = found.pools
    assert (pool.used, pool.best, pool.above_line) == (22, 16, ("c",))
    assert found.fewest_moves is not None
    assert (found.fewest_moves.moved, found.fewest_moves.at_least, found.fewest_moves.proved) == (("c",), 1, True)
    assert require_value(found.plan).peak == 16


def test_verify_better_reports_no_moves_for_an_optimal_plan() -> None:
    found = compare_with_best(problem_of(*ROWS), plan_at(a=0, b=8, c=8))
    assert (found.too_much_bytes, found.gap, found.pools[0].above_line) == (0, 0.0, ())
    assert require_value(found.fewest_moves).moved == ()


def test_verify_better_does_not_compare_the_peak_of_an_invalid_plan() -> None:
    better = verdict_of(problem_of(*ROWS), plan_at(a=0, b=4, c=4), options=VerifyOptions(better=True)).better
    assert better is not None
    assert (better.peak, better.best, better.gap, better.too_much_bytes) == (12, 16, None, None)
    first, *_ = lines_beside_best(better)
    assert first == "peak 12 bytes of a plan that is not valid; best 16, lower bound 16"


def test_verify_better_finds_moves_that_repair_an_invalid_plan() -> None:
    problem = problem_of(*ROWS, pools=[{"name": "default", "alignment": 4}])
    plan = plan_at(a=0, b=6, c=8)
    found = compare_with_best(problem, plan)
    assert {entry.rule for entry in verify(problem, plan)} == {"overlap", "misaligned"}
    assert found.fewest_moves is not None
    assert (found.fewest_moves.moved, found.fewest_moves.proved) == (("b",), True)
    assert verify(problem, require_value(found.plan)) == ()


def test_verify_better_reports_no_peak_if_a_buffer_is_unplaced() -> None:
    found = compare_with_best(problem_of(*ROWS), plan_at(a=0, b=8))
    assert (found.peak, found.gap, found.too_much_bytes, found.best) == (None, None, None, 16)


def test_verify_better_reports_an_infeasible_problem_without_a_best_plan() -> None:
    found = compare_with_best(problem_of(*ROWS, pools=[{"name": "default", "size": 12}]), plan_at(a=0, b=8, c=8))
    assert (found.status, found.best, found.fewest_moves, found.plan) == ("infeasible", None, None, None)


def test_verify_better_compares_each_pool() -> None:
    pools = [{"name": "fast", "size": 8}, {"name": "slow"}]
    rows = [{"id": k, "size": 4, "start": 0, "end": 2, "pools": ["fast" if k < 2 else "slow"]} for k in range(3)]
    places = [{"id": k, "pool": "fast" if k < 2 else "slow", "offset": at} for k, at in ((0, 0), (1, 4), (2, 20))]
    found = compare_with_best(problem_of(*rows, pools=pools), Plan.model_validate({"placements": places}))
    pools = [(pool.name, pool.used, pool.best, pool.above_line) for pool in found.pools]
    assert pools == [("fast", 8, 8, ()), ("slow", 24, 4, (2,))]


def test_verify_better_improves_a_greedy_plan_of_bert_by_at_most_40_moves() -> None:
    problem = public_problems.problem("executorch/bert_4l.csv")
    found = compare_with_best(problem, solve(problem, solver="reference:executorch-greedy"), time_limit_s=8)
    assert found.too_much_bytes == 393216
    assert len(require_value(found.fewest_moves).moved) <= 40
    assert found.plan is not None
    assert (found.plan.peak, verify(problem, found.plan)) == (found.best, ())


def test_verify_better_accepts_empty_problems() -> None:
    found = compare_with_best(problem_of(), Plan())
    assert (found.peak, found.best, found.fewest_moves) == (0, 0, None)
