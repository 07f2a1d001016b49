"""JSON documents that imply a problem: operations in memplan's format, or several models that share pools.

An extension reads the operations, by the hook `read-operations`.
"""

from typing import TYPE_CHECKING, Any

from memplan.planner.extensions import Hook
from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.model.problem import Problem

if TYPE_CHECKING:
    from memplan.planner.model.application import Application

TOO_MANY = "must have at most {most} statements and buffers after all calls are expanded"
"""The rule for the size of a program after all calls are expanded."""

read_operations: Hook[[object], ImportedProblem] = Hook("read-operations")
"""Returns the operations in a parsed JSON value, with their problem; raises OperationsError for a broken rule."""


def poses_a_problem(value: object) -> bool:
    """Return True if a JSON value implies a problem: it has operations, or several models that share pools."""
    return isinstance(value, dict) and "buffers" not in value and ("functions" in value or "models" in value)


def problem_from(value: dict[str, Any]) -> tuple[Problem, ImportedProblem | None]:
    """Return the problem of operations or of several models, and the operations or None; raises InputError."""
    if "functions" in value:
        program = read_operations(value)
        return program.problem, program
    return application_from(value).problem, None


def application_from(value: dict[str, Any]) -> "Application":
    """Return several models (problems or operations) that share pools as one application; raises InputError."""
    from memplan.planner.model.application import Application

    models = value["models"]
    if isinstance(models, dict):
        programs = {
            name: read_operations(each)
            for name, each in models.items()
            if poses_a_problem(each) and "functions" in each
        }
        value = {**value, "models": {**models, **{name: program.problem for name, program in programs.items()}}}
        if kept := [f"{name}/{each}" for name, program in programs.items() for each in program.state_ids]:
            value["persistent"] = [*value.get("persistent", ()), *kept]
    return Application.model_validate(value)
