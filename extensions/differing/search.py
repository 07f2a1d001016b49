"""The search for further plans: each is the cheapest that pays for sufficiently different pairs than all earlier plans.

The distance of two plans is the number of pairs that meet (share bytes or a bank) in exactly one of them.
Interchangeable buffers are sorted by offset, because exchanging them gives no new plan. Starts are in bytes, not in the
coarser units of the first plan's search. Independent parts of the instance are searched one after the other. If earlier
parts differ too little from an earlier plan, later parts must differ more.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from memplan.extensions.prices.core.kernels import STOPPED, Orders, least_orders
from memplan.extensions.prices.cuts import MOST_PAIRS, CutBound, CutRows, cut_bounds
from memplan.extensions.prices.pieces import Piece, pools_of, whole_offsets
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Reference
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.search.control import Control

NAME = "prices"
WORK_PER_S = 200_000
"""The number of search nodes that count as one second of work."""
_NONE_ABOVE, _MOST_ENTRIES = 2**40, 4_000
_CUT_ROUNDS = 20


class _Part:
    """An independent part of the instance; `known` has the pairs in it that each plan so far pays for."""

    def __init__(self, piece: Piece, coarse: Piece, offset: I64, is_least: bool, flag: I64) -> None:
        """Record the first plan's paid pairs, and bound the price of all plans of the part by cuts."""
        self.piece, self.twin, self.at = piece, _twins(piece), offset[piece.members]
        self.known, self.price = [piece.cost_mask(self.at)], piece.cost(self.at)
        best = CutBound(0)
        for best in cut_bounds(coarse, 0, flag, _CUT_ROUNDS) if self.price and len(piece.pairs) <= MOST_PAIRS else ():
            if best.bound >= self.price:
                break
        self.base, self.charge = _charges(CutRows(coarse), best)
        self.scale, self.least = best.scale, self.price if is_least else best.bound
        self._answers: dict[frozenset[tuple[bytes, int]], tuple[int, I64 | None]] = {}
        if self.price == self.least:
            self._answers[frozenset()] = self.price, self.at

    def min_price(self, need: I64, upper: int, least: int, control: Control) -> tuple[int, I64, bool] | None:
        """Return (least price below `upper`, starts in bytes, True if proved) for a plan of the part, or None.

        The paid pairs must differ by at least need[q] from those of known plan q. `least` is a known lower bound on the
        price. The price is not proved if the control stopped the search early.
        """
        far: dict[bytes, int] = {}
        for q in np.argsort(need).tolist():
            if need[q] > 0:
                far[self.known[q].tobytes()] = int(need[q])
        key = frozenset(far.items())
        if key in self._answers:
            price, plans = self._answers[key]
            if plans is not None or price >= upper:
                return (price, plans, True) if plans is not None and price < upper else None
        at, counts = np.zeros(len(self.piece), dtype=np.int64), np.zeros(2, dtype=np.int64)
        nodes = max(0, int(control.work_left[0])) if len(self.piece.table.other) <= _MOST_ENTRIES else 0
        chosen = np.array([np.frombuffer(row, dtype=np.bool_) for row in far], dtype=np.int64).reshape(
            len(far), len(self.piece.pairs)
        )
        own = (self.twin, self.at, self.charge, self.base, self.scale)
        run = Orders(
            chosen, np.array([*far.values()], dtype=np.int64), *own, least, upper, nodes, at, counts, control.raised
        )
        is_proved = least_orders(Reference(self.piece.table), Reference(run)) != STOPPED
        control.spend(int(counts[0]))
        price = int(counts[1])
        if is_proved:
            self._answers[key] = (price, at if price < upper else None)
        return (price, at, is_proved) if price < upper or not is_proved else None


@dataclass(frozen=True)
class FurtherPlan:
    """A further plan: its offsets in bytes, its cost in integer steps of `Costs`, and a proved bound on the cost."""

    offset: I64
    steps: int
    bound: int


