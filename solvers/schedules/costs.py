"""The cost of a step in closed form, for all tilings at once: its time, traffic and peak without a simulation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memplan.planner.schedules.graph import TileGraph
from memplan.planner.schedules.target import Target
from memplan.solvers.schedules.coincidences import Visits, may_coincide
from memplan.solvers.schedules.nests import SLICE, TILE, WHOLE, Nest, Work, bits, nest_of
from memplan.solvers.schedules.tilings import Counts, Tilings

Objective = Literal["latency", "traffic"]
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class StepCost:
    """The cost of a step in its best tiling; `value` is what the objective counts of it."""

    value: float
    latency: float
    traffic: int
    peak: int
    width: int
    height: int
    depth: int
    by_rows: bool


@dataclass(frozen=True)
class _Load:
    """A region that is loaded from the slow memory; a number in `same` is shared by regions of one tensor."""

    rows: int
    columns: int
    height: int
    width: int
    same: int


class StepCosts:
    """The costs of steps of a graph on a target; those that look alike are computed once.

    Steps are given as masks: the operations of a step, the tensors that are resident when it begins, those that
    leave it, and of these those that it retains. `evaluated` counts the nests that were computed.

    Where a step needs one tensor in several regions, two slices may be the same bytes by chance: then the closed form
    is a lower bound, and the visits of a tiling are counted before it is taken.
    """

    def __init__(self, graph: TileGraph, target: Target, objective: Objective = "latency") -> None:
        self.graph, self.target, self.objective = graph, target, objective
        self.sizes = [target.rounded(tensor.size) for tensor in graph.tensors]
        self.evaluated = 0
        self._steps: dict[tuple[int, int, int, int], StepCost | None] = {}
        self._nests: dict[tuple[int, int], Nest | None] = {}
        self._alike: dict[Any, StepCost | None] = {}
        self._tilings: dict[tuple[int, int, int], Tilings] = {}

    def of(self, operations: int, resident: int, leaving: int, retained: int) -> StepCost | None:
        """Return the cost of a step; None where no tiling fits the fast memory, or there is none."""
        key = operations, resident, leaving, retained
        if key not in self._steps:
            self._steps[key] = self._found(*key)
        return self._steps[key]

    def nest(self, operations: int, leaving: int) -> Nest | None:
        """Return the nest of operations from which tensors leave."""
        key = operations, leaving
        if key not in self._nests:
            engine = self.target.engine
            self._nests[key] = nest_of(self.graph, operations, leaving, (engine.height, engine.width))
        return self._nests[key]

    def _found(self, operations: int, resident: int, leaving: int, retained: int) -> StepCost | None:
        nest = self.nest(operations, leaving)
        fixed = sum(self.sizes[t] for t in bits(resident)) + sum(self.sizes[t] for t in bits(retained))
        if nest is None or fixed > self.target.capacity:
            return None
        loads = tuple(self._loads(nest, resident))
        written = (leaving & ~retained).bit_count()
        key = nest.height, nest.width, nest.reduction, nest.work, nest.accumulators, nest.least, loads, fixed, written
        if key not in self._alike:
            self.evaluated += 1
            self._alike[key] = self._best(nest, loads, fixed, written)
        return self._alike[key]

    def _loads(self, nest: Nest, resident: int) -> Iterator[_Load]:
        held = [one for one in nest.held if not resident >> one[0] & 1]
        tensors = [tensor for tensor, _, _ in held]
        shared = {t: k for k, t in enumerate(dict.fromkeys(t for t in tensors if tensors.count(t) > 1), 1)}
        found = []
        for tensor, rows, columns in held:
            shape = self.graph.tensors[tensor]
            found.append(_Load(rows, columns, shape.height, shape.width, shared.get(tensor, 0)))
        # Of regions alike, the order does not matter; those of one tensor stay as they are.
        yield from sorted(
            found,
            key=lambda one: (
                (one.same, one.rows, one.columns, one.height, one.width) if not one.same else (one.same, 0, 0, 0, 0)
            ),
        )

    def _best(self, nest: Nest, loads: tuple[_Load, ...], fixed: int, written: int) -> StepCost | None:
        shape = nest.height, nest.width, nest.reduction
        if shape not in self._tilings:
            engine = self.target.engine
            self._tilings[shape] = Tilings.of(shape[:2], shape[2], (engine.height, engine.width))
        tilings = self._tilings[shape]
        peak = fixed + _slots(tilings, nest, loads, written, self.target)
        fits = (peak <= self.target.capacity) & (tilings.height >= nest.least[0]) & (tilings.width >= nest.least[1])
        if not fits.any():
            return None
        tilings, peak = tilings.chosen(fits), peak[fits]
        walks = [_Walk(tilings, nest, loads, written, self.target, by_rows) for by_rows in (True, False)]
        latency, traffic = (np.concatenate(column) for column in zip(*(walk.figures() for walk in walks), strict=True))
        value, other = (latency, traffic) if self.objective == "latency" else (traffic, latency)
        # Of equal ones, that with the fewest visits: each has its cost on a machine, though not in the model.
        visits = np.tile(tilings.n_rows * tilings.n_columns * tilings.n_slices, 2)
        is_open = np.tile(walks[0].is_open, 2)
        while True:
            best = int(np.lexsort((visits, other, value))[0])
            by_rows, i = best < len(peak), best % len(peak)
            if not is_open[best]:
                break
            latency[best], traffic[best] = walks[0 if by_rows else 1].counted(i)
            is_open[best] = False
        return StepCost(
            value=float(value[best]),
            latency=float(latency[best]),
            traffic=int(traffic[best]),
            peak=int(peak[i]),
            width=int(tilings.width[i]),
            height=int(tilings.height[i]),
            depth=int(tilings.depth[i]),
            by_rows=by_rows,
        )


def _extent(holds: int, whole: int, tile: Counts, depth: Counts) -> Counts:
    """Return the elements that are held of an axis."""
    return tile if holds == TILE else depth if holds == SLICE else np.full_like(tile, whole)


def _holds(tilings: Tilings, one: _Load) -> tuple[Counts, Counts]:
    """Return what is held of rows and columns in each tiling, where all of an axis in one part counts as whole."""
    rows, columns = (np.full_like(tilings.height, holds) for holds in (one.rows, one.columns))
    for holds, parts in ((rows, tilings.n_rows), (columns, tilings.n_columns)):
        holds[(holds == TILE) & (parts == 1)] = WHOLE
        holds[(holds == SLICE) & (tilings.n_slices == 1)] = WHOLE
    return rows, columns


def _kept(tilings: Tilings, loads: tuple[_Load, ...]) -> list[Counts]:
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


def _slots(tilings: Tilings, nest: Nest, loads: tuple[_Load, ...], written: int, target: Target) -> Counts:
    """Return the bytes of the slots of slices, tiles and accumulators; what is filled again has the engine's copies."""
    unit, more = target.alignment, target.engine.copies - 1
    total = np.zeros_like(tilings.height)
    for one, kept in zip(loads, _kept(tilings, loads), strict=True):
        rows, columns = _holds(tilings, one)
        size = _extent(one.rows, one.height, tilings.height, tilings.depth) * _extent(
            one.columns, one.width, tilings.width, tilings.depth
        )
        again = (rows != WHOLE) | (columns != WHOLE)
        total += kept * (-(-size // unit) * unit) * (1 + more * again)
    tile = -(-tilings.height * tilings.width // unit) * unit
    total += written * tile * (1 + more * (tilings.n_rows * tilings.n_columns > 1))
    return total + nest.accumulators * tile * (tilings.n_slices > 1)


class _Walk:
    """A walk over the tiles of a nest in all tilings, along rows or along columns."""

    def __init__(
        self, tilings: Tilings, nest: Nest, loads: tuple[_Load, ...], written: int, target: Target, by_rows: bool
    ) -> None:
        self.tilings, self.nest, self.loads, self.written = tilings, nest, loads, written
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
        for changed, height, width, count in tilings.visits(self.by_rows):
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
    def _is_entered(one: _Load, changed: str) -> bool:
        """Return True if a region that is held while tiles pass is loaded anew after a change."""
        if changed == "first":
            return True
        return (one.rows if changed == "row" else one.columns) == TILE
