"""The pairs of buffers that must not share bytes, and the pairs that may share bytes while both are alive.

There are two kinds of the latter: views are members of one rigid group, and partners may have the same offset.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from memplan.planner.instance.instance import Bool, Instance
from memplan.planner.model.buffer_table import I64
from memplan.solvers.formulation.subinstance import pairs_among


def conflict_matrix(instance: Instance, buffers: I64) -> Bool:
    """Return a symmetric mask (n, n) of the pairs among the given buffers that must not share bytes."""
    n, position = len(buffers), np.full(len(instance), -1)
    position[buffers] = np.arange(n)
    near = np.zeros((n, n), dtype=np.bool_)
    rows = position[instance.lifetime_buffer] >= 0
    buffer_of, start, end = position[instance.lifetime_buffer[rows]], instance.start[rows], instance.end[rows]
    order = np.argsort(start, kind="stable")
    buffer_of, start, end = buffer_of[order], start[order], end[order]
    after = np.searchsorted(start, end)
    for k in range(len(buffer_of)):
        near[buffer_of[k], buffer_of[k + 1 : after[k]]] = True
    near |= near.T
    near[pairs_among(instance.conflict_first, instance.conflict, position)] = True
    near[pairs_among(instance.share_first, instance.share, position)] = False
    # Certificates ignore rigid groups, so let members of a group share bytes.
    near &= instance.anchor[buffers][:, None] != instance.anchor[buffers][None, :]
    return near


def neighbours(first: I64, values: I64, i: int) -> list[int]:
    """Return the neighbours of buffer `i` in adjacency lists whose starts are `first`."""
    neighbours: list[int] = values[first[i] : first[i + 1]].tolist()
    return neighbours


class Sharing:
    """The pairs that may share bytes while both are alive: views (at fixed distances) and partners (at one offset)."""

    def __init__(self, instance: Instance) -> None:
        """Store the groups at fixed distances and the sizes as lists, which are faster to read one by one."""
        self._instance = instance
        self._anchor, self._distance = instance.anchor.tolist(), instance.distance.tolist()
        self._size = instance.size.tolist()

    @cached_property
    def partners(self) -> list[frozenset[int]]:
        """For each buffer, the set of its partners: the buffers with which it may share an offset."""
        instance = self._instance
        return [frozenset(neighbours(instance.share_first, instance.share, i)) for i in range(len(instance))]

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of partners (buffers that may share an offset), each once as (lower position, higher position)."""
        return [(i, j) for i, mine in enumerate(self.partners) for j in sorted(mine) if i < j]

    def are_views(self, i: int, j: int) -> bool:
        """Return True if two buffers have a fixed distance (one rigid group), so that they never conflict."""
        return bool(self._anchor[i] == self._anchor[j])

    def overlap_always(self, i: int, j: int) -> bool:
        """Return True if two buffers of the same rigid group overlap at their fixed distance."""
        low, high = self._distance[i], self._distance[j]
        return self.are_views(i, j) and low < high + self._size[j] and high < low + self._size[i]

    def is_inside(self, i: int, j: int) -> bool:
        """Return True if buffer `i` lies inside its partner `j` whenever both have the same offset.

        The smaller buffer lies inside the larger one. If their sizes are equal, the later buffer lies inside the
        earlier one.
        """
        return bool((self._size[i], -i) < (self._size[j], -j))

    @cached_property
    def is_tied(self) -> list[bool]:
        """For each buffer, True if it has a partner (may share an offset) or a fixed distance to another buffer."""
        members = np.bincount(self._instance.anchor, minlength=len(self._instance))
        tied: list[bool] = ((members[self._instance.anchor] > 1) | (np.diff(self._instance.share_first) > 0)).tolist()
        return tied

    def disjoint_buffers(self, members: Sequence[int]) -> list[int]:
        """Return a subset of `members` (pairwise conflicting buffers), ascending, of which no two can share a byte.

        Of buffers that may share bytes, only the largest is in the subset, so that the sum of sizes counts no byte
        twice.
        """
        taken: list[int] = []
        for i in sorted((i for i in members if self.is_tied[i]), key=lambda i: (-self._size[i], i)):
            if not any(j in self.partners[i] or self.overlap_always(i, j) for j in taken):
                taken.append(i)
        return sorted([*taken, *(i for i in members if not self.is_tied[i])])

    def clusters(self, members: Iterable[int]) -> list[list[int]]:
        """Return the sets of two or more members connected by shared offsets or fixed distances, also indirectly."""
        leader = {i: i for i in members}

        def find_leader(i: int) -> int:
            while leader[i] != i:
                i = leader[i]
            return i

        anchors: dict[int, int] = {}
        for i in leader:
            leader[find_leader(i)] = find_leader(anchors.setdefault(self._anchor[i], i))
            for j in self.partners[i] & leader.keys():
                leader[find_leader(i)] = find_leader(j)
        clusters: dict[int, list[int]] = {}
        for i in leader:
            clusters.setdefault(find_leader(i), []).append(i)
        return [cluster for cluster in clusters.values() if len(cluster) > 1]
