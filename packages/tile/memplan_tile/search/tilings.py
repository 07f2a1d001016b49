"""Tilings: candidate sizes of tiles and slices, and the number of row and column changes of a walk.

If a step needs several regions of one tensor, their slices may be the same bytes. A slice is loaded only if no region
had it at the visit before. The closed form does not count that; this module finds the tilings in which it may happen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from memplan_tile.search.nests import SLICE, TILE

Counts = NDArray[np.int64]
MANY_VISITS, MOST_VISITS = 2**17, 2**20
"""The visits of a step above which tiles are tried only where no larger ones fit, and the most of all.

Each visit of steps whose slices may be the same bytes is simulated.
"""
Holds = tuple[Counts, Counts, Counts]
"""The holds of rows and of columns in each tiling, and the tiles that need slices of it."""


def sizes(length: int, native: int) -> list[int]:
    """Return candidate sizes for parts of a length: powers of two up to the native size, and the largest that fits."""
    most = min(length, native)
    return sorted({most} | {2**i for i in range(most.bit_length()) if 2**i <= most})


@dataclass(frozen=True, eq=False)
class Tilings:
    """All tilings of a grid as columns: the sides of a tile, and the depth of a slice of the reduction."""

    grid: tuple[int, int]
    reduction: int
    height: Counts
    width: Counts
    depth: Counts

    @classmethod
    def of(cls, grid: tuple[int, int], reduction: int, native: tuple[int, int]) -> Tilings:
        """Return the tilings of some rows and columns by tiles no larger than the native one."""
        axes = sizes(grid[0], native[0]), sizes(grid[1], native[1]), sizes(reduction, min(native))
        height, width, depth = (axis.ravel() for axis in np.meshgrid(*map(np.array, axes), indexing="ij"))
        return cls(grid, reduction, height, width, depth)

    @cached_property
    def visits(self) -> Counts:
        """The total number of slices in all tiles."""
        return self.n_rows * self.n_columns * self.n_slices

    def chosen(self, where: NDArray[np.bool_]) -> Tilings:
        """Return a selection of the tilings."""
        return Tilings(self.grid, self.reduction, self.height[where], self.width[where], self.depth[where])

    @cached_property
    def n_rows(self) -> Counts:
        """The rows of tiles."""
        return -(-self.grid[0] // self.height)

    @cached_property
    def n_columns(self) -> Counts:
        """The columns of tiles."""
        return -(-self.grid[1] // self.width)

    @cached_property
    def n_slices(self) -> Counts:
        """The slices of the reduction."""
        return -(-self.reduction // self.depth)

    @cached_property
    def last(self) -> tuple[Counts, Counts, Counts]:
        """The height of the last row of tiles, the width of the last column, and the depth of the last slice."""
        return (
            self.grid[0] - (self.n_rows - 1) * self.height,
            self.grid[1] - (self.n_columns - 1) * self.width,
            self.reduction - (self.n_slices - 1) * self.depth,
        )

    @cached_property
    def is_even(self) -> bool:
        """True if each tiling has tiles of equal sides only."""
        return bool((self.last[0] == self.height).all() and (self.last[1] == self.width).all())

    def kinds(self, by_rows: bool) -> list[tuple[str, Counts, Counts, Counts]]:
        """Return the kinds of tiles in a walk: what changed, their sides, and their number.

        A walk goes through the first line of tiles, comes back through the second, and so on; lines are rows, or
        columns. `changed` is "first" for the first tile, "column" where only the column changed, or "row".
        """
        lines, places = (self.n_rows, self.n_columns) if by_rows else (self.n_columns, self.n_rows)
        kinds = [
            (changed, is_last_line, is_last_place, count)
            for changed, is_last_line, is_last_place, count in _walk(lines, places)
            if count.any()
        ]
        along, across = ("column", "row") if by_rows else ("row", "column")
        words = {"first": "first", "along": along, "across": across}
        if self.is_even:
            totals: dict[str, Counts] = {}
            for changed, _, _, count in kinds:
                totals[words[changed]] = totals.get(words[changed], 0) + count
            return [(word, self.height, self.width, count) for word, count in totals.items()]
        rows = []
        for changed, is_last_line, is_last_place, count in kinds:
            is_last_row, is_last_column = (is_last_line, is_last_place) if by_rows else (is_last_place, is_last_line)
            height = self.last[0] if is_last_row else self.height
            width = self.last[1] if is_last_column else self.width
            rows.append((words[changed], height, width, count))
        return rows


def _walk(lines: Counts, places: Counts) -> list[tuple[str, bool, bool, Counts]]:
    """Return the number of tiles of each kind in a walk: what changed, in the last line or not, at the end or not."""
    one = np.ones_like(lines)
    full = lines - 1  # lines before the last one
    ahead, back = (full + 1) // 2, full // 2  # of these, those from the first place on, and those from the last
    last_ahead = one - full % 2
    more = (places > 1).astype(np.int64)
    steps = []
    for is_last_line, from_first, from_last in ((False, ahead, back), (True, last_ahead, 1 - last_ahead)):
        steps.append(("along", is_last_line, True, from_first * more))
        steps.append(("along", is_last_line, False, from_first * (places - 2) * more + from_last * (places - 1) * more))
        # A line is entered at its first place if it is walked ahead; that is the last place, too, where it is the only.
        entered = from_first - ((full == 0) == is_last_line).astype(np.int64)
        steps.append(("across", is_last_line, True, from_last + entered * (1 - more)))
        steps.append(("across", is_last_line, False, entered * more))
    for is_last_line in (False, True):
        for is_last_place in (False, True):
            here = ((full == 0) == is_last_line) & ((more == 0) == is_last_place)
            steps.append(("first", is_last_line, is_last_place, here.astype(np.int64)))
    return steps


@dataclass(frozen=True)
class Load:
    """A region loaded from the slow memory; regions of one tensor have the same positive number in `same`.

    `when` are the tiles that need it; for others, its slot keeps what it holds.
    """

    rows: int
    columns: int
    height: int
    width: int
    same: int
    when: int


def may_coincide(tilings: Tilings, holds: list[Holds], loads: Sequence[Load]) -> NDArray[np.bool_]:
    """Return the tilings in which slices of two regions of one tensor may, but need not, be the same bytes."""
    is_equal = np.zeros(len(tilings.height), np.bool_)
    for k, mine in enumerate(holds):
        for other, theirs in enumerate(holds[:k]):
            if not loads[k].same or loads[other].same != loads[k].same:
                continue
            alike = [_alike(tilings, axis, mine[axis], theirs[axis]) for axis in (0, 1)]
            always = np.equal(mine, theirs).all(axis=0)
            is_equal |= alike[0] & alike[1] & ~always
    return is_equal


def _alike(tilings: Tilings, axis: int, mine: Counts, theirs: Counts) -> NDArray[np.bool_]:
    """Return where the parts of an axis held by two regions may coincide."""
    side, last = (tilings.height, tilings.width)[axis], tilings.last[axis]
    parts = (side == tilings.depth) | (last == tilings.last[2])
    crossed = ((mine == TILE) & (theirs == SLICE)) | ((mine == SLICE) & (theirs == TILE))
    alike: NDArray[np.bool_] = (crossed & parts) | (mine == theirs)
    return alike
