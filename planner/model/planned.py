"""The problem that a plan is of, as long as the plan lives in this process: what notebooks show beside placements."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from memplan.planner.model.problem import Problem

P = TypeVar("P", bound=object)
# Beside the plan and not in it: what is compared, copied, pickled or written is the plan alone.
_PROBLEMS: dict[int, Problem] = {}
_DISPLAYS: list[Callable[[Problem, object], str]] = []


def with_problem(plan: P, problem: Problem) -> P:
    """Return the plan, and keep its problem for `problem_of`."""
    if id(plan) not in _PROBLEMS:
        weakref.finalize(plan, _PROBLEMS.pop, id(plan), None).atexit = False
    _PROBLEMS[id(plan)] = problem
    return plan


def show_with(display: Callable[[Problem, object], str]) -> None:
    """Let a function of the problem and the plan write the HTML of plans in notebooks."""
    _DISPLAYS[:] = [display]


def cell_of(plan: object, most: int) -> str | None:
    """Return the HTML of a plan; None where its problem is not known or has more buffers, or nothing shows plans."""
    problem = problem_of(plan)
    if problem is None or len(problem.buffers) > most:
        return None
    return next((display(problem, plan) for display in _DISPLAYS), None)


def problem_of(plan: object) -> Problem | None:
    """Return the problem of a plan; None for one that was made of JSON alone."""
    return _PROBLEMS.get(id(plan))
