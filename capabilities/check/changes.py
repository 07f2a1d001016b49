"""The difference of two plans: what came, went and changed, what moved and why, and what the peaks are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import numpy as np

from memplan.capabilities.plan.replanning.old_places import OldPlaces, old_places
from memplan.planner.errors import shown
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import KeptPlaces, Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import MAX_TIME, MIN_TIME
from memplan.planner.verify.overlaps import no_two_share_bytes
from memplan.planner.verify.placed import PlacedBuffers

Id = int | str
Lifetimes = tuple[tuple[int, int], ...]
Value = TypeVar("Value")
Reason = Literal["pool", "rule", "taken", "above", "free", "unknown"]
"""The reasons of a move: another pool was given; the old place breaks a rule of the new problem; something else lies
there now; it would end above what the new plan uses; it is free; the problem is not known."""


@dataclass(frozen=True)
class BufferChange(Generic[Value]):
    """What a buffer has, before and after: its size, or its lifetimes, half-open."""

    id: Id
    before: Value
    after: Value


@dataclass(frozen=True)
class Move:
    """A buffer of both plans that lies elsewhere; `why` is a sentence about its old place."""

    id: Id
    before: int
    after: int
    pool_before: str
    pool_after: str
    bytes: int | None
    reason: Reason
    why: str


@dataclass(frozen=True)
class PlanDiff:
    """The difference of an old plan and a new one.

    `resized`, `lifetime` and bytes are None where a problem is not known. Buffers without bytes, and those inside of
    others, which follow them, are not among those that moved or stayed. `kept` is what the new plan says of being a
    re-plan: the fewest moves, and if that is proved.
    """

    added: tuple[Id, ...]
    removed: tuple[Id, ...]
    resized: tuple[BufferChange[int], ...] | None
    lifetime: tuple[BufferChange[Lifetimes], ...] | None
    moved: tuple[Move, ...]
    stayed: int
    moved_bytes: int | None
    peak_before: int | None
    peak: int | None
    pools: Mapping[str, tuple[int | None, int | None]]
    kept: KeptPlaces | None = None


def diff(
    old_plan: Plan, new_plan: Plan, *, old_problem: Problem | None = None, new_problem: Problem | None = None
) -> PlanDiff:
    """Compare two plans, with the problems that they are for where these are known. Ids are compared as they are."""
    before, after = old_plan.placements, new_plan.placements
    sizes = None if old_problem is None or new_problem is None else (old_problem, new_problem)
    moves = tuple(_moves(before, after, new_problem))
    common = [name for name in after.ids if name in before.row_of and _can_move(new_problem, name)]
    used = _used(old_plan, old_problem), _used(new_plan, new_problem)
    return PlanDiff(
        added=tuple(name for name in after.ids if name not in before.row_of),
        removed=tuple(name for name in before.ids if name not in after.row_of),
        resized=None if sizes is None else tuple(_changes(*sizes, _size)),
        lifetime=None if sizes is None else tuple(_changes(*sizes, _lifetimes)),
        moved=moves,
        stayed=len(common) - len(moves),
        moved_bytes=None if new_problem is None else sum(move.bytes or 0 for move in moves),
        peak_before=_peak(old_plan, used[0]),
        peak=_peak(new_plan, used[1]),
        pools={name: (used[0].get(name), used[1].get(name)) for name in dict.fromkeys((*used[0], *used[1]))},
        kept=new_plan.kept,
    )


def _peak(plan: Plan, used: Mapping[str, int]) -> int | None:
    return plan.peak if plan.peak is not None else sum(used.values()) if used else None


def _used(plan: Plan, problem: Problem | None) -> dict[str, int]:
    """Return the bytes that each pool uses: by the placements, or as the plan says where sizes are not known."""
    if problem is None or not len(plan.placements):
        return {pool.name: pool.used for pool in plan.pools if pool.used is not None}
    found = dict.fromkeys((pool.name for pool in problem.pools), 0)
    for row in plan.placements:
        i = problem.index.get(row.id)
        if i is not None and (size := int(problem.buffers.size[i])) > 0:
            found[row.pool] = max(found.get(row.pool, 0), row.offset + size)
    return found


def _can_move(problem: Problem | None, name: Id) -> bool:
    if problem is None:
        return True
    i = problem.index.get(name)
    return i is not None and i not in problem.buffers.aliases and int(problem.buffers.size[i]) > 0


def _changes(old: Problem, new: Problem, of: Callable[[Problem, int], Value]) -> Iterator[BufferChange[Value]]:
    for i, name in enumerate(new.buffers.ids):
        j = old.index.get(name)
        if j is not None and (before := of(old, j)) != (after := of(new, i)):
            yield BufferChange(name, before, after)


def _size(problem: Problem, i: int) -> int:
    return int(problem.buffers.size[i])


def _lifetimes(problem: Problem, i: int) -> Lifetimes:
    return tuple(problem.buffers.intervals(i))


def _moves(before: PlacementTable, after: PlacementTable, problem: Problem | None) -> Iterator[Move]:
    """Yield the buffers that lie elsewhere, in the order of the new plan."""
    reasons = None
    for row in after:
        k = before.row_of.get(row.id)
        if k is None or not _can_move(problem, row.id):
            continue
        old = before[k]
        if (old.pool, old.offset) == (row.pool, row.offset):
            continue
        if problem is not None and reasons is None:
            reasons = _Reasons(problem, Plan(placements=before), after)
        reason: Reason = "unknown"
        why, size = "", None
        if problem is not None and reasons is not None:
            i = problem.index[row.id]
            reason, why = reasons.of(i)
            size = int(problem.buffers.size[i])
        yield Move(row.id, old.offset, row.offset, old.pool, row.pool, size, reason, why)


def _envelopes(problem: Problem) -> tuple[I64, I64]:
    """Return the first time of each buffer and the first after its last, with those of what lies in the same buffer.

    They are those of all time for what has none, and for what may overlap nothing of a list.
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


