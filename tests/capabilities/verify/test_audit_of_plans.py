"""Audits: what is wrong, how much too much, what is above the line, the tower, and the fewest moves."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.capabilities.verify.better import audit
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.solve import solve
from tests.support import public_problems

ROWS = [
    {"id": "a", "size": 8, "start": 0, "end": 4},
    {"id": "b", "size": 8, "start": 0, "end": 2},
    {"id": "c", "size": 4, "start": 2, "end": 4},
]


def of(*rows: dict[str, Any], **more: Any) -> Problem:
    return Problem.model_validate({"buffers": list(rows), **more})


def at(**offsets: int) -> Plan:
    return Plan.model_validate(
        {"placements": [{"id": name, "pool": "default", "offset": value} for name, value in offsets.items()]}
    )


def test_a_plan_that_is_too_large_is_taken_apart() -> None:
    found = audit(of(*ROWS), at(a=0, b=8, c=18))
    assert found.valid
    assert (found.peak, found.best, found.lower_bound, found.too_much_bytes) == (22, 16, 16, 6)
    assert found.gap == pytest.approx(0.375)
    (pool,) = found.pools
    assert (pool.used, pool.best, pool.above_line) == (22, 16, ("c",))
    assert [(row.id, row.offset, row.bytes, row.idle_below) for row in pool.tower] == [("c", 18, 4, 10), ("a", 0, 8, 0)]
    assert pool.idle_in_tower == 10
    assert found.moves is not None
    assert (found.moves.moved, found.moves.at_least, found.moves.proved) == (("c",), 1, True)
    assert found.better is not None
    assert found.better.peak == 16


def test_the_best_plan_needs_no_moves_and_has_no_tower() -> None:
    found = audit(of(*ROWS), at(a=0, b=8, c=8))
    assert (found.too_much_bytes, found.gap, found.pools[0].above_line, found.pools[0].tower) == (0, 0.0, (), ())
    assert found.moves is not None
    assert found.moves.moved == ()


def test_violations_are_told_and_the_moves_mend_them() -> None:
    problem = of(*ROWS, pools=[{"name": "default", "alignment": 4}])
    plan = at(a=0, b=6, c=8)
    found = audit(problem, plan)
    assert {entry.rule for entry in found.violations} == {"overlap", "misaligned"}
    assert found.moves is not None
    assert (found.moves.moved, found.moves.proved) == (("b",), True)
    assert found.better is not None
    assert verify(problem, found.better) == ()


def test_buffers_that_are_not_placed_leave_the_peak_unknown() -> None:
    found = audit(of(*ROWS), at(a=0, b=8))
    assert [entry.rule for entry in found.violations] == ["unplaced-buffer"]
    assert (found.peak, found.gap, found.too_much_bytes, found.best) == (None, None, None, 16)


def test_false_claims_are_violations() -> None:
    plan = at(a=0, b=8, c=8).model_copy(update={"peak": 12, "problem_hash": "sha256:0"})
    assert {entry.rule for entry in audit(of(*ROWS), plan).violations} == {"false-claim"}


def test_what_fits_nowhere_is_told_without_a_best() -> None:
    found = audit(of(*ROWS, pools=[{"name": "default", "size": 12}]), at(a=0, b=8, c=8))
    assert (found.status, found.best, found.moves, found.better) == ("infeasible", None, None, None)
    assert "past-capacity" in {entry.rule for entry in found.violations}


def test_each_pool_has_its_own_line() -> None:
    pools = [{"name": "fast", "size": 8}, {"name": "slow"}]
    rows = [{"id": k, "size": 4, "start": 0, "end": 2, "pools": ["fast" if k < 2 else "slow"]} for k in range(3)]
    places = [{"id": k, "pool": "fast" if k < 2 else "slow", "offset": at} for k, at in ((0, 0), (1, 4), (2, 20))]
    found = audit(of(*rows, pools=pools), Plan.model_validate({"placements": places}))
    assert [(pool.name, pool.used, pool.best, pool.above_line) for pool in found.pools] == [
        ("fast", 8, 8, ()),
        ("slow", 24, 4, (2,)),
    ]


def test_a_greedy_plan_of_a_real_model_is_mended_by_few_moves() -> None:
    problem = public_problems.problem("executorch/bert_4l.csv")
    greedy = solve(problem, solver="reference:executorch-greedy")
    found = audit(problem, greedy, time_limit_s=8)
    assert found.valid
    assert found.too_much_bytes == 393216
    assert found.moves is not None
    assert len(found.moves.moved) <= 40
    assert found.better is not None
    assert (found.better.peak, verify(problem, found.better)) == (found.best, ())


def test_empty_problems_are_audited_too() -> None:
    found = audit(of(), Plan())
    assert (found.valid, found.peak, found.best, found.moves) == (True, 0, 0, None)
