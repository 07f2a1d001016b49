"""A problem with all that looking it up takes: compiled, hashed and put in the canonical order, once."""

from __future__ import annotations

from dataclasses import dataclass

from planner.canonical import canonical_order, problem_hash
from planner.compiling import compile_problem
from planner.instance import Instance
from planner.problem import Problem
from planner.table import I64


@dataclass(frozen=True, eq=False)
class Posed:
    """A problem as it was asked, and what it is in everybody's spelling; `order` lists its instance's buffers, (n,)."""

    problem: Problem
    instance: Instance
    hash: str
    order: I64

    @classmethod
    def of(cls, problem: Problem) -> Posed:
        """Compile and hash a problem. O(m log m)."""
        instance = compile_problem(problem)
        order = canonical_order(instance)
        return cls(problem, instance, problem_hash(problem, instance, order), order)
