"""The rules of a problem that a reason may need: each can be left out, and what is left is never harder to fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from memplan.planner.model.buffer_table import ABSENT, Bool
from memplan.planner.model.plan import RuleMember
from memplan.planner.model.problem import Problem

RuleKind = Literal[
    "offset",
    "alignment",
    "no_cross",
    "offset_mod",
    "pools",
    "forbid_pools",
    "together",
    "bank",
    "reserved",
    "pool_alignment",
]


@dataclass(frozen=True)
class ProblemRule:
    """A rule by its kind and where it stands: a buffer, a pool or an entry of the problem, by position.

    `entry` counts the reserved ranges of a pool, and the entries of `together` and `bank`.
    """

    kind: RuleKind
    buffer: int = ABSENT
    pool: int = ABSENT
    entry: int = ABSENT

    def member(self, problem: Problem) -> RuleMember:
        """Return the rule as an explanation names it."""
        table, i = problem.buffers, self.buffer
        if self.kind == "reserved":
            pool = problem.pools[self.pool]
            return RuleMember(rule=self.kind, pool=pool.name, value=tuple(pool.reserved[self.entry]))
        if self.kind == "pool_alignment":
            pool = problem.pools[self.pool]
            return RuleMember(rule=self.kind, pool=pool.name, value=pool.alignment)
        if self.kind == "together":
            return RuleMember(rule=self.kind, buffers=problem.together[self.entry])
        if self.kind == "bank":
            return RuleMember(rule=self.kind, buffers=problem.bank[self.entry].buffers)
        values: dict[str, int | tuple[int | str, ...]] = {
            "offset": int(table.offset[i]),
            "alignment": int(table.alignment[i]),
            "no_cross": table.pages.get(i, 0),
            "offset_mod": table.remainders.get(i, ()),
            "pools": table.pool_choices[int(table.pool_choice[i])],
            "forbid_pools": table.forbidden.get(i, ()),
        }
        return RuleMember(rule=self.kind, buffer=table.ids[i], value=values[self.kind])


def rules_of(problem: Problem, kept: Bool) -> list[ProblemRule]:
    """Return the rules that say something of the kept buffers (n,), and those of the pools.

    Where several pools exist, a pinned buffer keeps its pool: the pin is meant for that one.
    """
    return [*_of_pools(problem), *_of_entries(problem, kept), *_of_buffers(problem, kept)]


def _of_pools(problem: Problem) -> Iterator[ProblemRule]:
    for q, pool in enumerate(problem.pools):
        for k, (_, size) in enumerate(pool.reserved):
            if size > 0:
                yield ProblemRule("reserved", pool=q, entry=k)
        if pool.alignment > 1:
            yield ProblemRule("pool_alignment", pool=q)


def _of_entries(problem: Problem, kept: Bool) -> Iterator[ProblemRule]:
    for k, names in enumerate(problem.together):
        if sum(bool(kept[problem.index[name]]) for name in names) > 1:
            yield ProblemRule("together", entry=k)
    for k, use in enumerate(problem.bank):
        # Weights only cost: without them nothing is easier to fit.
        if use.weight is None and sum(bool(kept[problem.index[name]]) for name in use.buffers) > 1:
            yield ProblemRule("bank", entry=k)


def _of_buffers(problem: Problem, kept: Bool) -> Iterator[ProblemRule]:
    table = problem.buffers
    has_choice = len(problem.pools) > 1
    for i in np.flatnonzero(kept & (table.offset >= 0)).tolist():
        yield ProblemRule("offset", buffer=i)
    for i in np.flatnonzero(kept & (table.alignment > 1)).tolist():
        yield ProblemRule("alignment", buffer=i)
    for kind, which in (("no_cross", table.pages), ("offset_mod", table.remainders)):
        for i in which:
            if kept[i]:
                yield ProblemRule("no_cross" if kind == "no_cross" else "offset_mod", buffer=i)
    for i in np.flatnonzero(kept & (table.pool_choice > 0) & (table.offset < 0)).tolist() if has_choice else ():
        yield ProblemRule("pools", buffer=i)
    for i in table.forbidden if has_choice else ():
        if kept[i] and table.offset[i] < 0:
            yield ProblemRule("forbid_pools", buffer=i)
