"""Places of single buffers of a valid plan: how low each could lie while all others stay, and what it stands on.

The rules are the verifier's. A buffer moves with its aliases; one that is pinned, or at a fixed distance from another,
does not move alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, combinations
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from memplan.planner.model.buffer_table import ABSENT, I64
from memplan.planner.model.problem import Problem
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.proofs import Congruence, congruence
from memplan.planner.verify.tie_rules import PAIR_RULES
from memplan.planner.verify.verifier import every_place_is_legal

MOST_PAIRS = 500_000
"""The most pairs of buffers that are compared; places of a plan with more are not looked for."""
ON_RESERVED = -2
"""The value in `under` for a buffer that stands on a reserved range."""
_TRIES = 1_000
"""An offset is raised so often from one page to the next before the search for it is given up."""
_EXACT = 2**62
"""Sums of numbers that stay below this are int64's; others are Python's."""
Numbers = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class LowestPlaces:
    """For each buffer, in the problem's order, with an alias where its root is.

    `lowest` is the lowest offset that keeps every rule, ABSENT where that was not found; `under` the buffer that it
    stands on (of those that it must lie apart from, the one that ends highest below it), ABSENT for the bottom of the
    pool; `idle` the bytes between; `over` the next buffer above it, ABSENT for none.
    """

    lowest: Numbers
    under: I64
    idle: I64
    over: I64

    def tower(self, i: int) -> list[int]:
        """Return a buffer, the one that it stands on, and so on down."""
        found = [i]
        while (i := int(self.under[i])) >= 0:
            found.append(i)
        return found


def places(problem: Problem, placed: PlacedBuffers, most_pairs: int = MOST_PAIRS) -> LowestPlaces | None:
    """Return the places of a valid plan's buffers; None where more pairs than that would be compared.

    None, too, for rules of pairs that are not known here.
    """
    is_known = not any(getattr(problem, field) for field in PAIR_RULES.keys() - {"bank"})
    found = _rivals(problem, placed, most_pairs) if is_known else None
    if found is None:
        return None
    alive, share, banked = found
    under, idle, over = _neighbours(problem, placed, alive)
    lowest = _lowest(problem, placed, _taken(problem, placed, alive, share, banked))
    root, distance = placed.inside if problem.buffers.aliases else (placed.root, np.zeros(len(under), dtype=np.int64))
    lowest = np.where(lowest[root] < 0, ABSENT, lowest[root] + distance)
    moved = np.where(lowest < 0, placed.offset, lowest).astype(np.int64)
    for broken in every_place_is_legal(problem, PlacedBuffers(problem, placed.pool, moved)):
        if broken.first is not None:  # a rule of single offsets that is not known here
            lowest[placed.row[broken.first]] = ABSENT
    return LowestPlaces(lowest, under[root], idle[root], over[root])


def _rivals(problem: Problem, placed: PlacedBuffers, most: int) -> tuple[I64, npt.NDArray[np.bool_], I64] | None:
    """Return the pairs (i, j), each in both orders, that must lie apart; which of these may share an offset instead;
    and the pairs that may touch no common bank. None for too many.
    """
    table, n = problem.buffers, len(problem.buffers)
    keys: list[I64] = []
    ranges = sum(len(pool.reserved) for pool in problem.pools)
    left = most - len(problem.conflicts) - n * ranges - sum(len(use.buffers) ** 2 for use in problem.bank)
    for q in range(len(problem.pools)):
        holder = placed.lifetime_root
        rows = np.flatnonzero((placed.pool[holder] == q) & (table.size[holder] > 0))
        rows = rows[np.argsort(table.start[rows], kind="stable")]
        start, end, holder = table.start[rows], table.end[rows], holder[rows]
        number = np.arange(len(rows))
        count = np.searchsorted(start, end) - number - 1
        left -= int(count.sum())
        if left < 0:
            return None
        i = np.repeat(number, count)
        j = i + 1 + np.arange(len(i)) - np.repeat(np.cumsum(count) - count, count)
        keys.append(_keys(holder[i], holder[j], n))
    every, hard, soft = (
        np.concatenate(keys),
        *(_named(problem, placed, names) for names in (problem.conflicts, problem.may_share)),
    )
    if len(hard) or table.aliases or not table.has_one_lifetime_each:  # else each pair has met once
        every = np.unique(np.concatenate((every, hard)))
    may_share = np.zeros(len(every), dtype=np.bool_)
    if len(soft):
        may_share = np.isin(every, soft) & ~np.isin(every, hard)
    uses = chain.from_iterable(combinations(use.buffers, 2) for use in problem.bank if use.weight is None)
    banked = _in_one_pool(problem, placed, tuple(uses))
    pairs = np.stack(np.divmod(every, max(n, 1)), axis=1)
    both = np.concatenate((pairs, pairs[:, ::-1]))
    return both, np.concatenate((may_share, may_share)), np.concatenate((banked, banked[:, ::-1]))


def _keys(i: I64, j: I64, n: int) -> I64:
    """Return a number for each pair of two buffers, whichever comes first."""
    apart = i != j
    return np.asarray(np.minimum(i, j)[apart] * n + np.maximum(i, j)[apart])


def _named(problem: Problem, placed: PlacedBuffers, names: Any) -> I64:
    """Return the numbers of pairs of names, of those that lie in one pool and have bytes."""
    pairs = _in_one_pool(problem, placed, names)
    return _keys(pairs[:, 0], pairs[:, 1], len(problem.buffers))


def _in_one_pool(problem: Problem, placed: PlacedBuffers, names: Any) -> I64:
    """Return the roots of pairs of names, of those that lie in one pool and have bytes."""
    row, size = placed.row, problem.buffers.size
    pairs = placed.root[np.array([[row[a], row[b]] for a, b in names], dtype=np.int64).reshape(-1, 2)]
    pool = placed.pool[pairs]
    keep = (pool[:, 0] == pool[:, 1]) & (pool[:, 0] >= 0) & (size[pairs] > 0).all(axis=1) & (pairs[:, 0] != pairs[:, 1])
    return np.asarray(pairs[keep])


def _neighbours(problem: Problem, placed: PlacedBuffers, pairs: I64) -> tuple[I64, I64, I64]:
    """Return, for each root, what it stands on, the bytes between, and what lies next above it."""
    n, end = len(problem.buffers), placed.end.astype(np.int64)
    under, over, top = np.full(n, ABSENT), np.full(n, ABSENT), np.zeros(n, dtype=np.int64)
    i, j = pairs.T
    below = end[j] <= placed.offset[i]
    order = np.argsort(end[j[below]], kind="stable")
    low, high = i[below][order], j[below][order]
    under[low], top[low] = high, end[high]  # of several, the last assignment stays
    above = placed.offset[j] >= end[i]
    order = np.argsort(-placed.offset[j[above]], kind="stable")
    over[i[above][order]] = j[above][order]
    for q, pool in enumerate(problem.pools):
        ends = np.sort(np.array([low + size for low, size in pool.reserved if size > 0], dtype=np.int64))
        here = np.flatnonzero(placed.pool == q) if len(ends) else np.zeros(0, dtype=np.int64)
        k = np.searchsorted(ends, placed.offset[here], side="right") - 1
        known = np.where(k >= 0, ends[k], 0) if len(here) else here
        on = here[known > top[here]]
        top[on], under[on] = known[known > top[here]], ON_RESERVED
    return under, placed.offset - top, over


def _taken(
    problem: Problem, placed: PlacedBuffers, alive: I64, share: npt.NDArray[np.bool_], banked: I64
) -> tuple[I64, Numbers, Numbers]:
    """Return ranges [low, high) in which the offset of a buffer must not be, as (buffer, low, high)."""
    size = _numbers(problem, problem.buffers.size)
    offset, end = (_numbers(problem, values) for values in (placed.offset, placed.end.astype(np.int64)))
    i, j = alive.T
    # Two that share an offset meet at that one alone.
    parts = [
        (i, offset[j] - size[i] + 1, np.where(share, offset[j], end[j])),
        (i[share], offset[j[share]] + 1, end[j[share]]),
    ]
    for q, pool in enumerate(problem.pools):
        here = np.flatnonzero((placed.pool == q) & (problem.buffers.size > 0))
        parts += [(here, low - size[here] + 1, 0 * size[here] + low + width) for low, width in pool.reserved if width]
        if pool.bank_size is None:
            continue
        i, j = banked[placed.pool[banked[:, 0]] == q].T
        base, width = pool.base_address, pool.bank_size
        first, last = (offset[j] + base) // width, (end[j] - 1 + base) // width
        parts.append((i, first * width - base - size[i] + 1, (last + 1) * width - base))
    buffer, low, high = (np.concatenate(column) for column in zip(*parts, strict=True))
    if low.dtype == object:
        order = np.array(sorted(range(len(low)), key=lambda k: (buffer[k], low[k])), dtype=np.int64)
    else:
        order = np.lexsort((low, buffer))
    return buffer[order], low[order], high[order]


def _numbers(problem: Problem, values: I64) -> Numbers:
    """Return a column as int64, or as Python's integers where sums of such would pass that."""
    reach = max((pool.base_address + (pool.bank_size or 0) + pool.alignment for pool in problem.pools), default=0)
    table = problem.buffers
    reach += int(table.alignment.max(initial=0)) + sum(modulus for modulus, _ in table.rules["offset_mod"].values())
    is_small = reach + int(table.size.sum(dtype=np.float64)) < _EXACT and int(values.max(initial=0)) < _EXACT // 4
    return values if is_small else values.astype(object)


