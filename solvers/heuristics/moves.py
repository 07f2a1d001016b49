"""Improve the packing of one pool by packing it again and again, each time in an order learnt from the last one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memplan.planner.bounds.lower_bound import lower_bound
from memplan.planner.instance.instance import Bool, Instance
from memplan.planner.model.buffer_table import ABSENT, I64, column
from memplan.solvers.formulation.subinstance import alive_with, part_of, whole
from memplan.solvers.packing.orders import Rule, Traits, random_order, random_rule, rule_near
from memplan.solvers.packing.packer import Packer

_CORE_SHARES = (0.995, 0.98, 0.95, 0.9, 0.8)
"""A core is what is alive in a live set with at least this share of the largest load."""
_LARGEST_CORE = 0.7
"""A core with more than this share of all buffers is no easier than the whole."""
_CORE_WORK = 8
"""The work on a core before the rest is packed around it, counted in packings of the whole."""
_FIRST_CORE_WORK = 0.5
"""The first work on a core of what overflows, counted in packings of the whole; doubled whenever nothing was gained."""
_CORE_TURN = 8
"""Packings of such a core that a move may try before another one has its turn, or a core that is higher."""
_EITHER_END = (Rule(("pressure^16", "size"), "start", 2), Rule(("pressure^16", "size"), "end", 2))
"""The crowded times first, in bands of size, from one end of time and from the other."""
LARGE = 10_000
"""Problems of more buffers are left to this search alone, and a packing of one takes long."""
_CENTRE, _NEAR = Rule(("pressure^28", "size"), "start", 4), 0.7
"""So many restarts of a large problem take a rule near the best of such rules so far, the first ones near this one."""
_URGENT = replace(_CENTRE, by=("urgency", *_CENTRE.by))
_RAISE, _STALLED, _MOST_URGENT = 16.0, 6, 1e60
"""A buffer that passed the bound counts as so many times larger in the next order (decision 134), up to a limit. After
so many orders without a gain another rule is drawn."""
_CORE_RAISE, _CORE_STALLED, _RAISES_A_TURN = 2.0, 30, 32
"""A core is packed thousands of times, and learns more from smaller steps with more patience."""
_TIED_BY_TIME = frozenset({"holes", "capacity", "alignment", "pins", "ranges", "reserved"})
"""Features with which buffers that are never alive together have nothing to do with each other in one pool."""
_SHAKES = (0.0005, 0.002, 0.006, 0.02, 0.06, 0.15)


class MoveSearch:
    """The best packing of one pool so far, and moves to better it.

    Each move is an iterator, most without an end: a step packs one order and yields how many buffers that had, so the
    caller counts the work, lets moves take turns, and stops when it likes. `take` gets each better packing and the name
    of the move that found it.
    """

    def __init__(
        self, instance: Instance, flag: I64, rng: np.random.Generator, take: Callable[[I64, str], None]
    ) -> None:
        self.instance, self.flag, self.rng, self.take = instance, flag, rng, take
        self.packer = Packer(instance, flag)
        self.traits = Traits(instance)
        self.bound = int(lower_bound(instance).score[-1])
        self.best: I64 | None = None
        self.peak = 0

    @property
    def is_at_bound(self) -> bool:
        """True if nothing is left to gain."""
        return self.best is not None and self.peak <= self.bound

    def start_from(self, offset: I64) -> None:
        """Take a packing that is known already."""
        self.best, self.peak = offset, self._peak(offset)

    def forget(self) -> None:
        """Start anew, without a packing."""
        self.best = None

    def flips(self) -> Iterator[int]:
        """Turn the packing over and let it fall, again and again; shake it where that stalls."""
        current, stalled = self.best, 0
        while True:
            # After eight packings without a gain the best one is taken up again.
            if current is None or stalled % 8 == 7:
                current = self.best
            if current is None:
                order, best_fit = random_order(self.rng, self.traits)
                packed = self._pack(order, "restart", best_fit)
            else:
                # The highest end falls first: turned over, it lies at the bottom.
                rank = -self._ends(current)
                packed = self._pack(self._by_rank(self._shaken(rank) if stalled >= 3 else rank), "flip")
            stalled = 0 if packed is not None and packed is self.best else stalled + 1
            current = packed
            yield len(self.instance)

    def restarts(self, rules: tuple[Rule, ...] = ()) -> Iterator[int]:
        """Pack by some rules, if any, then by random ones and by some near the best of these; flip what comes close."""
        given, best, lowest = list(rules), _CENTRE, 0
        is_large = len(self.instance) > LARGE
        while True:
            rule = given.pop(0) if given else None
            if rule is None and is_large and self.rng.random() < _NEAR:
                rule = rule_near(self.rng, best)
            order, best_fit = (
                random_order(self.rng, self.traits) if rule is None else (rule.order(self.traits), rule.best_fit)
            )
            packed = self._pack(order, "restart", best_fit)
            if rule is not None and packed is not None and (lowest == 0 or self._peak(packed) < lowest):
                best, lowest = rule, self._peak(packed)
            yield len(self.instance)
            yield from self._fall(packed, "restart")

    def raises(self, factor: float = _RAISE, patience: int = _STALLED, is_first: bool = True) -> Iterator[int]:
        """Pack by a rule; what passed the bound goes earlier the next time, and so on (Joslin and Clements 1999).

        When that stalls another rule is drawn. Of several threads the first one begins with the usual rule.
        """
        rule, urgency = _URGENT if is_first else rule_near(self.rng, _URGENT), self.traits.urgency
        while True:
            lowest, stalled = 0, 0
            urgency[:] = 1.0
            while stalled < patience:
                packed = self._pack(rule.order(self.traits), "raise")
                yield len(self.instance)
                if packed is None:
                    break
                is_better = lowest == 0 or self._peak(packed) < lowest
                lowest, stalled = (self._peak(packed), 0) if is_better else (lowest, stalled + 1)
                urgency[(self._ends(packed) > self.bound) & (urgency < _MOST_URGENT)] *= factor
            rule = rule_near(self.rng, _URGENT)

    def cores(self) -> Iterator[int]:
        """Pack the core by itself, then the rest around it; ends at once where there is no core."""
        found = [whole(self.instance, self.traits.pressure >= share) for share in _CORE_SHARES]
        chosen = [which for which in found if 0 < which.sum() <= _LARGEST_CORE * len(which)]
        parts = [MoveSearch(part_of(self.instance, which), self.flag, self.rng, _ignored) for which in chosen]
        while parts:
            for which, core in zip(chosen, parts, strict=True):
                yield from self._around(column(np.flatnonzero(which)), core)

    def overflows(self) -> Iterator[int]:
        """Pack by itself what is alive wherever the packing passes the bound, then the rest around it, and so on.

        Where that passes the bound at other times, what is alive then joins the core. A large problem is crowded at few
        times; then its core is small, and what is gained there is gained for the whole. Ends where the core would be
        most of the problem, and where it meets the bound with others around it that do not.
        """
        kept = np.zeros(len(self.instance), dtype=np.bool_)
        cores: list[_Core] = []
        packed, work = self.best, _FIRST_CORE_WORK * len(self.instance)
        while packed is not None and not self.is_at_bound:
            crowded = whole(self.instance, kept | alive_with(self.instance, self._ends(packed) > self.bound))
            # What overflows is nearly everything, so packing it alone saves nothing.
            if crowded.sum() > _LARGEST_CORE * len(crowded):
                return
            if (crowded != kept).any():
                kept, cores = crowded, self._cores_of(crowded, packed, cores)
            peak = _highest(cores).moves.peak
            yield from _for_a_while(_core_turns(cores), work)
            if _highest(cores).moves.peak == peak:
                if _highest(cores).moves.is_at_bound:  # what is around it passes the bound, whatever the core does
                    return
                work *= 2
                continue
            members, offsets = zip(*((core.members, core.moves.best) for core in cores), strict=True)
            order = self._core_first(np.concatenate(members), np.concatenate(offsets), _EITHER_END[0])
            around = self._pack(order, "core")
            packed = packed if around is None else around
            yield len(self.instance)

    def _cores_of(self, kept: Bool, packed: I64, known: list[_Core]) -> list[_Core]:
        """Cut what is kept where none of it is alive; a core that is known already goes on."""
        inside = column(np.flatnonzero(kept))
        groups = [inside]
        if self.instance.features <= _TIED_BY_TIME:
            by_start = inside[np.argsort(self.traits.start[inside], kind="stable")]
            reached = np.maximum.accumulate(self.traits.end[by_start])
            walls = np.flatnonzero(self.traits.start[by_start][1:] >= reached[:-1]) + 1
            groups = [column(np.sort(group)) for group in np.split(by_start, walls)]
        same = {core.members.tobytes(): core for core in known}
        return [same.get(group.tobytes()) or self._core(group, packed) for group in groups]

    def _core(self, members: I64, packed: I64) -> _Core:
        kept = np.bincount(members, minlength=len(self.instance)) > 0
        moves = MoveSearch(part_of(self.instance, kept), self.flag, self.rng, _ignored)
        # The core need not lie lower than the whole can.
        moves.bound = self.bound
        moves.start_from(min((known[members] for known in (self.best, packed) if known is not None), key=moves._peak))
        return _Core(members, moves, moves._turns())

    def _turns(self) -> Iterator[int]:
        """Let raises, restarts and flips take turns until the bound is met."""
        raises, restarts, flips = self.raises(_CORE_RAISE, _CORE_STALLED), self.restarts(_EITHER_END), self.flips()
        while not self.is_at_bound:
            yield from islice(raises, _RAISES_A_TURN)
            yield from islice(restarts, _CORE_TURN)
            yield from islice(flips, _CORE_TURN)

    def _around(self, members: I64, core: MoveSearch) -> Iterator[int]:
        """Pack a core anew, and the rest around its best packing, in which the core does not change."""
        core.forget()
        left = _CORE_WORK * len(self.instance)
        for placed in core.restarts():
            yield placed
            left -= placed
            if core.is_at_bound or left <= 0:
                break
        if core.best is None or (self.best is not None and core.peak >= self.peak):
            return
        for rule in (Rule(("pressure^16", "size"), "start", 2), Rule(("size",), "start"), random_rule(self.rng)):
            packed = self._pack(self._core_first(members, core.best, rule), "core")
            yield len(self.instance)
            yield from self._fall(packed, "core")

    def _core_first(self, members: I64, offset: I64, rule: Rule) -> I64:
        """Return the order in which a core's packing does not change, with the others around it by a rule."""
        is_outside = np.bincount(members, minlength=len(self.instance)) == 0
        order = rule.order(self.traits)
        return column(np.concatenate((members[np.argsort(offset, kind="stable")], order[is_outside[order]])))

    def _fall(self, packed: I64 | None, by: str) -> Iterator[int]:
        """Flip a packing as long as that helps, where it is no farther above the best than that above the bound."""
        lowest, stalled = 0, 0
        while packed is not None and stalled < 2 and not self.is_at_bound:
            peak = self._peak(packed)
            # A flip gains little; from far above the best it does not pay.
            if 2 * (peak - self.peak) > self.peak - self.bound and 200 * (peak - self.peak) > self.bound:
                return
            lowest, stalled = (peak, 0) if lowest == 0 or peak < lowest else (lowest, stalled + 1)
            packed = self._pack(self._by_rank(-self._ends(packed)), by)
            yield len(self.instance)

    def _pack(self, order: I64, by: str, best_fit: bool = False) -> I64 | None:
        """Pack in an order; return the offsets, None if something does not fit."""
        packed = np.full(len(self.instance), ABSENT)
        packed[order] = self.packer.pack(0, order, best_fit)
        if (packed == ABSENT).any():
            return None
        peak = self._peak(packed)
        if self.best is None or peak < self.peak:
            self.best, self.peak = packed, peak
            self.take(packed, by)
        return packed

    def _ends(self, offset: I64) -> I64:
        return offset + self.instance.size

    def _peak(self, offset: I64) -> int:
        return int(self._ends(offset).max(initial=0))

    def _by_rank(self, rank: npt.NDArray[np.generic]) -> I64:
        """Return the buffers by rank, larger ones first among equals."""
        order = self.traits.sorted_by("size")
        return column(order[np.argsort(rank[order], kind="stable")])

    def _shaken(self, rank: I64) -> npt.NDArray[np.float64]:
        """Add noise to a rank: equal for all, in proportion to sizes, or in one stretch of time only."""
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


class _Core(NamedTuple):
    """Buffers that are packed by themselves, and the moves that better them, which take turns."""

    members: I64
    moves: MoveSearch
    turns: Iterator[int]


def _highest(cores: list[_Core]) -> _Core:
    return max(cores, key=lambda core: core.moves.peak)


def _core_turns(cores: list[_Core]) -> Iterator[int]:
    """Give turns to the core that is highest at the time, until all are at the bound."""
    while not _highest(cores).moves.is_at_bound:
        yield from islice(_highest(cores).turns, _CORE_TURN)


def _for_a_while(move: Iterator[int], work: float) -> Iterator[int]:
    """Take steps of a move until so many buffers are packed."""
    for placed in move:
        yield placed
        work -= placed
        if work <= 0:
            return


def _ignored(_offset: I64, _by: str) -> None:
    """Take a packing of a core, which is no plan."""
