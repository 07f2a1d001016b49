"""Parts of a plan, to rearrange: an engine decides the orders of few buffers anew, while all others keep theirs.

Large-neighbourhood search (Shaw 1998) with an engine for the neighbourhoods. What is made less is the sum, over live
sets, of what stands above the floor: the peak alone is that of many plans, of which some are nearer to the floor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from memplan.planner.model.buffer_table import I64, column
from memplan.solvers.mip.boxes import Boxes
from memplan.solvers.mip.draft import F64, IntegerProgram
from memplan.solvers.mip.start import start_of
from memplan.solvers.packing.place import drop

Bits = npt.NDArray[np.bool_]
_FIRST_PART = 4.0
"""The size of the first parts: so many buffers, or a dozen times as many orders of those alive in a span of time."""
_PAIRS_A_BUFFER = 12
_REACH = 2.0
"""The distance, in live sets, over which a buffer's chance to be in a part falls to 1/e."""


@dataclass(frozen=True, eq=False)
class RatedPlan:
    """A plan: pools and offsets, and what of each crowd stands above the floor."""

    pool: I64
    offset: I64
    heights: I64

    @property
    def over(self) -> int:
        """The sum of the heights."""
        return int(self.heights.sum())


class PlanParts:
    """The parts of a program that minimises what stands above `floor` in pool `q`, drawn where most does.

    They grow while an engine is done with them soon, and shrink where it is not done in time.
    """

    def __init__(self, boxes: Boxes, program: IntegerProgram, q: int, floor: int, random: np.random.Generator) -> None:
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
        self.sizes: dict[Callable[[int, int], Bits], float] = dict.fromkeys((self._few, self._span), _FIRST_PART)

    def rated(self, pool: I64, offset: I64) -> RatedPlan:
        """Return a plan with what of each crowd stands above the floor."""
        ends = np.where(pool == self.q, offset + self.boxes.instance.size, 0)
        heights = [max(0, int(ends[members].max(initial=0)) - self.floor) for members in self.crowds]
        return RatedPlan(pool, offset, column(heights))

    def improve(self, plan: RatedPlan, solve: Callable[[IntegerProgram, F64], float]) -> None:
        """Let an engine solve one part of a plan, from its values; it returns the share of the time that it took."""
        t = int(self.random.choice(len(plan.heights), p=plan.heights / plan.over))
        draw = list(self.sizes)[int(self.random.integers(len(self.sizes)))]
        fixed = self.order[~draw(t, max(2, int(self.sizes[draw])))]
        start = start_of(self.program, self.boxes, plan.pool, plan.offset)
        lower, upper = self.program.lower.copy(), self.program.upper.copy()
        lower[fixed] = upper[fixed] = start[fixed]
        share = solve(replace(self.program, lower=lower, upper=upper).without_idle_rows(), start)
        self.sizes[draw] *= 1.1 if share < 0.4 else 0.8 if share > 0.9 else 1.0

    def shaken(self, plan: RatedPlan) -> RatedPlan:
        """Return the plan with few buffers moved to any place, and fallen; as it is where that ends too high."""
        for count in (3, 3, 3, 2, 2, 2, 1, 1, 1):
            offset = plan.offset.astype(np.float64)
            moved = self.random.choice(len(offset), size=min(count, len(offset)), replace=False)
            offset[moved] = self.random.uniform(0, self.boxes.limit[self.q], len(moved))
            fallen = drop(self.boxes.instance, plan.pool, offset)
            if fallen is not None:
                other = self.rated(plan.pool, fallen)
                if other.over != plan.over and other.heights.max() + self.floor <= self.boxes.limit[self.q]:
                    return other
        return plan

    def _few(self, t: int, count: int) -> Bits:
        """Free all orders of few buffers, most of them near crowd `t`."""
        n = self.boxes.n
        away = np.maximum(0, np.maximum(self.first[:n] - t, t - self.last[:n]))
        weight = np.exp(-away / _REACH)
        chosen = np.zeros(len(self.first), dtype=np.bool_)
        some = min(count, int((weight > 0).sum()))
        chosen[self.random.choice(n, size=some, replace=False, p=weight / weight.sum())] = True
        return chosen[self.a] | chosen[self.b]

    def _span(self, t: int, count: int) -> Bits:
        """Free the orders of those that are alive in a span of time around crowd `t`, or of some of them."""
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
