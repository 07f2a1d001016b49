"""Cut an instance with one memory into independent parts, each as the arrays that the exact search reads.

A section is a set of buffers that all conflict: a maximal live set, or a clique among the buffers that have no lifetime
and conflict by name only. Pinned buffers and reserved ranges are not searched for: they are obstacles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from planner.instance import Bool, Instance
from planner.table import I64

_CODE_SEED = 20261120


class Sections(NamedTuple):
    """What the exact search reads: n free buffers in k sections; all arrays int64, all lengths and offsets in units.

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
    neighbour_first: I64  # (n + 1,): who conflicts with whom, for whatever reason
    neighbour: I64
    link_first: I64  # (n + 1,): the conflicts by name among them
    link: I64
    obstacle_first: I64  # (n + 1,): disjoint ascending (low, high) rows that a buffer must keep clear of
    obstacle: I64
    member_first: I64  # (k + 1,)
    member: I64
    block_first: I64  # (k + 1,): disjoint ascending (low, high) rows that no buffer of a section may use
    block: I64
    spare: I64  # (k,): the most that a buffer's extent exceeds its size
    twin: I64  # (n,)
    code: I64  # (n, 4): random numbers, see the kernel's nogood keys
    granule: int
    is_plain: bool  # whether every buffer has one lifetime and no conflict by name


@dataclass(frozen=True, eq=False)
class Lives:
    """The lifetimes of the free buffers, in sections; rows sorted by buffer and time."""

    owner: I64
    start: I64
    end: I64
    n_sections: int


@dataclass(eq=False)
class Part:
    """Free buffers (positions in the instance) that neither a section nor a conflict by name ties to any other."""

    instance: Instance
    lives: Lives
    buffers: I64

    @cached_property
    def sections(self) -> Sections:
        """The part as the search reads it; made when it is first needed, for most parts are settled without."""
        return _compile(self.instance, self.lives, self.buffers)

    @cached_property
    def traits(self) -> dict[str, I64]:
        """What orders go by: width in time (W) and in sections (C), area (A), and the largest section total (T)."""
        parts = self.sections
        n = len(parts.size)
        owner = np.repeat(np.arange(n), np.diff(parts.first))
        times = self.instance.live_set_time.astype(np.float64)
        times = np.concatenate((times, times[-1:] + 1, np.zeros(self.lives.n_sections + 1)))
        mine = np.isin(self.lives.owner, self.buffers)
        width, span, total = (np.zeros(n, dtype=np.int64) for _ in range(3))
        lasting = times[self.lives.end[mine]] - times[self.lives.start[mine]]
        np.add.at(width, owner, np.clip(lasting, 1, 2.0**40).astype(np.int64))
        np.add.at(span, owner, parts.end - parts.start)
        load = np.zeros(len(parts.spare), dtype=np.int64)
        np.add.at(load, np.repeat(np.arange(len(load)), np.diff(parts.member_first)), parts.extent[parts.member])
        for i, low, high in zip(owner.tolist(), parts.start.tolist(), parts.end.tolist(), strict=True):
            total[i] = max(total[i], load[low:high].max())
        area = np.minimum(width.astype(np.float64) * parts.size, 2.0**62).astype(np.int64)
        return {"W": width, "C": span, "A": area, "T": total}


def split(instance: Instance) -> list[Part]:
    """Return the independent parts of an instance, in time order; pinned buffers are in none."""
    lives = _lives(instance)
    free = np.flatnonzero(instance.pin < 0)
    leftmost, rightmost = _hulls(len(instance), lives)
    left, right = leftmost[free], rightmost[free]
    a, b = _pairs(instance)
    left = np.append(left, np.minimum(leftmost[a], leftmost[b]))
    right = np.append(right, np.maximum(rightmost[a], rightmost[b]))
    change = np.zeros(lives.n_sections + 2, dtype=np.int64)
    np.add.at(change, left + 1, 1)
    np.subtract.at(change, right, 1)
    # Border s, between the sections s - 1 and s, is crossed by what starts before it and ends after it.
    is_wall = np.cumsum(change)[: lives.n_sections] == 0
    part = np.cumsum(is_wall)[leftmost[free]]
    order = np.argsort(part, kind="stable")
    cuts = np.flatnonzero(np.diff(part[order])) + 1
    return [Part(instance, lives, free[group]) for group in np.split(order, cuts) if len(group)]


def pins_collide(instance: Instance) -> bool:
    """Say whether a pinned buffer lies where another one, or a reserved range, is in its way."""
    pinned = np.flatnonzero(instance.pin >= 0)
    mine = [_extent(instance, i) for i in pinned.tolist()]
    return any(
        low < end and start < high
        for (start, end), rows in zip(mine, _obstacles(instance, pinned), strict=True)
        for low, high in rows
    )


