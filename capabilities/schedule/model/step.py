"""Steps of a schedule."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ScheduleStep:
    """One step: operations that run together, tile by tile, as one nest of loops.

    Tiles of the outputs are `width` columns by `height` rows, and products sum up `depth` elements at a time. `order`
    has the positions of the tiles, row by row, in the order in which they are made; None is row by row. `retained`
    are tensors that the step makes and leaves in the fast memory for the next step, and does not write, and those that
    stay there from steps before. `alternatives` says which of its ways computes each operation, by position; without,
    its own one. Tensors in `rolls` are made and read in the step, and keep what the next tile needs again.
    """

    operations: tuple[int, ...]
    width: int
    height: int
    depth: int
    order: tuple[int, ...] | None = None
    retained: tuple[int, ...] = ()
    alternatives: tuple[int, ...] = ()
    rolls: tuple[int, ...] = ()
