"""Steps that need one tensor in several regions, whose slices may be the same bytes: loads, visit by visit.

A slice is loaded when it is none of those of the visit before, whichever region that one was for. The closed form knows
of no such chance; here are the tilings that have one, and the loads of a tiling, counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memplan.capabilities.schedule.search.nests import COLUMN, ROW, SLICE, TILE
from memplan.capabilities.schedule.search.tilings import Counts, Tilings

Holds = tuple[Counts, Counts, Counts]
"""The holds of rows and of columns in each tiling, and the tiles that need slices of it."""


@dataclass(frozen=True)
class Load:
    """A region that is loaded from the slow memory; a number in `same` is shared by regions of one tensor, or 0.

    `when` are the tiles that need it; for others, its slot keeps what it holds.
    """

    rows: int
    columns: int
    height: int
    width: int
    same: int
    when: int


def may_coincide(tilings: Tilings, holds: list[Holds], loads: Sequence[Load]) -> NDArray[np.bool_]:
    """Return the tilings in which slices of two regions of one tensor may be the same bytes, though not always."""
    found = np.zeros(len(tilings.height), np.bool_)
    for k, mine in enumerate(holds):
        for other, theirs in enumerate(holds[:k]):
            if not loads[k].same or loads[other].same != loads[k].same:
                continue
            alike = [_alike(tilings, axis, mine[axis], theirs[axis]) for axis in (0, 1)]
            always = np.equal(mine, theirs).all(axis=0)
            found |= alike[0] & alike[1] & ~always
    return found


def _alike(tilings: Tilings, axis: int, mine: Counts, theirs: Counts) -> NDArray[np.bool_]:
    """Return where a part of an axis that one region holds may be a part that another one holds."""
    side, last = (tilings.height, tilings.width)[axis], tilings.last[axis]
    parts = (side == tilings.depth) | (last == tilings.last[2])
    crossed = ((mine == TILE) & (theirs == SLICE)) | ((mine == SLICE) & (theirs == TILE))
    alike: NDArray[np.bool_] = (crossed & parts) | (mine == theirs)
    return alike


class Visits:
    """The visits of a walk in one tiling, in their order: the row and column of the tile, and the slice."""

    def __init__(self, tilings: Tilings, chosen: int, by_rows: bool) -> None:
        rows, columns, slices = (int(n[chosen]) for n in (tilings.n_rows, tilings.n_columns, tilings.n_slices))
        lines, places = (rows, columns) if by_rows else (columns, rows)
        line, place = np.repeat(np.arange(lines), places), np.tile(np.arange(places), lines)
        place = np.where(line % 2 == 1, places - 1 - place, place)
        tile_at = (line, place) if by_rows else (place, line)
        row, column = (np.repeat(each, slices) for each in tile_at)
        moved = np.diff(tile_at[0], prepend=tile_at[0][0]) != 0
        self.change = np.repeat(np.where(moved, ROW, COLUMN), slices)
        """The change of row or column by which the tile of each visit was entered; 0 for the first."""
        self.change[:slices] = 0
        self.slice = np.tile(np.arange(slices), rows * columns)
        self.is_first, self.is_last = self.slice == 0, self.slice == slices - 1
        sides = (int(side[chosen]) for side in (tilings.height, tilings.width, tilings.depth))
        lengths = (*tilings.grid, tilings.reduction)
        self._parts = [
            (at * side, np.minimum((at + 1) * side, length))
            for at, side, length in zip((row, column, self.slice), sides, lengths, strict=True)
        ]

    @property
    def depth(self) -> Counts:
        """The elements of the slice of each visit."""
        depth: Counts = self._parts[2][1] - self._parts[2][0]
        return depth

    @property
    def area(self) -> Counts:
        """The elements of the tile of each visit."""
        (top, bottom), (left, right), _ = self._parts
        area: Counts = (bottom - top) * (right - left)
        return area

    def loaded(self, loads: Sequence[Load]) -> Counts:
        """Return the bytes that each visit loads of regions."""
        slices = [self._slices(load) for load in loads]
        total = np.zeros_like(self.slice)
        for k, mine in enumerate(slices):
            is_new = mine[0] >= 0
            for other, theirs in enumerate(slices):
                if other != k and not (loads[k].same and loads[k].same == loads[other].same):
                    continue
                is_new[1:] &= (mine[:, 1:] != theirs[:, :-1]).any(axis=0)
                if other < k:
                    is_new &= (mine != theirs).any(axis=0)
            total += is_new * (mine[1] - mine[0]) * (mine[3] - mine[2])
        return total

    def _slices(self, load: Load) -> Counts:
        """Return the first and last rows and columns of a region in each visit; those of none where it has none."""
        found, shape = np.zeros((4, len(self.slice)), np.int64), (load.height, load.width)
        for axis, holds in enumerate((load.rows, load.columns)):
            first, last = self._parts[axis] if holds == TILE else self._parts[2]
            if holds in (TILE, SLICE):
                found[2 * axis], found[2 * axis + 1] = first, last
            else:
                found[2 * axis + 1] = shape[axis]
        if load.rows == TILE and load.columns == TILE:
            found[:, ~self.is_last] = -1
        is_needed = (self.change == 0) | (self.change & load.when != 0)
        return found[:, np.maximum.accumulate(np.where(is_needed, np.arange(len(is_needed)), 0))]
