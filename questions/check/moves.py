"""Reasons for moves: why a new plan does not keep a buffer's pool and offset in the old plan."""

from typing import Literal

import numpy as np

from memplan.planner.errors import excerpt
from memplan.planner.model.buffer_table import ABSENT, I64
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import MAX_TIME, MIN_TIME, Id
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.tie_rules import PAIR_RULES
from memplan.questions.plan.replanning.old_places import OldPlaces, old_places

Reason = Literal["pool", "rule", "taken", "above", "free", "unknown"]
"""The reasons of a move, which `Moved.reason` explains."""


def _time_envelopes(problem: Problem) -> tuple[I64, I64]:
    """Return two arrays (n,): the first start and the last end of each buffer together with its aliases.

    Both are unbounded for a buffer without lifetimes and for a buffer named in `conflicts`.
    """
    table, roots = problem.buffers, problem.roots
    root = np.array([roots.get(i, (i, 0))[0] for i in range(len(table))], dtype=np.int64)
    begins, is_over = np.full(len(table), MAX_TIME), np.full(len(table), MIN_TIME)
    row = root[np.repeat(np.arange(len(table)), np.diff(table.first))]
    np.minimum.at(begins, row, table.start)
    np.maximum.at(is_over, row, table.end)
    listed = [problem.index[name] for pair in problem.conflicts for name in pair]
    always = root[np.concatenate((np.flatnonzero(np.diff(table.first) == 0), np.array(listed, dtype=np.int64)))]
    begins[always], is_over[always] = MIN_TIME, MAX_TIME
    return begins[root], is_over[root]


class MoveReasons:
    """Explains moves: for each buffer, why the new plan does not keep its old pool and offset."""

    def __init__(self, problem: Problem, old: Plan, after: PlacementTable) -> None:
        """Compute the old places, and arrays of the new placements for quick searches of overlapping buffers."""
        self.problem = problem
        self.old: OldPlaces = old_places(problem, old)
        self.now = PlacedBuffers.from_placements(problem, after)
        self.used = list(self.now.pool_uses().values())
        self.begins, self.is_over = _time_envelopes(problem)
        now, size = self.now, problem.buffers.size
        self.pool = np.where((now.root == np.arange(len(size))) & (size > 0), now.pool, ABSENT)
        self.low, self.high, self.group = now.offset, now.offset + size, now.group[0]
        self.lives = np.argsort(now.lifetime_root, kind="stable")
        """The positions of all lifetimes, grouped by buffer; the group of buffer `i` begins at `first[i]`."""
        self.first = np.searchsorted(now.lifetime_root[self.lives], np.arange(len(size) + 1))
        self.may_share = {frozenset(map(now.root_of, pair)) for pair in problem.may_share}
        self.listed = {frozenset(map(now.root_of, pair)) for pair in problem.conflicts}

    def reason_of(self, i: int) -> tuple[Reason, str]:
        """Return the reason why buffer `i` moved, as a keyword and as a sentence."""
        problem, old = self.problem, self.old
        if i in old.must_move:
            return "rule", old.must_move[i]
        q, offset = int(old.pool[i]), int(old.offset[i])
        if q < 0:
            return "rule", "its old pool is not in the problem"
        there = self._occupant(i, q, offset)
        if there is not None:
            return "taken", f"its old bytes are now those of {excerpt(there)}"
        end = offset + int(problem.buffers.size[i])
        if end > self.used[q]:
            return "above", f"its old place ends at {end}, above the {self.used[q]} bytes that the new plan uses"
        broken = self._rule_message(i, q, offset)
        if broken is not None:
            return "rule", f"at its old place, {broken}"
        if q != self.now.pool[i]:
            return "pool", "its old place is free, in another pool"
        return "free", "its old place is free"

    def _occupant(self, i: int, q: int, offset: int) -> Id | None:
        """Return the id of the buffer that is first in time to collide with buffer `i` at i's old place, or None.

        Buffers collide if they may not share bytes: both are alive at one time, or they conflict explicitly.
        """
        high = offset + int(self.problem.buffers.size[i])
        is_near = (self.pool == q) & (self.low < high) & (self.high > offset)
        is_near &= (self.begins < self.is_over[i]) & (self.is_over > self.begins[i])
        is_near[i] = False
        met: list[tuple[int, int]] = []
        for j in np.flatnonzero(is_near).tolist():
            is_tied = self.group[i] == self.group[j]
            if not is_tied and not (frozenset((i, j)) in self.may_share and self.low[j] == offset):
                met += [(time, j) for time in self._first_common_time(i, j)]
            if frozenset((i, j)) in self.listed:
                met.append((MAX_TIME, j))
        return self.problem.buffers.ids[min(met)[1]] if met else None

    def _rule_message(self, i: int, q: int, offset: int) -> str | None:
        """Return the message of a pair rule that buffer `i` would break at its old place; None if no rule breaks."""
        pool, offsets = self.now.pool.copy(), self.now.offset.copy()
        pool[i], offsets[i] = q, offset
        there, name = PlacedBuffers(self.problem, pool, offsets), self.problem.buffers.ids[i]
        for field, rule in PAIR_RULES.items():
            for violation in rule(self.problem, there) if getattr(self.problem, field) else ():
                if name in (violation.first, violation.second):
                    return violation.message
        return None

    def _first_common_time(self, i: int, j: int) -> list[int]:
        (start, end), (others, ends) = self._lifetimes_of(i), self._lifetimes_of(j)
        begins, is_over = np.maximum.outer(start, others), np.minimum.outer(end, ends)
        return [int(begins[begins < is_over].min())] if (begins < is_over).any() else []

    def _lifetimes_of(self, i: int) -> tuple[I64, I64]:
        rows = self.lives[self.first[i] : self.first[i + 1]]
        return self.problem.buffers.start[rows], self.problem.buffers.end[rows]
