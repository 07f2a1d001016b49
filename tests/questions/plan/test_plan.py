"""The question `plan`: options, progress and messages."""

import inspect

import pytest
from pydantic import TypeAdapter

import memplan
from memplan.planner.errors import OptionError
from memplan.planner.model.plan import Plan, problem_of
from memplan.planner.model.problem import Problem
from memplan.questions.plan.answers import plan_lines
from memplan.questions.plan.plan import QUESTION, PlanOptions, plan
from memplan.questions.question import Control

BUFFERS = [{"id": "a", "size": 64, "start": 0, "end": 3}, {"id": "b", "size": 48, "start": 2, "end": 5}]
ROOMY = Problem.model_validate({"buffers": BUFFERS})
TIGHT = Problem.model_validate({"buffers": BUFFERS, "pools": [{"name": "sram", "size": 100}]})
STEADY = PlanOptions(deterministic=True)


@pytest.mark.parametrize("problem", [ROOMY, TIGHT])
def test_solve_is_an_alias_of_plan_with_keyword_options(problem: Problem) -> None:
    answer = plan(problem, options=STEADY)
    assert QUESTION.write(memplan.solve(problem, deterministic=True)) == QUESTION.write(answer)
    assert memplan.solve is memplan.plan
    assert inspect.unwrap(memplan.plan) is plan
    assert problem_of(answer) == problem


def test_plan_searches_for_the_reason_if_the_problem_does_not_fit() -> None:
    found = plan(TIGHT, options=STEADY)
    assert found.explanation is not None
    assert (found.explanation.kind, found.explanation.irreducible) == ("live-set", True)


def test_plan_reports_progress_and_explanation_stages() -> None:
    told: list[str | None] = []
    plan(TIGHT, options=STEADY, control=Control(report=lambda event: told.append(QUESTION.progress(event))))
    assert 'pool "sram" lacks 12 bytes' in str(told[-1])
    plan(ROOMY, options=STEADY, control=Control(report=lambda event: told.append(QUESTION.progress(event))))
    assert str(told[-1]).startswith("best peak 112  bound 112  gap 0.00%")


def test_a_plan_from_a_warm_start_is_not_worse_than_the_start() -> None:
    start = plan(ROOMY, options=STEADY)
    assert plan(ROOMY, start, options=STEADY).peak == start.peak


def test_a_solver_function_of_the_caller_is_refused_outside_local_calls() -> None:
    with pytest.raises(OptionError, match="solver: must be one of memplan's solvers if a service plans"):
        plan(ROOMY, options=PlanOptions(solver="os:getpid"))


def test_a_plan_read_back_from_json_prints_the_same_table() -> None:
    for problem in (ROOMY, TIGHT):
        found = plan(problem, options=STEADY)
        assert list(plan_lines(TypeAdapter(Plan).validate_json(QUESTION.write(found)))) == list(plan_lines(found))
    assert list(plan_lines(plan(ROOMY, options=STEADY)))[1] == "default: 112 bytes (112 B), lower bound 112"
