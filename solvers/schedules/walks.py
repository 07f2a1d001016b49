"""The cost of a step in closed form, for all tilings at once: its time, traffic and peak without a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memplan.planner.schedules.target import Target
from memplan.solvers.schedules.coincidences import Visits, may_coincide
from memplan.solvers.schedules.nests import SLICE, TILE, WHOLE, Nest, Work
from memplan.solvers.schedules.tilings import MANY_VISITS, MOST_VISITS, Counts, Tilings

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class StepCost:
    """The cost of a step in its best tiling; `value` is what is summed up over steps: its time, or its traffic."""

    value: float
    latency: float
    traffic: int
    peak: int
    width: int
    height: int
    depth: int
    by_rows: bool


@dataclass(frozen=True)
class Look:
    """What the cost of a step depends on: of steps that look alike, it is the same."""

    nest: Nest
    loads: tuple[Load, ...]
    fixed: int
    written: int

    @property
    def key(self) -> Any:
        """All that the cost depends on."""
        nest = self.nest
        shape = nest.height, nest.width, nest.reduction, nest.work, nest.accumulators, nest.least
        return shape, self.loads, self.fixed, self.written


@dataclass(frozen=True)
class Load:
    """A region that is loaded from the slow memory; a number in `same` is shared by regions of one tensor."""

    rows: int
    columns: int
    height: int
    width: int
    same: int


class TiledStep:
    """A step in all tilings that fit, first walked along rows and then along columns, with the cost of each."""

    def __init__(self, look: Look, tilings: Tilings, peak: Counts, target: Target, is_traffic: bool) -> None:
        self.tilings, self.is_traffic, self.peak = tilings, is_traffic, np.tile(peak, 2)
        self.walks = [_Walk(tilings, look, target, by_rows) for by_rows in (True, False)]
        figures = zip(*(walk.figures() for walk in self.walks), strict=True)
        self.latency, self.traffic = (np.concatenate(column) for column in figures)
        self.is_open = np.tile(self.walks[0].is_open, 2)
        self.visits = np.tile(tilings.visits, 2)

    @classmethod
    def of(cls, look: Look, tilings: Tilings, target: Target, is_traffic: bool) -> TiledStep | None:
        """Return a step in the tilings that fit; None without any."""
        peak = look.fixed + _slots(tilings, look, target)
        least = look.nest.least
        fits = (peak <= target.capacity) & (tilings.height >= least[0]) & (tilings.width >= least[1])
        fits &= tilings.visits <= min(MOST_VISITS, max(MANY_VISITS, int(tilings.visits[fits].min(initial=MOST_VISITS))))
        return cls(look, tilings.chosen(fits), peak[fits], target, is_traffic) if fits.any() else None

    def best(self) -> StepCost:
        """Return the least cost."""
        while self._is_counted(best := int(self._order()[0])):
            pass
        return self._cost(best)

    def falling(self) -> tuple[StepCost, ...]:
        """Return the costs of which none with a lower peak has as little value, by falling peaks."""
        while True:
            order = self._order()
            peak = self.peak[order]
            found = order[peak < np.concatenate([peak[:1] + 1, np.minimum.accumulate(peak)[:-1]])]
            if not sum(self._is_counted(int(k)) for k in found):
                return tuple(self._cost(int(k)) for k in found)

    def _order(self) -> Counts:
        """Return all by value; of equal ones, that with the fewest visits: on a machine, each has its cost."""
        value, other = (self.traffic, self.latency) if self.is_traffic else (self.latency, self.traffic)
        order: Counts = np.lexsort((self.visits, other, value))
        return order

    def _is_counted(self, k: int) -> bool:
        """Return True if visits had to be counted for a cost, and were, as it is a lower bound no more."""
        is_open = bool(self.is_open[k])
        if is_open:
            by_columns, chosen = divmod(k, len(self.tilings.height))
            self.latency[k], self.traffic[k] = self.walks[by_columns].counted(chosen)
            self.is_open[k] = False
        return is_open

    def _cost(self, k: int) -> StepCost:
        by_columns, i = divmod(k, len(self.tilings.height))
        latency, traffic = float(self.latency[k]), int(self.traffic[k])
        return StepCost(
            value=traffic if self.is_traffic else latency,
            latency=latency,
            traffic=traffic,
            peak=int(self.peak[k]),
            width=int(self.tilings.width[i]),
            height=int(self.tilings.height[i]),
            depth=int(self.tilings.depth[i]),
            by_rows=not by_columns,
        )


def _extent(holds: int, whole: int, tile: Counts, depth: Counts) -> Counts:
    """Return the elements that are held of an axis."""
    return tile if holds == TILE else depth if holds == SLICE else np.full_like(tile, whole)


def _holds(tilings: Tilings, one: Load) -> tuple[Counts, Counts]:
    """Return what is held of rows and columns in each tiling, where all of an axis in one part counts as whole."""
    rows, columns = (np.full_like(tilings.height, holds) for holds in (one.rows, one.columns))
    for holds, parts in ((rows, tilings.n_rows), (columns, tilings.n_columns)):
        holds[(holds == TILE) & (parts == 1)] = WHOLE
        holds[(holds == SLICE) & (tilings.n_slices == 1)] = WHOLE
    return rows, columns


def _kept(tilings: Tilings, loads: tuple[Load, ...]) -> list[Counts]:
    """Return for each load 1 in the tilings in which it is none that another region of its tensor has brought."""
    found = []
    holds = [_holds(tilings, one) for one in loads]
    for k, one in enumerate(loads):
        kept = np.ones_like(tilings.height)
        for other in range(k):
            if one.same and loads[other].same == one.same:
                kept[(holds[other][0] == holds[k][0]) & (holds[other][1] == holds[k][1])] = 0
        found.append(kept)
    return found


def _slots(tilings: Tilings, look: Look, target: Target) -> Counts:
    """Return the bytes of the slots of slices, tiles and accumulators; what is filled again has the engine's copies."""
    unit, more = target.alignment, target.engine.copies - 1
    total = np.zeros_like(tilings.height)
    for one, kept in zip(look.loads, _kept(tilings, look.loads), strict=True):
        rows, columns = _holds(tilings, one)
        size = _extent(one.rows, one.height, tilings.height, tilings.depth) * _extent(
            one.columns, one.width, tilings.width, tilings.depth
        )
        again = (rows != WHOLE) | (columns != WHOLE)
        total += kept * (-(-size // unit) * unit) * (1 + more * again)
    tile = -(-tilings.height * tilings.width // unit) * unit
    total += look.written * tile * (1 + more * (tilings.n_rows * tilings.n_columns > 1))
    return total + look.nest.accumulators * tile * (tilings.n_slices > 1)


class _Walk:
    """A walk over the tiles of a nest in all tilings, along rows or along columns."""

    def __init__(self, tilings: Tilings, look: Look, target: Target, by_rows: bool) -> None:
        self.tilings, self.nest, self.written = tilings, look.nest, look.written
        self.loads = loads = look.loads
        self.target, self.by_rows = target, by_rows
        self.kept = _kept(tilings, loads)
        self.is_open = may_coincide(tilings, [_holds(tilings, one) for one in loads], [one.same for one in loads])
        if self.is_open.any():
            self.kept = [
                np.where(self.is_open, 0, kept) if one.same else kept
                for one, kept in zip(loads, self.kept, strict=True)
            ]

    def figures(self) -> tuple[Numbers, Counts]:
        """Return the time and the traffic in each tiling; where one is open, without tensors in several regions."""
        tilings, (per_element, at_first, at_last) = self.tilings, self._work()
        latency, traffic = np.zeros(len(tilings.height)), np.zeros_like(tilings.height)
        one_slice, last_depth = tilings.n_slices == 1, tilings.last[2]
        middle = np.maximum(tilings.n_slices - 2, 0)
        for changed, height, width, count in tilings.kinds(self.by_rows):
            entering = self._bytes(height, width, changed, None)
            leaving = self._bytes(height, width, None, None) + self.written * height * width
            sliced = self._bytes(height, width, None, tilings.depth)
            last = self._bytes(height, width, None, last_depth)
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
        return latency, traffic

    def counted(self, chosen: int) -> tuple[float, int]:
        """Return the time and the traffic in one tiling, visit by visit."""
        visits = Visits(self.tilings, chosen, self.by_rows)
        shares = [(one.rows, one.columns, one.same) for one in self.loads]
        moved = visits.loaded(shares, [(one.height, one.width) for one in self.loads])
        moved += self.written * visits.area * visits.is_last
        per_element, at_first, at_last = self._work()
        work = per_element[chosen] * visits.depth + at_first[chosen] * visits.is_first + at_last * visits.is_last
        return fsum(np.maximum(work, self._time(moved))), int(moved.sum())

    def _time(self, size: Counts) -> Numbers:
        link = self.target.link
        return size / link.bandwidth + link.latency * (size > 0)

    def _work(self) -> tuple[Numbers, Numbers, float]:
        """Return the arithmetic of an element of the reduction, of a tile's first slice, and of its last one."""
        tilings, engine = self.tilings, self.target.engine
        per_element, at_first, at_last = np.zeros(len(tilings.height)), np.zeros(len(tilings.height)), 0.0
        for one in self.nest.work:
            if one.rows == TILE and one.columns == TILE:
                if one.is_product:
                    per_element += one.cost / self.nest.reduction
                else:
                    at_last += one.cost
                continue
            time = one.cost * self._repeats(one)
            if SLICE in (one.rows, one.columns):
                side, native = (one.height, engine.height) if one.rows == SLICE else (one.width, engine.width)
                per_element += time * -(-side // native) / side
            else:
                at_first += time
        return per_element, at_first, at_last

    def _repeats(self, one: Work) -> Numbers:
        """Return how many tiles the whole axes of an output take."""
        rows = -(-one.height // self.tilings.height) if one.rows == WHOLE else 1
        columns = -(-one.width // self.tilings.width) if one.columns == WHOLE else 1
        return np.ones(len(self.tilings.height)) * rows * columns

    def _bytes(self, height: Counts, width: Counts, changed: str | None, depth: Counts | None) -> Counts:
        """Return the bytes that are loaded: with `depth`, those of a slice of the reduction of that depth.

        Without, those of tiles as such: with `changed`, where a tile is entered after that change; else at its end.
        """
        total = np.zeros_like(height)
        for one, kept in zip(self.loads, self.kept, strict=True):
            is_sliced = SLICE in (one.rows, one.columns)
            is_tile = one.rows == TILE and one.columns == TILE
            size = kept * _extent(one.rows, one.height, height, self.tilings.depth if depth is None else depth)
            size = size * _extent(one.columns, one.width, width, self.tilings.depth if depth is None else depth)
            if depth is not None:
                if is_sliced:
                    total += size
                continue
            if changed is None:
                if is_tile:
                    total += size
                continue
            if is_tile:
                continue
            wanted = self._is_entered(one, changed)
            total += size * (wanted if not is_sliced else wanted & (self.tilings.n_slices == 1))
        return total

    @staticmethod
    def _is_entered(one: Load, changed: str) -> bool:
        """Return True if a region that is held while tiles pass is loaded anew after a change."""
        if changed == "first":
            return True
        return (one.rows if changed == "row" else one.columns) == TILE
