"""A problem together with what planning derives from it: its instance, hash and canonical order, each computed once."""

import time
from collections.abc import Sized
from dataclasses import dataclass
from functools import cached_property

from memplan.api.store.stored_plan import cache_name
from memplan.planner.bounds.lower_bound import Bound, lower_bound
from memplan.planner.instance.canonical import canonical_order, problem_hash
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.lint.problems import lint
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem import Problem
from memplan.solvers.core.plain import PlainStart
from memplan.solvers.heuristics.greedy import plain_start

_SMALL_BUFFERS = 500
_ORDERS_S = 0.05
"""The maximum seconds for packing buffers in quick orders, which is usually much faster."""
_FEW_CELLS, _FEW_ASKED = 64, 1_000


@dataclass(frozen=True, eq=False)
class CompiledProblem:
    """A caller's problem with its canonical form.

    order: the canonical order of the instance's buffers, of shape (n,).
    is_small: True if work other than a search takes less time than handing it to a thread.
    start: the result of packing in quick orders, if the core computed it together with the instance.
    cache_name: the name of the problem's entry in the plan cache.
    """

    problem: Problem
    instance: Instance
    hash: str
    order: I64
    is_small: bool
    start: PlainStart | None
    cache_name: str

    @classmethod
    def from_problem(cls, problem: Problem, key_id: str | None = None) -> "CompiledProblem":
        """Return the compiled and hashed problem; takes O(m log m) time for m lifetimes.

        `key_id` is the key whose known plans are used; None for plans that all keys share.
        """
        start = plain_start(problem, None, time.monotonic() + _ORDERS_S, is_all=False, seed=None)
        instance = compile_problem(problem) if start is None else start.instance
        order = canonical_order(instance) if start is None else start.order
        name = problem_hash(problem, instance, order)
        is_small = len(instance) <= _SMALL_BUFFERS and instance.is_plain
        if not is_small and len(instance) * len(instance.pools) <= _FEW_CELLS:
            asked: list[Sized] = [instance.start, instance.conflict, instance.share, instance.bank_with]
            asked += [instance.priced_pairs, *(pool.reserved for pool in instance.pools)]
            is_small = sum(map(len, asked)) <= _FEW_ASKED
        return cls(problem, instance, name, order, is_small, start, cache_name(name, key_id))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """The problem's lint findings, computed on first use, since requests for the hash alone need no lint."""
        return lint(self.problem)

    @cached_property
    def bound(self) -> Bound:
        """The lower bound from the problem's own live sets, computed at compilation or on first use."""
        return lower_bound(self.instance) if self.start is None else self.start.proof