class _Reasons:
    """The reasons of moves: what is wrong with each old place in the new plan."""

    def __init__(self, problem: Problem, old: Plan, after: PlacementTable) -> None:
        self.problem = problem
        self.old: OldPlaces = old_places(problem, old)
        self.now = PlacedBuffers.by(problem, after)
        ends = np.where(problem.buffers.size > 0, self.now.end, 0)
        self.used = [int(ends[self.now.pool == q].max(initial=0)) for q in range(len(problem.pools))]
        self.begins, self.is_over = _envelopes(problem)

    def of(self, i: int) -> tuple[Reason, str]:
        """Return the reason that a buffer moved, and a sentence."""
        problem, old = self.problem, self.old
        if i in old.must_move:
            return "rule", old.must_move[i]
        q, offset = int(old.pool[i]), int(old.offset[i])
        if q < 0:
            return "rule", "its old pool is not in the problem"
        there = self._there(i, q, offset)
        if there is not None:
            return "taken", f"its old bytes are now those of {shown(there)}"
        end = offset + int(problem.buffers.size[i])
        if end > self.used[q]:
            return "above", f"its old place ends at {end}, above the {self.used[q]} bytes that the new plan uses"
        if q != self.now.pool[i]:
            return "pool", "its old place is free, in another pool"
        return "free", "its old place is free"

    def _there(self, i: int, q: int, offset: int) -> Id | None:
        """Return a buffer of the new plan that lies where buffer `i` was, and must not share bytes with it."""
        pool, offsets = self.now.pool.copy(), self.now.offset.copy()
        pool[i], offsets[i] = q, offset
        low, high = offset, offset + int(self.problem.buffers.size[i])
        end = offsets + self.problem.buffers.size
        # What does not touch the old bytes, or is not alive with it, cannot be the reason, and would be compared with
        # everything else: 3 of 5 seconds where 5,085 of 6,000 buffers moved.
        pool[(pool != q) | (offsets >= high) | (end <= low)] = -1
        pool[(self.begins >= self.is_over[i]) | (self.is_over <= self.begins[i])] = -1
        for violation in no_two_share_bytes(self.problem, PlacedBuffers(self.problem, pool, offsets)):
            pair = (violation.first, violation.second)
            if self.problem.buffers.ids[i] in pair:
                return pair[0] if pair[1] == self.problem.buffers.ids[i] else pair[1]
        return None
