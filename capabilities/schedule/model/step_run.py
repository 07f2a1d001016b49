"""One step of a schedule, run visit by visit: the part of the simulator that counts time, transfers and slots."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import fsum

import numpy as np
from numpy.typing import NDArray

from memplan.capabilities.schedule.model.figures import Slot, StepFigures
from memplan.capabilities.schedule.model.graph import Alternative
from memplan.capabilities.schedule.model.step_regions import COLUMN, EVERY, FIRST, ROW, TILE, Region, StepRegions

Counts = NDArray[np.int64]
_AT_ONCE = 2**17
"""The visits that are counted at once, in some 10 MB."""


class StepRun(StepRegions):
    """One step, visit by visit."""

    def figures(self) -> StepFigures:
        """Visit the tiles in their order, and each slice of the reduction in each, and count."""
        n_slices = len(self.slices)
        tiles = np.arange(len(self.rows) * len(self.columns)) if self.step.order is None else np.array(self.step.order)
        changes = self._changes(tiles)
        work = np.zeros((FIRST | EVERY, n_slices))
        for change in set(changes.tolist()):
            work[change - 1] = [self._work(k, change) for k in range(n_slices)]
        places = np.arange(len(tiles))
        filled = {
            when: np.maximum.accumulate(np.where(changes & when != 0, places, 0)) for when in set(self.needed.values())
        }
        used, times, traffic = set[tuple[int, Region]](), list[float](), 0
        at_once, link = max(1, _AT_ONCE // n_slices), self.target.link
        for first in range(0, len(tiles), at_once):
            before = min(first, 1)  # the last tile of those before is visited once more, for what it holds
            now = places[first - before : first + at_once]
            moved = self._moved(tiles, now, filled, used)[before * n_slices :]
            times.append(fsum(np.maximum(work[changes[now[before:]] - 1].ravel(), link.time(moved))))
            traffic += int(moved.sum())
        return StepFigures(fsum(times), traffic, tuple(self._buffers(used)))

    def _changes(self, tiles: Counts) -> Counts:
        """Return what differs between each tile and the one before it."""
        rows, columns = np.diff(tiles // len(self.columns)), np.diff(tiles % len(self.columns))
        changes: Counts = np.append(FIRST, ROW * (rows != 0) | COLUMN * (columns != 0))
        return changes

    def _moved(self, tiles: Counts, now: Counts, filled: dict[int, Counts], used: set[tuple[int, Region]]) -> Counts:
        """Return the bytes of each visit of the tiles at the places `now` of their order.

        A slot keeps what it was `filled` with last, while its region is not needed. Equal slices are there once, for
        the first of the regions `used`.
        """
        wanted = []
        for key in self.outside:
            last = filled[self.needed[key]][now]
            mine = self._slices(key[1], key[0], tiles[last])
            by_tile = mine.reshape(4, len(now), -1)
            by_tile[:, last < now] = by_tile[:, last < now, -1:]
            wanted.append((key, mine))
        tile = self._slices(TILE, self.leaving[0], tiles[now])
        moved: Counts = len(self.written) * (tile[1] - tile[0]) * (tile[3] - tile[2])
        for k, (key, mine) in enumerate(wanted):
            is_there = mine[0] >= 0
            is_held = np.zeros(len(moved), np.bool_)
            for other, (beside, theirs) in enumerate(wanted):
                if beside[0] == key[0]:
                    is_held[1:] |= (mine[:, 1:] == theirs[:, :-1]).all(axis=0)
                    if other < k:
                        is_there &= (mine != theirs).any(axis=0)
            if is_there.any():
                used.add(key)
            moved += (is_there & ~is_held) * (mine[1] - mine[0]) * (mine[3] - mine[2])
        return moved

    def _slices(self, region: Region, tensor: int, tiles: Counts) -> Counts:
        """Return the first and last row, and the first and last column, of a region in each visit; -1 without one."""
        shape, found = self.graph.tensors[tensor], np.zeros((4, len(tiles), len(self.slices)), np.int64)
        places = tiles // len(self.columns), tiles % len(self.columns)
        tables, lengths = (np.array(self.rows), np.array(self.columns)), (shape.height, shape.width)
        for axis, word in enumerate(region):
            ends = found[2 * axis : 2 * axis + 2]
            if word == "tile":
                ends[:] = tables[axis][places[axis]].T[:, :, None]
            elif word == "slice":
                ends[:] = np.array(self.slices).T[:, None, :]
            else:
                ends[1] = lengths[axis]
        if region == TILE:
            found[:, :, :-1] = -1
        return found.reshape(4, -1)

    def _way(self, operation: int) -> Alternative:
        """Return how an operation is computed."""
        chosen = dict(zip(self.step.operations, self.step.alternatives, strict=False))
        return self.graph.operations[operation].ways[chosen.get(operation, 0)]

    def _work(self, k: int, change: int) -> float:
        """Return the time of the arithmetic of a tile's slice of the reduction, after a change of row or column."""
        engine, total = self.target.engine, 0.0
        length = self.slices[k][1] - self.slices[k][0]
        for o, region in self.runs:
            operation, way = self.graph.operations[o], self._way(o)
            made = self.graph.tensors[operation.output]
            if not self.needed[operation.output, region] & change:
                continue
            native = way.tile(engine.height, engine.width)
            tall, wide = -(-self.rows[0][1] // native[0]), -(-self.columns[0][1] // native[1])
            if region == TILE:
                if operation.is_product:
                    total += way.cost * tall * wide * length / self.reduction
                elif k == len(self.slices) - 1:
                    total += way.cost * tall * wide
            elif k == 0 or "slice" in region:
                whole = -(-made.height // native[0]) / made.height, -(-made.width // native[1]) / made.width
                rows = {"tile": tall, "slice": length * whole[0], "whole": -(-made.height // self.step.height) * tall}
                columns = {"tile": wide, "slice": length * whole[1], "whole": -(-made.width // self.step.width) * wide}
                total += way.cost * rows[region[0]] * columns[region[1]]
        return total

    @cached_property
    def _workspace(self) -> tuple[int, int]:
        """The most bytes beside its tensors that an operation needs, and what it makes: they run one after another."""
        found = [(self._way(o).workspace, self.graph.operations[o].output) for o in self.step.operations]
        return max(found)

    def _in_place(self, tensor: int) -> bool:
        """Return True if tiles of a tensor that is written are made where those of an input from outside lie."""
        o = self.graph.producer[tensor]
        first = self.graph.operations[o].inputs[0]
        is_alone = [reader for reader in self.graph.readers[first] if reader in self.step.operations] == [o]
        is_tile = (first, TILE) in self.outside and all(region == TILE for other, region in self.runs if other == o)
        return self._way(o).in_place and is_alone and is_tile

    def _buffers(self, used: set[tuple[int, Region]]) -> Iterator[Slot]:
        """Yield the slots of the fast memory; one whose slice changes has as many copies as the engine."""
        rounded, copies = self.target.rounded, self.target.engine.copies
        for tensor in sorted(self.resident):
            yield "resident", tensor, rounded(self.graph.tensors[tensor].size)
        for tensor in sorted(self.made & set(self.step.retained)):
            yield "retained", tensor, rounded(self.graph.tensors[tensor].size)
        for tensor, region in self.outside:
            if (tensor, region) in used:
                size, changes = self._slot(tensor, region)
                for _ in range(copies if changes else 1):
                    yield "input", tensor, rounded(size)
        workspace, maker = self._workspace
        if workspace:
            yield "workspace", maker, rounded(workspace)
        for tensor, region in self.needed:
            if tensor in self.made and tensor in self.step.rolls and region != TILE:
                strip = (region[0].replace("slice", "whole"), region[1].replace("slice", "whole"))
                yield "roll", tensor, rounded(self._slot(tensor, strip)[0])
        tile = rounded(self.rows[0][1] * self.columns[0][1])
        for tensor in sorted(self.written):
            if self._in_place(tensor):
                continue
            for _ in range(copies if len(self.rows) * len(self.columns) > 1 else 1):
                yield "output", tensor, tile
        if len(self.slices) > 1:
            for o, region in self.runs:
                made = self.graph.operations[o].output
                if region == TILE and self.graph.operations[o].is_product and made not in self.leaving:
                    yield "accumulator", made, tile

    def _slot(self, tensor: int, region: Region) -> tuple[int, bool]:
        """Return the bytes of the largest slice of a region, and whether its slices change."""
        shape, size, changes = self.graph.tensors[tensor], 1, False
        for word, tiles, length in zip(region, (self.rows, self.columns), (shape.height, shape.width), strict=True):
            parts = {"tile": tiles, "slice": self.slices, "whole": [(0, length)]}[word]
            size, changes = size * parts[0][1], changes or len(parts) > 1
        return size, changes
