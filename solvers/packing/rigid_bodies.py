"""Bodies that move as one (single buffers, rigid groups, pairs that share an offset) and their legal offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import lcm
from typing import NamedTuple

import numpy as np

from memplan.planner.instance.instance import I64_MAX, Instance
from memplan.planner.instance.legal_offsets import Ranges, merged
from memplan.planner.model.buffer_table import ABSENT, I64, column, frozen
from memplan.solvers.formulation.pair_rules import PairRules

_TRIES = 1_000
"""An offset is raised so often from one page rule of a body to the next before the search for it is given up."""


class Page(NamedTuple):
    """A rule for a body's offset o: (o + shift) % length + size <= length."""

    length: int
    shift: int
    size: int


@dataclass(frozen=True)
class Body:
    """Buffers at fixed distances from each other, and the offsets that they may have in one pool.

    Buffer members[k] lies at the body's offset + distances[k]; the offset is lowest + j * step, j >= 0, and at most
    `highest`, outside of the `barred` ranges.
    """

    members: tuple[int, ...]
    distances: tuple[int, ...]
    lowest: int
    step: int
    highest: int
    pages: tuple[Page, ...] = ()
    barred: Ranges = ()

    def next(self, at: int) -> int | None:
        """Return the least offset, not below `at`, that it may have; None if there is none, or it is far to seek."""
        at = self.lowest if at <= self.lowest else at + (self.lowest - at) % self.step
        for _ in range(_TRIES):
            for low, high in self.barred:
                if low <= at < high:
                    at = high + (self.lowest - high) % self.step
            broken = next(
                (page for page in self.pages if (at + page.shift) % page.length + page.size > page.length), None
            )
            if broken is None or at > self.highest:
                break
            past = broken.length - (at + broken.shift) % broken.length
            steps = first_multiple(self.step, broken.length, past, past + broken.length - broken.size)
            if steps is None:
                return None
            at += steps * self.step
        else:
            return None
        return at if at <= self.highest else None


