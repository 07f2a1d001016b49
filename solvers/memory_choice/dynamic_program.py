"""The cheapest choice by dynamic programming over the rows, with bounds from multipliers.

A partial choice has pools for the items that have arrived so far. Of two partial choices that reach a row with
everything alive in the same pools, the cheaper one is kept: their futures are the same. A partial choice that cannot
become cheap enough any more is dropped. Its cost is counted with multipliers: each item at its reduced price, each row
passed at the worth of the capacity that was left free in it. That never falls, so it bounds the cost of the whole; at
the end it is that cost, as what was charged for and what was left free are all the capacity there is. Where there are
too many partial choices, rows are gone through backwards, too; where there are still too many, the most promising go
on, and the least that was dropped is the bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memplan.planner.model.buffer_table import I64
from memplan.solvers.memory_choice.knapsack import Knapsack
from memplan.solvers.memory_choice.multipliers import Multipliers
from memplan.solvers.memory_choice.timeline import NoGood, Timeline

NEVER = 2**62
"""The bound that means: no choice exists."""
_FIRST_SPAN = 0.02
"""The first search's range above the bound, as a share of it; each later search doubles it."""
_ROW_WORK, _PARTIALS_A_UNIT = 50, 4
"""The work units of a row, and the number of kept partial choices for one unit."""


@dataclass(frozen=True, eq=False)
class PoolChoice:
    """The cheapest choice found, if any: a pool for each item. No choice costs less than `bound` steps.

    `work` is what the search took, in units of Search.work_limit.
    """

    home: I64 | None
    cost: int
    bound: int
    work: int = 0


