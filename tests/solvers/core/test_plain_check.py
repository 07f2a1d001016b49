"""What one call of the core shows to be right, the verifier in Python finds nothing wrong with."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from memplan.planner.model.buffer_table import column
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.core.plain_check import is_shown_valid, violations_of
from memplan.solvers.portfolio.solve import solve
from tests.support.depth import seeds

ROWS = [{"id": k, "size": 64 * (k + 1), "start": k, "end": k + 3, "alignment": 64} for k in range(9)]


def drawn(draw: random.Random) -> Problem:
    rows = [
        dict(row, size=64 * draw.randrange(1, 9), start=(start := draw.randrange(9)), end=start + 3) for row in ROWS
    ]
    return Problem(buffers=rows, pools=[{"name": "a", **draw.choice(({}, {"size": 2**20}))}])


def changed(plan: Plan, draw: random.Random) -> Iterator[Plan]:
    """Yield plans that differ from one by one offset, or in one claim."""
    offset = plan.placements.offset.copy()
    offset[draw.randrange(len(offset))] += draw.choice((-64, -1, 64, 2**30, 2**61))
    yield plan.model_copy(update={"placements": replace(plan.placements, offset=column(offset))})
    (pool,), proof = plan.pools, plan.proof
    assert proof is not None
    assert plan.peak is not None
    for value in (plan.peak - 64, plan.peak + 64, None):
        yield plan.model_copy(update={"peak": value})
        yield plan.model_copy(update={"lower_bound": value})
        yield plan.model_copy(update={"pools": (pool.model_copy(update={"used": value}),)})
    for fields in (
        {"time": 99},
        {"time": None},
        {"buffers": proof.buffers[1:]},
        {"kind": "clique"},
        {"buffers": ("x",)},
    ):
        yield plan.model_copy(update={"proof": proof.model_copy(update=fields)})
    for update in ({"gap": 0.5}, {"cost": 1.0}, {"status": "infeasible"}, {"shared": ((0, 1),)}, {"cost_limit": 0.5}):
        yield plan.model_copy(update=update)


@pytest.mark.parametrize("seed", seeds(30))
def test_a_plan_at_its_bound_is_shown_to_be_right_and_no_change_of_it_that_the_verifier_refuses(seed: int) -> None:
    draw = random.Random(seed)
    problem = drawn(draw)
    plan = solve(problem)
    if plan.proof is None or plan.proof.kind != "live-set":
        return
    assert is_shown_valid(problem, plan)
    for wrong in changed(plan, draw):
        assert violations_of(problem, wrong) == verify(problem, wrong)
        assert not (is_shown_valid(problem, wrong) and verify(problem, wrong))


@pytest.mark.parametrize(
    "more",
    [
        {"conflicts": [[0, 8]]},
        {"may_share": [[0, 8]]},
        {"objective": "fit"},
        {"pools": [{"name": "default", "reserved": [[0, 64]]}]},
        {"pools": [{"name": "default", "base_address": 32}]},
        {"pools": [{"name": "default"}, {"name": "b"}]},
        {"buffers": [dict(ROWS[0], offset=64), *ROWS[1:]]},
        {"buffers": [dict(ROWS[0], no_cross=64), *ROWS[1:]]},
        {"buffers": [dict(ROWS[0], size=0), *ROWS[1:]]},
        {"buffers": [{"id": 0, "size": 64, "lifetimes": [[0, 1], [2, 3]]}, *ROWS[1:]]},
    ],
)
def test_of_a_problem_with_any_other_rule_nothing_is_shown(more: dict[str, Any]) -> None:
    plain = Problem(buffers=ROWS)
    plan = solve(plain)
    assert is_shown_valid(plain, plan)
    assert not is_shown_valid(Problem(**{"buffers": ROWS, **more}), plan)
