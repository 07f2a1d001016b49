"""The oracle: the optimal score of a problem by brute force, and a pairwise check, without planner code.

Both read only the public rows of a Problem, in plain Python integers, for problems of up to 7 buffers.
"""

from collections.abc import Sequence
from itertools import combinations
from math import nan

from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Placement
from tests.support.families import (
    LAST_END,
    Family,
    bank_rule,
    clearance_between,
    conflict_by_name,
    conflicts,
    crosses,
    may_share,
    rigid_groups,
)
from tests.support.orientations import costs_that_fit


def best_score(problem: Problem) -> tuple[float, ...] | None:
    """Return the optimal score: the end of each pool (bytes), last pool first; preceded by the cost under "cost".

    Returns None if nothing fits. Zero-size buffers only need a legal offset.
    """
    if problem.objective == ("peak", "cost"):
        return _min_cost_at_peak(problem)
    has_cost = problem.objective == "cost"
    fitting = costs_that_fit(problem, has_cost)
    return min(((cost, *reversed(ends)) if has_cost else ends[::-1] for cost, ends in fitting), default=None)


def _min_cost_at_peak(problem: Problem) -> tuple[float, ...] | None:
    """Return the minimum ends (last pool first) and the minimum cost at these ends; None if nothing fits.

    The cost is NaN if a zero-size buffer needs an offset above these ends.
    """
    ends = best_score(problem.model_copy(update={"objective": "peak"}))
    if ends is None:
        return None
    pools = [pool.model_copy(update={"size": int(end)}) for pool, end in zip(problem.pools, ends[::-1], strict=True)]
    limited = problem.model_copy(update={"pools": tuple(pools)})
    return (*ends, min((cost for cost, _ in costs_that_fit(limited, True)), default=nan))


def min_total(problem: Problem) -> int | None:
    """Return the minimum sum of the pool ends (bytes), at any cost; None if nothing fits."""
    return min((sum(ends) for _, ends in costs_that_fit(problem)), default=None)


def check(problem: Problem, placements: Sequence[Placement]) -> list[str]:
    """Return all violations of placements: one line for each buffer and rule, or pair of buffers."""
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
    placed = [(k, each, _seat(problem, at.get(each.members[0][1].id))) for k, g in enumerate(groups) for _, each in g]
    for _, family, _ in placed:
        wrong += _check_family(problem, family, at)
    wrong += _check_colocation(problem, at)
    for (k, first, a), (m, second, b) in combinations(placed, 2):
        if a is None or b is None or a.pool != b.pool or first.size == 0 or second.size == 0:
            continue
        free = clearance_between(problem, first, second)
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
    return placement if placement is not None and any(placement.pool == pool.name for pool in problem.pools) else None


def touch_a_bank(problem: Problem, a: Placement, a_size: int, b: Placement, b_size: int) -> bool:
    pool = next(pool for pool in problem.pools if pool.name == a.pool)
    if pool.bank_size is None:
        return False
    ends = [(pool.base_address + at.offset, size) for at, size in ((a, a_size), (b, b_size))]
    first, second = (range(at // pool.bank_size, (at + size - 1) // pool.bank_size + 1) for at, size in ends)
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
    for names in problem.same_offset:
        offsets = {seat.offset for name in names if (seat := _seat(problem, at.get(name))) is not None}
        wrong += [f"one offset {names[0]!r}"] if len(offsets) > 1 else []
    if problem.equal_use:  # every pool counts with the largest end of any pool
        size = {row.id: row.size for row in problem.buffers}
        most = max((seat.offset + size[name] for name, seat in at.items() if size.get(name)), default=0)
        wrong += [f"use of {pool.name!r}" for pool in problem.pools if pool.size is not None and pool.size < most]
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
        if row.end_at_most is not None and mine.offset + row.size > row.end_at_most:
            wrong.append(f"end {row.id!r}")
        if row.start_at_least is not None and mine.offset < row.start_at_least:
            wrong.append(f"start {row.id!r}")
        address, end = pool.base_address + mine.offset, mine.offset + row.size
        if address % row.alignment or address % pool.alignment:
            wrong.append(f"alignment {row.id!r}")
        if end > (LAST_END if pool.size is None else pool.size):
            wrong.append(f"capacity {row.id!r}")
        if row.size and any(low < end and mine.offset < low + size for low, size in pool.reserved if size):
            wrong.append(f"reserved {row.id!r}")
    return wrong
