"""The least score of a problem by brute force, and a pairwise check of placements; shares no code with the planner.

Both read nothing but the public rows of a Problem, in plain Python integers. Meant for up to 7 buffers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, product
from math import fsum

from memplan.planner.model.problem import Pool, Problem
from memplan.planner.model.rows import Placement
from tests.support import orientations
from tests.support.families import (
    LAST_END,
    Family,
    bank_rule,
    conflict_by_name,
    conflicts,
    crosses,
    families,
    kept_free,
    may_share,
    rigid_groups,
)


def best_score(problem: Problem) -> tuple[float, ...] | None:
    """The least score, in bytes: what is used of the last pool, ..., of the first; for "cost", the cost before it.

    None if nothing fits. Buffers of no bytes count only in that each must have a legal offset somewhere.
    """
    if _asks_for_orientations(problem):
        return orientations.best_score(problem)
    scores = (
        (cost, *reversed(ends)) if problem.objective == "cost" else ends[::-1] for cost, ends in costs_that_fit(problem)
    )
    return min(scores, default=None)


def least_total(problem: Problem) -> int | None:
    """The least sum of what is used over the pools, in bytes; None if nothing fits."""
    if _asks_for_orientations(problem):
        return orientations.least_total(problem)
    return min((sum(ends) for _, ends in costs_that_fit(problem)), default=None)


def _asks_for_orientations(problem: Problem) -> bool:
    """Whether orders and dropping may miss the optimum, or do not know a rule."""
    rows = list(problem.buffers)
    has_rules = any(row.relative or row.no_cross or row.offset_mod or row.forbid_pools for row in rows)
    entries = {name for name, field in Problem.model_fields.items() if field.default == ()}
    return has_rules or any(getattr(problem, name) for name in entries - {"conflicts"})


def costs_that_fit(problem: Problem) -> Iterator[tuple[float, tuple[int, ...]]]:
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
    groups = rigid_groups(problem)
    placed = [
        (k, family, _seat(problem, at.get(family.members[0][1].id))) for k, g in enumerate(groups) for _, family in g
    ]
    for _, family, _ in placed:
        wrong += _check_family(problem, family, at)
    wrong += _check_colocation(problem, at)
    for (k, first, a), (m, second, b) in combinations(placed, 2):
        if a is None or b is None or a.pool != b.pool or first.size == 0 or second.size == 0:
            continue
        free = kept_free(problem, first, second)
        room = free or 0
        is_apart = a.offset + first.size + room <= b.offset or b.offset + second.size + room <= a.offset
        may_meet = (k == m and not conflict_by_name(problem, first, second)) or (
            a.offset == b.offset and free is None and may_share(problem, first, second)
        )
        if not is_apart and not may_meet and conflicts(problem, first, second):
            wrong.append(f"overlap {a.id!r} {b.id!r}")
        if bank_rule(problem, first, second)[0] and touch_a_bank(problem, a, first.size, b, second.size):
            wrong.append(f"bank {a.id!r} {b.id!r}")
    return wrong


def _seat(problem: Problem, placement: Placement | None) -> Placement | None:
    """The placement, where it is in a pool of the problem."""
    return placement if placement is not None and any(placement.pool == pool.name for pool in problem.pools) else None


def touch_a_bank(problem: Problem, a: Placement, a_size: int, b: Placement, b_size: int) -> bool:
    """Whether two buffers in one pool touch a common bank of it."""
    pool = next(pool for pool in problem.pools if pool.name == a.pool)
    if pool.bank_size is None:
        return False
    first, second = (
        range(
            (pool.base_address + at.offset) // pool.bank_size,
            (pool.base_address + at.offset + size - 1) // pool.bank_size + 1,
        )
        for at, size in ((a, a_size), (b, b_size))
    )
    return max(first.start, second.start) < min(first.stop, second.stop)


def _check_colocation(problem: Problem, at: dict[int | str, Placement]) -> list[str]:
    wrong = []
    for names in problem.together:
        seats = [seat for name in names if (seat := _seat(problem, at.get(name))) is not None]
        wrong += [f"together {seat.id!r}" for seat in seats if seat.pool != seats[0].pool]
    for row in problem.buffers:
        if row.relative is not None:
            mine, other = _seat(problem, at.get(row.id)), _seat(problem, at.get(row.relative.to))
            if mine and other and (mine.pool, mine.offset) != (other.pool, other.offset + row.relative.offset):
                wrong.append(f"relative {row.id!r}")
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
        if pool is None or (row.pools is not None and pool.name not in row.pools) or pool.name in row.forbid_pools:
            wrong.append(f"pool {row.id!r}")
        if pool is None:
            continue
        is_alias = row is not family.members[0][1] and root is not None and root.pool in pools
        if is_alias and root is not None and (mine.pool, mine.offset) != (root.pool, root.offset + distance):
            wrong.append(f"alias {row.id!r}")
        if row.offset is not None and mine.offset != row.offset:
            wrong.append(f"pin {row.id!r}")
        if crosses(pool, mine.offset, row):
            wrong.append(f"page {row.id!r}")
        if row.offset_mod is not None and mine.offset % row.offset_mod.modulus != row.offset_mod.remainder:
            wrong.append(f"remainder {row.id!r}")
        address, end = pool.base_address + mine.offset, mine.offset + row.size
        if address % row.alignment or address % pool.alignment:
            wrong.append(f"alignment {row.id!r}")
        if end > (LAST_END if pool.size is None else pool.size):
            wrong.append(f"capacity {row.id!r}")
        if row.size and any(low < end and mine.offset < low + size for low, size in pool.reserved if size):
            wrong.append(f"reserved {row.id!r}")
    return wrong
