"""The least score of a problem by brute force, and a pairwise check of placements; shares no code with the planner.

Both read nothing but the public rows of a Problem, in plain Python integers. Meant for up to 7 buffers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import fsum, gcd

from planner.problem import Pool, Problem
from planner.rows import Buffer, Placement

LAST_END = 2**63 - 1
"""Where a pool without a size ends."""


@dataclass(frozen=True)
class Family:
    """A buffer and its aliases: (distance from its start, row), the buffer itself first."""

    members: tuple[tuple[int, Buffer], ...]

    @property
    def size(self) -> int:
        return self.members[0][1].size

    @property
    def intervals(self) -> list[tuple[int, int]]:
        return [interval for _, row in self.members for interval in row.intervals]

    def may_live_in(self, pool: Pool) -> bool:
        return all(row.pools is None or pool.name in row.pools for _, row in self.members)

    def traffic(self) -> int:
        moving = [row for _, row in self.members if row.size > 0]
        return sum(row.size if row.traffic is None else row.traffic for row in moving)

    def lowest(self, pool: Pool, at: int) -> int | None:
        """The lowest offset, `at` or above, that alignments and pins allow; None where there is none.

        A sieve: each alignment in turn is met by steps that keep those before it.
        """
        pins = {row.offset - distance for distance, row in self.members if row.offset is not None}
        if pins:
            pin = pins.pop()
            return pin if not pins and pin >= at and self.is_aligned(pool, pin) else None
        rules = {(step, distance) for distance, row in self.members for step in (row.alignment, pool.alignment)}
        stride = 1
        for step, distance in sorted(rules, reverse=True):
            if stride == 1:
                at += -(pool.base_address + at + distance) % step
            for _ in range(step // gcd(step, stride)):
                if (pool.base_address + at + distance) % step == 0:
                    break
                at += stride
            else:
                return None
            stride = stride * step // gcd(stride, step)
        return at

    def is_aligned(self, pool: Pool, offset: int) -> bool:
        return all(
            (pool.base_address + offset + distance) % step == 0
            for distance, row in self.members
            for step in (row.alignment, pool.alignment)
        )


def families(problem: Problem) -> list[Family]:
    """Group the buffers of a problem with their aliases."""
    rows = {row.id: row for row in problem.buffers}
    groups: dict[int | str, list[tuple[int, Buffer]]] = {
        row.id: [(0, row)] for row in rows.values() if row.alias_of is None
    }
    for row in rows.values():
        at, distance = row, 0
        while at.alias_of is not None:
            at, distance = rows[at.alias_of], distance + (at.alias_offset or 0)
        if at is not row:
            groups[at.id].append((distance, row))
    return [Family(tuple(members)) for members in groups.values()]


def conflicts(problem: Problem, first: Family, second: Family) -> bool:
    """Whether two families may not share bytes: alive together, or named as a pair."""
    if any(a < d and c < b for a, b in first.intervals for c, d in second.intervals):
        return True
    mine, others = {row.id for _, row in first.members}, {row.id for _, row in second.members}
    return any((a in mine and b in others) or (b in mine and a in others) for a, b in problem.conflicts)


def best_score(problem: Problem) -> tuple[float, ...] | None:
    """The least score, in bytes: what is used of the last pool, ..., of the first; for "cost", the cost before it.

    None if nothing fits. Buffers of no bytes count only in that each must have a legal offset somewhere.
    """
    scores = ((cost, *reversed(ends)) if problem.objective == "cost" else ends[::-1] for cost, ends in _fits(problem))
    return min(scores, default=None)


def least_total(problem: Problem) -> int | None:
    """The least sum of what is used over the pools, in bytes; None if nothing fits."""
    return min((sum(ends) for _, ends in _fits(problem)), default=None)


def _fits(problem: Problem) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Yield, for each choice of pools that fits, its cost and the least that each pool can end at.

    In a pool each order is tried, every family dropped to its lowest legal offset above nothing that it conflicts with.
    Some order gives an optimum: take an optimal plan and drop its families in the order of their offsets. By induction
    none rises: those dropped before it and in conflict with it lay below it and now end no higher than they did, so its
    old offset is still legal. A pinned one stays where it is.
    """
    groups = families(problem)
    for empty in (family for family in groups if family.size == 0):
        if not any(empty.may_live_in(pool) and _drop(empty, pool, []) is not None for pool in problem.pools):
            return
    solid = [family for family in groups if family.size > 0]
    rivals = [[conflicts(problem, a, b) for b in solid] for a in solid]

    @cache
    def least_end(q: int, chosen: tuple[int, ...]) -> int | None:
        return _least_end(problem.pools[q], solid, rivals, chosen)

    homes = [[q for q, pool in enumerate(problem.pools) if family.may_live_in(pool)] for family in solid]
    for choice in product(*homes):
        ends = [least_end(q, tuple(i for i, home in enumerate(choice) if home == q)) for q in range(len(problem.pools))]
        known = tuple(end for end in ends if end is not None)
        if len(known) == len(ends):
            yield fsum(f.traffic() * problem.pools[q].cost for f, q in zip(solid, choice, strict=True)), known


