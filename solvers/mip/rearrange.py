"""Large-neighbourhood search (Shaw 1998): an engine reorders a few buffers, while all others keep their order.

The objective is the excess of the buffers' ends over the floor (a lower bound on the peak), summed over live sets. Of
two plans of equal peak, it prefers the plan in which fewer live sets exceed the floor, or exceed it by less.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from memplan.planner.model.buffer_table import I64, column
from memplan.solvers.mip.boxes import Boxes
from memplan.solvers.mip.draft import F64, Bits, IntegerProgram
from memplan.solvers.mip.start import is_feasible_start, start_of
from memplan.solvers.packing.orders import Traits, random_order
from memplan.solvers.packing.packer import Packer
from memplan.solvers.packing.place import drop_buffers, place

F32 = npt.NDArray[np.float32]
SolvePart = Callable[[IntegerProgram, F64, Callable[[F64], F64]], float]
"""Solves a program from a start, with a function that completes column values; returns the share of the time used."""
_FIRST_PART = 4.0
"""The initial size of neighbourhoods: this many buffers, or 12 times as many pair orders in a range of time."""
_PAIRS_A_BUFFER = 12
_DRAWS = 50
"""The number of random orders that are tried for an initial plan."""
_REACH = 2.0
"""The distance in live sets at which the probability that a buffer joins a neighbourhood falls to 1/e."""


@dataclass(frozen=True, eq=False)
class RatedPlan:
    """A plan; `heights` are the units by which each crowd (set of conflicting buffers) ends above the lower bound."""

    pool: I64
    offset: I64
    heights: I64

    @property
    def total_excess(self) -> int:
        """The units by which the crowds (sets of conflicting buffers) exceed the lower bound on the peak, summed."""
        return int(self.heights.sum())


class ImpliedRows:
    """The rows of a program that known orders of boxes may make redundant: of pairs, heights, peaks, and cuts."""

    def __init__(self, boxes: Boxes, program: IntegerProgram, q: int) -> None:
        """Collect the numbers and boxes of these rows from the program's row keys, and the members of each crowd."""
        self.n, keyed = boxes.n, list(enumerate(program.row_keys))
        # A clearance may exceed the size of the buffers in between, so rows with clearances are never redundant.
        clear = {pair for a, b in boxes.pair_clearances for pair in ((a, b), (b, a))}
        self.pairs = _integer_columns(
            3, [(k, *key[1:]) for k, key in keyed if key[0] == "below" and key[1:] not in clear]
        )
        self.heights = _integer_columns(3, [(k, *key[2:]) for k, key in keyed if key[:2] == ("height", q)])
        self.peaks = _integer_columns(2, [(k, key[2]) for k, key in keyed if key[0] == "peak"])
        self.is_cut = np.array([key[0] in ("held", "pushed") for _, key in keyed])
        self.members = np.zeros((self.n, len(boxes.crowds)), dtype=np.float32)
        for t, members in enumerate(boxes.crowds):
            self.members[members, t] = 1

    def are_implied(self, program: IntegerProgram, is_below: F32) -> Bits:
        """Return a mask of the rows of a program that the known orders of boxes make redundant.

        is_below[a, b] is 1 if box a is known to be below box b. In a stack of boxes, the row of a pair matters only for
        adjacent boxes, and the rows of heights and peaks only for the top box. A cut is redundant if all of its orders
        are decided.
        """
        n_rows = len(program.row_lower)
        are_open = (program.is_whole & (program.lower < program.upper))[program.index]
        row = np.repeat(np.arange(n_rows), np.diff(program.first))
        implied: Bits = np.logical_and(self.is_cut, np.bincount(row, are_open, n_rows) == 0)
        buffers_above = is_below[:, : self.n]
        k, low, high = self.pairs
        implied[k] = (buffers_above @ is_below[: self.n])[low, high] > 0
        k, t, b = self.heights
        implied[k] = (buffers_above @ self.members)[b, t] > 0
        k, b = self.peaks
        implied[k] = np.isin(b, np.nonzero(buffers_above)[0])
        return implied


def _integer_columns(width: int, rows: list[tuple[str | int, ...]]) -> I64:
    return column([int(value) for row in rows for value in row]).reshape(-1, width).T


