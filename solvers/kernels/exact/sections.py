"""The buffers of one pool as the arrays that the exact search reads: sections, neighbours, obstacles, twins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memplan.planner.instance.instance import Bool, Instance
from memplan.planner.model.buffer_table import I64, frozen
from memplan.solvers.formulation.symmetry import appearances
from memplan.solvers.kernels.tables import U32, Rows

_CODE_SEED = 20261120


class Sections(NamedTuple):
    """The arrays that the exact search reads: n free buffers in k sections; all lengths and offsets in units.

    A section is a set of buffers that all conflict: a maximal live set, or a clique of conflicts by name. Pinned
    buffers and reserved ranges are not searched for: they are obstacles.

    Lifetime r of buffer i, for r in first[i]:first[i + 1], spans the sections start[r]:end[r]; all of them lie in
    leftmost[i]:rightmost[i]. All offsets are congruent modulo `granule`, so a buffer takes `extent` from those above it
    though it ends after `size`. `twin[i]` is an earlier buffer that differs from i in nothing, or -1.
    """

    size: I64  # (n,)
    extent: I64  # (n,): size rounded up to the granule
    step: I64  # (n,): offsets are o with o % step == residue
    residue: I64  # (n,)
    first: I64  # (n + 1,)
    start: I64
    end: I64
    leftmost: I64  # (n,)
    rightmost: I64  # (n,)
    neighbour_first: I64  # (n + 1,): the buffers that conflict with it, for whatever reason
    neighbour: U32
    link_first: I64  # (n + 1,): the conflicts by name among them
    link: I64
    obstacle_first: I64  # (n + 1,): disjoint ascending (low, high) rows that a buffer must keep clear of
    obstacle: Rows
    member_first: U32  # (k + 1,)
    member: U32
    member_slot: I64  # the slot of each member: slots count sections of lifetimes, lifetime by lifetime
    slot_first: I64  # the first slot of each lifetime
    block_first: I64  # (k + 1,): disjoint ascending (low, high) rows that no buffer of a section may use
    block: Rows
    spare: I64  # (k,): the most that a buffer's extent exceeds its size
    twin: I64  # (n,)
    code: Rows  # (n, 4): random numbers, see the kernel's nogood keys
    granule: int
    is_plain: bool  # whether every buffer has one lifetime and no conflict by name


@dataclass(frozen=True, eq=False)
class Lives:
    """The lifetimes of the free buffers, in sections; rows sorted by buffer and time."""

    lifetime_buffer: I64
    start: I64
    end: I64
    n_sections: int


def compile_sections(instance: Instance, lives: Lives, buffers: I64) -> Sections:
    """Make the arrays of some buffers (positions in the instance), none of them pinned; O(n^2) time."""
    n = len(buffers)
    position = np.full(len(instance), -1)
    position[buffers] = np.arange(n)
    mine = position[lives.lifetime_buffer] >= 0
    lifetime_buffer, start, end = position[lives.lifetime_buffer[mine]], lives.start[mine], lives.end[mine]
    base = int(start.min())
    start, end, k = start - base, end - base, int(end.max()) - base
    size, step, residue = instance.size[buffers], instance.alignment[0, buffers], instance.residue[0, buffers]
    granule = int(np.gcd.reduce(np.concatenate((step, np.diff(residue)))))
    extent = -(-size // granule) * granule

    first = np.searchsorted(lifetime_buffer, np.arange(n + 1))
    leftmost, rightmost = np.full(n, k), np.zeros(n, dtype=np.int64)
    np.minimum.at(leftmost, lifetime_buffer, start)
    np.maximum.at(rightmost, lifetime_buffer, end)
    link_first, link = _links(instance, buffers, position)
    near = _conflict_matrix(first, start, end)
    near[np.repeat(np.arange(n), np.diff(link_first)), link] = True
    np.fill_diagonal(near, False)
    pairs = np.flatnonzero(near)
    member_first, member, member_slot = _members(lifetime_buffer, start, end, k)
    obstacle_first, obstacle = _obstacle_rows(instance, buffers)
    block_first, block = _block_rows(instance, base, k, granule, int(residue[0]))
    spare = np.zeros(k, dtype=np.int64)
    np.maximum.at(spare, np.repeat(np.arange(k), np.diff(member_first)), (extent - size)[member])
    return Sections(
        size=_int64(size),
        extent=_int64(extent),
        step=_int64(step),
        residue=_int64(residue),
        first=_int64(first),
        start=_int64(start),
        end=_int64(end),
        leftmost=_int64(leftmost),
        rightmost=_int64(rightmost),
        neighbour_first=np.searchsorted(pairs, n * np.arange(n + 1)),
        neighbour=(pairs % n).astype(np.uint32),
        link_first=_int64(link_first),
        link=_int64(link),
        obstacle_first=obstacle_first,
        obstacle=obstacle,
        member_first=member_first.astype(np.uint32),
        member=member.astype(np.uint32),
        member_slot=_int64(member_slot),
        slot_first=_int64(np.cumsum(end - start) - (end - start)),
        block_first=block_first,
        block=block,
        spare=spare,
        twin=_twins(instance, buffers),
        code=_codes((n - 1).bit_length())[:n],
        granule=granule,
        is_plain=len(lifetime_buffer) == n and len(link) == 0,
    )


@lru_cache
def _codes(bits: int) -> I64:
    """Return 2^bits rows of random numbers, of which fewer bits have the first ones."""
    codes = np.random.default_rng(_CODE_SEED).integers(-(2**63), 2**63 - 1, (1 << bits, 4), endpoint=True)
    return frozen(codes)


def _int64(values: npt.NDArray[np.signedinteger]) -> I64:
    """Return a copy in the one memory layout that the kernel is compiled for: contiguous, writable int64."""
    return np.array(values, dtype=np.int64, order="C")


def _conflict_matrix(first: I64, start: I64, end: I64) -> Bool:
    """Return the pairs that are alive together, bool (n, n); every buffer has a lifetime."""
    near: Bool = (start[:, None] < end[None, :]) & (start[None, :] < end[:, None])
    if len(start) == len(first) - 1:
        return near
    near = np.logical_or.reduceat(near, first[:-1], axis=0)
    return np.logical_or.reduceat(near, first[:-1], axis=1)


def _members(lifetime_buffer: I64, start: I64, end: I64, n_sections: int) -> tuple[I64, I64, I64]:
    """Return the buffers of each section as (first, members, slots of the members)."""
    lasting = end - start
    which = np.repeat(lifetime_buffer, lasting)
    section = np.arange(len(which)) - np.repeat(np.cumsum(lasting) - lasting - start, lasting)
    order = np.argsort(section, kind="stable")
    return np.searchsorted(section[order], np.arange(n_sections + 1)), which[order], order


def _links(instance: Instance, buffers: I64, position: I64) -> tuple[I64, I64]:
    """Return the conflicts by name inside a component, as symmetric adjacency lists."""
    a = position[np.repeat(np.arange(len(instance)), np.diff(instance.conflict_first))]
    b = position[instance.conflict]
    inside = (a >= 0) & (b >= 0)
    a, b = a[inside], b[inside]
    order = np.argsort(a, kind="stable")
    return np.searchsorted(a[order], np.arange(len(buffers) + 1)), b[order]


def _obstacle_rows(instance: Instance, buffers: I64) -> tuple[I64, I64]:
    """Return, for each buffer, where it may not lie: reserved ranges, and pinned buffers that conflict with it."""
    reserved = instance.pools[0].reserved.tolist()
    if "pins" not in instance.features:
        return _repeated(_merged(reserved), len(buffers))
    mine = instance.pin[instance.lifetime_buffer] >= 0
    lifetime_buffer, start, end = instance.lifetime_buffer[mine], instance.start[mine], instance.end[mine]
    found = []
    for i in buffers.tolist():
        near = set(instance.conflict[instance.conflict_first[i] : instance.conflict_first[i + 1]].tolist())
        for r in range(instance.first[i], instance.first[i + 1]):
            near.update(lifetime_buffer[(start < instance.end[r]) & (instance.start[r] < end)].tolist())
        found.append(_merged(reserved + [_extent(instance, j) for j in near - {i} if instance.pin[j] >= 0]))
    return _rows(found)


def _block_rows(instance: Instance, base: int, n_sections: int, granule: int, residue: int) -> tuple[I64, I64]:
    """Return, for each section, the cells of the reserved ranges and of the pinned buffers alive in it."""
    reserved = instance.pools[0].reserved.tolist()
    if "pins" not in instance.features:
        return _repeated(_rounded(reserved, granule, residue), n_sections)
    found = [list(reserved) for _ in range(n_sections)]
    for r in np.flatnonzero(instance.pin[instance.lifetime_buffer] >= 0).tolist():
        low, high = max(0, int(instance.start[r]) - base), int(instance.end[r]) - base
        for rows in found[low : max(low, high)]:
            rows.append(_extent(instance, int(instance.lifetime_buffer[r])))
    return _rows([_rounded(rows, granule, residue) for rows in found])


def _extent(instance: Instance, pinned: int) -> list[int]:
    """Return where a pinned buffer lies, as [low, high]."""
    low = int(instance.pin[pinned])
    return [low, low + int(instance.size[pinned])]


def _rounded(rows: list[list[int]], granule: int, residue: int) -> list[list[int]]:
    """Round (low, high) rows up to the grid of offsets: below `low` a buffer may end inside its last cell, but none can
    start inside the cell that `high` is in."""
    shift = residue % granule
    return _merged([[-(-(at - shift) // granule) * granule + shift for at in row] for row in rows])


def _merged(rows: list[list[int]]) -> list[list[int]]:
    """Return (low, high) rows as disjoint ascending ones."""
    found: list[list[int]] = []
    for low, high in sorted(rows):
        if found and low <= found[-1][1]:
            found[-1][1] = max(found[-1][1], high)
        else:
            found.append([low, high])
    return found


def _rows(lists: list[list[list[int]]]) -> tuple[I64, I64]:
    """Return lists of (low, high) rows as (first, rows)."""
    first = np.append(0, np.cumsum([len(rows) for rows in lists]))
    return first, np.array([row for rows in lists for row in rows], dtype=np.int64).reshape(-1, 2)


def _repeated(rows: list[list[int]], count: int) -> tuple[I64, I64]:
    """Return what `_rows` makes of so many equal lists."""
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
