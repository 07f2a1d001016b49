"""Prices of the room in one pool by subgradient steps, for problems whose program would be too large.

The steps look at the fast pool and at one other, with room for everything. The checker computes the bound that the
prices prove, in all pools.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from memplan.planner.instance.instance import F64
from memplan.planner.model.buffer_table import I64, column
from memplan.planner.model.moving import MovingBuffer
from memplan.planner.model.problem import Problem
from memplan.solvers.search.control import Control

_PACE, _PATIENCE, _SMALLEST, _LITTLE, _MEMORY = 0.5, 10, 1e-4, 0.01, 0.7


@dataclass(eq=False)
class PriceSteps:
    """The accesses of all buffers that may use the pool `fast`, and the prices of a byte there at each of `times`.

    A round is the next access of each buffer. The states of a buffer are 0 (right in the fast pool), 1 (in the other
    one) and 2 (in both).
    """

    problem: Problem
    rows: Sequence[MovingBuffer]
    fast: int
    other: int
    times: I64 = field(init=False)
    _rounds: list[tuple[I64, I64, F64, I64]] = field(init=False)
    """For each round: the buffers, the positions of their times, the bytes they use, and whether they are written."""

    def __post_init__(self) -> None:
        """Sort the accesses by round."""
        self.times = np.unique([use.time for row in self.rows for use in row.uses])
        self._size = np.array([row.size for row in self.rows], dtype=np.float64)
        costs = self.problem.pools[self.fast].cost, self.problem.pools[self.other].cost
        self._use = costs[0], costs[1] if self.problem.pools[self.other].direct else np.inf
        self._copy = self._size * sum(costs)
        self._rounds = []
        for r in range(max(len(row.uses) for row in self.rows)):
            mine = [k for k, row in enumerate(self.rows) if len(row.uses) > r]
            uses = [self.rows[k].uses[r] for k in mine]
            at = np.searchsorted(self.times, [use.time for use in uses])
            count = np.array([(use.read or 0) + (use.write or 0) for use in uses], dtype=np.float64)
            self._rounds.append((column(mine), column(at), count, column([use.write is not None for use in uses])))

    def find(self, most: int, goal: float, control: Control, seconds: float) -> F64:
        """Return the best prices found in some seconds for a capacity `most`; no plan is cheaper than `goal`.

        A step is that of Polyak for a cost which is a little above the best bound, in the direction of the mean slope.
        """
        worth, best, found = np.zeros(len(self.times)), -np.inf, np.zeros(len(self.times))
        due, since, pace, mean = control.remaining_s - seconds, 0, _PACE, np.zeros(len(self.times))
        while control.remaining_s > due and pace > _SMALLEST:
            charge, load = self._relaxed_charge(worth)
            least, since = charge - most * float(worth.sum()), since + 1
            if least > best:
                since = 0 if least > best * (1 + pace * _LITTLE) else since
                best, found = least, worth
            if since > _PATIENCE:
                pace, since, worth, mean = pace / 2, 0, found, np.zeros(len(worth))
                continue
            mean = _MEMORY * mean + (1 - _MEMORY) * (load - most)
            slope = np.where((worth > 0) | (mean > 0), mean, 0.0)
            if least >= goal or not slope.any():
                break
            step = (min(goal, best + pace * (goal - best)) - least) / float(slope @ slope)
            worth = np.maximum(0.0, worth + step * slope)
        return found

    def _relaxed_charge(self, worth: F64) -> tuple[float, F64]:
        """Return the least charge of all buffers, and the bytes of the fast pool that are then used at each time."""
        sums = np.concatenate(([0.0], np.cumsum(worth)))
        low = np.full((3, len(self.rows)), np.inf)
        last = np.zeros(len(self.rows), dtype=np.int64)
        choices = []
        for r, (k, at, count, is_written) in enumerate(self._rounds):
            room, copy = worth[at] * self._size[k], self._copy[k]
            if r == 0:
                before = np.array([room, np.zeros(len(k)), np.full(len(k), np.inf)])
                gap = before_of = np.zeros((3, len(k)), dtype=np.int64)
            else:
                kept = (sums[at] - sums[last[k] + 1]) * self._size[k]
                one, other, both = low[:, k]
                gap = np.array([np.where(one <= both, 0, 2), np.where(other <= both, 1, 2), np.full(len(k), 2)])
                passed = np.array([np.minimum(one, both) + kept, np.minimum(other, both), both + kept])
                ways = np.array([passed[2], passed[0] + copy, passed[1] + copy])
                before_of = ways.argmin(axis=0)
                before = np.array([passed[0] + room, passed[1], ways.min(axis=0) + room])
            before = before + np.array([count * self._use[0], count * self._use[1], count * self._use[0]])
            written = np.array([np.minimum(before[0], before[2]), before[1]])
            sent = np.array([written[0] + copy, written[1] + copy + room])
            after = np.array([written[0], written[1], sent.min(axis=0)])
            low[:, k] = np.where(is_written, after, before)
            last[k] = at
            choices.append((gap, before_of, before[0] <= before[2], sent.argmin(axis=0)))
        return float(low.min(axis=0).sum()), self._loads(low.argmin(axis=0), choices)

    def _loads(self, state: I64, choices: list[tuple[I64, I64, I64, I64]]) -> F64:
        change = np.zeros(len(self.times) + 1)
        following = np.zeros(len(self.rows), dtype=np.int64)
        for r in reversed(range(len(self._rounds))):
            (k, at, _, is_written), (gap, before_of, is_alone, sender) = self._rounds[r], choices[r]
            after, each = state[k], np.arange(len(k))
            source = np.where(after == 2, sender, after)
            before = np.where(is_written == 0, after, np.where(source == 1, 1, np.where(is_alone, 0, 2)))
            is_here = (before != 1) | (after != 1)
            np.add.at(change, at, np.where(is_here, self._size[k], 0.0))
            np.add.at(change, at + 1, np.where(is_here, -self._size[k], 0.0))
            if r:
                passed = np.where(before == 2, np.array([2, 0, 1])[before_of], before)
                previous = gap[passed, each]
                was = self._rounds[r - 1]
                start = np.zeros(len(self.rows), dtype=np.int64)
                start[was[0]] = was[1]
                held = np.where(passed != 1, self._size[k], 0.0)
                np.add.at(change, start[k] + 1, held)
                np.add.at(change, at, -held)
                following[k] = previous
                state[k] = previous
        return np.cumsum(change)[:-1]