def _pairs(instance: Instance) -> tuple[I64, I64]:
    """Return the conflicts by name between free buffers, each pair once."""
    a = np.repeat(np.arange(len(instance)), np.diff(instance.conflict_first))
    b = np.asarray(instance.conflict)
    kept = (a < b) & (instance.pin[a] < 0) & (instance.pin[b] < 0)
    return a[kept], b[kept]


def _lives(instance: Instance) -> Lives:
    """Return the free buffers' lifetimes; those who have none get cliques for sections, after the live sets."""
    free = instance.pin[instance.owner] < 0
    rows = [np.stack((instance.owner, instance.start, instance.end))[:, free]]
    timeless = np.flatnonzero((np.diff(instance.first) == 0) & (instance.pin < 0))
    section = instance.n_live_sets
    for clique in _cliques(instance, timeless):
        at = np.full(len(clique), section)
        rows.append(np.stack((np.array(clique), at, at + 1)))
        section += 1
    owner, start, end = np.concatenate(rows, axis=1)
    order = np.argsort(owner, kind="stable")
    return Lives(owner[order], start[order], end[order], section)


def _cliques(instance: Instance, timeless: I64) -> list[list[int]]:
    """Cover the buffers by cliques of the conflicts by name among them, the largest buffers first."""
    among = set(timeless.tolist())
    near = {
        i: among.intersection(instance.conflict[instance.conflict_first[i] : instance.conflict_first[i + 1]].tolist())
        for i in among
    }
    by_size = sorted(among, key=lambda i: (-int(instance.size[i]), i))
    covered: set[int] = set()
    cliques: list[list[int]] = []
    for i in by_size:
        if i in covered:
            continue
        clique, common = [i], near[i]
        for j in by_size:
            if j in common:
                clique.append(j)
                common = common & near[j]
        covered.update(clique)
        cliques.append(clique)
    return cliques


def _hulls(n: int, lives: Lives) -> tuple[I64, I64]:
    """Return the first section of each buffer, and the one after its last."""
    leftmost, rightmost = np.full(n, lives.n_sections), np.zeros(n, dtype=np.int64)
    np.minimum.at(leftmost, lives.owner, lives.start)
    np.maximum.at(rightmost, lives.owner, lives.end)
    return leftmost, rightmost