@dataclass(frozen=True)
class ChoiceEffort:
    """The most partial choices carried on from a row, and kept in total, at 5 bytes each."""

    partials: int = 50_000
    kept: int = 8_000_000

    def widest(self, items: int) -> int:
        """Return the most partial choices that each row may carry on."""
        return max(1, min(self.partials, self.kept // max(1, items)))


def cheapest(
    knapsack: Knapsack,
    limit: I64,
    multipliers: Multipliers,
    nogoods: Sequence[NoGood],
    at_most: int,
    effort: ChoiceEffort,
    is_over: Callable[[], bool],
) -> PoolChoice:
    """Return the cheapest choice within limits (p, rows) and a cost in steps, or a bound above that cost."""
    floor = max(0, multipliers.cost_bound(knapsack, limit))
    forwards = _Direction(Timeline(knapsack, multipliers.measures, limit, nogoods), multipliers, limit)
    if forwards.timeline.is_refuted or (forwards.timeline.capacity < 0).any():
        return PoolChoice(None, 0, NEVER)
    directions = [forwards]
    widest = effort.widest(int(forwards.timeline.has_choice.sum()))
    # A narrow range of costs keeps few partial choices; most choices are near the bound.
    span = max(1, int(floor * _FIRST_SPAN), at_most // 4096)
    best, most, is_crowded, work = PoolChoice(None, 0, floor), at_most, False, 0
    while floor <= most and not is_over():
        requested, bounds = min(most, floor + span), list[int]()
        for direction in directions:
            choice = _PartialChoices(*direction, requested, widest).go(is_over)
            floor, work = max(floor, choice.bound), work + choice.work
            if choice.home is not None and choice.cost <= most:
                best, most = choice, choice.cost - 1
            bounds.append(choice.bound)
            if choice.bound > requested or floor > most or is_crowded:
                break
            if len(directions) == 1:
                # Where many begin together and few end together, there are fewer partial choices from the end on.
                backwards = knapsack.mirrored()
                worth, rows = multipliers.worth[:, ::-1], limit[:, ::-1]
                mirrored = Multipliers(worth, multipliers.scale, multipliers.measures)
                directions.append(_Direction(Timeline(backwards, multipliers.measures, rows, nogoods), mirrored, rows))
        span *= 2
        if bounds[-1] > bounds[0]:
            directions.reverse()
        # Where partial choices were dropped, the rest is searched once, as far as it goes.
        if max(bounds) <= requested and floor <= most:
            if is_crowded:
                break
            is_crowded, span = True, most
    return PoolChoice(best.home, best.cost, floor if best.home is None else min(floor, best.cost), work)


class _Direction(NamedTuple):
    """The rows in time order or reversed, with multipliers and limits in the same order."""

    timeline: Timeline
    multipliers: Multipliers
    limit: I64


class _PartialChoices:
    """The current partial choices: keys (words, w), loads (r, w), costs in parts of a step, and origins."""

    def __init__(self, timeline: Timeline, multipliers: Multipliers, limit: I64, at_most: int, widest: int) -> None:
        knapsack = timeline.knapsack
        self.timeline, self.homes = timeline, knapsack.homes
        self.pool, self.size = timeline.measures.pool, timeline.measures.size
        self.worth, self.scale, self.widest = multipliers.worth, multipliers.scale, widest
        self.top = at_most * self.scale
        prices = multipliers.prices(knapsack)
        # What each item costs at least is in the first value already; only the rest branches.
        self.price = prices - np.where(self.homes, prices, NEVER).min(axis=0)
        self.key = np.zeros((timeline.words, 1), dtype=np.int64)
        self.load = np.zeros((len(self.pool), 1), dtype=np.int64)
        # Every partial choice begins at the bound, so its cost is a bound of what it leads to.
        self.cost = np.array([multipliers.value(knapsack, limit)])
        self.origin = np.zeros(1, dtype=np.int64)
        self.steps: list[tuple[int, npt.NDArray[np.int32], npt.NDArray[np.int8]]] = []
        self.dropped, self.above = NEVER, NEVER
        self.seen = [0] * len(timeline.nogoods)

    def go(self, is_over: Callable[[], bool]) -> PoolChoice:
        """Process all rows; return the cheapest choice within the given cost, unless it was dropped."""
        for t, row in enumerate(self.timeline.rows[:-1]):
            for j, i in row.ending:
                self._lift(j, -self.size[:, i])
            self._forget(row.leaving)
            for j, i in row.starting:
                self._lift(j, self.size[:, i])
            for j, amount in row.arriving:
                self._branch(t, j, amount)
            self._pass(t)
            if len(self.cost) == 0 or is_over():
                break
        else:
            return self._cheapest()
        return PoolChoice(
            None, 0, self._steps(min(self.dropped, self.above)) if len(self.cost) == 0 else 0, self._work()
        )

    def _home(self, j: int) -> I64:
        """Return the pool of item `j` in each partial choice."""
        field = self.timeline.fields[j]
        return np.asarray(self.key[field.word] >> field.shift & field.mask)

    def _lift(self, j: int, amount: I64) -> None:
        """Add to the load of the pool of item `j`."""
        self.load += np.where(self._home(j) == self.pool[:, None], amount[:, None], 0)

    def _forget(self, items: list[int]) -> None:
        """Forget the pools of some items; keep the cheapest of equal partial choices."""
        for j in items:
            field = self.timeline.fields[j]
            self.key[field.word] &= ~(field.mask << field.shift)
        if items and len(self.cost) > 1:
            # Equal keys stand together, the cheapest first.
            order = np.lexsort((self.cost, *self.key))
            key = self.key[:, order]
            is_first = np.append(True, (key[:, 1:] != key[:, :-1]).any(axis=0))
            self._keep(order[is_first])

    def _branch(self, t: int, j: int, amount: I64) -> None:
        """Put an arriving item into each pool with enough capacity in row `t`."""
        field = self.timeline.fields[j]
        children, homes = [], []
        for q in np.flatnonzero(self.homes[:, j]).tolist():
            cost = self.cost + self.price[q, j]
            fits = self.load[q] + amount[q] <= self.timeline.capacity[q, t]
            is_cheap = cost <= self.top
            self.above = min(self.above, int(cost.min(initial=NEVER, where=fits & ~is_cheap)))
            children.append(np.flatnonzero(fits & is_cheap))
            homes.append(np.full(len(children[-1]), q, dtype=np.int8))
        home = np.concatenate(homes)
        self._keep(np.concatenate(children))
        self.cost += self.price[home, j]
        self.key[field.word] |= home.astype(np.int64) << field.shift
        self.load += np.where(home == self.pool[:, None], amount[:, None], 0)
        self._note_nogoods(j)
        if len(self.cost) > self.widest:
            order = np.argsort(self.cost, kind="stable")
            # The cheapest that was dropped is what the bound may still claim.
            self.dropped = min(self.dropped, int(self.cost[order[self.widest]]))
            self._keep(np.sort(order[: self.widest]))
        self.steps.append((j, self.origin.astype(np.int32), self._home(j).astype(np.int8)))
        self.origin = np.arange(len(self.cost))

    def _note_nogoods(self, j: int) -> None:
        """Update each no-good with item `j`; drop partial choices that complete one."""
        for number in self.timeline.nogoods_of[j]:
            nogood, field = self.timeline.nogoods[number], self.timeline.fields[-1 - number]
            is_there = self._home(j) == nogood.pool
            # From the second member on, the bit says whether all before it are there.
            if self.seen[number]:
                is_there &= self._home(-1 - number) != 0
            self.seen[number] += 1
            is_last = self.seen[number] == len(self.timeline.members[number])
            self.key[field.word] &= ~(field.mask << field.shift)
            if is_last:
                self._keep(np.flatnonzero(~is_there))
            else:
                self.key[field.word] |= is_there.astype(np.int64) << field.shift

    def _pass(self, t: int) -> None:
        """Charge for the capacity left free in row `t`; drop partial choices that do not fit or cost too much."""
        free = self.timeline.capacity[:, t, None] - self.load
        self.cost = self.cost + (self.worth[:, t, None] * free).sum(axis=0)
        fits = (free >= 0).all(axis=0)
        is_cheap = self.cost <= self.top
        self.above = min(self.above, int(self.cost.min(initial=NEVER, where=fits & ~is_cheap)))
        if not (fits & is_cheap).all():
            self._keep(np.flatnonzero(fits & is_cheap))

    def _keep(self, partials: I64) -> None:
        self.key, self.load = self.key[:, partials], self.load[:, partials]
        self.cost, self.origin = self.cost[partials], self.origin[partials]

    def _cheapest(self) -> PoolChoice:
        best = int(self.cost.argmin())
        cost = int(self.cost[best]) // self.scale
        home, at = np.array(self.timeline.home), int(self.origin[best])
        for j, parent, homes in reversed(self.steps):
            home[j], at = homes[at], int(parent[at])
        return PoolChoice(home, cost, min(cost, self._steps(self.dropped)), self._work())

    def _steps(self, cost: int) -> int:
        """Return a bound in whole steps."""
        return NEVER if cost == NEVER else -(-cost // self.scale)

    def _work(self) -> int:
        return len(self.timeline.rows) * _ROW_WORK + sum(len(homes) for _, _, homes in self.steps) // _PARTIALS_A_UNIT
