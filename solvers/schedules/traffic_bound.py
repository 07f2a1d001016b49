"""The bytes over the link that no schedule avoids, by what each tensor costs at least where one operation reads it.

With one reader of each, tensors hang together as trees. Each that is made is written and loaded again, or retained
where it fits, or made in the step of that reader, in whose tiles other tensors are then loaded in larger parts, or more
often. The cheapest choice is found from the inputs on, for each product in its own best tiles. Where an operation runs
again, the run that its reader takes is the one that counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from math import ceil
from typing import NamedTuple

import numpy as np

from memplan.planner.schedules.graph import TileGraph
from memplan.planner.schedules.target import Target
from memplan.solvers.schedules.nests import SLICE, TILE, WHOLE

_DEEPEST = 12
"""The most operations inside one another that are followed; for those before them, inputs count once."""
_NEVER = float("inf")


class _Place(NamedTuple):
    """A region, in a step of so many rows and columns of tiles at least."""

    rows: int = TILE
    columns: int = TILE
    n_rows: int = 1
    n_columns: int = 1

    def at(self, rows: int, columns: int) -> _Place:
        """Return another region of the step."""
        return self._replace(rows=rows, columns=columns)

    @property
    def times(self) -> int:
        """How often the region goes through its tensor: for each tile where that is in slices, but along its own."""
        if SLICE not in (self.rows, self.columns):
            return 1
        return (1 if self.rows == TILE else self.n_rows) * (1 if self.columns == TILE else self.n_columns)


_OUTER = _Place()
_Option = tuple[bool, float]
"""A way to get an input of an operation: whether it is loaded, and the bytes beside these loads."""


class TreeTraffic:
    """The least bytes for what operations are made of; `times` says how often one loads a tensor at least."""

    def __init__(self, graph: TileGraph, target: Target, times: Callable[[int, int], float]) -> None:
        self.graph, self.target, self.times = graph, target, times
        self.native = target.engine.height, target.engine.width
        # Products have fewer ways to get what they read than operations on elements.
        self._reader = {
            t: max(readers, key=lambda o: (times(o, t), graph.operations[o].is_product))
            for t, readers in graph.readers.items()
        }
        self._inside: dict[tuple[int, _Place], float] = {}
        self._loads = cache(self._loaded)
        self.outer: dict[int, float] = {}
        """The bytes for what each operation is made of where its output leaves a step, or is needed by tiles."""
        self._least: dict[int, float] = {}
        for o in graph.in_order:
            rows = [t for t in dict.fromkeys(graph.operations[o].inputs) if self._reader[t] == o]
            made = sum(self._least[graph.producer[t]] for t in rows if t in graph.producer)
            self._least[o] = made + sum(self._size(t) for t in rows if t not in graph.producer and self.is_single(t))
            self.outer[o] = self._made(o, _OUTER, 0)

    def is_single(self, tensor: int) -> bool:
        """Return True if one operation reads a tensor, once."""
        readers = self.graph.readers.get(tensor, ())
        return len(readers) == 1 and self.graph.operations[readers[0]].inputs.count(tensor) == 1

    def _size(self, tensor: int) -> int:
        return self.graph.tensors[tensor].size

    def _made(self, o: int, place: _Place, depth: int) -> float:
        """Return the least bytes for what an operation reads where its output is needed in a place."""
        one = self.graph.operations[o]
        shape = self.graph.tensors[one.output]
        if one.is_product:
            return self._product(o, depth) if place == _OUTER else self._inner_product(o, place, depth)
        is_tall = place.rows != TILE and shape.height > self.native[0]
        if is_tall or (place.columns != TILE and shape.width > self.native[1]):
            return _NEVER
        inputs = dict.fromkeys(one.inputs)
        return sum(
            min(cost + loads * self._size(t) for loads, cost in self._options(o, t, place, depth)) for t in inputs
        )

    def _options(self, o: int, tensor: int, place: _Place, depth: int) -> list[_Option]:
        """Return the ways to get a tensor that an operation needs in a place."""
        is_single = self.is_single(tensor)
        if tensor not in self.graph.producer:
            return [(is_single, 0.0)]
        if self._reader[tensor] != o:
            return [(False, 0.0)]
        maker, size = self.graph.producer[tensor], self._size(tensor)
        outer = self.outer[maker]
        found = [(is_single, outer + size + (0 if is_single else size * self.times(o, tensor)))]
        if self.target.rounded(size) <= self.target.capacity:
            found.append((False, outer))
        key = maker, place
        if place != _OUTER and key not in self._inside:
            self._inside[key] = self._made(maker, place, depth + 1) if depth < _DEEPEST else self._least[maker]
        return [*found, (False, self._inside.get(key, outer))]

    def _product(self, o: int, depth: int) -> float:
        """Return the least bytes for the inputs of a product of tiles."""
        one, summed = self.graph.operations[o], self.graph.reduction(o)
        shape, best = self.graph.tensors[one.output], _NEVER
        step = _Place(n_rows=ceil(shape.height / self.native[0]), n_columns=ceil(shape.width / self.native[1]))
        for along in (SLICE, WHOLE):  # a reduction of one slice is whole
            if (summed == 1) if along == SLICE else summed > min(self.native):
                continue
            left, right = self._both(o, (step.at(TILE, along), step.at(along, TILE)), depth)
            for (is_left, cost), (is_right, more) in product(left, right):
                if cost + more < best:
                    loads = self._loads(shape.height, shape.width, summed, is_left, is_right, along == SLICE)
                    best = min(best, cost + more + loads)
        return best

    def _loaded(self, height: int, width: int, summed: int, is_left: bool, is_right: bool, is_sliced: bool) -> float:
        """Return the least bytes that a product of tiles loads of its inputs, of the one or of both.

        In slices, each tile loads all of its rows and columns. Without, each move from a tile to another loads one of
        both; only tiles of full size are counted for that.
        """
        most = min(height, self.native[0]), min(width, self.native[1])
        tall, wide = np.ix_(np.arange(1, most[0] + 1), np.arange(1, most[1] + 1))
        left, right = is_left * height * summed, is_right * width * summed
        if is_sliced:
            slots = tall * wide + is_left * tall + is_right * wide
            loads = left * -(-width // wide) + right * -(-height // tall)
        else:
            slots = summed * (is_left * tall + is_right * wide)
            moves = (height // tall - 1) * (width // wide - 1)
            loads = left + right + is_left * is_right * moves * summed * np.minimum(tall, wide)
        return float(np.where(slots <= self.target.capacity, loads, _NEVER).min())

    def _both(self, o: int, places: tuple[_Place, _Place], depth: int) -> Iterator[list[_Option]]:
        """Yield the ways to get each input of a product; where both are one tensor, the first of them counts."""
        left, right = self.graph.operations[o].inputs
        yield self._options(o, left, places[0], depth)
        yield [(False, 0.0)] if left == right else self._options(o, right, places[1], depth)

    def _inner_product(self, o: int, place: _Place, depth: int) -> float:
        """Return the least bytes for the inputs of a product that is made for another operation of its step."""
        places, rows = (place.at(place.rows, WHOLE), place.at(WHOLE, place.columns)), []
        for t, at, options in zip(self.graph.operations[o].inputs, places, self._both(o, places, depth), strict=True):
            shape = self.graph.tensors[t]
            slot = (shape.height if at.rows == WHOLE else 1) * (shape.width if at.columns == WHOLE else 1)
            loads = self._size(t) * (1 if self.target.rolls else at.times)
            rows.append([(is_loaded * slot, cost + is_loaded * loads) for is_loaded, cost in options])
        capacity = self.target.capacity
        return min((a + b for (one, a), (other, b) in product(*rows) if one + other <= capacity), default=_NEVER)
