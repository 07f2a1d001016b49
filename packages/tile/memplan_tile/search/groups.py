"""Groups: sets of operations that can be one step of a schedule, as masks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from memplan_tile.graph import TileGraph
from memplan_tile.search.nests import bits


@dataclass(frozen=True)
class Group:
    """A group, the operations that must precede it, and the tensors that leave it.

    Each that leaves has the operations outside that read it.
    """

    operations: int
    needs: int
    leaving: tuple[tuple[int, int], ...]

    @cached_property
    def leaves(self) -> int:
        """The tensors that leave, as a mask."""
        return sum(1 << tensor for tensor, _ in self.leaving)


@dataclass(frozen=True, eq=False)
class Relations:
    """The predecessors and neighbours of operations as masks; operations are in topological order."""

    graph: TileGraph

    @cached_property
    def before(self) -> list[int]:
        """The operations whose outputs each one reads."""
        return [sum(1 << o for o in before) for before in self.graph.predecessors]

    @cached_property
    def readers(self) -> list[int]:
        """The operations that read each tensor."""
        read = self.graph.readers
        return [sum(1 << o for o in read.get(t, ())) for t in range(len(self.graph.tensors))]

    @cached_property
    def ancestors(self) -> list[int]:
        """All operations before each one."""
        ancestors: list[int] = []
        for mask in self.before:  # operations are in topological order
            total = mask
            for o in bits(mask):
                total |= ancestors[o]
            ancestors.append(total)
        return ancestors

    @cached_property
    def descendants(self) -> list[int]:
        """All operations after each one."""
        descendants = [0] * len(self.before)
        for o, mask in enumerate(self.ancestors):
            for other in bits(mask):
                descendants[other] |= 1 << o
        return descendants

    @cached_property
    def beside(self) -> list[int]:
        """The operations that share a tensor with each one."""
        beside = [0] * len(self.before)
        for o, operation in enumerate(self.graph.operations):
            for tensor in (*operation.inputs, operation.output):
                beside[o] |= self.readers[tensor]
                if tensor in self.graph.producer:
                    beside[o] |= 1 << self.graph.producer[tensor]
            beside[o] &= ~(1 << o)
        return beside

    @cached_property
    def outputs(self) -> int:
        """The tensors that are outputs of the graph."""
        return sum(1 << t for t in self.graph.outputs)

    def awaited(self, tensors: int, done: int) -> int:
        """Return the tensors (a mask) that operations not yet done will read."""
        return sum(1 << t for t in bits(tensors) if self.readers[t] & ~done)

    @cached_property
    def _groups(self) -> dict[int, Group]:
        return {}

    def group(self, operations: int) -> Group:
        """Return the group of some operations; results are cached since the same groups recur often."""
        if operations not in self._groups:
            needs, leaving = 0, []
            for o in bits(operations):
                needs |= self.before[o]
                output = self.graph.operations[o].output
                outside = self.readers[output] & ~operations
                if outside or self.outputs >> output & 1:
                    leaving.append((output, outside))
            self._groups[operations] = Group(operations, needs & ~operations, tuple(leaving))
        return self._groups[operations]

    def is_convex(self, group: int) -> bool:
        """Return True if no outside operation lies on a path between two operations of the group."""
        up = down = 0
        for o in bits(group):
            up |= self.ancestors[o]
            down |= self.descendants[o]
        return not up & down & ~group

    def is_connected(self, group: int) -> bool:
        """Return True if the operations of a group are connected by shared tensors."""
        reached = waiting = group & -group
        while waiting:
            around = 0
            for o in bits(waiting):
                around |= self.beside[o]
            waiting = around & group & ~reached
            reached |= waiting
        return reached == group


def grown(relations: Relations, window: int, most: int, longest: int) -> tuple[list[int], bool]:
    """Return the connected convex groups within a convex set of operations, and whether all were found.

    Groups grow by one operation at a time, through convex ones only. That finds all: a connected convex set of two or
    more has a source or a sink without which it is connected, and then it is convex as well. It ends at `most` groups
    and at `longest` operations in one.
    """
    masks: list[int] = []
    layer = [(1 << o, relations.ancestors[o], relations.descendants[o], relations.beside[o]) for o in bits(window)]
    seen = {row[0] for row in layer}
    for _ in range(longest):
        masks += [row[0] for row in layer]
        if len(masks) > most:
            return masks[:most], False
        following = []
        for group, up, down, beside in layer:
            for o in bits(beside & window & ~group):
                larger = group | 1 << o
                if larger in seen:
                    continue
                seen.add(larger)
                above, below = up | relations.ancestors[o], down | relations.descendants[o]
                if not above & below & ~larger:
                    following.append((larger, above, below, beside | relations.beside[o]))
            if len(following) > most:
                return masks, False
        layer = following
        if not layer:
            return masks, True
    return masks, not layer


def unions(relations: Relations, parts: Iterable[int]) -> set[int]:
    """Return groups that unite two, three or four parts: large groups without all the smaller ones in between."""
    masks = set()
    rows = list(parts)
    for size in (2, 3, 4):
        for chosen in combinations(rows, size):
            union = 0
            for part in chosen:
                union |= part
            masks.add(union)
    return {group for group in masks if relations.is_convex(group) and relations.is_connected(group)}
