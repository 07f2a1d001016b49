"""Applications of several models in common pools: conflicts, joint plans, and the plan of each model."""

from itertools import combinations
from typing import Any

import pytest

from memplan import Problem, solve
from memplan.planner.lint.problems import lint
from memplan.planner.model.application import Application, problem_of
from memplan.planner.verify.verifier import verify
from memplan.questions.inputs.extent import extent_of
from tests.support.applications import conflicts_of, draw_application, min_peak

ONE = {"buffers": [{"id": "x", "size": 8, "start": 0, "end": 2}, {"id": "y", "size": 4, "start": 1, "end": 3}]}
TWO = {"buffers": [{"id": 0, "size": 6, "start": 5, "end": 9}]}


def problem_with(**fields: Any) -> Problem:
    return problem_of(Application.model_validate({"models": {"a": ONE, "b": TWO}} | fields))


def conflict_pairs(problem: Problem) -> set[frozenset[str]]:
    table, found = problem.buffers, {frozenset(map(str, pair)) for pair in problem.conflicts}
    for i, j in combinations(range(len(table)), 2):
        if any(s < f and t < e for s, e in table.intervals(i) for t, f in table.intervals(j)):
            found.add(frozenset((str(table.ids[i]), str(table.ids[j]))))
    return found


@pytest.mark.parametrize("seed", range(60))
def test_conflicts_of_several_models_are_the_pairs_that_may_be_alive_together(seed: int) -> None:
    application = draw_application(seed)
    assert conflict_pairs(problem_of(Application.model_validate(application))) == conflicts_of(application)[1]


@pytest.mark.parametrize("seed", range(6))
def test_the_joint_plan_of_several_models_has_the_minimum_peak(seed: int) -> None:
    application = draw_application(seed)
    problem = problem_of(Application.model_validate(application))
    plan = solve(problem, time_limit_s=5)
    assert (plan.status, plan.peak) == ("optimal", min_peak(*conflicts_of(application)))
    assert verify(problem, plan) == ()


def test_lint_does_not_mistake_alternating_models_for_inclusive_ends() -> None:
    models = {str(k): {"buffers": [{"id": "x", "size": 8, "start": 0, "end": 1}]} for k in range(4)}
    assert lint(problem_of(Application.model_validate({"models": models, "together": []}))) == ()
    chain = {"buffers": [{"id": k, "size": 8 + k, "start": k, "end": k + 1} for k in range(4)]}
    odd = problem_of(Application.model_validate({"models": models | {"chain": chain}}))
    assert [finding.rule for finding in lint(odd)] == ["inclusive-ends"]


def test_alternating_models_need_the_largest_peak_and_concurrent_models_the_sum() -> None:
    assert (solve(problem_with()).peak, solve(problem_with(together=[["a", "b"]])).peak) == (12, 18)
    assert (solve(problem_with(after={"b": ["a"]})).peak, solve(problem_with(after={})).peak) == (12, 18)


def test_aliases_and_relative_buffers_refer_to_buffers_of_their_own_model() -> None:
    rows = [*ONE["buffers"], {"id": "view", "size": 2, "alias_of": "x", "start": 2, "end": 4}]
    rows.append({"id": "same", "size": 8, "alias_of": "x"})
    rows.append({"id": "next", "size": 2, "start": 0, "end": 1, "relative": {"to": "y", "offset": 4}})
    found = problem_with(models={"a": {"buffers": rows}, "b": TWO}, together=[["a", "b"]])
    assert [row.alias_of for row in found.buffers][2] == "a/x"
    assert solve(found, accept="fit").status == "feasible"


def test_plan_of_extracts_the_plan_of_each_model_from_a_joint_plan() -> None:
    application = Application.model_validate({"models": {"a": ONE, "b": TWO}, "together": [["a", "b"]]})
    plan = solve(application.problem)
    parts = {name: application.plan_of(name, plan) for name in ("a", "b")}
    assert [verify(application.models[name], part) for name, part in parts.items()] == [(), ()]
    assert parts["b"].placement(0).offset == plan.placement("b/0").offset


def test_a_model_of_an_application_may_be_given_as_operations() -> None:
    from memplan.planner.foreign.programs import problem_from

    program = {"functions": {"main": {"body": [{"op": "a", "outputs": ["t"]}], "buffers": [{"id": "t", "size": 8}]}}}
    problem, _ = problem_from({"models": {"p": program, "b": TWO}})
    assert [str(name) for name in problem.buffers.ids] == ["p/main/t", "b/0"]


def test_the_estimated_request_size_counts_pairs_of_concurrent_models() -> None:
    found = extent_of({"problem": {"models": {"a": ONE, "b": TWO}, "together": [["a", "b"]]}})
    assert (found.n_buffers, found.n_pairs) == (3, 2)