def _least_end(pool: Pool, solid: list[Family], rivals: list[list[bool]], chosen: tuple[int, ...]) -> int | None:
    """The least largest end of some families in one pool, over all orders; None if they do not fit."""
    best: int | None = None

    def place(left: tuple[int, ...], placed: tuple[tuple[int, int, int], ...], end: int) -> None:
        nonlocal best
        if best is not None and end >= best:
            return
        if not left:
            best = end
            return
        for i in left:
            at = _drop(solid[i], pool, [(low, high) for j, low, high in placed if rivals[i][j]])
            if at is not None:
                top = at + solid[i].size
                place(tuple(j for j in left if j != i), (*placed, (i, at, top)), max(end, top))

    place(chosen, (), 0)
    return best


def _drop(family: Family, pool: Pool, taken: list[tuple[int, int]]) -> int | None:
    """The lowest legal offset of a family beside what is taken; None if it would end past the pool."""
    blocked = taken + [(low, low + size) for low, size in pool.reserved if size > 0]
    at = family.lowest(pool, 0)
    while at is not None and at + family.size <= (LAST_END if pool.size is None else pool.size):
        above = [high for low, high in blocked if low < at + family.size and at < high] if family.size else []
        if not above:
            return at
        at = family.lowest(pool, max(above))
    return None


def check(problem: Problem, placements: Sequence[Placement]) -> list[str]:
    """Say everything that is wrong with placements: one line for each buffer and rule, or pair of buffers."""
    wrong: list[str] = []
    rows = {row.id: row for row in problem.buffers}
    at: dict[int | str, Placement] = {}
    for placement in placements:
        if placement.id not in rows:
            wrong.append(f"unknown {placement.id!r}")
        elif placement.id in at:
            wrong.append(f"twice {placement.id!r}")
        else:
            at[placement.id] = placement
    wrong += [f"missing {name!r}" for name in rows if name not in at]
    groups = families(problem)
    for family in groups:
        wrong += _check_family(problem, family, at)
    for k, first in enumerate(groups):
        for second in groups[k + 1 :]:
            a, b = at.get(first.members[0][1].id), at.get(second.members[0][1].id)
            if a is None or b is None or a.pool != b.pool or first.size == 0 or second.size == 0:
                continue
            if a.pool not in {pool.name for pool in problem.pools}:
                continue
            is_apart = a.offset + first.size <= b.offset or b.offset + second.size <= a.offset
            if not is_apart and conflicts(problem, first, second):
                wrong.append(f"overlap {a.id!r} {b.id!r}")
    return wrong


def _check_family(problem: Problem, family: Family, at: dict[int | str, Placement]) -> list[str]:
    wrong = []
    pools = {pool.name: pool for pool in problem.pools}
    root = at.get(family.members[0][1].id)
    for distance, row in family.members:
        mine = at.get(row.id)
        if mine is None:
            continue
        pool = pools.get(mine.pool)
        if pool is None or (row.pools is not None and pool.name not in row.pools):
            wrong.append(f"pool {row.id!r}")
        if pool is None:
            continue
        is_alias = row is not family.members[0][1] and root is not None and root.pool in pools
        if is_alias and root is not None and (mine.pool, mine.offset) != (root.pool, root.offset + distance):
            wrong.append(f"alias {row.id!r}")
        if row.offset is not None and mine.offset != row.offset:
            wrong.append(f"pin {row.id!r}")
        address, end = pool.base_address + mine.offset, mine.offset + row.size
        if address % row.alignment or address % pool.alignment:
            wrong.append(f"alignment {row.id!r}")
        if end > (LAST_END if pool.size is None else pool.size):
            wrong.append(f"capacity {row.id!r}")
        if row.size and any(low < end and mine.offset < low + size for low, size in pool.reserved if size):
            wrong.append(f"reserved {row.id!r}")
    return wrong
