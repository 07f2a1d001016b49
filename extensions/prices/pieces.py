"""Pieces of an instance with prices: independent parts of a pool, reduced to the buffers that are hard to place.

Buffers of different parts may share bytes at no price, so each part may use the whole pool. A buffer is removed from
its part, and placed last, if its neighbours can never block all of its possible starts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd

import numpy as np

from memplan.extensions.prices.core.kernels import NEVER, PieceTable
from memplan.planner.instance.instance import Bool, Instance
from memplan.planner.model.buffer_table import I64, column
from memplan.solvers.formulation.pair_rules import pairs_of
from memplan.solvers.formulation.sharing import conflict_matrix

Offsets = list[int]
_MOST_BUFFERS = 2_000
"""The maximum number of buffers in a pool, whose prices of pairs are stored as a square matrix."""
NO_END = 2**60
"""The end of an unlimited pool, in units; rounding it up does not overflow 64 bits."""


@dataclass(frozen=True, eq=False)
class Piece:
    """A piece of an instance: `n` buffers of one pool; one unit of the piece is `unit` units of the instance.

    members: (n,), the buffers' positions in the instance.
    size, lowest, highest, step: (n,); a buffer may start at lowest + k * step, up to highest.
    price: (n, n), the price of each pair if it meets; NEVER if it must not meet, 0 if it may.
    grid, gap: (n, n), the grid cell and the distance of each pair, as in `PieceTable`.
    reserved: (r, 2), the ranges that no buffer may touch.
    shift: the shift of the grid, as in `PieceTable`.
    """

    members: I64
    size: I64
    lowest: I64
    highest: I64
    step: I64
    price: I64
    grid: I64
    gap: I64
    reserved: I64
    shift: int
    unit: int = 1

    def __len__(self) -> int:
        """Return the number of buffers."""
        return len(self.size)

    @cached_property
    def pairs(self) -> I64:
        """The pairs of buffers with a price, as an array (k, 2) with the lower position first."""
        return np.argwhere(np.triu(self.price > 0))

    @cached_property
    def table(self) -> PieceTable:
        """The piece (independent part of a pool) as a table for the kernels."""
        row, other = map(np.ascontiguousarray, np.nonzero(self.price))
        first = np.searchsorted(row, np.arange(len(self) + 1))
        entries = (np.ascontiguousarray(each[row, other]) for each in (self.price, self.grid, self.gap))
        price, grid, gap = entries
        size, lowest, highest, step = map(np.ascontiguousarray, (self.size, self.lowest, self.highest, self.step))
        reserved = np.ascontiguousarray(self.reserved)
        return PieceTable(size, lowest, highest, step, first, other, price, grid, gap, reserved, self.shift)

    def restrict(self, chosen: I64) -> "Piece":
        """Return the piece that has only the chosen buffers, in the same units."""
        own = {name: getattr(self, name)[chosen] for name in ("members", "size", "lowest", "highest", "step")}
        both = {name: getattr(self, name)[np.ix_(chosen, chosen)] for name in ("price", "grid", "gap")}
        return Piece(**own, **both, reserved=self.reserved, shift=self.shift, unit=self.unit)

    def coarsen(self) -> "Piece":
        """Return the piece in larger units; some cheapest plan has only integer offsets in these units."""
        # If no buffer can move down, offsets are sums of sizes, bounds, gaps and grids: take their common divisor.
        grids = self.grid[self.grid > 1]
        unit = gcd(*(int(np.gcd.reduce(part.ravel(), initial=0)) for part in (self.size, self.lowest, self.reserved)))
        unit = gcd(
            unit, self.shift if len(grids) else 0, *(int(np.gcd.reduce(part)) for part in (grids, self.gap.ravel()))
        )
        if any(unit % step for step in set(self.step.tolist())):
            unit = gcd(unit, *self.step.tolist())
        if unit <= 1:
            return self
        highest = self.highest // unit
        step = np.maximum(self.step // unit, 1)
        return Piece(
            self.members,
            self.size // unit,
            self.lowest // unit,
            highest,
            step,
            self.price,
            np.where(self.grid > 1, self.grid // unit, 1),
            self.gap // unit,
            self.reserved // unit,
            self.shift // unit,
            self.unit * unit,
        )

    @cached_property
    def capacity(self) -> int:
        """The number of units of the pool that buffers can use, without reserved ranges."""
        low, high = int(self.lowest.min()), int((self.highest + self.size).max())
        inside = np.minimum(self.reserved[:, 1], high) - np.maximum(self.reserved[:, 0], low)
        return high - low - int(np.maximum(inside, 0).sum())

    @cached_property
    def _lists(self) -> list[list[tuple[int, int, int]]]:
        lists: list[list[tuple[int, int, int]]] = [[] for _ in range(len(self))]
        rows, others = np.nonzero(self.price)
        columns = (rows, others, self.grid[rows, others], self.gap[rows, others])
        for i, j, grid, gap in np.stack(columns, axis=1).tolist():
            lists[i].append((j, grid, gap))
        return lists

    def lowest_free(self, i: int, at: Offsets, is_hard_alone: bool = False) -> int | None:
        """Return the lowest start at which buffer i meets no placed neighbour, or None; at[j] < 0 means unplaced."""
        size, step, lowest = int(self.size[i]), int(self.step[i]), int(self.lowest[i])
        taken = [(low - size + 1, high) for low, high in self.reserved.tolist()]
        for j, grid, gap in self._lists[i]:
            if at[j] < 0 or (is_hard_alone and self.price[i, j] > 0):
                continue
            low, high = at[j] - gap, at[j] + int(self.size[j]) + gap
            if grid > 1:
                low = (low + self.shift) // grid * grid - self.shift
                high = ((high - 1 + self.shift) // grid + 1) * grid - self.shift
            taken.append((low - size + 1, high))
        start = lowest
        for low, high in sorted(taken):
            if low <= start < high:
                start = lowest - (lowest - high) // step * step
        return start if start <= self.highest[i] else None

    def first_fit(self, is_hard_alone: bool = False) -> Offsets | None:
        """Return a first-fit plan in which no priced pair meets (shares bytes), or None if a buffer does not fit.

        If `is_hard_alone`, priced pairs may meet, and only pairs that must not meet are kept apart.
        """
        degree = (self.price != 0).sum(axis=1)
        pull = np.where(self.price == NEVER, 3, self.price).sum(axis=1)
        for order in (np.lexsort((-degree, -self.size)), np.lexsort((-self.size, -degree)), np.argsort(-pull)):
            at: Offsets = [-1] * len(self)
            for i in order.tolist():
                start = self.lowest_free(i, at, is_hard_alone)
                if start is None:
                    break
                at[i] = start
            else:
                return at
        return None

    def peel(self) -> tuple[I64, list[int]]:
        """Return the buffers to place first, ascending, and those that always find room later, in removal order."""
        wide = self.size[None, :] + 2 * self.gap + np.where(self.grid > 1, 2 * (self.grid - 1), 0)
        blocked = -(-(self.size[:, None] + wide - 1) // self.step[:, None]) * (self.price != 0)
        room = (self.highest - self.lowest) // self.step + 1
        for low, high in self.reserved.tolist():
            room = room + (low - self.size + 1 - high) // self.step - 1
        is_left, gone = np.ones(len(self), dtype=np.bool_), []
        while len(out := np.flatnonzero(is_left & (blocked[:, is_left].sum(axis=1) < room))):
            gone += out.tolist()
            is_left[out] = False
        return np.flatnonzero(is_left), gone

    def parts(self) -> Iterator[I64]:
        """Yield the connected components of the graph of buffers and their pairs, each in ascending order."""
        seen = np.zeros(len(self), dtype=np.bool_)
        near = self.price != 0
        for first in range(len(self)):
            if seen[first]:
                continue
            members = np.zeros(len(self), dtype=np.bool_)
            fresh = members.copy()
            fresh[first] = True
            while fresh.any():
                members |= fresh
                fresh = near[fresh].any(axis=0) & ~members
            seen |= members
            yield np.flatnonzero(members)

    def cost_mask(self, at: Sequence[int] | I64) -> Bool:
        """Return a mask over the priced pairs: True for each pair that meets (shares bytes) at the starts `at`."""
        start = np.asarray(at)
        i, j = self.pairs.T
        grid = self.grid[i, j]
        first, last = (start + self.shift, start + self.size - 1 + self.shift)
        return np.asarray((first[i] // grid <= last[j] // grid) & (first[j] // grid <= last[i] // grid))

    def cost(self, at: Sequence[int] | I64) -> int:
        """Return the total price of the pairs that meet (share bytes or a grid cell) in a plan."""
        i, j = self.pairs.T
        return int(self.price[i, j][self.cost_mask(at)].sum())


def suits(instance: Instance) -> bool:
    """Return True if an instance can be divided into pieces (independent parts of a pool).

    Each buffer must have exactly one allowed pool, each pool few buffers, and each pair at most one kind of rule.
    """
    counts = instance.allowed.sum(axis=1)
    if (instance.allowed.sum(axis=0) != 1).any() or counts.max(initial=0) > _MOST_BUFFERS:
        return False
    return instance.is_small_numbered and not (
        any(pool.bank > 1 for pool in instance.pools) and _has_double_pairs(instance)
    )


def pools_of(instance: Instance, prices: Sequence[int]) -> list[Piece]:
    """Return one piece for each used pool, with all buffers of the pool; `prices` has each priced pair's price."""
    home = instance.allowed.argmax(axis=0)
    counts = np.bincount(home, minlength=len(instance.pools))
    return [_piece_of_pool(instance, q, np.flatnonzero(home == q), prices) for q in np.flatnonzero(counts).tolist()]