class FurtherPlans:
    """The search for plans that differ from a first plan and from each other, cheapest first.

    `first` is the first plan with interchangeable buffers sorted by offset. `is_complete` becomes True once it is
    proved that no further plan differs enough from all plans found.
    """

    def __init__(self, instance: Instance, offset: I64, distance: int, is_least: bool, control: Control) -> None:
        """Split the instance into parts; `is_least` states that no plan is cheaper than the first one, at `offset`."""
        self.distance, self.is_complete, self._is_proved = distance, False, is_least
        self.parts, offset = [], offset.copy()
        for pool in pools_of(instance, Costs.from_instance(instance).clash):
            offset[pool.members] = _sort_twins(offset[pool.members], _twins(pool))
            for chosen in pool.parts():
                piece = pool.restrict(chosen)
                if len(piece.pairs):
                    self.parts.append(_Part(piece, piece.coarsen(), offset, is_least, control.raised))
        self.parts.sort(key=lambda part: -len(part.piece.pairs))
        later = [(part.least, part.price, len(part.piece.pairs)) for part in reversed(self.parts)]
        sums = np.cumsum([(0, 0, 0), *later], axis=0)[::-1].T.tolist()
        self._least, self._price, self._reach = sums
        self._floor = self._least[0]
        self.first = self._further_plan(offset, [part.at for part in self.parts])

    def _further_plan(self, offset: I64, starts: list[I64]) -> FurtherPlan:
        offset, steps = offset.copy(), 0
        for part, at in zip(self.parts, starts, strict=True):
            whole_offsets(part.piece, at, offset)
            steps += part.piece.cost(at)
        return FurtherPlan(offset, steps, min(steps, self._floor))

    def next_plan(self, control: Control) -> FurtherPlan | None:
        """Return the next cheapest plan, or None if no further plan exists or none was found in time."""
        need = np.full(len(self.parts[0].known) if self.parts else 1, self.distance)
        is_first_open, self._is_proved = not self._is_proved, True
        answer = self._min_price(0, need, _NONE_ABOVE, control)
        self._is_proved &= not is_first_open
        if answer is None:
            self.is_complete = self._is_proved
            return None
        price, starts = answer
        if self._is_proved:
            self._floor = price
        for part, at in zip(self.parts, starts, strict=True):
            part.known.append(part.piece.cost_mask(at))
        return self._further_plan(self.first.offset, starts)

    def _min_price(
        self, k: int, need: I64, upper: int, control: Control, paid: int = 0
    ) -> tuple[int, list[I64]] | None:
        """Return (least total price below `upper`, starts of each part) for the parts from `k` on, or None.

        Together these parts must differ by need[q] from plan q. The earlier parts already cost `paid`.
        """
        if (need <= 0).all():
            return (self._price[k], [part.at for part in self.parts[k:]]) if self._price[k] < upper else None
        if k == len(self.parts):
            return None
        part, later = self.parts[k], self._least[k + 1]
        best, tried = None, set()
        # A plan of this part is useless if a cheaper or equal one differs at least as much from each known plan.
        # After each plan of this part, search only for plans that differ more from some known plan, cheapest first.
        queue = [(part.least, tuple(np.maximum(need - self._reach[k + 1], 0).tolist()))]
        while queue and queue[0][0] + later < upper and upper > self._floor - paid:
            least, wanted = heappop(queue)
            if k + 1 == len(self.parts):
                least = max(least, self._floor - paid)
            choice = part.min_price(np.array(wanted), upper - later, least, control)
            if choice is None:
                continue
            price, at, is_proved = choice
            self._is_proved &= is_proved
            if price >= upper - later:
                continue
            meets = part.piece.cost_mask(at)
            apart = np.array([int((meets != chosen).sum()) for chosen in part.known])
            rest = self._min_price(k + 1, need - apart, upper - price, control, paid + price)
            if rest is not None:
                upper, best = price + rest[0], (price + rest[0], [at, *rest[1]])
            for q in np.flatnonzero(apart < need).tolist():
                more = (*wanted[:q], int(apart[q]) + 1, *wanted[q + 1 :])
                if more not in tried:
                    tried.add(more)
                    heappush(queue, (price, more))
        return best


def _sort_twins(at: I64, twin: I64) -> I64:
    root, at = np.arange(len(at)), at.copy()
    for v in np.flatnonzero(twin >= 0).tolist():
        root[v] = root[twin[v]]
    for first in set(root[twin >= 0].tolist()):
        at[root == first] = np.sort(at[root == first])
    return at


def _twins(piece: Piece) -> I64:
    """Return, for each buffer, an earlier buffer that is interchangeable with it; -1 if there is none."""
    own = np.stack((piece.size, piece.lowest, piece.highest, piece.step), axis=1)
    both = np.stack((piece.price, piece.grid, piece.gap), axis=2)
    twins = np.full(len(piece), -1)
    for b in range(1, len(piece)):
        for a in np.flatnonzero((own[:b] == own[b]).all(axis=1))[::-1].tolist():
            differs = (both[a] != both[b]).any(axis=1)
            differs[[a, b]] = False
            if not differs.any():
                twins[b] = a
                break
    return twins


def _charges(rows: CutRows, bound: CutBound) -> tuple[int, I64]:
    """Return a lower bound on the cost of all plans, and how much each pair adds to it if the pair is paid for.

    Both are multiplied by `bound.scale`.
    """
    charge, base = bound.scale * rows.price, 0
    for cut, times in bound.multipliers:
        excess, pairs, saved = rows.clique_savings(cut.members)
        charge[pairs] -= times * -(-saved // cut.divisor)
        base += times * -(-excess // cut.divisor)
    return base + int(np.minimum(charge, 0).sum()), np.maximum(charge, 0)
