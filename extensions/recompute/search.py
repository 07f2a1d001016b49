"""The greedy search for the cheapest drops that meet a budget; a drop is a time between two uses without the tensor.

The search prefers drops that remove many excess bytes per cost; an outdated value is re-evaluated only when it reaches
the top of the queue. At the end, unneeded drops are undone.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from heapq import heapify, heappop, heappush

import numpy as np

from memplan.extensions.recompute.stays import Drops, Stays
from memplan.planner.model.buffer_table import I64
from memplan.programs.order.search.solve import WORK_PER_S
from memplan.solvers.search.control import Control

_BATCH = 24
"""The number of drops (times without a tensor) that one call tries."""
_ALIKE, _STALE, _TOGETHER = 0.7, 1.05, 0.5
"""Drops of at least `_ALIKE` times the best value are made together, unless an outdated value is over `_STALE` times
as high. They must remove at least `_TOGETHER` times their number times the excess that the best one removes."""


class DropSearch:
    """The search for drops (times in which a tensor is not kept) that bring the peak within a budget in bytes."""

    def __init__(self, stays: Stays, control: Control) -> None:
        """Prepare a search among the stays (times between two uses) that may be dropped."""
        self.stays, self._control = stays, control
        self._spent = 0
        usable = stays.can_drop & (stays.end > stays.begin)
        self._real = np.flatnonzero(usable & ~stays.is_last & (stays.end - stays.begin > 1)).tolist()
        self._first = usable & stays.is_last
        self._price = 1 + stays.once // 10**6

    def set_control(self, control: Control) -> None:
        """Continue the search under another control, which limits its time and work."""
        self._control, self._spent = control, self.stays.work
        self.stays.flag = control.raised

    @contextmanager
    def share(self, part: float) -> Iterator[None]:
        """Limit the search within the block to a part of the remaining time."""
        whole = self._control
        with whole.child(part).search_control(WORK_PER_S) as watched:
            self.set_control(watched)
            yield
        self.set_control(whole)

    def empty_drops(self) -> Drops:
        """Return the drops of the original program: it drops (does not keep) each tensor only after its last use."""
        return self._evaluated_drops(self._first.astype(np.int64), self.stays.places, 0)

    def drops_within(self, start: Drops, budget: int) -> Drops:
        """Return `start` with more drops (times without a tensor), so that the peak (nearly) meets the budget."""
        return self.undo_unneeded(self._lower_to_budget(start, budget), budget)

    def is_over(self) -> bool:
        """Report the work done since the last call to the control; return True once the time is over."""
        self._control.spend(self.stays.work - self._spent)
        self._spent = self.stays.work
        return self._control.is_over

    def work_left(self) -> int:
        """Return the remaining steps if work is counted, or else a number that no search reaches."""
        self.is_over()
        return int(self._control.work_left[0])

    @property
    def counts_work(self) -> bool:
        """True if work is counted instead of time."""
        return self._control.counts_work

    def _evaluated_drops(self, drop: I64, places: I64, budget: int) -> Drops:
        """Replay the program with the drops `drop`; return it with its peak, its cost and its bytes over the budget.

        `drop` states, for each stay (time between two uses of a tensor), whether and how the tensor is not kept.
        """
        tries = self.stays.try_changes(drop, [()], budget, places)
        return Drops(drop, int(tries.peak[0]), int(tries.cost[0]), float(tries.excess[0]), places)

    def _lower_to_budget(self, start: Drops, budget: int) -> Drops:
        """Drop stays (times between uses) until the budget is met or no drop removes excess bytes; return the drops."""
        now = self._evaluated_drops(start.drop.copy(), start.places, budget)
        queue: list[tuple[float, int]] = []
        for change, value in self._gains_per_cost(now, budget, [(s,) for s in self._real if not now.drop[s]]):
            if value > 0:
                queue.append((-value, change[0]))
        heapify(queue)
        while queue and now.excess > 0 and not self.is_over():
            batch = [heappop(queue)[1] for _ in range(min(_BATCH, len(queue)))]
            ranked = sorted(
                (-gain, change[0]) for change, gain in self._gains_per_cost(now, budget, [(s,) for s in batch])
            )
            # Gains in the queue are outdated and mostly too high, so accept drops with less than the best queued gain.
            bar = max(_ALIKE * -ranked[0][0], -queue[0][0] / _STALE if queue else 0.0)
            taken = [stay for stay_gain, stay in ranked if -stay_gain >= bar and stay_gain < 0]
            now, n_taken = self._drop_batch(now, budget, taken)
            for value, stay in ranked:
                if value < 0 and stay not in taken[:n_taken]:
                    heappush(queue, (value, stay))
        return now

    def _drop_batch(self, now: Drops, budget: int, stays: Sequence[int]) -> tuple[Drops, int]:
        """Drop all `stays` (times between uses) at once if that removes enough excess bytes, else the first one alone.

        Return the resulting drops, and the number of stays dropped.
        """
        if not stays:
            return now, 0
        tries = self.stays.try_changes(now.drop, [stays, stays[:1]], budget, now.places)
        gains = (now.excess - tries.excess).tolist()
        # Drops that remove the same excess bytes gain less together than alone, so then make only the best drop.
        count = len(stays) if tries.peak[0] >= 0 and gains[0] >= _TOGETHER * len(stays) * gains[1] else 1
        drop = now.drop.copy()
        drop[list(stays[:count])] = 1
        return self._evaluated_drops(drop, now.places, budget), count

    def _gains_per_cost(
        self, now: Drops, budget: int, changes: Sequence[tuple[int, ...]]
    ) -> Iterable[tuple[tuple[int, ...], float]]:
        tries = self.stays.try_changes(now.drop, changes, budget, now.places)
        for change, peak, cost, excess in zip(
            changes, tries.peak.tolist(), tries.cost.tolist(), tries.excess.tolist(), strict=True
        ):
            gain = now.excess - excess if peak >= 0 else 0.0
            yield change, gain / (self._price + max(0, cost - now.cost)) if gain > 0 else 0.0

    def undo_unneeded(self, now: Drops, budget: int) -> Drops:
        """Undo drops (times without a tensor), costliest first, if the budget does not need them; return the others."""
        # A program above the budget must not get worse, so keep at least its present peak.
        goal = max(budget, now.peak)
        while not self.is_over():
            dropped = np.flatnonzero(now.drop).tolist()
            tries = self.stays.try_changes(now.drop, [(s,) for s in dropped], goal, now.places)
            saved = now.cost - tries.cost
            good = np.flatnonzero((tries.peak >= 0) & (tries.peak <= goal) & (saved > 0))
            if not len(good):
                return now
            drop, cost = now.drop.copy(), now.cost
            for k in good[np.argsort(-saved[good], kind="stable")].tolist():
                # A drop may have become necessary when earlier drops were undone, so evaluate each undoing again.
                one = self.stays.try_changes(drop, [(dropped[k],)], goal, now.places)
                if 0 <= one.peak[0] <= goal and one.cost[0] < cost:
                    drop[dropped[k]] = 0
                    cost = int(one.cost[0])
            if cost == now.cost:
                return now
            now = self._evaluated_drops(drop, now.places, goal)
        return now


def peak_steps(peak: int, least: int, count: int) -> list[int]:
    """Return `count` budgets that fall by equal ratios, from just below `peak` down to `least`."""
    if least >= peak or least <= 0:
        return [max(least, 0)] if least < peak else []
    ratio = (least / peak) ** (1 / count)
    return sorted({max(least, min(peak - 1, int(peak * ratio**k))) for k in range(1, count + 1)}, reverse=True)