def _has_double_pairs(instance: Instance) -> bool:
    priced = instance.priced_pairs
    by_bank = {*map(tuple, priced.rows[priced.by_bank].tolist())}
    others = {*map(tuple, priced.rows[~priced.by_bank].tolist())}
    near = conflict_matrix(instance, np.arange(len(instance)))
    return bool(len(instance.clear_pairs) or by_bank & others or any(near[i, j] for i, j in by_bank))


def _piece_of_pool(instance: Instance, q: int, members: I64, prices: Sequence[int]) -> Piece:
    """Return the piece of pool q with the buffers `members`; `prices` has each priced pair's price."""
    pool, n = instance.pools[q], len(members)
    position = np.full(len(instance), -1)
    position[members] = np.arange(n)

    def inner_pairs(rows: I64) -> tuple[Bool, I64, I64]:
        positions = position[rows.reshape(-1, 2)]
        is_inside = np.asarray((positions >= 0).all(axis=1))
        return is_inside, positions[is_inside, 0], positions[is_inside, 1]

    price, grid, gap = (np.full((n, n), value) for value in (0, 1, 0))
    priced = instance.priced_pairs
    is_inside, i, j = inner_pairs(priced.rows)
    for by_bank in (False, True) if pool.bank else (False,):
        chosen = priced.by_bank[is_inside] == by_bank
        a, b, added = i[chosen], j[chosen], np.array(prices, dtype=np.int64)[is_inside][chosen]
        price[a, b] += added
        grid[a, b] = np.where(by_bank, pool.bank, grid[a, b])
    price, grid = price + price.T, np.maximum(grid, grid.T)
    near = conflict_matrix(instance, members)
    np.fill_diagonal(near, False)
    price[near], grid[near] = NEVER, 1
    if pool.bank:
        _, a, b = inner_pairs(np.array(pairs_of(instance.bank_first, instance.bank_with), dtype=np.int64))
        both = np.concatenate((a, b)), np.concatenate((b, a))
        price[both], grid[both] = NEVER, pool.bank
    is_inside, a, b = inner_pairs(instance.clear_pairs)
    both = np.concatenate((a, b)), np.concatenate((b, a))
    price[both], gap[both] = NEVER, np.tile(instance.clearance[is_inside], 2)
    size = instance.size[members]
    lowest, step = instance.lowest[q, members], instance.alignment[q, members]
    highest = np.minimum(instance.highest[q, members], min(pool.capacity, NO_END) - size)
    highest = lowest + (highest - lowest) // step * step
    return Piece(members, size, lowest, highest, step, price, grid, gap, pool.reserved, pool.bank_shift)


def whole_offsets(piece: Piece, at: Sequence[int] | I64, offset: I64) -> None:
    """Convert the offsets of a piece's plan to the units of the whole instance, and write them into `offset`."""
    offset[piece.members] = column(at) * piece.unit