def _lowest(problem: Problem, placed: PlacedBuffers, taken: tuple[I64, Numbers, Numbers]) -> Numbers:
    """Return the lowest offset of each root, ABSENT where it is not found."""
    n, own = len(problem.buffers), _numbers(problem, placed.offset)
    step, rest = _grids(problem, placed)
    buffer, low, high = taken
    first = np.searchsorted(buffer, np.arange(n + 1))
    # The end of all ranges up to each, of the same buffer: a running maximum over ranks, which no sum can overflow.
    order = np.argsort(high, kind="stable")
    rank = np.empty(len(high), dtype=np.int64)
    rank[order] = np.arange(len(high))
    turn = max(len(high), 1)
    reach = np.maximum(high[order[np.maximum.accumulate(buffer * turn + rank) % turn]], 0 * high)
    at = reach + (rest[buffer] - reach) % step[buffer]
    next_low = np.append(low[1:], low[:0] if not len(low) else low[-1:])
    is_last = np.append(buffer[1:] != buffer[:-1], np.ones(min(len(buffer), 1), dtype=np.bool_))
    fits = is_last | (at < next_low)
    found = 0 * own + (rest - 0) % step
    blocked = np.flatnonzero(np.diff(first) > 0)
    blocked = blocked[found[blocked] >= low[first[blocked]]]
    where = np.flatnonzero(fits)
    k = where[np.searchsorted(where, first[blocked])]
    found[blocked] = at[k]
    found = np.minimum(found, own)
    for i in problem.buffers.rules["no_cross"]:
        ranges = list(zip(low[first[i] : first[i + 1]].tolist(), high[first[i] : first[i + 1]].tolist(), strict=True))
        found[i] = _lowest_in_pages(problem, placed, i, (int(step[i]), int(rest[i])), ranges)
    fixed = _fixed(problem, placed)
    found[fixed] = own[fixed]
    return np.asarray(np.where(placed.pool < 0, ABSENT, found))


