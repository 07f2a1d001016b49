"""Nests of loops: the part of each tensor that a tile needs if some operations run together as one step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from memplan_tile.graph import Alternative, TileGraph

TILE, SLICE, WHOLE = range(3)
"""The part of an axis that a tile holds: its own interval, the slice of the reduction, or the whole axis."""
ROW, COLUMN = 1, 2
EVERY = ROW | COLUMN
"""Tiles that need a region: those that differ from the one before in their row, in their column, or all."""
Held = tuple[int, int, int]
"""A tensor, and what a tile holds of its rows and of its columns."""


def bits(mask: int) -> Iterator[int]:
    """Yield the positions of the bits of a mask, the lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


@dataclass(frozen=True)
class Work:
    """The arithmetic of an operation in a nest: ways to compute it, and the held part of its output.

    `when` are the tiles that need it; where what is made `rolls`, a slot keeps it for those that do not.
    """

    ways: tuple[Alternative, ...]
    is_product: bool
    rows: int
    columns: int
    height: int
    width: int
    when: int
    rolls: bool


@dataclass(frozen=True)
class Nest:
    """Operations as one loop nest over the tiles of the step's outputs and over slices of one reduction.

    Nests are equal where their costs are, whichever tensors and operations they are of.

    height: the rows of what leaves.
    width: its columns.
    reduction: the elements that products of tiles sum up.
    work: what is computed.
    accumulators: the products whose sums are kept between slices though they do not leave.
    least: the least height and width of tiles.
    held: the regions of tensors from outside, each with the tiles that need it.
    operations: those that do the work.
    """

    height: int
    width: int
    reduction: int
    work: tuple[Work, ...]
    accumulators: int
    least: tuple[int, int]
    held: tuple[tuple[Held, int], ...] = field(compare=False)
    operations: tuple[int, ...] = field(compare=False)


def nest_of(graph: TileGraph, operations: int, leaving: int, native: tuple[int, int], rolls: int = 0) -> Nest | None:
    """Return the nest of operations (a mask) with leaving tensors (a mask); None if they have no common tiles.

    `native` is the height and width of the native tile, `rolls` are tensors, a mask, of which a slot keeps what the
    next tile needs again.
    """
    tips = list(bits(leaving))
    height, width = graph.tensors[tips[0]].height, graph.tensors[tips[0]].width
    made = {graph.operations[o].output: o for o in bits(operations)}
    held: list[tuple[Held, int]] = []
    work: list[tuple[Work, int]] = []
    reduction, accumulators, least = 0, 0, (1, 1)
    for each, when in _regions(graph, made, tips, rolls).items():
        tensor, rows, columns = each
        if tensor not in made:
            held.append((each, when))
            continue
        o, shape = made[tensor], graph.tensors[tensor]
        operation, is_tile = graph.operations[o], rows == TILE and columns == TILE
        if is_tile and (shape.height, shape.width) != (height, width):
            return None
        sides, is_rolled = (rows, columns, shape.height, shape.width), not is_tile and bool(rolls >> tensor & 1)
        work.append((Work(operation.ways, operation.is_product, *sides, when, is_rolled), o))
        if not operation.is_product:
            least = (
                max(least[0], 1 if rows == TILE else shape.height),
                max(least[1], 1 if columns == TILE else shape.width),
            )
        elif is_tile:
            summed = graph.reduction(o)
            if reduction not in (0, summed):
                return None
            reduction = summed
            accumulators += not leaving >> tensor & 1
    if least[0] > native[0] or least[1] > native[1]:
        return None
    held.sort(key=lambda one: (one[0][1] == one[0][2] == TILE, one))
    work.sort(key=lambda row: _key(row[0]))
    all_work, done_by = tuple(one for one, _ in work), tuple(o for _, o in work)
    return Nest(height, width, reduction or 1, all_work, accumulators, least, tuple(held), done_by)


def _key(work: Work) -> tuple[int, ...]:
    first, *others = work.ways
    sides = work.rows, work.columns, work.height, work.width
    return work.is_product, *sides, first.cost, len(others), work.when, work.rolls


def _regions(graph: TileGraph, made: dict[int, int], tips: list[int], rolls: int) -> dict[Held, int]:
    """Return all needed regions, from the leaving tensors back to the inputs, and the tiles that need them.

    An element-wise operation needs of its inputs what is needed of its output; a product of a tile needs a tile's rows
    by a slice, and a slice by a tile's columns; one whose output is needed in another region needs whole rows and
    columns. What makes a tensor that rolls is needed where its region moves, at the first tile in any case.
    """
    regions: dict[Held, int] = {}
    waiting = [((tensor, TILE, TILE), EVERY) for tensor in tips]
    while waiting:
        each, when = waiting.pop()
        tensor, rows, columns = each
        is_tile = rows == TILE and columns == TILE
        if rolls >> tensor & 1 and not is_tile:
            when &= ROW * (rows == TILE) | COLUMN * (columns == TILE)
        size = regions.get(each, -1)
        if size >= 0 and size | when == size:
            continue
        regions[each] = when = when | max(size, 0)
        if tensor not in made:
            continue
        operation = graph.operations[made[tensor]]
        if operation.is_product:
            along = SLICE if is_tile else WHOLE
            left, right = operation.inputs
            waiting += [((left, rows, along), when), ((right, along, columns), when)]
        else:
            waiting += [((read, rows, columns), when) for read in operation.inputs]
    return regions