def first_multiple(step: int, modulus: int, low: int, high: int) -> int | None:
    """Return the least k >= 0 with low <= k * step % modulus <= high, for 0 <= low <= high < modulus; None if none is.

    O(log modulus), as in Euclid's algorithm: where no multiple falls in the range before the first turn over the
    modulus, how often to turn over is the same question for the remainders.
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
    """The bodies of one pool: `lead[i]` names that of buffer `i`, which lies distance[i] above the body's offset.

    No distance is negative. The body may lie at lowest[i] and every step[i] above it up to highest[i], the same for all
    its buffers, where their pages and the capacity allow. Each of the `glued` pairs becomes one body, with one offset,
    unless that breaks another rule.
    """

    def __init__(self, instance: Instance, q: int, glued: Iterable[tuple[int, int]] = ()) -> None:
        self.instance, self.q = instance, q
        self._members: dict[int, list[int]] = {}
        for i in np.flatnonzero(instance.anchor != np.arange(len(instance))).tolist():
            anchor = int(instance.anchor[i])
            self._members.setdefault(anchor, [anchor]).append(i)
        self.lead, self.distance = instance.anchor, instance.distance
        self.lowest, self.step, self.highest = instance.lowest[q], instance.alignment[q], instance.highest[q]
        pairs = list(glued)
        if self._members or pairs:  # columns of a million buffers are not copied in vain
            self.lead, self.distance = np.array(self.lead), np.array(self.distance)
            self.lowest, self.step, self.highest = (
                values[self.lead] for values in (self.lowest, self.step, self.highest)
            )
        for i, j in pairs:
            if self.lead[i] != self.lead[j] and instance.allowed[q, [i, j]].all():
                self._glue(i, j)
        for values in (self.lead, self.distance, self.lowest, self.step, self.highest):
            values.setflags(write=False)
        self._made: dict[int, Body] = {}

    @cached_property
    def _pairs(self) -> PairRules:
        """The rules of pairs in the pool."""
        return PairRules.of(self.instance, self.q)

    def _glue(self, i: int, j: int) -> None:
        """Make one body of two, in which buffers `i` and `j` have one offset, if that breaks no other rule."""
        mine, others = self.members(int(self.lead[i])), self.members(int(self.lead[j]))
        shift = int(self.distance[i] - self.distance[j])
        grids = [(int(self.lowest[k]), int(self.step[k])) for k in (i, j)]
        joint = _joined(grids[0], (grids[1][0] - shift, grids[1][1]))
        highest = min(int(self.highest[i]), int(self.highest[j]) - shift)
        if joint is not None and joint[0] <= highest and self._suit(mine, others, shift):
            self._members[int(self.lead[i])] = both = mine + others
            self.lead[others] = self.lead[i]
            self.distance[others] += shift
            below = int(self.distance[both].min())  # negative where one of the others becomes the lowest of all
            self.distance[both] -= below
            self.lowest[both], self.step[both] = joint[0] + below, joint[1]
            self.highest[both] = min(highest + below, I64_MAX)

    def members(self, lead: int) -> list[int]:
        """Return the buffers of a body."""
        return self._members.get(lead, [lead])

    def of(self, i: int) -> Body:
        """Return the body of buffer `i`."""
        lead = int(self.lead[i])
        if lead not in self._made:
            self._made[lead] = self._body(self.members(lead))
        return self._made[lead]

    def grouped(self, order: I64) -> tuple[I64, I64]:
        """Return (positions, first): positions[first[b]:first[b + 1]] of `order` are body b; as they come in it."""
        if not self._members:
            return frozen(np.arange(len(order))), frozen(np.arange(len(order) + 1))
        first_met = np.full(len(self.lead), len(order))
        lead = self.lead[order]
        np.minimum.at(first_met, lead, np.arange(len(order)))
        by_body = np.argsort(first_met[lead], kind="stable")
        is_new = np.diff(lead[by_body], prepend=ABSENT, append=ABSENT) != 0
        return column(by_body), column(np.flatnonzero(is_new))

    def _body(self, members: list[int]) -> Body:
        instance, q = self.instance, self.q
        distances, sizes = self.distance[members].tolist(), instance.size[members].tolist()
        return Body(
            members=tuple(members),
            distances=tuple(distances),
            lowest=int(self.lowest[members[0]]),
            step=int(self.step[members[0]]),
            highest=min(
                int(self.highest[members[0]]),
                *(instance.pools[q].capacity - x - size for x, size in zip(distances, sizes, strict=True)),
            ),
            pages=(
                *(
                    Page(int(instance.page[q, i]), int(instance.page_shift[q, i]) + x, size)
                    for i, x, size in zip(members, distances, sizes, strict=True)
                    if instance.page[q, i] > 0
                ),
                *self._bank_borders(members),
            ),
            barred=self._barred(members, distances),
        )

    def _barred(self, members: list[int], distances: list[int]) -> Ranges:
        """Return what is barred to a body, as it is to one of its members."""
        rows = [(x, self.instance.barred_to(i, self.q)) for i, x in zip(members, distances, strict=True)]
        return merged((low - x, high - x) for x, ranges in rows for low, high in ranges)

    def _bank_borders(self, members: list[int]) -> Iterator[Page]:
        """Yield what keeps apart, by banks, those of a body that must touch no common one."""
        pool = self.instance.pools[self.q]
        for j, taken in self._borders(members):
            yield Page(pool.bank, pool.bank_shift + int(self.distance[j]), taken)

    def _borders(self, members: list[int]) -> Iterator[tuple[int, int]]:
        """Yield (upper one, bytes that its bank must have left) for two of a body that must touch no common bank.

        A bank must begin in the gap between the two: the upper one starts at most so many bytes into its own.
        """
        instance, pool = self.instance, self.instance.pools[self.q]
        for i in members if pool.bank > 0 else ():
            for j in set(listed(instance.bank_first, instance.bank_with, i).tolist()).intersection(members):
                gap = int(self.distance[j] - self.distance[i] - instance.size[i])
                if 0 <= gap < pool.bank - 1:
                    yield j, pool.bank - gap

    def borders(self) -> tuple[I64, I64]:
        """Return (first, bytes): whatever lies first[j]:first[j + 1] must be left of a bank where buffer j begins.

        That keeps apart, by banks, those of one body that must touch no common one.
        """
        borders = sorted(row for members in self._members.values() for row in self._borders(members))
        uppers = np.array([j for j, _ in borders], dtype=np.int64)
        return column(np.searchsorted(uppers, np.arange(len(self.lead) + 1))), column([taken for _, taken in borders])

    def _suit(self, mine: list[int], others: list[int], shift: int) -> bool:
        """Say whether the buffers of one body may lie where they do beside those of another, moved up by `shift`."""
        return all(self._may_lie(i, j, int(self.distance[j] + shift - self.distance[i])) for i in mine for j in others)

    def _may_lie(self, i: int, j: int, above: int) -> bool:
        """Say whether buffer `j` may lie so far above `i`."""
        instance = self.instance
        clearance = self._pairs.clearance_of(i, j)
        free = clearance or 0
        if above >= instance.size[i] + free or -above >= instance.size[j] + free:
            return True
        if clearance is not None:
            return False
        may_share = above == 0 and j in listed(instance.share_first, instance.share, i)
        return may_share or not alive_together(instance, i, j)


def _joined(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int] | None:
    """Return (lowest, step) of the offsets that two such grids have in common; None where int64 has none."""
    (lowest, step), (least, stride) = one, other
    at = lowest + max(0, -(-(least - lowest) // step)) * step
    missing = (least - at) % stride
    more = first_multiple(step, stride, missing, missing)
    if more is None or at + more * step > I64_MAX:
        return None
    return at + more * step, min(lcm(step, stride), I64_MAX)


def listed(first: I64, neighbour: I64, i: int) -> I64:
    """Return the neighbours of buffer `i` in adjacency lists."""
    return neighbour[first[i] : first[i + 1]]


def alive_together(instance: Instance, i: int, j: int) -> bool:
    """Say whether two buffers are alive at one time."""
    mine, others = slice(*instance.first[i : i + 2]), slice(*instance.first[j : j + 2])
    start, end = instance.start, instance.end
    together = (start[mine, None] < end[others]) & (start[others] < end[mine, None])
    return bool(together.any())
