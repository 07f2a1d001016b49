"""Moves that improve the packing of one pool: each packs anew in an order derived from an earlier packing."""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from memplan.planner.bounds.lower_bound import lower_bound
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import ABSENT, I64, column
from memplan.solvers.packing.orders import Rule, Traits, random_order, rule_near
from memplan.solvers.packing.packer import Packer

LARGE = 10_000
"""The number of buffers above which one packing takes long and several threads run local search alone."""
_CENTRE, _NEAR = Rule(("pressure^28", "size"), "start", 4), 0.7
"""The rule near which restarts of large problems draw their rules, and the share of restarts that do so."""
_URGENT = _CENTRE._replace(by=("urgency", *_CENTRE.by))
_RAISE, _STALLED, _MOST_URGENT = 16.0, 6, 1e60
"""The factor by which a buffer above the bound counts as larger in the next order (decision 134); the number of orders
without a gain after which another rule is drawn; the limit of the product of factors.
"""
_SHAKES = (0.0005, 0.002, 0.006, 0.02, 0.06, 0.15)


class MoveSearch:
    """The best packing of one pool so far, and the moves (ways to repack) that improve it.

    Each move is an iterator, usually endless. Each step packs one order and yields the number of packed buffers, so the
    caller can count work, alternate moves and stop. `take` is called with each better packing and the name of its move.
    """

    def __init__(
        self, instance: Instance, flag: I64, rng: np.random.Generator, take: Callable[[I64, str], None]
    ) -> None:
        """Start without a packing; `take` receives each improved packing and the name of the move that found it."""
        self.instance, self.flag, self.rng, self.take = instance, flag, rng, take
        self.packer = Packer(instance, flag)
        self.traits = Traits(instance)
        self.bound = int(lower_bound(instance).score[-1])
        self.best: I64 | None = None
        self.peak = 0

    @property
    def is_at_bound(self) -> bool:
        """True if the peak of the best packing meets the bound."""
        return self.best is not None and self.peak <= self.bound

    def start_from(self, offset: I64) -> None:
        """Make a known packing the best one, from which the moves start."""
        self.best, self.peak = offset, self._largest_end(offset)

    def flips(self) -> Iterator[int]:
        """Repeatedly turn the packing upside down and pack it from the bottom; after a stall, perturb the order."""
        current, stalled = self.best, 0
        while True:
            # Eight packings without a gain suggest a dead end, so return to the best packing.
            if current is None or stalled % 8 == 7:
                current = self.best
            if current is None:
                order, best_fit = random_order(self.rng, self.traits)
                packed = self._pack(order, "restart", best_fit)
            else:
                # Flipping puts the buffer with the highest end at the bottom, so pack that buffer first.
                rank = -self._ends(current)
                packed = self._pack(self._rank_order(self._noisy_rank(rank) if stalled >= 3 else rank), "flip")
            stalled = 0 if packed is not None and packed is self.best else stalled + 1
            current = packed
            yield len(self.instance)

    def restarts(self) -> Iterator[int]:
        """Pack by random rules, mostly near the best rule in large problems, and flip each good packing."""
        best, lowest = _CENTRE, 0
        is_large = len(self.instance) > LARGE
        while True:
            rule = rule_near(self.rng, best) if is_large and self.rng.random() < _NEAR else None
            order, best_fit = (
                random_order(self.rng, self.traits) if rule is None else (rule.order(self.traits), rule.best_fit)
            )
            packed = self._pack(order, "restart", best_fit)
            if rule is not None and packed is not None and (lowest == 0 or self._largest_end(packed) < lowest):
                best, lowest = rule, self._largest_end(packed)
            yield len(self.instance)
            yield from self._repeated_flips(packed, "restart")

    def raises(self, is_first: bool = True) -> Iterator[int]:
        """Pack by one rule repeatedly, each time moving the buffers that ended above the bound forward in the order.

        This is the method of Joslin and Clements (1999). When it stalls, another rule is drawn. If `is_first`, the
        first rule is the default rule, so that only one of several threads uses it. Yields the number of buffers
        packed.
        """
        rule, urgency = _URGENT if is_first else rule_near(self.rng, _URGENT), self.traits.urgency
        while True:
            lowest, stalled = 0, 0
            urgency[:] = 1.0
            while stalled < _STALLED:
                packed = self._pack(rule.order(self.traits), "raise")
                yield len(self.instance)
                if packed is None:
                    break
                is_better = lowest == 0 or self._largest_end(packed) < lowest
                lowest, stalled = (self._largest_end(packed), 0) if is_better else (lowest, stalled + 1)
                urgency[(self._ends(packed) > self.bound) & (urgency < _MOST_URGENT)] *= _RAISE
            rule = rule_near(self.rng, _URGENT)

    def _repeated_flips(self, packed: I64 | None, by: str) -> Iterator[int]:
        """Turn a packing upside down while the peak falls and is near the best; yield the counts of packed buffers."""
        lowest, stalled = 0, 0
        while packed is not None and stalled < 2 and not self.is_at_bound:
            peak = self._largest_end(packed)
            # A flip gains little, so skip packings far above the best peak.
            if 2 * (peak - self.peak) > self.peak - self.bound and 200 * (peak - self.peak) > self.bound:
                return
            lowest, stalled = (peak, 0) if lowest == 0 or peak < lowest else (lowest, stalled + 1)
            packed = self._pack(self._rank_order(-self._ends(packed)), by)
            yield len(self.instance)

    def _pack(self, order: I64, by: str, best_fit: bool = False) -> I64 | None:
        """Pack in an order, report an improvement, and return each buffer's offset, or None if one does not fit."""
        packed = np.full(len(self.instance), ABSENT)
        packed[order] = self.packer.pack(0, order, best_fit)
        if (packed == ABSENT).any():
            return None
        peak = self._largest_end(packed)
        if self.best is None or peak < self.peak:
            self.best, self.peak = packed, peak
            self.take(packed, by)
        return packed

    def _ends(self, offset: I64) -> I64:
        return offset + self.instance.size

    def _largest_end(self, offset: I64) -> int:
        return int(self._ends(offset).max(initial=0))

    def _rank_order(self, rank: npt.NDArray[np.generic]) -> I64:
        order = self.traits.sorted_by("size")
        return column(order[np.argsort(rank[order], kind="stable")])

    def _noisy_rank(self, rank: I64) -> npt.NDArray[np.float64]:
        """Return the ranks with random noise, which is uniform, proportional to size, or limited to a time range."""
        kind, shake = self.rng.integers(3), _SHAKES[self.rng.integers(len(_SHAKES))]
        noise = shake * (self.rng.random(len(rank)) - self.rng.random(len(rank)))
        if kind == 0:
            noise *= 2.5 * self.peak
        elif kind == 1:
            noise *= 7.5 * self.instance.size
        else:
            n_sets = self.instance.n_live_sets
            low = self.rng.integers(max(1, n_sets))
            high = low + 1 + int(n_sets * self.rng.random() ** 3 / 2)
            noise *= 12.5 * self.peak * ((self.traits.start < high) & (self.traits.end > low))
        return rank + noise
