"""Every entrance refuses to return an answer with an invalid plan."""

from typing import Any

import pytest

from memplan.api.options import Options
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.request_task import answer_of
from memplan.arguments import check_arguments
from memplan.planner.errors import InvalidPlanError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.questions.inputs import PROBLEM
from memplan.questions.question import Answer, Control, Deadline, Question, SearchOptions
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.result import SolveResult

TWO = Problem.model_validate({"buffers": [{"id": k, "size": 4, "start": 0, "end": 2} for k in range(2)]})


class WrappedAnswer(Answer):
    """A toy answer with a plan, of a question without a check of its own."""

    plan: Plan


def false_peak_answer(
    problem: Problem, options: SearchOptions = SearchOptions(), control: Control = Control()
) -> WrappedAnswer:
    return WrappedAnswer(plan=solve(problem).model_copy(update={"peak": 9}))


LIFTED: Question[Any] = Question(false_peak_answer, inputs=(PROBLEM,), lines=lambda _: (), example={})


def test_a_new_question_refuses_to_answer_with_an_invalid_plan() -> None:
    with pytest.raises(InvalidPlanError, match="plan: is not valid for this problem: peak: must be 8"):
        LIFTED.answer_verified({"problem": TWO}, SearchOptions(), Control())


def test_python_functions_refuse_to_return_an_invalid_plan() -> None:
    with pytest.raises(InvalidPlanError, match="peak: must be 8"):
        check_arguments(false_peak_answer, LIFTED)(TWO)


def test_calls_and_jobs_refuse_to_answer_with_an_invalid_plan() -> None:
    result = SolveResult(solve(TWO).model_copy(update={"peak": 9}))
    with pytest.raises(InvalidPlanError, match="peak: must be 8"):
        answer_of(result, CompiledProblem.from_problem(TWO), Options(), Deadline.from_limit(1))
