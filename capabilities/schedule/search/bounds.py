"""Lower bounds on the time and the traffic of every schedule, also of those that compute operations again."""

from __future__ import annotations

from functools import cached_property
from math import ceil, isfinite

from memplan.capabilities.schedule.model.graph import Alternative, TileGraph, TileOperation, TileTensor
from memplan.capabilities.schedule.model.target import Target
from memplan.capabilities.schedule.search.traffic_bound import SPARED, TreeTraffic

_ROUNDING = 1e-12
"""The part by which sums of parts of tensors may be too large."""


class LowerBounds:
    """The arithmetic and the bytes over the link that no schedule of a graph on a target avoids."""

    def __init__(self, graph: TileGraph, target: Target) -> None:
        self.graph, self.target = graph, target

    @cached_property
    def arithmetic(self) -> list[float]:
        """The least time of each operation: it is computed once at least, in tiles no larger than native."""
        engine, tensors = self.target.engine, self.graph.tensors

        def least(way: Alternative, tensor: TileTensor) -> float:
            height, width = way.tile(engine.height, engine.width)
            return float(way.cost * ceil(tensor.height / height) * ceil(tensor.width / width))

        return [min(least(way, tensors[one.output]) for way in one.ways) for one in self.graph.operations]

    @cached_property
    def traffic(self) -> int:
        """The bytes that go over the link: outputs, and what they are made of; 0 where no product of them fits."""
        outer, graph = TreeTraffic(self.graph, self.target, self._loads).outer, self.graph
        total = sum(graph.tensors[t].size + outer[graph.producer[t]] for t in graph.outputs)
        return ceil(total * (1 - _ROUNDING)) if isfinite(total) else 0

    @property
    def latency(self) -> float:
        """The least time: that of all arithmetic, and that of all traffic."""
        return max(sum(self.arithmetic), self.traffic / self.target.link.bandwidth)

    @property
    def peak(self) -> int:
        """The least bytes in the fast memory: each step needs a slot of what it reads, and one of what it makes."""
        return 2 * self.target.rounded(1)

    def _is_sliced(self, operation: int) -> bool:
        """Return True if a product is always summed up slice by slice, and never whole inside another one."""
        engine = self.target.engine
        is_long = self.graph.reduction(operation) > min(engine.width, engine.height)
        return self.graph.operations[operation].is_product and is_long and not self._inner[operation, True]

    def _loads(self, operation: int, tensor: int) -> float:
        """Return how often an operation loads a tensor at least.

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
        """Return True if a step may need a tensor in another region that has slices of what a product reads.

        That is a region of a tile, or of the other operand; the tensor then has the shape of what leaves the step.
        """
        shape, made = self.graph.tensors[tensor], self.graph.tensors[one.output]
        readers = [self.graph.operations[o] for o in self.graph.readers[tensor]]
        sides = {side for other in readers for side, read in enumerate(other.inputs) if read == tensor}
        is_one_side = all(other.is_product for other in readers) and len(sides) == 1
        return shape == made and not is_one_side

    @cached_property
    def _inner(self) -> dict[tuple[int, bool], bool]:
        """True for outputs that may be made for a product in its own step, maybe by way of others in between.

        The second key is True where the tensor on the way is that of a product: then it may be one strip of any length;
        what an element-wise operation makes must fit a tile along the reduction.
        """
        graph, engine, found = self.graph, self.target.engine, dict[tuple[int, bool], bool]()
        for operation in reversed(graph.in_order):
            tensor = graph.operations[operation].output
            for by_product in (False, True):
                ways = []
                for reader in graph.readers.get(tensor, ()):
                    one = graph.operations[reader]
                    across = engine.width if one.inputs[0] == tensor else engine.height
                    fits = one.is_product and (by_product or graph.reduction(reader) <= across)
                    ways.append(fits or found[reader, one.is_product])
                found[operation, by_product] = any(ways)
        return found
