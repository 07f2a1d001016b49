"""One step of a schedule, run visit by visit to count its time, transfers and slots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import fsum

import numpy as np
from numpy.typing import NDArray

from memplan.capabilities.schedule.form import Slot, StepFigures, Target
from memplan_tile.graph import Alternative, ScheduleStep, TileGraph

Region = tuple[str, str]
"""Rows and columns of a tensor that a tile needs: `tile`, those of the tile; `slice`, of the reduction; or `whole`."""
TILE: Region = ("tile", "tile")
ROW, COLUMN, FIRST = 1, 2, 4
EVERY = ROW | COLUMN
"""Differences of a tile from the one before it: in its row, its column or either; the first has none before it."""
Counts = NDArray[np.int64]
_AT_ONCE = 2**17
"""The visits that are counted at once, in some 10 MB."""


@dataclass(frozen=True, eq=False)
class StepRun:
    """One step with the tensors in the fast memory at its start, and those that it writes.

    Its needs are regions of its tensors, from what leaves it back; it is run visit by visit.
    """

    graph: TileGraph
    target: Target
    step: ScheduleStep
    resident: frozenset[int]
    written: frozenset[int]

    @cached_property
    def made(self) -> frozenset[int]:
        """The tensors that the step makes."""
        return frozenset(self.graph.operations[o].output for o in self.step.operations)

    @cached_property
    def leaving(self) -> list[int]:
        """The tensors that outlive the step; there is at least one."""
        return sorted(self.written | self.made & set(self.step.retained))

    @cached_property
    def needed(self) -> dict[tuple[int, Region], int]:
        """Every tensor with each region that a tile of the leaving tensors needs, from the outputs back.

        Each has the changes of row and column after which it is: what makes a roll runs only where the roll moves.
        """
        regions: dict[tuple[int, Region], int] = {}
        waiting = [(tensor, TILE, FIRST | EVERY) for tensor in self.leaving]
        while waiting:
            tensor, region, when = waiting.pop()
            if tensor in self.step.rolls and region != TILE:
                when &= FIRST | ROW * (region[0] == "tile") | COLUMN * (region[1] == "tile")
            least = regions.get((tensor, region), 0)
            if least | when == least:
                continue
            when |= least
            regions[tensor, region] = when
            if tensor not in self.made:
                continue
            operation = self.graph.operations[self.graph.producer[tensor]]
            if operation.is_product:
                along = "slice" if region == TILE else "whole"
                left, right = operation.inputs
                waiting += [(left, (region[0], along), when), (right, (along, region[1]), when)]
            else:
                waiting += [(read, region, when) for read in operation.inputs]
        return regions

    @cached_property
    def runs(self) -> list[tuple[int, Region]]:
        """Every operation with each computed region of its output."""
        return [(self.graph.producer[t], region) for t, region in self.needed if t in self.made]

    @cached_property
    def reductions(self) -> set[int]:
        """The lengths of the axes that the step's products sum up slice by slice."""
        of_tiles = [o for o, region in self.runs if region == TILE and self.graph.operations[o].is_product]
        return {self.graph.reduction(o) for o in of_tiles}

    @property
    def reduction(self) -> int:
        """The length of the axis that is reduced slice by slice; 1 without such an axis."""
        return max(self.reductions, default=1)

    @property
    def depth(self) -> int:
        """The number of elements in a slice of the reduction."""
        return self.step.depth if self.reductions else 1

    @cached_property
    def shape(self) -> tuple[int, int]:
        """The rows and columns of the tensors that leave the step."""
        first = self.graph.tensors[self.leaving[0]]
        return first.height, first.width

    @cached_property
    def rows(self) -> list[tuple[int, int]]:
        """The height of each row of tiles."""
        return _intervals(self.shape[0], self.step.height)

    @cached_property
    def columns(self) -> list[tuple[int, int]]:
        """The width of each column of tiles."""
        return _intervals(self.shape[1], self.step.width)

    @cached_property
    def slices(self) -> list[tuple[int, int]]:
        """The elements of each slice of the reduction."""
        return _intervals(self.reduction, self.depth)

    def violations(self) -> Iterator[str]:
        """Yield the rules that the step breaks."""
        engine, step, tensors = self.target.engine, self.step, self.graph.tensors
        if step.width > engine.width or step.height > engine.height:
            yield f"tile must be at most the native {engine.width} x {engine.height}, got {step.width} x {step.height}"
        if any((tensors[t].height, tensors[t].width) != self.shape for t in self.leaving):
            yield f"what leaves must have one shape, got tensors {self.leaving}"
        if len(self.reductions) > 1:
            yield f"products of a tile must sum up equally many elements, got {sorted(self.reductions)}"
        if self.reductions and step.depth > min(engine.width, engine.height, self.reduction):
            yield f"depth must be at most the native tile and the reduction, got {step.depth}"
        if step.order is not None and sorted(step.order) != list(range(len(self.rows) * len(self.columns))):
            yield "order must have every tile once"
        if not self._is_connected():
            yield "operations must be connected by tensors"
        for o, region in self.runs:
            operation, made = self.graph.operations[o], tensors[self.graph.operations[o].output]
            if region == TILE:
                if (made.height, made.width) != self.shape:
                    yield f"operation {o} must have the shape of what leaves"
            elif not operation.is_product:
                tall = region[0] != "tile" and made.height > step.height
                if tall or (region[1] != "tile" and made.width > step.width):
                    yield f"operation {o} must fit a tile along the reduction that reads it"

    def _is_connected(self) -> bool:
        """Return True if operations are connected by tensors that they make, read, or both read."""
        touched = {o: {*self.graph.operations[o].inputs, self.graph.operations[o].output} for o in self.step.operations}
        first, *rest = touched
        reached, waiting = set(touched[first]), set(rest)
        while grown := {o for o in waiting if touched[o] & reached}:
            waiting -= grown
            reached = reached.union(*(touched[o] for o in grown))
        return not waiting

    @cached_property
    def outside(self) -> list[tuple[int, Region]]:
        """The loaded tensors with their regions; those of the reduction precede those of a tile's end."""
        outside = [one for one in self.needed if one[0] not in self.made and one[0] not in self.resident]
        return sorted(outside, key=lambda one: (one[1] == TILE, one))

    def figures(self) -> StepFigures:
        """Visit the tiles in order, and each reduction slice in them, and count time and traffic."""
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
        """Return the bytes transferred in each visit of the tiles at the positions `now`.

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
        shape, counts = self.graph.tensors[tensor], np.zeros((4, len(tiles), len(self.slices)), np.int64)
        places = tiles // len(self.columns), tiles % len(self.columns)
        tables, lengths = (np.array(self.rows), np.array(self.columns)), (shape.height, shape.width)
        for axis, word in enumerate(region):
            ends = counts[2 * axis : 2 * axis + 2]
            if word == "tile":
                ends[:] = tables[axis][places[axis]].T[:, :, None]
            elif word == "slice":
                ends[:] = np.array(self.slices).T[:, None, :]
            else:
                ends[1] = lengths[axis]
        if region == TILE:
            counts[:, :, :-1] = -1
        return counts.reshape(4, -1)

    def _way(self, operation: int) -> Alternative:
        """Return the way in which an operation is computed."""
        chosen = dict(zip(self.step.operations, self.step.alternatives, strict=False))
        return self.graph.operations[operation].ways[chosen.get(operation, 0)]

    def _work(self, k: int, change: int) -> float:
        """Return the time of a tile's arithmetic in one reduction slice, after a change of row or column."""
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
        """The most bytes that an operation needs besides its tensors; operations of a step run one after another."""
        spaces = [(self._way(o).workspace, self.graph.operations[o].output) for o in self.step.operations]
        return max(spaces)

    def _in_place(self, tensor: int) -> bool:
        """Return True if the step writes the tiles of a tensor over those of an input from outside."""
        o = self.graph.producer[tensor]
        first = self.graph.operations[o].inputs[0]
        is_alone = [reader for reader in self.graph.readers[first] if reader in self.step.operations] == [o]
        is_tile = (first, TILE) in self.outside and all(region == TILE for other, region in self.runs if other == o)
        return self._way(o).in_place and is_alone and is_tile

    def _buffers(self, used: set[tuple[int, Region]]) -> Iterator[Slot]:
        """Yield the slots in the fast memory; slots that are refilled have as many copies as the engine buffers."""
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


def _intervals(length: int, size: int) -> list[tuple[int, int]]:
    """Return the half-open parts of a length, all but the last of the same size."""
    return list(pairwise([*range(0, length, size), length]))
