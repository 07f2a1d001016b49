"""The lowest offset to which each buffer of a valid plan could move alone, and the buffer below it.

The rules are those of the verifier. A buffer moves together with its aliases. A pinned buffer, or one at a fixed
distance from another buffer, does not move.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from memplan.planner.model.buffer_table import ABSENT, I64
from memplan.planner.model.problem import Problem
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.proofs import Congruence, congruence, rules_of
from memplan.planner.verify.tie_rules import PAIR_RULES
from memplan.planner.verify.verifier import check_places

MOST_PAIRS = 500_000
"""The maximum number of buffer pairs to compare; a plan with more pairs is not examined."""
ON_RESERVED = -2
"""The value in `under` of a buffer that rests on a reserved range."""
_TRIES = 1_000
"""The maximum number of page borders that the search for a buffer's lowest offset may skip."""
_NO_PAGE = 2**65
"""A page size larger than all addresses, for buffers without a page rule."""


class Border(NamedTuple):
    """A page rule: a buffer of `size` bytes in a pool at address `base` must not cross a multiple of `page`."""

    base: int
    size: int
    page: int


@dataclass(frozen=True, eq=False)
class LowestPlaces:
    """The lowest legal offsets of a plan's buffers, in the problem's order; an alias has the values of its root.

    lowest: the lowest offset that obeys all rules; ABSENT if none was found.
    under: the buffer's support, which is the highest-ending buffer below it that it must not overlap; ABSENT at the
    bottom of the pool.
    idle: the number of bytes between the buffer and its support.
    over: the next buffer above that it must not overlap; ABSENT if there is none.
    """

    lowest: I64
    under: I64
    idle: I64
    over: I64

    def tower(self, i: int) -> list[int]:
        """Return a buffer, its support (the buffer below), the support's support, and so on down to the bottom."""
        tower = [i]
        while (i := int(self.under[i])) >= 0:
            tower.append(i)
        return tower


def lowest_places(problem: Problem, placed: PlacedBuffers, most_pairs: int = MOST_PAIRS) -> LowestPlaces | None:
    """Return the lowest offsets of a valid plan's buffers; None if more than `most_pairs` pairs had to be compared.

    The result is also None if the problem has a pair rule that is unknown to this module.
    """
    is_known = not any(getattr(problem, field) for field in PAIR_RULES.keys() - {"bank"})
    rivals = _comparable_pairs(problem, placed, most_pairs) if is_known else None
    if rivals is None:
        return None
    alive, share, banked = rivals
    under, idle, over = _neighbours(problem, placed, alive)
    lowest = _min_offsets(problem, placed, alive, share, banked)
    root, distance = (
        placed.root_distances if problem.buffers.aliases else (placed.root, np.zeros(len(under), dtype=np.int64))
    )
    lowest = np.where(lowest[root] < 0, ABSENT, lowest[root] + distance)
    moved = np.where(lowest < 0, placed.offset, lowest).astype(np.int64)
    for broken in check_places(problem, PlacedBuffers(problem, placed.pool, moved)):
        # No lowest offset is computed for the rule broken here, so the lowest offset of the buffer stays unknown.
        if broken.first is not None:
            lowest[placed.row[broken.first]] = ABSENT
    return LowestPlaces(lowest, under[root], idle[root], over[root])


def _comparable_pairs(
    problem: Problem, placed: PlacedBuffers, most: int
) -> tuple[I64, npt.NDArray[np.bool_], I64] | None:
    """Return three arrays: pairs that must be disjoint, a mask of those that may share an offset, and bank pairs.

    A bank pair is a pair that must not touch a common bank. Each pair (i, j) is listed in both orders. The result is
    None if there are more than `most` pairs.
    """
    table, n = problem.buffers, len(problem.buffers)
    keys: list[I64] = []
    ranges = sum(len(pool.reserved) for pool in problem.pools)
    room = most - len(problem.conflicts) - n * ranges - sum(len(use.buffers) ** 2 for use in problem.bank)
    for q in range(len(problem.pools)):
        holder = placed.lifetime_root
        rows = np.flatnonzero((placed.pool[holder] == q) & (table.size[holder] > 0))
        rows = rows[np.argsort(table.start[rows], kind="stable")]
        start, end, holder = table.start[rows], table.end[rows], holder[rows]
        number = np.arange(len(rows))
        count = np.searchsorted(start, end) - number - 1
        room -= int(count.sum())
        if room < 0:
            return None
        i = np.repeat(number, count)
        j = i + 1 + np.arange(len(i)) - np.repeat(np.cumsum(count) - count, count)
        keys.append(_unordered_pair_keys(holder[i], holder[j], n))
    every, hard, soft = (
        np.concatenate(keys),
        *(_pair_keys(problem, placed, names) for names in (problem.conflicts, problem.may_share)),
    )
    # Only these problems can have repeated pairs, so sort and merge the pairs only for them.
    if len(hard) or table.aliases or not table.has_one_lifetime_each:
        every = np.unique(np.concatenate((every, hard)))
    may_share = np.zeros(len(every), dtype=np.bool_)
    if len(soft):
        may_share = np.isin(every, soft) & ~np.isin(every, hard)
    uses = chain.from_iterable(combinations(use.buffers, 2) for use in problem.bank if use.weight is None)
    banked = _pairs_in_one_pool(problem, placed, tuple(uses))
    pairs = np.stack(np.divmod(every, max(n, 1)), axis=1)
    both = np.concatenate((pairs, pairs[:, ::-1]))
    return both, np.concatenate((may_share, may_share)), np.concatenate((banked, banked[:, ::-1]))


def _unordered_pair_keys(i: I64, j: I64, n: int) -> I64:
    apart = i != j
    return np.asarray(np.minimum(i, j)[apart] * n + np.maximum(i, j)[apart])


