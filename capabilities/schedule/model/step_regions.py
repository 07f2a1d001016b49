"""The needs of one step of a schedule: regions of its tensors, from what leaves it back, and the rules they keep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from memplan.capabilities.schedule.model.figures import ScheduleStep
from memplan.capabilities.schedule.model.graph import TileGraph
from memplan.capabilities.schedule.model.target import Target

Region = tuple[str, str]
"""Rows and columns of a tensor that a tile needs: `tile`, those of the tile; `slice`, of the reduction; or `whole`."""
TILE: Region = ("tile", "tile")
ROW, COLUMN, FIRST = 1, 2, 4
EVERY = ROW | COLUMN
"""Differences of a tile from the one before it: in its row, its column or either; the first has none before it."""


@dataclass(frozen=True, eq=False)
class StepRegions:
    """One step, with the tensors that lie in the fast memory when it begins and those that it writes."""

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
        """The tensors that outlive the step, one at least."""
        return sorted(self.written | self.made & set(self.step.retained))

    @cached_property
    def needed(self) -> dict[tuple[int, Region], int]:
        """Every tensor with each region of it that a tile of what leaves needs, from the outputs back.

        Each has the changes of row and column after which it is: what makes a roll runs only where the roll moves.
        """
        found: dict[tuple[int, Region], int] = {}
        waiting = [(tensor, TILE, FIRST | EVERY) for tensor in self.leaving]
        while waiting:
            tensor, region, when = waiting.pop()
            if tensor in self.step.rolls and region != TILE:
                when &= FIRST | ROW * (region[0] == "tile") | COLUMN * (region[1] == "tile")
            known = found.get((tensor, region), 0)
            if known | when == known:
                continue
            when |= known
            found[tensor, region] = when
            if tensor not in self.made:
                continue
            operation = self.graph.operations[self.graph.producer[tensor]]
            if operation.is_product:
                along = "slice" if region == TILE else "whole"
                left, right = operation.inputs
                waiting += [(left, (region[0], along), when), (right, (along, region[1]), when)]
            else:
                waiting += [(read, region, when) for read in operation.inputs]
        return found

    @cached_property
    def runs(self) -> list[tuple[int, Region]]:
        """Every operation with each region of its output that is computed."""
        return [(self.graph.producer[t], region) for t, region in self.needed if t in self.made]

    @cached_property
    def reductions(self) -> set[int]:
        """The lengths of what products of the step sum up slice by slice."""
        of_tiles = [o for o, region in self.runs if region == TILE and self.graph.operations[o].is_product]
        return {self.graph.reduction(o) for o in of_tiles}

    @property
    def reduction(self) -> int:
        """The length of what is summed up slice by slice; 1 where nothing is."""
        return max(self.reductions, default=1)

    @property
    def depth(self) -> int:
        """The elements of a slice of the reduction."""
        return self.step.depth if self.reductions else 1

    @cached_property
    def shape(self) -> tuple[int, int]:
        """The rows and columns of what leaves the step."""
        first = self.graph.tensors[self.leaving[0]]
        return first.height, first.width

    @cached_property
    def rows(self) -> list[tuple[int, int]]:
        """The rows of each row of tiles."""
        return _intervals(self.shape[0], self.step.height)

    @cached_property
    def columns(self) -> list[tuple[int, int]]:
        """The columns of each column of tiles."""
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
        """Return True if operations hang together by tensors that one makes and another reads, or both read."""
        touched = {o: {*self.graph.operations[o].inputs, self.graph.operations[o].output} for o in self.step.operations}
        first, *rest = touched
        reached, waiting = set(touched[first]), set(rest)
        while grown := {o for o in waiting if touched[o] & reached}:
            waiting -= grown
            reached = reached.union(*(touched[o] for o in grown))
        return not waiting

    @cached_property
    def outside(self) -> list[tuple[int, Region]]:
        """The tensors with their regions that are loaded; those for a reduction before those for a tile's end."""
        found = [one for one in self.needed if one[0] not in self.made and one[0] not in self.resident]
        return sorted(found, key=lambda one: (one[1] == TILE, one))


def _intervals(length: int, size: int) -> list[tuple[int, int]]:
    """Return the half-open parts of a length, all but the last of the same size."""
    return list(pairwise([*range(0, length, size), length]))
