"""Bodies, which the packing kernel places as a whole: single buffers, rigid groups, and pairs at one offset."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from math import lcm

import numpy as np

from memplan.planner.instance.instance import I64_MAX, Instance
from memplan.planner.model.buffer_table import ABSENT, I64, column, freeze
from memplan.solvers.formulation.pair_rules import PairRules


def first_multiple(step: int, modulus: int, low: int, high: int) -> int | None:
    """Return the least k >= 0 with low <= k * step % modulus <= high, or None if there is no such k.

    Requires 0 <= low <= high < modulus. The function takes O(log modulus) steps, like Euclid's algorithm: if no
    multiple is in the range before the first wrap around the modulus, the number of wraps is the solution of the same
    problem for the remainders.
    """
    if low == 0:
        return 0
    step %= modulus
    if step == 0:
        return None
    if 2 * step > modulus:
        return first_multiple(modulus - step, modulus, modulus - high, modulus - low)
    steps = -(-low // step)
    if steps * step <= high:
        return steps
    turns = first_multiple(-modulus % step, step, low % step, high % step)
    return None if turns is None else -(-(low + modulus * turns) // step)


class Bodies:
    """The bodies (buffers placed as a whole) of one pool: buffer `i` is distance[i] units above its body's offset.

    lead[i] is the buffer that names the body. Distances are at least 0. The offset of a body is lowest[i] plus a
    multiple of step[i], at most highest[i], where pages and the capacity allow it; these values are equal for all its
    buffers. Each of the `glued` pairs becomes one body with one offset, unless that violates another rule.
    """

    def __init__(self, instance: Instance, q: int, glued: Iterable[tuple[int, int]] = ()) -> None:
        """Make bodies of the rigid groups, and join each `glued` pair (same offset) if no rule forbids it."""
        self.instance, self.q = instance, q
        self._members: dict[int, list[int]] = {}
        for i in np.flatnonzero(instance.anchor != np.arange(len(instance))).tolist():
            anchor = int(instance.anchor[i])
            self._members.setdefault(anchor, [anchor]).append(i)
        self.lead, self.distance = instance.anchor, instance.distance
        self.lowest, self.step, self.highest = instance.lowest[q], instance.alignment[q], instance.highest[q]
        pairs = list(glued)
        if self._members or pairs:  # Without groups and pairs, the columns stay unchanged, so skip the copies.
            self.lead, self.distance = np.array(self.lead), np.array(self.distance)
            self.lowest, self.step, self.highest = (
                values[self.lead] for values in (self.lowest, self.step, self.highest)
            )
        for i, j in pairs:
            if self.lead[i] != self.lead[j] and instance.allowed[q, [i, j]].all():
                self._glue(i, j)
        for values in (self.lead, self.distance, self.lowest, self.step, self.highest):
            values.setflags(write=False)

    @cached_property
    def _pair_rules(self) -> PairRules:
        return PairRules.from_pool(self.instance, self.q)

    def _glue(self, i: int, j: int) -> None:
        """Join the bodies of buffers `i` and `j`, which get the same offset, unless this violates another rule."""
        mine, others = self.members(int(self.lead[i])), self.members(int(self.lead[j]))
        shift = int(self.distance[i] - self.distance[j])
        grids = [(int(self.lowest[k]), int(self.step[k])) for k in (i, j)]
        joint = _common_grid(grids[0], (grids[1][0] - shift, grids[1][1]))
        highest = min(int(self.highest[i]), int(self.highest[j]) - shift)
        if joint is not None and joint[0] <= highest and self._is_legal_shift(mine, others, shift):
            self._members[int(self.lead[i])] = both = mine + others
            self.lead[others] = self.lead[i]
            self.distance[others] += shift
            # The second body may have the lowest buffer, so distances may be below 0.
            below = int(self.distance[both].min())
            self.distance[both] -= below
            self.lowest[both], self.step[both] = joint[0] + below, joint[1]
            self.highest[both] = min(highest + below, I64_MAX)

    def members(self, lead: int) -> list[int]:
        """Return the buffers of the body that is named by its buffer `lead`."""
        return self._members.get(lead, [lead])

    def group(self, order: I64) -> tuple[I64, I64]:
        """Group an order of buffers by bodies, and return (positions, first).

        The buffers of body b are at the positions positions[first[b]:first[b + 1]] of the order.
        """
        if not self._members:
            return freeze(np.arange(len(order))), freeze(np.arange(len(order) + 1))
        first_met = np.full(len(self.lead), len(order))
        lead = self.lead[order]
        np.minimum.at(first_met, lead, np.arange(len(order)))
        by_body = np.argsort(first_met[lead], kind="stable")
        is_new = np.diff(lead[by_body], prepend=ABSENT, append=ABSENT) != 0
        return column(by_body), column(np.flatnonzero(is_new))

    def _body_borders(self, members: list[int]) -> Iterator[tuple[int, int]]:
        """Yield (upper buffer, units of a bank to remain at its start) for each pair of a body that may share no bank.

        The remaining units guarantee that a bank border lies in the gap between the two buffers of the pair.
        """
        instance, pool = self.instance, self.instance.pools[self.q]
        for i in members if pool.bank > 0 else ():
            for j in set(neighbours_of(instance.bank_first, instance.bank_with, i).tolist()).intersection(members):
                gap = int(self.distance[j] - self.distance[i] - instance.size[i])
                if 0 <= gap < pool.bank - 1:
                    yield j, pool.bank - gap

    def borders(self) -> tuple[I64, I64]:
        """Return two arrays (first, units) with the rules that separate bank partners within one body.

        Buffer j must start where at least units[k] units of its bank remain, for each k in first[j]:first[j + 1].
        """
        borders = sorted(row for members in self._members.values() for row in self._body_borders(members))
        uppers = np.array([j for j, _ in borders], dtype=np.int64)
        return column(np.searchsorted(uppers, np.arange(len(self.lead) + 1))), column([taken for _, taken in borders])

    def _is_legal_shift(self, mine: list[int], others: list[int], shift: int) -> bool:
        return all(
            self._is_legal_distance(i, j, int(self.distance[j] + shift - self.distance[i]))
            for i in mine
            for j in others
        )

    def _is_legal_distance(self, i: int, j: int, above: int) -> bool:
        """Return True if the offset of buffer `j` may be `above` units above that of buffer `i`."""
        instance = self.instance
        clearance = self._pair_rules.clearance_of(i, j)
        free = clearance or 0
        if above >= instance.size[i] + free or -above >= instance.size[j] + free:
            return True
        if clearance is not None:
            return False
        may_share = above == 0 and j in neighbours_of(instance.share_first, instance.share, i)
        return may_share or not alive_together(instance, i, j)


def _common_grid(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int] | None:
    """Return (lowest, step) of the offsets that are on both grids, or None without a common offset in int64."""
    (lowest, step), (least, stride) = one, other
    at = lowest + max(0, -(-(least - lowest) // step)) * step
    missing = (least - at) % stride
    more = first_multiple(step, stride, missing, missing)
    if more is None or at + more * step > I64_MAX:
        return None
    return at + more * step, min(lcm(step, stride), I64_MAX)


def neighbours_of(first: I64, neighbour: I64, i: int) -> I64:
    """Return the neighbours of buffer `i` in adjacency lists whose starts are `first`."""
    return neighbour[first[i] : first[i + 1]]


def alive_together(instance: Instance, i: int, j: int) -> bool:
    """Return True if two buffers are alive at the same time."""
    mine, others = slice(*instance.first[i : i + 2]), slice(*instance.first[j : j + 2])
    start, end = instance.start, instance.end
    together = (start[mine, None] < end[others]) & (start[others] < end[mine, None])
    return bool(together.any())
