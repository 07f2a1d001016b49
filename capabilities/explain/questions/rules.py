"""The rules of a problem that a reason may need: each can be left out, and what is left is never harder to fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from memplan.planner.model.buffer_table import ABSENT, RARE_FIELDS, Bool
from memplan.planner.model.entries import FIELDS, forbids, named
from memplan.planner.model.plan import RuleMember
from memplan.planner.model.problem import Problem

_IN_ORDER = tuple(name for name in reversed(FIELDS) if name not in ("conflicts", "may_share"))
"""The fields with entries that can be left out, in the order in which that is tried."""
_OF_OFFSETS = tuple(name for name in RARE_FIELDS if name not in ("relative", "forbid_pools"))
"""The rare fields of buffers that restrict offsets: `relative` makes one body of two, which is kept as a whole."""


@dataclass(frozen=True)
class ProblemRule:
    """A rule by its kind, a field, and where it stands: a buffer, a pool or an entry of the problem, by position.

    `entry` counts the reserved ranges of a pool, and the entries of fields about several buffers.
    """

    kind: str
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
        if self.kind in FIELDS:
            return RuleMember(rule=self.kind, buffers=named(getattr(problem, self.kind)[self.entry]))
        values: dict[str, int | tuple[int | str, ...]] = {
            "offset": int(table.offset[i]),
            "alignment": int(table.alignment[i]),
            "pools": table.pool_choices[int(table.pool_choice[i])],
            **{field: rows.get(i, 0) for field, rows in table.rules.items()},
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
    """Yield what forbids: neither what allows more, nor conflicts, which are as much of a buffer as its lifetime."""
    for field in _IN_ORDER:
        for k, entry in enumerate(getattr(problem, field)):
            # Weights only cost: without them nothing is easier to fit.
            if forbids(entry) and sum(bool(kept[problem.index[name]]) for name in named(entry)) > 1:
                yield ProblemRule(field, entry=k)


def _of_buffers(problem: Problem, kept: Bool) -> Iterator[ProblemRule]:
    table = problem.buffers
    has_choice = len(problem.pools) > 1
    for i in np.flatnonzero(kept & (table.offset >= 0)).tolist():
        yield ProblemRule("offset", buffer=i)
    for i in np.flatnonzero(kept & (table.alignment > 1)).tolist():
        yield ProblemRule("alignment", buffer=i)
    for field in _OF_OFFSETS:
        for i in table.rules[field]:
            if kept[i]:
                yield ProblemRule(field, buffer=i)
    for i in np.flatnonzero(kept & (table.pool_choice > 0) & (table.offset < 0)).tolist() if has_choice else ():
        yield ProblemRule("pools", buffer=i)
    for i in table.rules["forbid_pools"] if has_choice else ():
        if kept[i] and table.offset[i] < 0:
            yield ProblemRule("forbid_pools", buffer=i)
