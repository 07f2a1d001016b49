"""Graphs of operations on two-dimensional tensors, which are computed tile by tile."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

Kind = Literal["product", "element-wise"]


@dataclass(frozen=True)
class TileTensor:
    """A tensor of rows and columns, one byte for each element."""

    height: int
    width: int

    @property
    def size(self) -> int:
        """The bytes of the tensor."""
        return self.height * self.width


class Alternative(NamedTuple):
    """A way to compute an operation: the time of one native tile, and the tile's rows and columns.

    Native tiles are the engine's without sides of their own, and never larger. `workspace` are bytes of the fast memory
    while the operation runs. One that works `in_place` makes a tile where that of its first input lies.
    """

    cost: int
    native: tuple[int, int] | None = None
    workspace: int = 0
    in_place: bool = False

    def tile(self, height: int, width: int) -> tuple[int, int]:
        """Return the native tile on an engine whose tile has the given height and width."""
        rows, columns = self.native or (height, width)
        return min(rows, height), min(columns, width)


@dataclass(frozen=True)
class TileOperation:
    """An operation that makes one tensor: a matrix product, or an element-wise operation.

    `cost` is the time of one native tile of the output; that of a product counts the whole reduction. `alternatives`
    are other ways to compute it.
    """

    kind: Kind
    inputs: tuple[int, ...]
    output: int
    cost: int
    alternatives: tuple[Alternative, ...] = ()

    @cached_property
    def ways(self) -> tuple[Alternative, ...]:
        """All ways to compute the operation, its own first."""
        return Alternative(self.cost), *self.alternatives

    @property
    def is_product(self) -> bool:
        """True for a matrix product."""
        return self.kind == "product"


@dataclass(frozen=True, eq=False)
class TileGraph:
    """Tensors and the operations that make them, both identified by position."""

    tensors: tuple[TileTensor, ...]
    operations: tuple[TileOperation, ...]

    @cached_property
    def producer(self) -> dict[int, int]:
        """Maps each made tensor to its operation."""
        return {operation.output: i for i, operation in enumerate(self.operations)}

    @cached_property
    def readers(self) -> dict[int, tuple[int, ...]]:
        """Maps each read tensor to its readers."""
        readers_: dict[int, list[int]] = {}
        for i, operation in enumerate(self.operations):
            for tensor in dict.fromkeys(operation.inputs):
                readers_.setdefault(tensor, []).append(i)
        return {tensor: tuple(readers) for tensor, readers in readers_.items()}

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """The tensors that are read but not made: initially in the slow memory."""
        return tuple(sorted(self.readers.keys() - self.producer.keys()))

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        """The tensors that are made but not read: finally in the slow memory."""
        return tuple(sorted(self.producer.keys() - self.readers.keys()))

    @cached_property
    def predecessors(self) -> tuple[frozenset[int], ...]:
        """The operations that make each operation's inputs."""
        made = self.producer
        return tuple(frozenset(made[t] for t in one.inputs if t in made) for one in self.operations)

    @cached_property
    def in_order(self) -> tuple[int, ...]:
        """The operations in topological order; fewer than all if there is a cycle."""
        waiting = [len(before) for before in self.predecessors]
        ready = [i for i, count in enumerate(waiting) if not count]
        order = []
        while ready:
            i = ready.pop()
            order.append(i)
            for reader in self.readers.get(self.operations[i].output, ()):
                waiting[reader] -= 1
                if not waiting[reader]:
                    ready.append(reader)
        return tuple(order)

    def reduction(self, operation: int) -> int:
        """Return the number of elements summed in each element of a product."""
        return self.tensors[self.operations[operation].inputs[0]].width


@dataclass(frozen=True)
class ScheduleStep:
    """One step: operations that run together tile by tile, as one loop nest.

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
