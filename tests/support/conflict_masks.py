"""Conflicts between buffers as bit masks (Python integers), so that one operation tests all live sets."""

from __future__ import annotations

from itertools import pairwise

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64


class ConflictMasks:
    """Bit masks of conflicts: buffers `i` and `j` conflict if shows[i] & asks[j] is not 0.

    Bit t of `shows[i]` means that buffer `i` is alive in live set t; if there are explicit conflicts, one further bit
    identifies the buffer. `asks[i]` has the same live sets, the bits of the buffers in explicit conflict with `i`, and
    a bit that only `reserved` ranges show.
    """

    def __init__(self, instance: Instance) -> None:
        alive = [0] * len(instance)
        for i, start, end in zip(
            instance.lifetime_buffer.tolist(), instance.start.tolist(), instance.end.tolist(), strict=True
        ):
            alive[i] |= (1 << end) - (1 << start)
        self.reserved = 1 << instance.n_live_sets
        self.shows, self.asks = alive, [mask | self.reserved for mask in alive]
        if len(instance.conflict):
            name = [self.reserved << (i + 1) for i in range(len(instance))]
            paired = neighbours(instance.conflict_first, instance.conflict)
            self.shows = [mask | name[i] for i, mask in enumerate(self.shows)]
            self.asks = [mask | sum(name[j] for j in paired[i]) for i, mask in enumerate(self.asks)]


def neighbours(first: I64, neighbour: I64) -> list[list[int]]:
    """Return symmetric adjacency arrays as lists."""
    bounds, flat = first.tolist(), neighbour.tolist()
    return [flat[low:high] for low, high in pairwise(bounds)]