def _compile(instance: Instance, lives: Lives, buffers: I64) -> Sections:
    """Make the arrays of one part."""
    n = len(buffers)
    position = np.full(len(instance), -1)
    position[buffers] = np.arange(n)
    mine = position[lives.owner] >= 0
    owner, start, end = position[lives.owner[mine]], lives.start[mine], lives.end[mine]
    base = int(start.min())
    start, end, k = start - base, end - base, int(end.max()) - base
    size, step, residue = instance.size[buffers], instance.alignment[0, buffers], instance.residue[0, buffers]
    granule = int(np.gcd.reduce(np.concatenate((step, np.diff(residue)))))
    extent = -(-size // granule) * granule

    first = np.searchsorted(owner, np.arange(n + 1))
    leftmost, rightmost = np.full(n, k), np.zeros(n, dtype=np.int64)
    np.minimum.at(leftmost, owner, start)
    np.maximum.at(rightmost, owner, end)
    link_first, link = _links(instance, buffers, position)
    near = _conflict_matrix(first, start, end)
    near[np.repeat(np.arange(n), np.diff(link_first)), link] = True
    np.fill_diagonal(near, False)
    member_first, member = _members(owner, start, end, k)
    obstacles = [_merged(rows) for rows in _obstacles(instance, buffers)]
    blocks = [_rounded(rows, granule, int(residue[0])) for rows in _blocks(instance, base, k)]
    spare = np.zeros(k, dtype=np.int64)
    np.maximum.at(spare, np.repeat(np.arange(k), np.diff(member_first)), (extent - size)[member])
    obstacle_first, obstacle = _rows(obstacles)
    block_first, block = _rows(blocks)
    parts = Sections(
        size=size,
        extent=extent,
        step=step,
        residue=residue,
        first=first,
        start=start,
        end=end,
        leftmost=leftmost,
        rightmost=rightmost,
        neighbour_first=np.append(0, np.cumsum(near.sum(axis=1))),
        neighbour=np.nonzero(near)[1],
        link_first=link_first,
        link=link,
        obstacle_first=obstacle_first,
        obstacle=obstacle,
        member_first=member_first,
        member=member,
        block_first=block_first,
        block=block,
        spare=spare,
        twin=_twins(instance, buffers),
        code=np.random.default_rng(_CODE_SEED).integers(-(2**63), 2**63 - 1, (n, 4), endpoint=True),
        granule=granule,
        is_plain=len(owner) == n and len(link) == 0,
    )
    # One memory layout for all, so that the kernel is compiled once.
    parts = parts._make([value if isinstance(value, int) else np.array(value, np.int64, order="C") for value in parts])
    return parts._replace(member=parts.member.astype(np.uint32), neighbour=parts.neighbour.astype(np.uint32))


def _conflict_matrix(first: I64, start: I64, end: I64) -> Bool:
    """Say who is alive together with whom, (n, n); every buffer has a lifetime."""
    near: Bool = (start[:, None] < end[None, :]) & (start[None, :] < end[:, None])
    if len(start) == len(first) - 1:
        return near
    near = np.logical_or.reduceat(near, first[:-1], axis=0)
    return np.logical_or.reduceat(near, first[:-1], axis=1)


def _members(owner: I64, start: I64, end: I64, n_sections: int) -> tuple[I64, I64]:
    """Return the buffers of each section as (first, members)."""
    lasting = end - start
    which = np.repeat(owner, lasting)
    section = np.arange(len(which)) - np.repeat(np.cumsum(lasting) - lasting - start, lasting)
    order = np.argsort(section, kind="stable")
    return np.searchsorted(section[order], np.arange(n_sections + 1)), which[order]


def _links(instance: Instance, buffers: I64, position: I64) -> tuple[I64, I64]:
    """Return the conflicts by name inside a part, as symmetric adjacency lists."""
    a = position[np.repeat(np.arange(len(instance)), np.diff(instance.conflict_first))]
    b = position[instance.conflict]
    inside = (a >= 0) & (b >= 0)
    a, b = a[inside], b[inside]
    order = np.argsort(a, kind="stable")
    return np.searchsorted(a[order], np.arange(len(buffers) + 1)), b[order]


def _obstacles(instance: Instance, buffers: I64) -> list[list[list[int]]]:
    """Return, for each buffer, where it may not lie: reserved ranges, and pinned buffers that conflict with it."""
    reserved = instance.memories[0].reserved.tolist()
    pinned = np.flatnonzero(instance.pin >= 0)
    if len(pinned) == 0:
        return [reserved] * len(buffers)
    mine = instance.pin[instance.owner] >= 0
    owner, start, end = instance.owner[mine], instance.start[mine], instance.end[mine]
    found = []
    for i in buffers.tolist():
        near = set(instance.conflict[instance.conflict_first[i] : instance.conflict_first[i + 1]].tolist())
        for r in range(instance.first[i], instance.first[i + 1]):
            near.update(owner[(start < instance.end[r]) & (instance.start[r] < end)].tolist())
        found.append(reserved + [_extent(instance, j) for j in near - {i} if instance.pin[j] >= 0])
    return found


def _blocks(instance: Instance, base: int, n_sections: int) -> list[list[list[int]]]:
    """Return, for each section, the reserved ranges and the pinned buffers alive in it."""
    found = [instance.memories[0].reserved.tolist() for _ in range(n_sections)]
    for r in np.flatnonzero(instance.pin[instance.owner] >= 0).tolist():
        low, high = max(0, int(instance.start[r]) - base), int(instance.end[r]) - base
        for rows in found[low : max(low, high)]:
            rows.append(_extent(instance, int(instance.owner[r])))
    return found


def _extent(instance: Instance, pinned: int) -> list[int]:
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


def _twins(instance: Instance, buffers: I64) -> I64:
    """Return, for each buffer of a part, the last one before it that is the same in all but name, or -1.

    Only buffers alive together are twins: the search then has to order them, and one order will do.
    """
    twin = np.full(len(buffers), -1)
    last: dict[tuple[object, ...], int] = {}
    first, start, end = instance.first.tolist(), instance.start.tolist(), instance.end.tolist()
    links, conflict = instance.conflict_first.tolist(), instance.conflict.tolist()
    size, step, residue = instance.size.tolist(), instance.alignment[0].tolist(), instance.residue[0].tolist()
    for k, i in enumerate(buffers.tolist()):
        rows, near = slice(first[i], first[i + 1]), slice(links[i], links[i + 1])
        looks = (size[i], step[i], residue[i], tuple(start[rows]), tuple(end[rows]), tuple(conflict[near]))
        if first[i] < first[i + 1]:
            twin[k] = last.get(looks, -1)
            last[looks] = k
    return twin
