"""Rigid bodies and their legal offsets in plain Python, as a reference for the packing kernel."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from memplan.planner.instance.legal_offsets import Ranges, merge_ranges
from memplan.solvers.packing.rigid_bodies import Bodies, first_multiple

_TRIES = 1_000
"""Maximum number of steps between page rules before the search for a legal offset gives up."""


class Page(NamedTuple):
    """A rule for a body's offset o: (o + shift) % length + size <= length."""

    length: int
    shift: int
    size: int


@dataclass(frozen=True)
class Body:
    """Buffers at fixed distances from each other, and the offsets that they may have in one pool.

    Buffer members[k] has the body's offset + distances[k]. The offset is lowest + j * step for some j >= 0, is at most
    `highest`, and is outside the `barred` ranges.
    """

    members: tuple[int, ...]
    distances: tuple[int, ...]
    lowest: int
    step: int
    highest: int
    pages: tuple[Page, ...] = ()
    barred: Ranges = ()

    def next_offset(self, at: int) -> int | None:
        """Return the lowest legal offset from `at` upwards; None if there is none or the search takes too long."""
        at = self.lowest if at <= self.lowest else at + (self.lowest - at) % self.step
        for _ in range(_TRIES):
            for low, high in self.barred:
                if low <= at < high:
                    at = high + (self.lowest - high) % self.step
            hit = next((page for page in self.pages if (at + page.shift) % page.length + page.size > page.length), None)
            if hit is None or at > self.highest:
                break
            past = hit.length - (at + hit.shift) % hit.length
            steps = first_multiple(self.step, hit.length, past, past + hit.length - hit.size)
            if steps is None:
                return None
            at += steps * self.step
        else:
            return None
        return at if at <= self.highest else None


class PlainBodies(Bodies):
    """The bodies of one pool, each with its members, its grid, its pages and its barred offsets."""

    def body_of(self, i: int) -> Body:
        return self._body(self.members(int(self.lead[i])))

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
            barred=self._barred_ranges(members, distances),
        )

    def _barred_ranges(self, members: list[int], distances: list[int]) -> Ranges:
        """Return the offsets forbidden to a body because they are forbidden to one of its members."""
        rows = [(x, self.instance.barred_to(i, self.q)) for i, x in zip(members, distances, strict=True)]
        return merge_ranges((low - x, high - x) for x, ranges in rows for low, high in ranges)

    def _bank_borders(self, members: list[int]) -> Iterator[Page]:
        """Yield the rules by which members of a body that must touch no common bank are separated by banks."""
        pool = self.instance.pools[self.q]
        for j, taken in self._body_borders(members):
            yield Page(pool.bank, pool.bank_shift + int(self.distance[j]), taken)
