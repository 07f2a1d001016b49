"""The cost of a step in closed form for all tilings at once: time, traffic and peak without simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memplan.capabilities.schedule.form import StepFigures, Target
from memplan_tile.graph import Alternative
from memplan_tile.search.nests import COLUMN, EVERY, ROW, SLICE, TILE, WHOLE, Nest, Work
from memplan_tile.search.tilings import (
    MANY_VISITS,
    MOST_VISITS,
    Counts,
    Holds,
    Load,
    Tilings,
    may_coincide,
)

Numbers = NDArray[np.float64]
_CHANGES = {"first": 0, "row": ROW, "column": COLUMN}
"""The change by which a tile is entered, as the tiles of a region have it."""


@dataclass(frozen=True)
class StepCost:
    """The cost of a step in its best tiling; `value` is the objective that schedules sum up: time or traffic.

    `look` is the position of one of its looks: of the ways to compute it, and to keep what it makes.
    """

    value: float
    latency: float
    traffic: int
    peak: int
    width: int
    height: int
    depth: int
    by_rows: bool
    look: int


@dataclass(frozen=True)
class Look:
    """Everything that determines the cost of a step; steps with equal keys have equal costs.

    `ways` are how each work of the nest is done, `in_place` counts tiles that are written and made where a tile of an
    input lies.
    """

    nest: Nest
    loads: tuple[Load, ...]
    fixed: int
    written: int
    ways: tuple[Alternative, ...]
    in_place: int


class TiledStep:
    """All variants of a step in all tilings that fit, walked along rows and along columns, with their costs."""

    def __init__(self, walks: list[_Walk], is_traffic: bool, run: Callable[[StepCost], StepFigures]) -> None:
        self.walks, self.is_traffic, self.run = walks, is_traffic, run
        figures = zip(*(walk.figures() for walk in walks), strict=True)
        self.latency, self.traffic = (np.concatenate(column) for column in figures)
        self.peak = np.concatenate([walk.peak for walk in walks])
        self.is_open = np.concatenate([walk.is_open for walk in walks])
        self.visits = np.concatenate([walk.tilings.visits for walk in walks])
        self.ends = np.cumsum([len(walk.peak) for walk in walks])

    @classmethod
    def of(
        cls,
        looks: Sequence[Look],
        tilings: Tilings,
        target: Target,
        is_traffic: bool,
        run: Callable[[StepCost], StepFigures],
        *,
        is_shared: bool = False,
    ) -> TiledStep | None:
        """Return a step with the tilings that fit, which `run` simulates; None if no tiling fits.

        Where slots are shared, regions need none whose slices may be the same bytes as those of another one.
        """
        walks = []
        for k, look in enumerate(looks):
            peak, least = look.fixed + _slots(tilings, look, target, is_shared), look.nest.least
            fits = (peak <= target.capacity) & (tilings.height >= least[0]) & (tilings.width >= least[1])
            fewest = int(tilings.visits[fits].min(initial=MOST_VISITS))
            fits &= tilings.visits <= min(MOST_VISITS, max(MANY_VISITS, fewest))
            if fits.any():
                chosen = tilings.chosen(fits)
                walks += [_Walk(chosen, look, target, by_rows, k, peak[fits]) for by_rows in (True, False)]
        return cls(walks, is_traffic, run) if walks else None

    def best(self) -> StepCost:
        """Return the least cost of all tilings."""
        while self._is_counted(best := int(self._order()[0])):
            pass
        return self._cost(best)

    def least(self) -> float:
        """Return a lower bound on all costs, without counting visits."""
        return float((self.traffic if self.is_traffic else self.latency).min())

    def falling(self) -> tuple[StepCost, ...]:
        """Return the undominated costs in value and peak, by falling peaks."""
        while True:
            order = self._order()
            peak = self.peak[order]
            by_peak = order[peak < np.concatenate([peak[:1] + 1, np.minimum.accumulate(peak)[:-1]])]
            if not sum(self._is_counted(int(k)) for k in by_peak):
                return tuple(self._cost(int(k)) for k in by_peak)

    def _order(self) -> Counts:
        """Return all tilings by value; equal values go by the fewest visits, as each visit costs time on a machine."""
        value, other = (self.traffic, self.latency) if self.is_traffic else (self.latency, self.traffic)
        order: Counts = np.lexsort((self.visits, other, value))
        return order

    def _is_counted(self, k: int) -> bool:
        """Make a cost exact if it is a lower bound, by counting visits; return True if it was one."""
        is_open = bool(self.is_open[k])
        if is_open:
            figures = self.run(self._cost(k))
            self.latency[k], self.traffic[k] = figures.latency, figures.traffic
            self.is_open[k] = False
        return is_open

    def _cost(self, k: int) -> StepCost:
        place = int(np.searchsorted(self.ends, k, "right"))
        walk = self.walks[place]
        i = k - int(self.ends[place]) + len(walk.peak)
        latency, traffic = float(self.latency[k]), int(self.traffic[k])
        return StepCost(
            value=traffic if self.is_traffic else latency,
            latency=latency,
            traffic=traffic,
            peak=int(self.peak[k]),
            width=int(walk.tilings.width[i]),
            height=int(walk.tilings.height[i]),
            depth=int(walk.tilings.depth[i]),
            by_rows=walk.by_rows,
            look=walk.place,
        )


def _extent(holds: int, whole: int, tile: Counts, depth: Counts | int) -> Counts:
    """Return the number of elements of an axis that are held."""
    return tile if holds == TILE else np.full_like(tile, depth if holds == SLICE else whole)


def _holds(tilings: Tilings, one: Load) -> Holds:
    """Return the held rows and columns in each tiling; an axis in one part counts as whole.

    So it is the same in all tiles that need it; a slice is another one where not all tiles do.
    """
    rows, columns = (np.full_like(tilings.height, holds) for holds in (one.rows, one.columns))
    for holds, parts in ((rows, tilings.n_rows), (columns, tilings.n_columns)):
        holds[(holds == TILE) & (parts == 1)] = WHOLE
        holds[(holds == SLICE) & (tilings.n_slices == 1)] = WHOLE
    moves = ROW * (tilings.n_rows > 1) | COLUMN * (tilings.n_columns > 1)
    return rows, columns, np.where((rows == SLICE) | (columns == SLICE), one.when & moves, 0)


def _kept(tilings: Tilings, loads: tuple[Load, ...], is_shared: bool) -> tuple[list[Counts], NDArray[np.bool_]]:
    """Return 1 for each load and tiling unless another region of the tensor has already loaded the same bytes.

    Where slices are shared, it is 0 for tensors that have several regions, in tilings in which slices may be the same
    bytes; these tilings come second.
    """
    slots = []
    holds = [_holds(tilings, one) for one in loads]
    is_open = may_coincide(tilings, holds, loads)
    for k, one in enumerate(loads):
        is_kept = np.ones_like(tilings.height)
        for other in range(k):
            if one.same and loads[other].same == one.same:
                is_kept[np.equal(holds[other], holds[k]).all(axis=0)] = 0
        slots.append(np.where(is_open, 0, is_kept) if one.same and is_shared else is_kept)
    return slots, is_open


def _slots(tilings: Tilings, look: Look, target: Target, is_shared: bool) -> Counts:
    """Return the bytes of the slots for slices, tiles and accumulators; refilled slots are buffered several times."""
    unit, more = target.alignment, target.engine.copies - 1
    total = np.zeros_like(tilings.height)
    for one, is_kept in zip(look.loads, _kept(tilings, look.loads, is_shared)[0], strict=True):
        rows, columns, _ = _holds(tilings, one)
        size = _extent(one.rows, one.height, tilings.height, tilings.depth) * _extent(
            one.columns, one.width, tilings.width, tilings.depth
        )
        again = (rows != WHOLE) | (columns != WHOLE)
        total += is_kept * (-(-size // unit) * unit) * (1 + more * again)
    tile = -(-tilings.height * tilings.width // unit) * unit
    total += (look.written - look.in_place) * tile * (1 + more * (tilings.n_rows * tilings.n_columns > 1))
    for work in look.nest.work:
        if work.rolls:
            rows = _extent(work.rows, work.height, tilings.height, work.height)
            total += -(-rows * _extent(work.columns, work.width, tilings.width, work.width) // unit) * unit
    total += -(-max(way.workspace for way in look.ways) // unit) * unit
    return total + look.nest.accumulators * tile * (tilings.n_slices > 1)


class _Walk:
    """A walk over the tiles of a nest in all tilings, along rows or along columns, with the peak of each.

    `place` is the position of `look` among the looks of its step.
    """

    def __init__(self, tilings: Tilings, look: Look, target: Target, by_rows: bool, place: int, peak: Counts) -> None:
        self.tilings, self.look, self.nest, self.written = tilings, look, look.nest, look.written
        self.loads = loads = look.loads
        self.target, self.by_rows, self.place, self.peak = target, by_rows, place, peak
        self.kept, self.is_open = _kept(tilings, loads, is_shared=True)

    def figures(self) -> tuple[Numbers, Counts]:
        """Return the time and traffic in each tiling; undecided ones count a tensor of several regions once."""
        tilings = self.tilings
        latency, traffic = np.zeros(len(tilings.height)), np.zeros_like(tilings.height)
        one_slice, last_depth = tilings.n_slices == 1, tilings.last[2]
        middle = np.maximum(tilings.n_slices - 2, 0)
        first, is_alike = self._work(0), all(one.when == EVERY for one in self.nest.work)
        for changed, height, width, count in tilings.kinds(self.by_rows):
            per_element, at_first, at_last = first if is_alike else self._work(_CHANGES[changed])
            entering = self._bytes(height, width, changed)
            leaving = self._bytes(height, width, "end") + self.written * height * width
            sliced = self._bytes(height, width, changed, tilings.depth)
            last = self._bytes(height, width, changed, last_depth)
            work = per_element * tilings.depth
            alone = np.maximum(work + at_first + at_last, self._time(entering + leaving))
            several = (
                np.maximum(work + at_first, self._time(entering + sliced))
                + middle * np.maximum(work, self._time(sliced))
                + np.maximum(per_element * last_depth + at_last, self._time(last + leaving))
            )
            latency += count * np.where(one_slice, alone, several)
            moved = entering + leaving + np.where(one_slice, 0, sliced * (1 + middle) + last)
            traffic += count * moved
        if self.is_open.any():
            once = {one.same: one.height * one.width for one in self.loads if one.same}
            traffic += self.is_open * sum(once.values())
            latency = np.maximum(latency, self.is_open * traffic / self.target.link.bandwidth)
        return latency, traffic

    def _time(self, size: Counts) -> Numbers:
        times: Numbers = self.target.link.time(size)
        return times

    def _work(self, change: int) -> tuple[Numbers, Numbers, Numbers]:
        """Return the arithmetic for an element of the reduction, for the first slice of a tile, and for its last slice.

        It is that of tiles after a `change` of row or column; 0 is the first one, which needs everything.
        """
        tilings, engine = self.tilings, self.target.engine
        per_element, at_first, at_last = (np.zeros(len(tilings.height)) for _ in range(3))
        for one, way in zip(self.nest.work, self.look.ways, strict=True):
            if change and not one.when & change:
                continue
            native = way.tile(engine.height, engine.width)
            time = way.cost * self._repeats(one, native)
            if SLICE in (one.rows, one.columns):
                side, most = (one.height, native[0]) if one.rows == SLICE else (one.width, native[1])
                per_element += time * -(-side // most) / side
            elif one.rows != TILE or one.columns != TILE:
                at_first += time
            elif one.is_product:
                per_element += time / self.nest.reduction
            else:
                at_last += time
        return per_element, at_first, at_last

    def _repeats(self, one: Work, native: tuple[int, int]) -> Numbers:
        """Return how many native tiles the tiles of an output take, those of a slice of its reduction apart."""
        repeats = np.ones(len(self.tilings.height))
        sides = (one.rows, self.tilings.height, one.height), (one.columns, self.tilings.width, one.width)
        for (holds, tile, whole), most in zip(sides, native, strict=True):
            if holds != SLICE:
                repeats *= -(-tile // most) * (-(-whole // tile) if holds == WHOLE else 1)
        return repeats

    def _bytes(self, height: Counts, width: Counts, changed: str, depth: Counts | None = None) -> Counts:
        """Return the bytes loaded for a tile entered after a change; with "end", those loaded at its end.

        With `depth`, they are those of a slice of the reduction of that depth.
        """
        total, deep = np.zeros_like(height), self.tilings.depth if depth is None else depth
        for one, is_kept in zip(self.loads, self.kept, strict=True):
            is_sliced, is_tile = SLICE in (one.rows, one.columns), one.rows == one.columns == TILE
            if depth is not None:
                is_loaded = is_sliced and (changed == "first" or one.when & _CHANGES[changed] > 0)
            elif changed == "end" or is_tile:
                is_loaded = is_tile and changed == "end"
            else:
                is_loaded = changed == "first" or (one.rows if changed == "row" else one.columns) == TILE
            if is_loaded:
                size = is_kept * _extent(one.rows, one.height, height, deep)
                size = size * _extent(one.columns, one.width, width, deep)
                total += size * (self.tilings.n_slices == 1) if is_sliced and depth is None else size
        return total
