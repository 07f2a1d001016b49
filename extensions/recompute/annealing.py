"""Simulated annealing of programs (sequences of runs of operations), keeping the cheapest one for each peak.

It tries changes that a greedy search cannot make: other orders, earlier reruns, and a separate clone for each reader.
"""

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np

from memplan.extensions.recompute.search import DropSearch
from memplan.extensions.recompute.stays import CheapestPrograms, Drops, Effort

_HEATS, _HEATS_OF_LARGE = (0.5, 0.1, 0.5, 2.0), (0.1, 0.03, 0.1, 0.03)
"""The initial temperatures of consecutive rounds, as fractions of the average cost of an operation.

Large graphs have too little time to cool down from high temperatures. The first of every four rounds starts without
drops, because greedy drops are mostly too many. The other rounds start with the cheapest known drops.
"""
_COLD, _FALL = 0.015, 0.98
"""The initial temperature of rounds that approach a budget, and the ratio between consecutive budgets of these."""
_LARGE = 200
"""The number of operations above which a graph counts as large."""
_FIRST_STEPS, _SPLIT = 5_000, 8
"""The steps per operation in the first round, and the divisor of the remaining work that limits each round."""
_DOUBLINGS, _DOUBLINGS_OF_LARGE = 3, 4
"""How many times the number of steps per round is doubled, for small and for large graphs."""
_IDLE = 6
"""The search ends after this many rounds, and half of all, without a better program; large graphs count full rounds."""
_LOWER, _LEAST_LOWER = 0.04, 0.001
"""The fraction by which the peak should fall at a limited cost, and the smallest fraction that is tried."""
_ENDED = 400
"""The number of latest rounds whose final drops (times without a tensor) are kept."""
_MOST_KEPT = 20_000_000
"""The maximum number of integers that store the kept programs."""

_NONE = 2**62
"""The cost that means that no program exists."""


