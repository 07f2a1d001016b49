"""Nests of loops: which part of each tensor a tile needs where some operations run together as one step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memplan.planner.schedules.graph import TileGraph

TILE, SLICE, WHOLE = range(3)
"""A hold of an axis by a tile: its own interval, the slice of the reduction, or all of it."""
Held = tuple[int, int, int]
"""A tensor from outside the step, and what a tile holds of its rows and of its columns."""


def bits(mask: int) -> Iterator[int]:
    """Yield the positions of the bits of a mask, the lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


@dataclass(frozen=True)
class Work:
    """Arithmetic of a nest: an operation's cost, what is held of its output, and the sides of that."""

    cost: int
    is_product: bool
    rows: int
    columns: int
    height: int
    width: int


@dataclass(frozen=True)
class Nest:
    """Operations as one nest of loops over the tiles of what leaves the step, and over slices of one reduction.

    `held` are the regions of tensors from outside, `work` is what is computed, `accumulators` counts the products
    whose sums are kept between slices though they do not leave. Tiles have at least the `least` height and width.
    """

    height: int
    width: int
    reduction: int
    held: tuple[Held, ...]
    work: tuple[Work, ...]
    accumulators: int
    least: tuple[int, int]


def nest_of(graph: TileGraph, operations: int, leaving: int, native: tuple[int, int]) -> Nest | None:
    """Return the nest of operations, a mask, from which tensors leave, a mask; None where they share no tiles.

    Regions follow from what leaves, from the outputs back: an element-wise operation needs of its inputs what is needed
    of its output; a product of a tile needs a tile's rows by a slice, and a slice by a tile's columns; one whose output
    is needed in another region needs whole rows and columns. `native` is the height and width of the native tile.
    """
    tips = list(bits(leaving))
    height, width = graph.tensors[tips[0]].height, graph.tensors[tips[0]].width
    made = {graph.operations[o].output: o for o in bits(operations)}
    waiting = [(tensor, TILE, TILE) for tensor in tips]
    seen: set[Held] = set()
    held: list[Held] = []
    work: list[Work] = []
    reduction, accumulators, least = 0, 0, (1, 1)
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        tensor, rows, columns = each
        if tensor not in made:
            held.append(each)
            continue
        operation, shape = graph.operations[made[tensor]], graph.tensors[tensor]
        is_tile = rows == TILE and columns == TILE
        if is_tile and (shape.height, shape.width) != (height, width):
            return None
        work.append(Work(operation.cost, operation.is_product, rows, columns, shape.height, shape.width))
        if not operation.is_product:
            least = (
                max(least[0], 1 if rows == TILE else shape.height),
                max(least[1], 1 if columns == TILE else shape.width),
            )
            waiting += [(read, rows, columns) for read in operation.inputs]
            continue
        if is_tile:
            summed = graph.reduction(made[tensor])
            if reduction not in (0, summed):
                return None
            reduction = summed
            accumulators += not leaving >> tensor & 1
        along = SLICE if is_tile else WHOLE
        waiting += [(operation.inputs[0], rows, along), (operation.inputs[1], along, columns)]
    if least[0] > native[0] or least[1] > native[1]:
        return None
    held.sort(key=lambda one: (one[1] == one[2] == TILE, one))
    work.sort(key=lambda one: (one.is_product, one.rows, one.columns, one.height, one.width, one.cost))
    return Nest(height, width, reduction or 1, tuple(held), tuple(work), accumulators, least)