class PlanParts:
    """The search for better plans in neighbourhoods: parts of the orders in a program, which an engine may change.

    The program minimizes the excess over `floor` in pool `q`. Neighbourhoods grow while the engine solves them quickly,
    and shrink while it does not finish in time.
    """

    def __init__(self, boxes: Boxes, program: IntegerProgram, q: int, floor: int, random: np.random.Generator) -> None:
        """Collect the order columns of the program, and the first and last crowd (conflict set) of each box."""
        self.boxes, self.program, self.random = boxes, program, random
        self.q, self.floor = q, floor
        self.crowds = [column([b for b in members if q in boxes.all[b].span]) for members in boxes.crowds]
        keys = [(at, *key[1:]) for at, key in enumerate(program.keys) if key[0] == "below"]
        self.order, self.a, self.b = (column([int(key[k]) for key in keys]) for k in range(3))
        n = len(boxes.all)
        self.first, self.last = np.full(n, len(self.crowds)), np.full(n, -1)
        for t, members in enumerate(self.crowds):
            np.minimum.at(self.first, members, t)
            np.maximum.at(self.last, members, t)
        self.implied = ImpliedRows(boxes, program, q)
        # One binary may represent both orders of a pair, its value 0 meaning the second order, so look for both.
        self.is_only = np.array([("below", b, a) not in program.at for _, a, b in keys], dtype=np.bool_)
        self.sizes: dict[Callable[[int, int], Bits], float] = dict.fromkeys(
            (self._free_few_orders, self._free_orders_in_time), _FIRST_PART
        )
        self._values_of = lru_cache(maxsize=1)(lambda plan: start_of(program, boxes, plan.pool, plan.offset))

    def rate(self, pool: I64, offset: I64) -> RatedPlan:
        """Return a plan together with the excess of each crowd (set of conflicting buffers) over the lower bound."""
        ends = np.where(pool == self.q, offset + self.boxes.instance.size, 0)
        heights = [max(0, int(ends[members].max(initial=0)) - self.floor) for members in self.crowds]
        return RatedPlan(pool, offset, column(heights))

    def improve(self, plan: RatedPlan, solve: SolvePart) -> None:
        """Improve a plan in one random neighbourhood by an engine, starting from the plan's column values."""
        t = int(self.random.choice(len(plan.heights), p=plan.heights / plan.total_excess))
        draw = list(self.sizes)[int(self.random.integers(len(self.sizes)))]
        is_free = draw(t, max(2, int(self.sizes[draw])))
        values = self._values_of(plan)
        part, columns = self._fix_orders(self.order[~is_free], values)

        def complete_values(its: F64) -> F64:
            whole = values.copy()
            whole[columns] = its
            return whole

        share = solve(part, values[columns], complete_values)
        self.sizes[draw] *= 1.1 if share < 0.4 else 0.8 if share > 0.9 else 1.0

    def _fix_orders(self, fixed: I64, values: F64) -> tuple[IntegerProgram, I64]:
        program, lower, upper = self.program, self.program.lower.copy(), self.program.upper.copy()
        lower[fixed] = upper[fixed] = values[fixed]
        changed = replace(program, lower=lower, upper=upper)
        is_below = np.zeros((len(self.first), len(self.first)), dtype=np.float32)
        is_first, is_second = lower[self.order] == 1, (upper[self.order] == 0) & self.is_only
        is_below[self.a[is_first], self.b[is_first]] = is_below[self.b[is_second], self.a[is_second]] = 1
        return changed.reduce(self.implied.are_implied(changed, is_below))

    def best_start(self) -> RatedPlan | None:
        """Draw several random plans, and return the feasible plan of least excess; None if no plan is feasible."""
        instance = self.boxes.instance
        traits, packer, plans = Traits(instance), Packer(instance, column([0])), []
        for _ in range(_DRAWS):
            order, is_best_fit = random_order(self.random, traits)
            placed = place(packer, instance, order, tuple(range(len(instance.pools))), is_best_fit)
            if placed is not None:
                plans.append(self.rate(*placed))
        plans.sort(key=lambda plan: plan.total_excess)
        return next(
            (plan for plan in plans if is_feasible_start(self.program, self.boxes, plan.pool, plan.offset)), None
        )

    def perturbed_plan(self, plan: RatedPlan) -> RatedPlan:
        """Return a plan in which a few buffers were moved to random offsets and then down as far as possible.

        Up to nine attempts are made. If each of them leaves the excess unchanged or exceeds the pool's limit, the given
        plan is returned.
        """
        for count in (3, 3, 3, 2, 2, 2, 1, 1, 1):
            offset = plan.offset.astype(np.float64)
            moved = self.random.choice(len(offset), size=min(count, len(offset)), replace=False)
            offset[moved] = self.random.uniform(0, self.boxes.limit[self.q], len(moved))
            fallen = drop_buffers(self.boxes.instance, plan.pool, offset)
            if fallen is not None:
                other = self.rate(plan.pool, fallen)
                if (
                    other.total_excess != plan.total_excess
                    and other.heights.max() + self.floor <= self.boxes.limit[self.q]
                ):
                    return other
        return plan

    def _free_few_orders(self, t: int, count: int) -> Bits:
        n = self.boxes.n
        away = np.maximum(0, np.maximum(self.first[:n] - t, t - self.last[:n]))
        weight = np.exp(-away / _REACH)
        chosen = np.zeros(len(self.first), dtype=np.bool_)
        some = min(count, int((weight > 0).sum()))
        chosen[self.random.choice(n, size=some, replace=False, p=weight / weight.sum())] = True
        return chosen[self.a] | chosen[self.b]

    def _free_orders_in_time(self, t: int, count: int) -> Bits:
        """Return a mask of the orders to free: those between boxes alive in a time range around conflict set `t`."""
        low, high, is_free = t, t, np.zeros(len(self.order), dtype=np.bool_)
        while True:
            inside = (self.first <= high) & (self.last >= low)
            within = inside[self.a] & inside[self.b]
            if within.sum() > _PAIRS_A_BUFFER * count:
                break
            is_free = within
            if low <= 0 and high >= len(self.crowds) - 1:
                break
            low, high = (low - 1, high) if self.random.random() < 0.5 else (low, high + 1)
        if is_free.any():
            return is_free
        some = np.flatnonzero(inside)
        chosen = np.isin(np.arange(len(inside)), self.random.choice(some, min(2 * count, len(some)), replace=False))
        return chosen[self.a] & chosen[self.b]