def _grids(problem: Problem, placed: PlacedBuffers) -> tuple[Numbers, Numbers]:
    """Return the step and the remainder of each root's offsets: its own rules, its aliases' and its pool's."""
    table, n = problem.buffers, len(problem.buffers)
    step, rest = _numbers(problem, np.ones(n, dtype=np.int64)), _numbers(problem, np.zeros(n, dtype=np.int64))
    root, distance = placed.inside if table.aliases else (np.arange(n), np.zeros(n, dtype=np.int64))
    for q, pool in enumerate(problem.pools):
        here = np.flatnonzero(placed.pool == q)
        for own in np.unique(table.alignment[here]).tolist():
            mine, shared = here[table.alignment[here] == own], lcm(own, pool.alignment)
            if shared + pool.base_address >= _EXACT and step.dtype != object:
                step, rest = step.astype(object), rest.astype(object)
            step[mine], rest[mine] = shared, -pool.base_address % shared
    rules: dict[int, list[Congruence]] = {}
    special = {i for i in table.aliases if step[i] > 1} | set(table.rules["offset_mod"])
    for i in special:
        rules.setdefault(int(root[i]), []).append((int(step[i]), int(rest[i] - distance[i])))
        if i in table.rules["offset_mod"]:
            modulus, remainder = table.rules["offset_mod"][i]
            rules[int(root[i])].append((modulus, remainder - int(distance[i])))
    for i, mine in rules.items():
        both = congruence([(int(step[i]), int(rest[i])), *mine])
        if max(both) >= _EXACT and step.dtype != object:
            step, rest = step.astype(object), rest.astype(object)
        step[i], rest[i] = both
    return step, rest


def _lowest_in_pages(
    problem: Problem, placed: PlacedBuffers, i: int, grid: Congruence, ranges: list[tuple[int, int]]
) -> int:
    """Return the lowest offset of a buffer that crosses no multiple of its page; ABSENT where it is far to seek."""
    (step, rest), page, own = grid, problem.buffers.rules["no_cross"][i], int(placed.offset[i])
    base, size = problem.pools[int(placed.pool[i])].base_address, int(problem.buffers.size[i])
    at = rest % step
    for _ in range(_TRIES + len(ranges)):
        if at >= own:
            return own
        end = max((high for low, high in ranges if low <= at < high), default=at)
        if end == at and (base + at) % page + size > page:
            end = at + page - (base + at) % page
        if end == at:
            return at
        at = end + (rest - end) % step
    return ABSENT


def _fixed(problem: Problem, placed: PlacedBuffers) -> npt.NDArray[np.bool_]:
    """Say which roots are pinned, by themselves or by an alias, or lie at a fixed distance from another one."""
    table = problem.buffers
    fixed = np.zeros(len(table), dtype=np.bool_)
    fixed[placed.root[np.flatnonzero(table.offset != ABSENT)]] = True
    if table.rules["relative"]:
        group = placed.group[0]
        is_root = placed.root == np.arange(len(table))
        fixed |= np.bincount(group[is_root], minlength=len(table))[group] > 1
    return fixed
