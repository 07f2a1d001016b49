"""The cheapest choice of buffers that takes one of each colliding pair, and a lower bound on what it weighs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memplan.planner.model.buffer_table import I64, Bool


@dataclass(frozen=True)
class Cover:
    """The buffers chosen, what they weigh, and what no choice weighs less than."""

    chosen: frozenset[int]
    weight: int
    bound: int


def cheapest_cover(pairs: Sequence[tuple[int, int]], weight: I64, is_fixed: Bool) -> Cover:
    """Choose buffers, none of which is fixed, that cover all pairs.

    Leaves are taken by their neighbours where that costs no more, which is always right; else the buffer with the most
    pairs for its weight goes. The bound shares weights out to pairs: no buffer's pairs have more than its weight.
    """
    near: dict[int, set[int]] = {}
    for a, b in pairs:
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    chosen: set[int] = set()
    bound = 0

    def take(i: int) -> None:
        chosen.add(i)
        for j in near.pop(i):
            near[j].discard(i)
            if not near[j]:
                del near[j]
            elif len(near[j]) == 1:
                leaves.append(j)

    for i in [i for i in near if is_fixed[i]]:
        for j in sorted(near.get(i, ())):
            if not is_fixed[j]:
                bound += int(weight[j])
                leaves: list[int] = []
                take(j)
    leaves = sorted(i for i in near if len(near[i]) == 1)
    is_exact, rest = True, 0
    while near:
        while leaves:
            i = leaves.pop()
            if i in near and len(near[i]) == 1:
                (j,) = near[i]
                # Of a pair at the end of a chain, the other one covers more and weighs no more.
                if not is_fixed[j] and weight[j] <= weight[i]:
                    bound += int(weight[j]) if is_exact else 0
                    take(j)
        if near and is_exact:
            # Choices up to here are forced; from here on they are by guess, and the bound is what pairs can share out.
            is_exact, rest = False, _shared_out(near, weight)
        free = [i for i in near if not is_fixed[i]]
        if not free:  # both of each pair are pinned: no plan keeps these apart
            break
        if near:
            # The one that covers most pairs for its weight.
            take(max(free, key=lambda i: (len(near[i]) / max(1, int(weight[i])), i)))
    return Cover(frozenset(chosen), sum(int(weight[i]) for i in chosen), bound + rest)


def _shared_out(near: dict[int, set[int]], weight: I64) -> int:
    """Return what pairs can be given so that no buffer's pairs have more than its weight: no cover weighs less."""
    left = {i: int(weight[i]) for i in near}
    total = 0
    for i in sorted(near, key=lambda i: (len(near[i]), i)):
        for j in sorted(near[i], key=lambda j: (len(near[j]), j)):
            given = min(left[i], left[j])
            left[i] -= given
            left[j] -= given
            total += given
    return total
