"""The reason that a plan gets if nothing fits, and checks of the solver that is named in the options."""

from typing import TYPE_CHECKING

from pydantic_core import to_jsonable_python

from memplan.planner.errors import OptionError, excerpt
from memplan.planner.model.plan import Plan, attach_problem
from memplan.planner.model.problem import Problem
from memplan.questions import question_rows
from memplan.questions.question import Control
from memplan.solvers.reference import table
from memplan.solvers.reference.table import is_own_planner as is_own_planner

if TYPE_CHECKING:
    from memplan.planner.instance.instance import Instance

REASON_S = 2.0
"""The maximum seconds for the explanation if nothing fits."""
LEAST_REASON_S = 0.05
"""The seconds needed for an explanation; with less time left, the plan keeps the solver's own explanation."""


def check_solver(problem: Problem, instance: "Instance", solver: str) -> None:
    """Raise OptionError if a solver does not support the problem's constraint kinds."""
    from memplan.solvers.portfolio import stages
    from memplan.solvers.reference import checked

    if problem.equal_use:
        from memplan.planner.instance.compile import compile_problem
        from memplan.solvers.formulation.equal_use import EqualPools

        problem = EqualPools(problem).single_pool_problem
        instance = compile_problem(problem)
    planner = table.find(solver)
    if planner is None:
        stages.stages_of_solver(instance, solver)
    else:
        checked.check_features(problem, instance, planner)


def refuse_own_planner(solver: str) -> None:
    """Raise OptionError if the solver is the caller's own code, which a service does not run."""
    if is_own_planner(solver):
        raise OptionError(
            f"solver: must be one of memplan's solvers if a service plans, got the code {excerpt(solver)}"
        )


def add_reason(
    problem: Problem, plan: Plan, running: Control, reason_s: float = REASON_S, *, is_quick: bool = False
) -> Plan:
    """Return the plan, with a detailed reason if nothing fits and time is left.

    With `is_quick`, no solver runs in a child process.
    """
    limit_s = reason_s if running.counted_s is not None else min(reason_s, running.remaining_s)
    if problem.moves or plan.status != "infeasible" or running.cancelled.is_set() or limit_s < LEAST_REASON_S:
        return plan
    if "explain" not in question_rows():
        return plan  # If the question `explain` is not installed, keep the solver's explanation.
    from memplan.questions.explain.reasons.reasoning import reason_of

    if plan.explanation is not None:
        running.report({"stage": "infeasible", "explanation": to_jsonable_python(plan.explanation)})
    explanation = reason_of(problem, plan, running.limit_to(limit_s), is_quick=is_quick)
    return attach_problem(plan.model_copy(update={"explanation": explanation}), problem)