class Annealing:
    """A random search for programs, which keeps the cheapest one found for each peak in `marks`.

    Drops, the times in which a tensor is not kept, describe a program. Each round has the next `seed`.
    """

    def __init__(self, search: DropSearch, marks: Iterable[int], known: Sequence[Drops], seed: int = 0) -> None:
        """Start with programs given by their drops; keep the cheapest program for each peak in `marks`."""
        self._search, stays = search, search.stays
        self._marks = sorted({*marks})
        # Programs of a large graph take much memory, so keep only programs for the highest marks.
        row = len(stays.tensor) + stays.n
        self._marks = self._marks[-max(1, _MOST_KEPT // row) :]
        count = len(self._marks)
        self._known: list[Drops | None] = [None] * count
        for drops in known:
            at = int(np.searchsorted(self._marks, drops.peak))
            if at < count and (self._known[at] is None or drops.cost < self._known[at].cost):  # type: ignore[union-attr]
                self._known[at] = drops
        costs = [_NONE if drops is None else drops.cost for drops in self._known]
        self._kept = CheapestPrograms(
            mark=np.array(self._marks, dtype=np.int64),
            cost=np.array(costs, dtype=np.int64),
            peak=np.zeros(count, dtype=np.int64),
            places=np.zeros(count * stays.n, dtype=np.int64),
            drops=np.zeros(count * len(stays.tensor), dtype=np.int64),
        )
        self._first = _FIRST_STEPS * stays.n
        self.seed = seed
        self._nothing = search.empty_drops()
        self.ended: deque[Drops] = deque(maxlen=_ENDED)
        """The final drops of the latest rounds, even if other drops are better."""
        self.nearest = min(known, key=lambda drops: drops.peak, default=self._nothing)
        """The program of the lowest peak, given by its drops."""
        is_large = stays.n > _LARGE
        self._heats = _HEATS_OF_LARGE if is_large else _HEATS
        self._doublings = _DOUBLINGS_OF_LARGE if is_large else _DOUBLINGS
        self._before_idle = _DOUBLINGS_OF_LARGE * len(_HEATS) if is_large else _DOUBLINGS

    def new_drops(self) -> list[Drops]:
        """Return the new programs that are the cheapest for a mark (kept peak), as drops (times without a tensor)."""
        return [drops for at in range(len(self._marks)) if (drops := self._drops_at(at)) not in (None, self._known[at])]

    def best_drops(self, budget: int) -> Drops | None:
        """Return the cheapest program within `budget` bytes, as drops (times without a tensor), or None."""
        rows = [self._drops_at(at) for at, mark in enumerate(self._marks) if mark <= budget]
        return min((drops for drops in rows if drops), key=lambda drops: drops.cost, default=None)

    def run(self, budget: int, steps: int, number: int) -> bool:
        """Run a round of `steps` changes; return True if it found a cheaper program, or came closer to the budget."""
        before, nearest = self._min_cost(budget), self.nearest.peak
        heat = self._heats[number % len(self._heats)]
        start = (self.best_drops(budget) or self.nearest) if number % len(self._heats) else self._nothing
        self.seed += 1
        ended = self._search.stays.anneal(start, self._kept, budget, Effort(self.seed, steps, heat))
        self.ended.append(ended)
        if ended.peak < self.nearest.peak:
            self.nearest = ended
        return self._min_cost(budget) < before or (before == _NONE and self.nearest.peak < nearest)

    def approach(self, budget: int, start: Drops) -> None:
        """Search for programs within falling budgets, from the peak of `start` down to `budget`, each from the last."""
        goal = start.peak
        while goal > budget and not self._search.is_over():
            goal, self.seed = max(budget, int(_FALL * goal)), self.seed + 1
            ended = self._search.stays.anneal(start, self._kept, goal, Effort(self.seed, 2 * self._first, _COLD))
            self.nearest = min(ended, self.nearest, key=lambda drops: drops.peak)
            start = self.best_drops(goal) or min(ended, start, key=lambda drops: drops.peak)

    def rounds(self, budget: int) -> None:
        """Run rounds in search of the cheapest program within a budget, until progress stops or time is over."""
        idle = number = 0
        while (idle < _IDLE or 2 * idle < number) and not self._is_over(budget):
            is_better = self.run(budget, self._steps_of_round(number), number)
            idle = 0 if is_better or number < self._before_idle else idle + 1
            number += 1

    def climb(self, budgets: Sequence[int], most: int) -> None:
        """Search for the cheapest program within each of the rising `budgets`, up to the first one of `most` bytes.

        Each search starts from the programs found for lower budgets. A budget's share of the work does not depend on
        `most`.
        """
        left = self._search.work_left() // (_SPLIT // 2 * max(1, len(budgets)) * len(_HEATS))
        steps = max(1, min(left, self._first))
        for budget in budgets:
            for number in range(len(_HEATS)):
                if self._is_over(budget):
                    break
                self.run(budget, steps, number)
            if budget >= most:
                break

    def lower_peak(self, most: int) -> bool:
        """Search for lower peaks at a total cost of at most `most`; return False if no lower kept peak remains."""
        part, number, idle = _LOWER, 0, 0
        while idle < 2 * _IDLE and not self._search.is_over():
            affordable = [at for at, cost in enumerate(self._kept.cost.tolist()) if cost <= most]
            if not affordable or affordable[0] == 0:
                return False
            lowest = self._drops_at(affordable[0])
            assert lowest is not None
            budget = min(self._marks[affordable[0] - 1], int(lowest.peak * (1 - part)))
            for k in range(len(_HEATS)):
                self.run(budget, self._steps_of_round(number * len(_HEATS)), k)
            number += 1
            if self._kept.cost[: affordable[0]].min() <= most:
                idle = 0
            else:
                idle += 1
                part = part / 2 if part > _LEAST_LOWER else _LOWER
        return True

    def _steps_of_round(self, number: int) -> int:
        left = self._search.work_left() // _SPLIT
        return max(1, min(left, self._first << min(number // len(_HEATS), self._doublings)))

    def _is_over(self, budget: int) -> bool:
        return self._search.is_over() or self._min_cost(budget) <= self._search.stays.once

    def _min_cost(self, budget: int) -> int:
        return min(
            (int(cost) for mark, cost in zip(self._marks, self._kept.cost, strict=True) if mark <= budget),
            default=_NONE,
        )

    def _drops_at(self, at: int) -> Drops | None:
        """Return the cheapest program for mark number `at` (a peak), as drops (times without a tensor), or None."""
        known, cost = self._known[at], int(self._kept.cost[at])
        if cost == _NONE or (known is not None and known.cost == cost):
            return known
        stays = self._search.stays
        n, count = stays.n, len(stays.tensor)
        places = self._kept.places[at * n : (at + 1) * n].copy()
        drop = self._kept.drops[at * count : (at + 1) * count].copy()
        return Drops(drop, int(self._kept.peak[at]), cost, 0.0, places)
