"""Reference planners as solvers: unsupported constraints are refused, and plans are verified."""

import threading
from typing import Any

import pytest

from memplan.planner.errors import OptionError
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.systems import ReferencePlanner, reference_planners
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.reference import checked
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck
from memplan.solvers.search.control import Control
from memplan.solvers.search.incumbent import Search
from tests.support import oracle
from tests.support.tiny import FEATURES, random_tiny
from tests.support.values import require_value

GREEDY = "reference:executorch-greedy"
PROBLEMS = FEATURES | {f"random {seed}": random_tiny(seed) for seed in range(15)}
TIGHT: dict[str, Any] = {
    "buffers": [
        {"id": "a", "size": 10, "start": 0, "end": 1},
        {"id": "b", "size": 6, "start": 1, "end": 2},
        {"id": "c", "size": 6, "start": 1, "end": 2},
    ]
}
"""The optimum is 12 bytes; ExecuTorch's greedy needs 16, because b and c do not both fit a's 10-byte object."""
EASY: dict[str, Any] = {"buffers": TIGHT["buffers"][:2]}


def plan_of(problem: dict[str, Any], accept: str | None = None, control: Control = Control()) -> Plan:
    return solve(Problem.model_validate(problem), solver=GREEDY, accept=accept, control=control)


@pytest.mark.parametrize("planner", reference_planners())
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_reference_planner_refuses_explains_or_returns_a_valid_plan(name: str, planner: str) -> None:
    problem = PROBLEMS[name]
    if cannot := checked.needed_features(problem, compile_problem(problem)) - reference_planners()[planner].can:
        with pytest.raises(OptionError, match=f"solver: {planner} does not support {', '.join(sorted(cannot))}"):
            solve(problem, solver=planner)
        return
    plan = solve(problem, solver=planner)
    assert verify(problem, plan) == ()
    least = oracle.best_score(problem)
    if plan.status == "infeasible":
        assert least is None
    elif plan.status == "unknown":
        assert require_value(plan.explanation).message.startswith(planner)
    else:
        assert oracle.check(problem, list(plan.placements)) == []
        assert least is not None
        if plan.status == "optimal" and problem.objective != "fit":
            assert tuple(pool.used for pool in reversed(plan.pools)) == least[-len(problem.pools) :]
            assert plan.cost is None or plan.cost == pytest.approx(least[0], rel=1e-12)


def test_an_unknown_reference_planner_is_refused_with_the_known_names() -> None:
    with pytest.raises(OptionError) as caught:
        solve(FEATURES["plain"], solver="reference:best")
    assert str(caught.value).startswith("solver: reference: must be followed by one of tflite-micro-greedy, ")
    assert str(caught.value).endswith(', got "reference:best"')


def test_a_reference_plan_that_breaks_a_rule_is_refused_with_the_rule() -> None:
    assert plan_of({**TIGHT, "pools": [{"size": 16}]}).status == "feasible"
    plan = plan_of({**TIGHT, "pools": [{"size": 15}]})
    assert (plan.status, plan.placements.ids, plan.stop_reason) == ("unknown", (), None)
    assert plan.explanation is not None
    message = 'buffer "b": must end at or below 15, got offset 10 of "default"'
    assert plan.explanation.message == f"{GREEDY} made a plan that breaks rules of the problem: {message}"
    assert plan.explanation.buffers == ("b",)


def test_a_reference_planner_reports_infeasibility_only_with_a_proof() -> None:
    plan = plan_of({**TIGHT, "pools": [{"size": 11}]})
    assert (plan.status, require_value(plan.explanation).missing_bytes) == ("infeasible", 1)


def test_a_reference_plan_is_optimal_only_if_it_meets_the_bound() -> None:
    plan = plan_of(EASY)
    assert (plan.status, plan.stop_reason, plan.gap) == ("optimal", "proved", 0.0)
    assert require_value(plan.proof).buffers == ("a",)
    plan = plan_of(TIGHT)
    assert (plan.status, plan.stop_reason, plan.lower_bound, plan.peak) == ("feasible", None, 12, 16)
    assert plan_of(TIGHT, accept="40%").stop_reason == "accepted"
    assert plan_of(TIGHT, accept="30%").stop_reason is None
    assert plan_of({**TIGHT, "objective": "fit"}).stop_reason == "accepted"


def test_a_cancelled_reference_planner_reports_that_it_was_stopped() -> None:
    cancelled = threading.Event()
    cancelled.set()
    plan = plan_of(EASY, control=Control(cancelled=cancelled))
    assert (plan.status, plan.stop_reason) == ("unknown", "cancelled")
    assert require_value(plan.explanation).message == f"{GREEDY} was stopped before it had placed every buffer"


def place_nothing(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    return PlannerAnswer({}, stuck=(0, 1, 2, 3))


def test_at_most_three_unplaced_buffers_of_a_reference_planner_are_named() -> None:
    problem = Problem(buffers=[{"id": i, "size": i, "start": 0, "end": 1} for i in range(4)])
    planner = ReferencePlanner("reference:nowhere", "", "", f"{__name__}:place_nothing")
    instance = compile_problem(problem)
    plan = checked.reference_plan(problem, instance, planner, Search(instance, deadline=float("inf"))).plan
    assert plan.explanation is not None
    names = "buffer 0 (0 bytes), buffer 1 (1 bytes), buffer 2 (2 bytes), ..."
    assert plan.explanation.message == f"reference:nowhere: cannot fit {names} in any memory"
    assert plan.explanation.buffers == (0, 1, 2, 3)
