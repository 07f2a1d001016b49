"""Lower bounds on the time and the traffic of every schedule, also of those that compute operations again.

The bytes over the link are those that each tensor costs at least where operations read it.

With one reader of each, tensors hang together as trees. Each that is made is written and loaded again, or retained
where it fits, or made in the step of that reader, in whose tiles other tensors are then loaded in larger parts, or more
often. The cheapest choice is found from the inputs on, for each product in its own best tiles. Where an operation runs
again, the run that its reader takes is the one that counts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from itertools import product
from math import ceil, isfinite
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memplan.capabilities.schedule.form import Target
from memplan_tile.graph import Alternative, TileGraph, TileOperation, TileTensor
from memplan_tile.search.nests import SLICE, TILE, WHOLE

_ROUNDING = 1e-12
"""The relative error by which sums of parts of tensors may be too large."""
SPARED = 3
"""The most slices of a tile that another region of their tensor can have brought in the visit before.

One is that of a tile, which came at the end of the tile before. Two are those of the other operand: its slices meet
those of a row of tiles once inside a tile, and at the end of the tile before.
"""
_DEEPEST = 12
"""The deepest chain of operations that is followed; before it, inputs count once."""
_NEVER = float("inf")


class LowerBounds:
    """The least arithmetic and traffic of all schedules of a graph on a target."""

    def __init__(self, graph: TileGraph, target: Target) -> None:
        self.graph, self.target = graph, target

    @cached_property
    def arithmetic(self) -> list[float]:
        """The least time of each operation, computed once in tiles no larger than native."""
        engine, tensors = self.target.engine, self.graph.tensors

        def least(way: Alternative, tensor: TileTensor) -> float:
            height, width = way.tile(engine.height, engine.width)
            return float(way.cost * ceil(tensor.height / height) * ceil(tensor.width / width))

        return [min(least(way, tensors[one.output]) for way in one.ways) for one in self.graph.operations]

    @cached_property
    def traffic(self) -> int:
        """The least traffic: outputs and their inputs; 0 if no product of them fits."""
        outer, graph = TreeTraffic(self.graph, self.target, self._loads).outer, self.graph
        total = sum(graph.tensors[t].size + outer[graph.producer[t]] for t in graph.outputs)
        return ceil(total * (1 - _ROUNDING)) if isfinite(total) else 0

    @property
    def latency(self) -> float:
        """The least time: the maximum of all arithmetic and all traffic."""
        return max(sum(self.arithmetic), self.traffic / self.target.link.bandwidth)

    @property
    def peak(self) -> int:
        """The least fast memory: each step needs a slot for each input and output."""
        return 2 * self.target.rounded(1)

    def _is_sliced(self, operation: int) -> bool:
        """Return True if a product is always summed slice by slice, never whole inside another."""
        engine = self.target.engine
        is_long = self.graph.reduction(operation) > min(engine.width, engine.height)
        return self.graph.operations[operation].is_product and is_long and not self._inner[operation, True]

    def _loads(self, operation: int, tensor: int) -> float:
        """Return a lower bound on how often an operation loads a tensor.

        Where a reduction has several slices, every tile loads all of its rows and columns; but for some slices, where
        the step may hold the same bytes as those of another region.
        """
        if not self._is_sliced(operation):
            return 1.0
        engine, one = self.target.engine, self.graph.operations[operation]
        made = self.graph.tensors[one.output]
        as_left = ceil(made.width / engine.width) if one.inputs[0] == tensor else 1
        as_right = ceil(made.height / engine.height) if one.inputs[1] == tensor else 1
        spared = SPARED * min(engine.width, engine.height) / self.graph.reduction(operation)
        return max(1.0, max(as_left, as_right) * (1 - spared * self._may_coincide(one, tensor)))

    def _may_coincide(self, one: TileOperation, tensor: int) -> bool:
        """Return True if a step may need the tensor in another region with slices that the product reads.

        That is a region of a tile, or of the other operand; the tensor then has the shape of what leaves the step.
        """
        shape, made = self.graph.tensors[tensor], self.graph.tensors[one.output]
        readers = [self.graph.operations[o] for o in self.graph.readers[tensor]]
        sides = {side for other in readers for side, read in enumerate(other.inputs) if read == tensor}
        is_one_side = all(other.is_product for other in readers) and len(sides) == 1
        return shape == made and not is_one_side

    @cached_property
    def _inner(self) -> dict[tuple[int, bool], bool]:
        """True for outputs that may be made inside the step of the product that reads them.

        The second key is True where the tensor on the way is that of a product: then it may be one strip of any length;
        what an element-wise operation makes must fit a tile along the reduction.
        """
        graph, engine, may_fit = self.graph, self.target.engine, dict[tuple[int, bool], bool]()
        for operation in reversed(graph.in_order):
            tensor = graph.operations[operation].output
            for by_product in (False, True):
                ways = []
                for reader in graph.readers.get(tensor, ()):
                    one = graph.operations[reader]
                    across = engine.width if one.inputs[0] == tensor else engine.height
                    fits = one.is_product and (by_product or graph.reduction(reader) <= across)
                    ways.append(fits or may_fit[reader, one.is_product])
                may_fit[operation, by_product] = any(ways)
        return may_fit


class _Place(NamedTuple):
    """The part of a tensor that a step needs, with lower bounds on its rows and columns of tiles.

    It `is_alone` if only a product of tiles needs it, so that no two of its slices are the same bytes by chance.
    """

    rows: int = TILE
    columns: int = TILE
    n_rows: int = 1
    n_columns: int = 1
    is_alone: bool = True

    def at(self, rows: int, columns: int) -> _Place:
        """Return the place of another region in the step."""
        return self._replace(rows=rows, columns=columns)

    @property
    def times(self) -> int:
        """The number of passes of a region over its tensor, in slices for each tile except along its own axis."""
        if SLICE not in (self.rows, self.columns):
            return 1
        return (1 if self.rows == TILE else self.n_rows) * (1 if self.columns == TILE else self.n_columns)


class _Way(NamedTuple):
    """A way to get an input: whether it needs a slot, the fraction of its loads that counts, and additional bytes."""

    has_slot: bool = False
    part: float = 0.0
    bytes: float = 0.0


_OUTER = _Place()


class TreeTraffic:
    """The least traffic for the inputs of operations; `times` has lower bounds on the loads of tensors."""

    def __init__(self, graph: TileGraph, target: Target, times: Callable[[int, int], float]) -> None:
        self.graph, self.target, self.times = graph, target, times
        self.native = target.engine.height, target.engine.width
        self._parts = {t: self._shared(t, readers) for t, readers in graph.readers.items()}
        self._inside: dict[tuple[int, _Place], float] = {}
        self._loads = cache(self._loaded)
        self._least: dict[int, float] = {}
        self.outer: dict[int, float] = {}
        """The bytes for each operation's inputs if its output leaves a step or is needed by tiles."""
        for o in graph.in_order:
            self._least[o] = 0.0
            for t in dict.fromkeys(graph.operations[o].inputs):
                least = self._least[graph.producer[t]] if t in graph.producer else graph.tensors[t].size
                self._least[o] += self._parts[t].get(o, 0.0) * least
            self.outer[o] = self._made(o, _OUTER, 0)

    def _shared(self, tensor: int, readers: tuple[int, ...]) -> dict[int, float]:
        """Return the part of a tensor's loads attributed to each reader, as one step may have them all.

        It is shared by those that load the tensor most often; what is made counts for one of them.
        """
        keys = {o: (self.times(o, tensor), self.graph.operations[o].is_product) for o in readers}
        chosen = [o for o in readers if keys[o] == max(keys.values())]
        return (
            dict.fromkeys(chosen[:1], 1.0) if tensor in self.graph.producer else dict.fromkeys(chosen, 1 / len(chosen))
        )

    def _is_plain(self, tensor: int) -> bool:
        """Return True if all readers need a tensor on one side of a product, or one needs it once."""
        readers = [self.graph.operations[o] for o in self.graph.readers[tensor]]
        sides = [k for one in readers for k, t in enumerate(one.inputs) if t == tensor]
        return len(sides) == 1 or (all(one.is_product for one in readers) and len(set(sides)) == 1)

    def _made(self, o: int, place: _Place, depth: int) -> float:
        """Return the least bytes for an operation's inputs if its output is needed at a place."""
        one = self.graph.operations[o]
        shape = self.graph.tensors[one.output]
        if one.is_product:
            return self._product(o, depth) if place == _OUTER else self._inner_product(o, place, depth)
        is_tall = place.rows != TILE and shape.height > self.native[0]
        if is_tall or (place.columns != TILE and shape.width > self.native[1]):
            return _NEVER
        inputs = dict.fromkeys(one.inputs)
        return sum(min(way.bytes + way.part * shape.size for way in self._ways(o, t, place, depth)) for t in inputs)

    def _ways(self, o: int, tensor: int, place: _Place, depth: int) -> list[_Way]:
        """Return the ways to get a tensor that an operation needs at a place."""
        part, size = self._parts[tensor].get(o, 0.0), self.graph.tensors[tensor].size
        load = _Way(True, part) if self._is_plain(tensor) else _Way(True, 0.0, part * size * self.times(o, tensor))
        if tensor not in self.graph.producer:
            return [load]
        if not part:
            return [_Way()]
        if len(self.graph.readers[tensor]) > 1 or self.graph.operations[o].inputs.count(tensor) > 1:
            place = place._replace(is_alone=place == _OUTER)
        maker = self.graph.producer[tensor]
        outer = self.outer[maker]
        ways = [load._replace(bytes=load.bytes + size + outer)]
        if self.target.rounded(size) <= self.target.capacity:
            ways.append(_Way(bytes=outer))
        key = maker, place
        if place != _OUTER and key not in self._inside:
            self._inside[key] = self._made(maker, place, depth + 1) if depth < _DEEPEST else self._least[maker]
        return [*ways, _Way(bytes=self._inside.get(key, outer))]

    def _both(self, o: int, places: tuple[_Place, _Place], depth: int) -> tuple[list[_Way], list[_Way]]:
        """Return the ways to get both inputs of a product; if they are one tensor, the first counts."""
        left, right = self.graph.operations[o].inputs
        again = [_Way()] if left == right else self._ways(o, right, places[1], depth)
        return self._ways(o, left, places[0], depth), again

    def _product(self, o: int, depth: int) -> float:
        """Return the least bytes for the inputs of a tiled product."""
        shape, summed = self.graph.tensors[self.graph.operations[o].output], self.graph.reduction(o)
        sides, best = (shape.height, shape.width, summed), _NEVER
        step = _Place(n_rows=ceil(shape.height / self.native[0]), n_columns=ceil(shape.width / self.native[1]))
        for along in (SLICE, WHOLE):  # a reduction of one slice is whole
            if (summed == 1) if along == SLICE else summed > min(self.native):
                continue
            for a, b in product(*self._both(o, (step.at(TILE, along), step.at(along, TILE)), depth)):
                if a.bytes + b.bytes < best:
                    loads = self._loads(sides, (a.part, b.part), (a.has_slot, b.has_slot), along == SLICE)
                    best = min(best, a.bytes + b.bytes + loads)
        return best

    def _loaded(
        self, sides: tuple[int, int, int], parts: tuple[float, float], slots: tuple[bool, bool], is_sliced: bool
    ) -> float:
        """Return the least bytes that a tiled product loads, for the counted parts of its inputs.

        In slices, each tile loads all of its rows and columns. Without, each move from a tile to another loads one of
        both; only tiles of full size are counted for that.
        """
        height, width, summed = sides
        tall, wide = np.ix_(_sides(height, self.native[0]), _sides(width, self.native[1]))
        left, right = parts[0] * height * summed, parts[1] * width * summed
        room = slots[0] * tall + slots[1] * wide
        if is_sliced:
            room, loads = tall * wide + room, left * -(-width // wide) + right * -(-height // tall)
        else:
            moves = (height // tall - 1) * (width // wide - 1)
            room, loads = summed * room, left + right + moves * summed * np.minimum(parts[0] * tall, parts[1] * wide)
        return float(np.where(room <= self.target.capacity, loads, _NEVER).min())

    def _inner_product(self, o: int, place: _Place, depth: int) -> float:
        """Return the least bytes for the inputs of a product made inside another operation's step."""
        inner, rows = place._replace(is_alone=False), []
        places = inner.at(place.rows, WHOLE), inner.at(WHOLE, place.columns)
        inputs = self.graph.operations[o].inputs
        for t, at, ways in zip(inputs, places, self._both(o, places, depth), strict=True):
            shape, times = self.graph.tensors[t], 1.0 if self.target.rolls else float(at.times)
            slot = (shape.height if at.rows == WHOLE else 1) * (shape.width if at.columns == WHOLE else 1)
            if not place.is_alone:  # another region may have loaded some slices of each tile
                sliced = shape.height if at.rows == SLICE else shape.width
                times = max(1.0, times * (1 - SPARED * min(self.native) / sliced))
            rows.append([(way.has_slot * slot, way.bytes + way.part * shape.size * times) for way in ways])
        least = (a + b for (one, a), (other, b) in product(*rows) if one + other <= self.target.capacity)
        return min(least, default=_NEVER)


def _sides(length: int, most: int) -> NDArray[np.int64]:
    """Return the smallest tile sides for each number of tiles in a length, also if all tiles have full size."""
    count = np.arange(1, length + 1)
    sides = np.unique(np.concatenate([(length - 1) // count + 1, length // (count + 1) + 1]))
    return sides[sides <= most]
