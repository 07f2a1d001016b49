"""Making the arrays that the exact search reads of some buffers of an instance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from memplan.planner.instance.instance import I64_MAX, Bool, Instance
from memplan.planner.model.buffer_table import I64, frozen
from memplan.planner.model.intervals import merged
from memplan.solvers.core.exact import NOWHERE
from memplan.solvers.core.sections import SectionFacts, Sections, lay_out
from memplan.solvers.core.tables import Reference
from memplan.solvers.formulation.sharing import ragged_rows
from memplan.solvers.formulation.subinstance import appearances

_CODE_SEED = 20261120


@dataclass(frozen=True, eq=False)
class Lives:
    """The lifetimes of the free buffers, in sections; rows sorted by buffer and time."""

    lifetime_buffer: I64
    start: I64
    end: I64
    n_sections: int


class LaidOut(NamedTuple):
    """Sections as kernels read them, the first of them `base` in all; how many each buffer is in, (n,), and the largest
    load of these."""

    sections: Reference[Sections]
    base: int
    span: I64
    total: I64


def compile_sections(instance: Instance, lives: Lives, buffers: I64) -> LaidOut:
    """Make the arrays of some buffers (positions in the instance), none of them pinned; O(n^2) time."""
    n = len(buffers)
    position = np.full(len(instance), -1)
    position[buffers] = np.arange(n)
    lifetime_buffer = position[lives.lifetime_buffer]
    mine = lifetime_buffer >= 0
    lifetime_buffer, start, end = lifetime_buffer[mine], lives.start[mine], lives.end[mine]
    m, base = len(start), int(start.min())
    start, end, k = start - base, end - base, int(end.max()) - base
    size, step, residue = instance.size[buffers], instance.alignment[0, buffers], instance.lowest[0, buffers]
    residue = residue % step if "ranges" in instance.features else residue
    granule = int(np.gcd.reduce(np.concatenate((step, np.diff(residue)))))
    link_first, link = _links(instance, buffers, position)
    obstacle_first, obstacle = _obstacle_rows(instance, buffers)
    block_first, block = _block_rows(instance, base, k, granule, int(residue[0]))
    n_slots = int((end - start).sum())
    # Of one lifetime each, without conflicts by name, that many meet; else at the most.
    meetings = int((np.sort(start).searchsorted(end) - np.sort(end).searchsorted(start, side="right")).sum())
    of_buffers = np.zeros((5, n), dtype=np.int64)
    sections = Reference(
        Sections(
            size=size,
            extent=-(-size // granule) * granule if granule > 1 else size,
            step=step,
            residue=residue,
            first=np.searchsorted(lifetime_buffer, np.arange(n + 1)),
            start=start,
            end=end,
            leftmost=of_buffers[0],
            rightmost=of_buffers[1],
            neighbour_first=np.zeros(n + 1, dtype=np.int64),
            neighbour=np.empty(meetings - m + len(link), dtype=np.uint32),
            link_first=link_first,
            link=link,
            obstacle_first=obstacle_first,
            obstacle=obstacle,
            member_first=np.zeros(k + 1, dtype=np.uint32),
            member=np.empty(n_slots, dtype=np.uint32),
            member_slot=np.empty(n_slots, dtype=np.int64),
            slot_first=np.empty(m, dtype=np.int64),
            block_first=block_first,
            block=block,
            spare=np.zeros(k, dtype=np.int64),
            twin=np.empty(n, dtype=np.int64),
            code=_codes((n - 1).bit_length())[:n],
            granule=granule,
            is_plain=m == n and len(link) == 0,
        )
    )
    _, _, span, total, seen = of_buffers
    facts = SectionFacts(lifetime_buffer, span, total, np.zeros(k, dtype=np.int64), seen, instance.is_plain)
    lay_out(sections, Reference(facts))
    if not instance.is_plain:
        sections.table.twin[:] = _twins(instance, buffers)
    return LaidOut(sections, base, span, total)


@lru_cache
def _codes(bits: int) -> I64:
    """Return 2^bits rows of random numbers, of which fewer bits have the first ones."""
    codes = np.random.default_rng(_CODE_SEED).integers(-(2**63), 2**63 - 1, (1 << bits, 4), endpoint=True)
    return frozen(codes)


def _links(instance: Instance, buffers: I64, position: I64) -> tuple[I64, I64]:
    """Return the conflicts by name inside a component, as symmetric adjacency lists."""
    if len(instance.conflict) == 0:
        return np.zeros(len(buffers) + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    a = position[np.repeat(np.arange(len(instance)), np.diff(instance.conflict_first))]
    b = position[instance.conflict]
    inside = (a >= 0) & (b >= 0)
    a, b = a[inside], b[inside]
    order = np.argsort(a, kind="stable")
    return np.searchsorted(a[order], np.arange(len(buffers) + 1)), b[order]


def _reserved(instance: Instance) -> list[tuple[int, int]]:
    return [(low, high) for low, high in instance.pools[0].reserved.tolist()]


def _obstacle_rows(instance: Instance, buffers: I64) -> tuple[I64, I64]:
    """Return, for each buffer, where it may not lie: reserved ranges, pinned buffers that conflict with it, and what
    is below its lowest offset and above its highest."""
    reserved = _reserved(instance)
    if instance.features.isdisjoint({"pins", "ranges"}):
        return _repeated(merged(reserved), len(buffers))
    mine = instance.pin[instance.lifetime_buffer] >= 0
    lifetime_buffer, start, end = instance.lifetime_buffer[mine], instance.start[mine], instance.end[mine]
    found = []
    for i in buffers.tolist():
        near = set(instance.conflict[instance.conflict_first[i] : instance.conflict_first[i + 1]].tolist())
        for r in range(instance.first[i], instance.first[i + 1]):
            near.update(lifetime_buffer[(start < instance.end[r]) & (instance.start[r] < end)].tolist())
        pinned = [_extent(instance, j) for j in near - {i} if instance.pin[j] >= 0]
        found.append(merged(reserved + pinned + _beyond(instance, i)))
    return ragged_rows(found)


def _beyond(instance: Instance, i: int) -> list[tuple[int, int]]:
    """Return what keeps a buffer from lying below its lowest offset, or above its highest, as (low, high) rows."""
    lowest, highest = int(instance.lowest[0, i]), int(instance.highest[0, i])
    below = [(0, lowest)] if lowest >= instance.alignment[0, i] else []
    return below if highest == I64_MAX else [*below, (highest + int(instance.size[i]), NOWHERE)]


def _block_rows(instance: Instance, base: int, n_sections: int, granule: int, residue: int) -> tuple[I64, I64]:
    """Return, for each section, the cells of the reserved ranges and of the pinned buffers alive in it."""
    reserved = _reserved(instance)
    if "pins" not in instance.features:
        return _repeated(_rounded(reserved, granule, residue), n_sections)
    found = [list(reserved) for _ in range(n_sections)]
    for r in np.flatnonzero(instance.pin[instance.lifetime_buffer] >= 0).tolist():
        low, high = max(0, int(instance.start[r]) - base), int(instance.end[r]) - base
        for rows in found[low : max(low, high)]:
            rows.append(_extent(instance, int(instance.lifetime_buffer[r])))
    return ragged_rows([_rounded(rows, granule, residue) for rows in found])


def _extent(instance: Instance, pinned: int) -> tuple[int, int]:
    """Return where a pinned buffer lies, as (low, high)."""
    low = int(instance.pin[pinned])
    return low, low + int(instance.size[pinned])


def _rounded(rows: list[tuple[int, int]], granule: int, residue: int) -> list[tuple[int, int]]:
    """Round (low, high) rows up to the grid of offsets: below `low` a buffer may end inside its last cell, but none can
    start inside the cell that `high` is in."""
    shift = residue % granule

    def up(at: int) -> int:
        return -(-(at - shift) // granule) * granule + shift

    return merged((up(low), up(high)) for low, high in rows)


def _repeated(rows: list[tuple[int, int]], count: int) -> tuple[I64, I64]:
    """Return what `ragged_rows` makes of so many equal lists."""
    return len(rows) * np.arange(count + 1), np.array(rows * count, dtype=np.int64).reshape(-1, 2)


def _twins(instance: Instance, buffers: I64) -> I64:
    """Return, for each buffer of a component, the last one before it that is equal in all but name, or -1.

    Only buffers alive together are twins: the search then has to order them, and one order will do.
    """
    twin = np.full(len(buffers), -1)
    positions = np.flatnonzero(np.diff(instance.first)[buffers] > 0)
    positions = positions[_occur_again(instance.size[buffers[positions]])]
    last: dict[tuple[object, ...], int] = {}
    mine = buffers[positions]
    for k, i, look in zip(positions.tolist(), mine.tolist(), appearances(instance, mine), strict=True):
        links = instance.conflict[instance.conflict_first[i] : instance.conflict_first[i + 1]]
        twin[k] = last.get((look, links.tobytes()), -1)
        last[look, links.tobytes()] = k
    return twin


def _occur_again(values: I64) -> Bool:
    """Return a mask of the values that are there more than once."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray(counts[which] > 1)