def _pair_keys(problem: Problem, placed: PlacedBuffers, names: Any) -> I64:
    pairs = _pairs_in_one_pool(problem, placed, names)
    return _unordered_pair_keys(pairs[:, 0], pairs[:, 1], len(problem.buffers))


def _pairs_in_one_pool(problem: Problem, placed: PlacedBuffers, names: Any) -> I64:
    row, size = placed.row, problem.buffers.size
    pairs = placed.root[np.array([[row[a], row[b]] for a, b in names], dtype=np.int64).reshape(-1, 2)]
    pool = placed.pool[pairs]
    keep = (pool[:, 0] == pool[:, 1]) & (pool[:, 0] >= 0) & (size[pairs] > 0).all(axis=1) & (pairs[:, 0] != pairs[:, 1])
    return np.asarray(pairs[keep])


def _neighbours(problem: Problem, placed: PlacedBuffers, pairs: I64) -> tuple[I64, I64, I64]:
    """Return, for each root buffer: the buffer below it, the free bytes between both, and the next buffer above it.

    If a reserved range supports the buffer, the buffer below is ON_RESERVED; at the bottom of the pool, it is ABSENT.
    """
    n, end = len(problem.buffers), placed.end.astype(np.int64)
    under, over, top = np.full(n, ABSENT), np.full(n, ABSENT), np.zeros(n, dtype=np.int64)
    i, j = pairs.T
    below = end[j] <= placed.offset[i]
    order = np.argsort(end[j[below]], kind="stable")
    low, high = i[below][order], j[below][order]
    under[low], top[low] = high, end[high]  # Numpy keeps the last of equal entries: the highest end.
    above = placed.offset[j] >= end[i]
    order = np.argsort(-placed.offset[j[above]], kind="stable")
    over[i[above][order]] = j[above][order]
    for q, pool in enumerate(problem.pools):
        ends = np.sort(np.array([low + size for low, size in pool.reserved if size > 0], dtype=np.int64))
        here = np.flatnonzero(placed.pool == q) if len(ends) else np.zeros(0, dtype=np.int64)
        k = np.searchsorted(ends, placed.offset[here], side="right") - 1
        highest = np.where(k >= 0, ends[k], 0) if len(here) else here
        on = here[highest > top[here]]
        top[on], under[on] = highest[highest > top[here]], ON_RESERVED
    return under, placed.offset - top, over


def _min_offsets(problem: Problem, placed: PlacedBuffers, alive: I64, share: npt.NDArray[np.bool_], banked: I64) -> I64:
    """Return each root buffer's lowest legal offset, from pairs `alive` together and pairs `banked`; or ABSENT."""
    table, pools = problem.buffers, problem.pools
    size, pool, offset, end = (values.tolist() for values in (table.size, placed.pool, placed.offset, placed.end))
    taken: dict[int, list[tuple[int, int]]] = defaultdict(list)
    # Only buffers that start below buffer i's end can limit the lowest offset of buffer i.
    is_below = placed.offset[alive[:, 1]].astype(np.uint64) < placed.end[alive[:, 0]]
    for (i, j), may_share in zip(alive[is_below].tolist(), share[is_below].tolist(), strict=True):
        low = offset[j] - size[i] + 1
        # Buffers that may share an offset may overlap only if their offsets are equal.
        taken[i] += [(low, offset[j]), (offset[j] + 1, end[j])] if may_share else [(low, end[j])]
    for i, j in banked.tolist():
        if (width := pools[pool[i]].bank_size) is not None:
            base = pools[pool[i]].base_address
            first, last = (offset[j] + base) // width, (end[j] - 1 + base) // width
            taken[i].append((first * width - base - size[i] + 1, (last + 1) * width - base))
    lowest = np.where(placed.pool < 0, ABSENT, placed.offset)
    is_root = placed.root == np.arange(len(table))
    moving = np.flatnonzero(is_root & (placed.pool >= 0) & ~_fixed_mask(problem, placed))
    for i, rules in rules_of(problem, placed, moving).items():
        reserved = pools[pool[i]].reserved if size[i] else ()
        ranges = taken[i] + [(low - size[i] + 1, low + width) for low, width in reserved if width]
        page = table.rules["no_cross"].get(i, _NO_PAGE)
        border = Border(pools[pool[i]].base_address, size[i], page)
        lowest[i] = _lowest_free_offset(congruence(rules), border, sorted(ranges), offset[i])
    return lowest


def _lowest_free_offset(grid: Congruence, border: Border, ranges: list[tuple[int, int]], own: int) -> int:
    """Return the lowest grid offset, at most `own`, at which a buffer avoids sorted ranges and crosses no page border.

    The result is ABSENT after too many page borders.
    """
    (step, rest), (base, size, page) = grid, border
    at, end, k = rest % step, 0, 0
    for _ in range(_TRIES + len(ranges)):
        while k < len(ranges) and ranges[k][0] <= at:
            end, k = max(end, ranges[k][1]), k + 1
        if end <= at and (base + at) % page + size > page:
            end = at + page - (base + at) % page
        if end <= at or at >= own:
            return min(at, own)
        at = end + (rest - end) % step
    return ABSENT


def _fixed_mask(problem: Problem, placed: PlacedBuffers) -> npt.NDArray[np.bool_]:
    table = problem.buffers
    fixed = np.zeros(len(table), dtype=np.bool_)
    fixed[placed.root[np.flatnonzero(table.offset != ABSENT)]] = True
    if table.rules["relative"]:
        group = placed.group[0]
        is_root = placed.root == np.arange(len(table))
        fixed |= np.bincount(group[is_root], minlength=len(table))[group] > 1
    return fixed
