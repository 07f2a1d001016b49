"""Clique cuts: lower bounds on the price of a piece (an independent part of a pool), proved by multipliers.

In a clique, any two buffers either must not meet (share bytes) or have a price if they do. If the clique has more bytes
than the pool, pairs that meet must save this `excess`. A pair saves at most the bytes of its smaller buffer
(Bonferroni), so over the pairs that meet, the sum of min(smaller, excess) is at least the excess. Dividing both sides
by a number and rounding them up keeps this inequality valid. The bound is the sum of such inequalities, each times a
multiplier.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from memplan.extensions.prices.core.kernels import NEVER, Cliques, Packing, find_cliques, pack_prices
from memplan.extensions.prices.pieces import Piece
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import F64, Reference

MOST_PAIRS = 600
"""The maximum number of priced pairs of a piece for the core's simplex method, which stores a square matrix of them."""
_SCALE = 1 << 20
"""The common denominator of all integer multipliers."""
_STARTS, _ROOM, _PIVOTS = 60, 200_000, 20_000


@dataclass(frozen=True)
class Cut:
    """A cut: a clique of buffers, and the number by which both sides of its inequality are divided."""

    members: tuple[int, ...]
    divisor: int


@dataclass(frozen=True)
class CutBound:
    """A lower bound on a piece's price, and the cuts that prove it; each cut has a multiplier, times `scale`."""

    bound: int
    multipliers: tuple[tuple[Cut, int], ...] = ()
    scale: int = _SCALE


class CutRows:
    """The cuts found for a piece so far, as a linear program: its rows are cuts, its columns priced pairs."""

    def __init__(self, piece: Piece) -> None:
        """Make a program without rows, whose columns are the priced pairs of the piece."""
        self.piece = piece
        i, j = piece.pairs.T
        self.price = piece.price[i, j]
        self.smaller = np.minimum(piece.size[i], piece.size[j])
        self.number = np.where(piece.price == NEVER, -1, 0)
        self.number[i, j] = self.number[j, i] = np.arange(1, len(i) + 1)
        self.cuts: list[Cut] = []
        self.rows: list[tuple[I64, I64, int]] = []  # Each row is (numbers of pairs, coefficients, right side).
        self._seen: set[Cut] = set()

    def add(self, members: tuple[int, ...], meets: F64) -> bool:
        """Add at most two rows of a clique, those that `meets` violates most; return True if a row was added.

        `meets` has the fraction, from 0 to 1, by which each pair meets in the current solution.
        """
        excess, pairs, saved = self.clique_savings(members)
        best: list[tuple[float, Cut, I64, int]] = []
        for divisor in {1, *saved.tolist()}:
            value, least = -(-saved // divisor), -(-excess // divisor)
            short = (least - float(value @ meets[pairs])) / least
            best.append((short, Cut(members, divisor), value, least))
        is_new = False
        for short, cut, value, least in sorted(best, key=lambda each: -each[0])[:2]:
            if short > 1e-6 and cut not in self._seen:
                self._seen.add(cut)
                self.cuts.append(cut)
                self.rows.append((pairs, value, least))
                is_new = True
        return is_new

    def clique_savings(self, members: tuple[int, ...]) -> tuple[int, I64, I64]:
        """Return a clique's excess over the pool, the numbers of its priced pairs, and the units each can save."""
        excess = int(self.piece.size[list(members)].sum()) - self.piece.capacity
        inside = self.number[np.ix_(members, members)]
        pairs = inside[np.triu_indices(len(members), 1)]
        pairs = np.sort(pairs[pairs > 0]) - 1
        return excess, pairs, np.minimum(self.smaller[pairs], excess)

    def solve(self, flag: I64) -> tuple[F64, F64]:
        """Solve the program; return each row's multiplier and each pair's value, from 0 (apart) to 1 (meets)."""
        pairs, values, least = zip(*self.rows, strict=True)
        scaled = [value / right for value, right in zip(values, least, strict=True)]
        first = np.cumsum([0, *map(len, pairs)])
        level, meets = np.zeros(len(self.rows)), np.zeros(len(self.price))
        gain = np.ones(len(self.rows))
        room = np.zeros(len(self.price), dtype=np.int64)
        price = self.price.astype(np.float64)
        # `pack_prices` expects rows of the form a * x >= 1, so divide each row by its right-hand side.
        run = Packing(
            price, gain, first, np.concatenate(pairs), np.concatenate(scaled), room, level, meets, _PIVOTS, flag
        )
        pack_prices(Reference(run))
        return level / np.array(least), meets

    def proof(self, level: F64) -> CutBound:
        """Return the bound that the rows' multipliers in `level` prove once they are rounded down to integers."""
        whole = [max(0, int(value * _SCALE + 1e-3)) for value in level.tolist()]
        chosen = [(cut, row, times) for cut, row, times in zip(self.cuts, self.rows, whole, strict=True) if times]
        paid = np.zeros(len(self.price), dtype=object)
        total = 0
        for _, (pairs, value, least), times in chosen:
            paid[pairs] += value.astype(object) * times
            total += least * times
        total -= int(sum(max(0, int(used) - _SCALE * int(price)) for used, price in zip(paid, self.price, strict=True)))
        return CutBound(max(0, -(-total // _SCALE)), tuple((cut, times) for cut, _, times in chosen))


def cut_bounds(
    piece: Piece, seed: int, flag: I64, rounds: int, program: Callable[[CutRows], tuple[F64, F64]] | None = None
) -> Iterator[CutBound]:
    """Yield rising lower bounds on a piece's price, until several searches for cliques in a row find no new cut.

    `program` solves the linear program of the rows found so far; by default, it is the core's simplex method.
    """
    rows, dry = CutRows(piece), 0
    meets, cut = np.zeros(len(rows.price)), np.zeros(_ROOM, dtype=np.int64)
    best = CutBound(0)
    for turn in range(rounds):
        # Square roots in every third turn lead the clique search to other cuts than the plain values do.
        saved = rows.smaller * (np.sqrt(meets) if turn % 3 == 2 else meets)
        least = 1e-5 * piece.capacity
        run = Cliques(
            piece.size, piece.capacity, rows.number, saved, _STARTS, 40 + len(piece), seed + turn + 1, least, cut
        )
        count, at, is_new = find_cliques(Reference(run)), 0, False
        for _ in range(count):
            size = int(cut[at])
            is_new |= rows.add(tuple(sorted(cut[at + 1 : at + 1 + size].tolist())), meets)
            at += 1 + size
        dry = 0 if is_new else dry + 1
        if dry > 3 or flag[0] or not rows.rows:
            return
        if is_new:
            level, meets = rows.solve(flag) if program is None else program(rows)
            meets = np.clip(meets, 0.0, 1.0)
            proof = rows.proof(level)
            if proof.bound > best.bound:
                best = proof
                yield best
