"""Costs of reuse (two buffers in the same bytes): the plans that list them, their verification, and lint."""

from typing import Any

import pytest

import memplan
from memplan.planner.lint.problems import lint
from memplan.planner.model.plan import Plan, Reused
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from tests.support.values import buffer_rows

Data = dict[str, Any]
OF_B = {"id": "of b", "size": 8, "start": 2, "end": 3, "alias_of": "b"}
REUSE: Data = {"reuse": [{"pairs": [["a", "b"], ["a", "c"]], "cost": 3}], "objective": "cost"}
BASE: Data = {
    "buffers": [*buffer_rows(a=(64, 0, 2), b=(64, 2, 4), c=(32, 3, 5)), OF_B],
    "pools": [{"name": "ub", "size": 128}],
} | REUSE


def problem(**changed: Any) -> Problem:
    return Problem.model_validate(BASE | changed)


def plan_of(a: int, b: int, c: int, **claims: Any) -> Plan:
    rows = zip(("a", "b", "c", "of b"), (a, b, c, b), strict=True)
    placements = [{"id": name, "pool": "ub", "offset": at} for name, at in rows]
    return Plan.model_validate({"placements": placements, **claims})


def test_a_plan_lists_reused_pairs_with_cost_and_required_order() -> None:
    plan = memplan.solve(problem(), time_limit_s=20)
    assert (plan.status, plan.cost, plan.cost_lower_bound) == ("optimal", 3, 3)
    assert len(plan.reused) == 1
    assert (plan.reused[0].first, plan.reused[0].cost) == ("a", 3)
    assert plan.reused[0].then == plan.reused[0].buffers[1]


def test_the_peak_lower_bound_of_a_cheapest_plan_holds_for_dearer_plans() -> None:
    roomy = problem(reuse=[{"pairs": [["a", "b"]], "cost": 3}], pools=[{"name": "ub"}])
    cheapest, least = memplan.solve(roomy), memplan.solve(roomy.model_copy(update={"objective": "peak"}))
    assert (cheapest.status, cheapest.cost, cheapest.peak) == ("optimal", 0, 128)
    assert (least.status, least.peak, cheapest.lower_bound) == ("optimal", 96, 96)


@pytest.mark.parametrize(
    ("reuse", "cost"),
    [
        ([{"pairs": [["a", "b"], ["b", "a"]], "cost": 2}], 0),
        ([{"pairs": [["a", "of b"], ["c", "a"]], "cost": 2}], 2),
        ([{"pairs": [["b", "c"]], "cost": 5}], 0),
    ],
    ids=["one pair may lie apart", "an alias is its buffer", "what is alive together shares no bytes"],
)
def test_solve_minimises_the_cost_of_pairs_that_reuse_bytes(reuse: object, cost: int) -> None:
    plan = memplan.solve(problem(reuse=reuse), time_limit_s=20)
    assert (plan.status, plan.cost) == ("optimal", cost)


def test_solve_minimises_reuse_cost_among_plans_of_minimum_peak() -> None:
    plan = memplan.solve(problem(objective=["peak", "cost"]), time_limit_s=20)
    assert (plan.status, plan.peak, plan.cost) == ("optimal", 96, 3)
    free = memplan.solve(
        problem(objective=["peak", "cost"], reuse=[{"pairs": [["c", "a"]], "cost": 1}]), time_limit_s=20
    )
    assert (free.status, free.peak, free.cost) == ("optimal", 96, 0)


ROW = Reused(buffers=("a", "b"), cost=3, first="a", then="b")
OTHER = Reused(buffers=("a", "c"), cost=3, first="a", then="c")


@pytest.mark.parametrize(
    ("claims", "wrong"),
    [
        ({"reused": [ROW, OTHER], "cost": 6.0}, None),
        ({"reused": [ROW], "cost": 6.0}, "reused"),
        ({"reused": [ROW, OTHER.model_copy(update={"cost": 2})]}, "reused"),
        ({"reused": [ROW, OTHER], "cost": 3.0}, "cost"),
        ({"reused": [ROW, OTHER.model_copy(update={"first": "c", "then": "a"})]}, "reused[1].first"),
        ({"cost": 6.0, "cost_lower_bound": 7.0}, "cost_lower_bound"),
    ],
)
def test_verify_reports_false_reuse_lists_and_costs(claims: Data, wrong: str | None) -> None:
    found = verify(problem(), plan_of(0, 0, 64 - 8, **claims))
    shared = [violation for violation in found if violation.rule != "false-claim"]
    assert [violation.rule for violation in shared] == ["overlap"] * len(shared)
    claimed = [violation.message for violation in found if violation.rule == "false-claim"]
    assert (claimed == []) if wrong is None else (len(claimed) == 1 and wrong in claimed[0])


LATER = {"id": "a later view", "size": 8, "start": 2, "end": 3, "alias_of": "a"}
ELSEWHERE = [row | {"pools": ["ub" if row["id"] == "a" else "other"]} for row in BASE["buffers"][:3]]


@pytest.mark.parametrize(
    "changed",
    [
        {"objective": "peak"},
        {"conflicts": [["a", "b"]]},
        {"conflicts": [["of b", "a"]]},
        {"buffers": [*BASE["buffers"], LATER]},
        {"buffers": ELSEWHERE, "pools": [*BASE["pools"], {"name": "other"}]},
    ],
    ids=["costs do not count", "conflict", "conflict of an alias", "alive with an alias", "no pool in common"],
)
def test_lint_reports_reuse_prices_that_no_plan_pays(changed: Data) -> None:
    assert "idle-prices" in [finding.rule for finding in lint(problem(**changed))]
    assert "idle-prices" not in [finding.rule for finding in lint(problem())]


def test_lint_accepts_reuse_prices_that_count_under_a_profile() -> None:
    pools = [*BASE["pools"], {"name": "other"}]
    assert "idle-prices" not in [finding.rule for finding in lint(problem(objective="peak", pools=pools))]
