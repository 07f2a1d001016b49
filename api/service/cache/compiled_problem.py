"""A problem together with its instance, its hash and its canonical order, made once."""

from __future__ import annotations

from dataclasses import dataclass

from memplan.planner.instance.canonical import canonical_order, problem_hash
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.problem import Problem

_SMALL_BUFFERS = 500


@dataclass(frozen=True, eq=False)
class CompiledProblem:
    """A problem as a caller wrote it, and its canonical form; `order` lists its instance's buffers, (n,).

    Work on one that `is_small`, and is no search, takes less time than handing it to a thread under load.
    """

    problem: Problem
    instance: Instance
    hash: str
    order: I64
    is_small: bool

    @classmethod
    def of(cls, problem: Problem) -> CompiledProblem:
        """Compile and hash a problem. O(m log m)."""
        instance = compile_problem(problem)
        order = canonical_order(instance)
        is_small = len(problem.buffers) <= _SMALL_BUFFERS
        return cls(problem, instance, problem_hash(problem, instance, order), order, is_small)
