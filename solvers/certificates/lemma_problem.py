"""From an instance to the tables of the lemma search: buffers, their legal offsets, and sets that conflict pairwise.

Rules that the lemma search does not know are left out: two that may share bytes, and members of a rigid group, do not
conflict; banks and colocation require nothing. What does not fit without these rules does not fit with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memplan.planner.instance.instance import Bool, Instance
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.intervals import merged
from memplan.solvers.core.lemmas import FAR, LemmaProblem
from memplan.solvers.formulation.sharing import conflict_matrix, pairs_among, ragged_rows

_GRANULES = 3
"""The most alignments with granules of their own, beside what divides them all."""
_CLIQUES = 1000
"""The most cliques of conflicts by name that are looked at."""


@dataclass(frozen=True)
class ConflictSet:
    """Buffers that conflict pairwise, pinned ones too (positions in the instance); what is alive at `time`, if any."""

    buffers: tuple[int, ...]
    time: int | None


@dataclass(frozen=True, eq=False)
class LemmaInput:
    """The tables for some free buffers of an instance (positions in it), and the sets that they number."""

    instance: Instance
    buffers: I64
    sets: list[ConflictSet]
    tables: LemmaProblem


def lemma_input(instance: Instance, kept: Bool) -> LemmaInput:
    """Make the tables of the kept buffers, bool (n,); all that are pinned are in their way."""
    pinned = np.flatnonzero(instance.pin >= 0)
    free = np.flatnonzero(kept & (instance.pin < 0))
    both = np.concatenate((free, pinned))
    near = conflict_matrix(instance, both)
    n, p = len(free), len(instance.pools)
    sets = _sets(instance, kept, free, both, near)
    position = np.full(len(instance), -1)
    position[both] = np.arange(len(both))
    members = [position[list(each.buffers)] for each in sets]
    alignment, lowest = instance.alignment[:, free].T.ravel(), instance.lowest[:, free].T.ravel()
    allowed = instance.allowed[:, free].T.ravel()
    granule, remainder, fits = _granules(alignment, lowest, allowed, p)
    obstacle_first, obstacle = ragged_rows(_obstacles(instance, near[:n, n:], pinned))
    block_first, block = ragged_rows(_blocks(instance, [pinned[found[found >= n] - n] for found in members]))
    near_first, near_list = _lists([np.flatnonzero(row) for row in near[:n, :n]])
    member_first, member = _lists([found[found < n] for found in members])
    set_of = np.repeat(np.arange(len(sets)), np.diff(member_first))
    by_buffer = np.argsort(member, kind="stable")
    tables = LemmaProblem(
        pools=p,
        size=_int64(instance.size[free]),
        step=_int64(alignment),
        residue=_int64(lowest % alignment),
        least=np.zeros(n * p, dtype=np.int64),
        page=_int64(instance.page[:, free].T.ravel()),
        page_shift=_int64(instance.page_shift[:, free].T.ravel()),
        obstacle_first=obstacle_first,
        obstacle=obstacle,
        near_first=near_first,
        near=near_list,
        set_first=_int64(np.searchsorted(member[by_buffer], np.arange(n + 1))),
        set_of=_int64(set_of[by_buffer]),
        member_first=member_first,
        member=member,
        block_first=block_first,
        block=block,
        granule=granule,
        remainder=remainder,
        fits=fits,
        # Groups of pools double with each pool; above four only all of them together are looked at.
        group=_int64([group for group in range(1, 1 << p) if group & (group - 1)] if p <= 4 else [(1 << p) - 1]),
    )
    tables.least[:] = np.where(allowed, lowest, FAR)
    return LemmaInput(instance, free, sets, tables)


def _int64(values: object) -> I64:
    return np.array(values, dtype=np.int64, order="C")


def _lists(lists: list[I64]) -> tuple[I64, I64]:
    first = np.append(0, np.cumsum([len(each) for each in lists])).astype(np.int64)
    return first, _int64(np.concatenate(lists) if lists else [])


def _granules(alignment: I64, residue: I64, allowed: Bool, p: int) -> tuple[I64, I64, Bool]:
    """Return the granules, their remainders in each pool, and which entries keep to them."""
    steps, counts = np.unique(alignment[allowed], return_counts=True)
    common = int(np.gcd.reduce(steps)) if len(steps) else 1
    frequent = steps[np.argsort(-counts, kind="stable")][:_GRANULES].tolist()
    granules = [1, *sorted({common, *frequent} - {1})]
    remainders, fits = [], []
    pool = np.arange(len(alignment)) % p
    for granule in granules:
        kept = (alignment % granule == 0) & allowed
        rest = residue % granule
        for q in range(p):
            found, count = np.unique(rest[kept & (pool == q)], return_counts=True)
            remainders.append(int(found[count.argmax()]) if len(found) else 0)
        fits.append(kept & (rest == np.array(remainders[-p:])[pool]))
    return _int64(granules), _int64(remainders), np.concatenate(fits)


def _extent(instance: Instance, i: int) -> tuple[int, int]:
    return int(instance.pin[i]), int(instance.pin[i] + instance.size[i])


def in_the_way(instance: Instance, q: int, pinned: I64) -> list[tuple[int, int]]:
    """Return the reserved ranges of a pool and the extents of some pinned buffers in it, disjoint and ascending."""
    rows = [(low, high) for low, high in instance.pools[q].reserved.tolist()]
    return merged(rows + [_extent(instance, i) for i in pinned.tolist() if instance.allowed[q, i]])


def _obstacles(instance: Instance, near_pinned: Bool, pinned: I64) -> list[list[tuple[int, int]]]:
    alone = [in_the_way(instance, q, pinned[:0]) for q in range(len(instance.pools))]
    return [
        in_the_way(instance, q, pinned[row]) if row.any() else alone[q]
        for row in near_pinned
        for q in range(len(alone))
    ]


def _blocks(instance: Instance, pinned: list[I64]) -> list[list[tuple[int, int]]]:
    alone = [in_the_way(instance, q, np.zeros(0, dtype=np.int64)) for q in range(len(instance.pools))]
    return [in_the_way(instance, q, mine) if len(mine) else alone[q] for mine in pinned for q in range(len(alone))]


def _sets(instance: Instance, kept: Bool, free: I64, both: I64, near: Bool) -> list[ConflictSet]:
    """Return the maximal live sets of the kept buffers, cliques of those that conflict by name, and what is left."""
    position = np.full(len(instance), -1)
    position[both] = np.arange(len(both))
    is_plain = instance.features.isdisjoint({"sharing", "relative"})
    rows = kept[instance.lifetime_buffer] & (instance.pin[instance.lifetime_buffer] < 0)
    times = np.unique(instance.start[rows])
    found: list[ConflictSet] = []
    last: set[int] = set()
    for t in times.tolist():
        alive = [i for i in instance.members(t).tolist() if position[i] >= 0]
        mine = {i for i in alive if instance.pin[i] < 0}
        # A larger live set replaces the one before it, which it holds.
        if found and mine >= last:
            found.pop()
        if not is_plain:
            alive = _apart(instance, alive, near, position)
        found.append(ConflictSet(tuple(alive), int(instance.live_set_time[t]) if is_plain else None))
        last = mine
    if len(instance.conflict):
        found += _cliques(instance, free, near[: len(free), : len(free)])
    covered = {i for each in found for i in each.buffers}
    return found + [ConflictSet((i,), None) for i in free.tolist() if i not in covered]


def _apart(instance: Instance, alive: list[int], near: Bool, position: I64) -> list[int]:
    """Return some of the buffers, the largest first, that all conflict."""
    chosen: list[int] = []
    for i in sorted(alive, key=lambda i: (-int(instance.size[i]), i)):
        if near[position[i], position[chosen]].all():
            chosen.append(i)
    return chosen


def _cliques(instance: Instance, free: I64, near: Bool) -> list[ConflictSet]:
    """Return cliques with a conflict by name, the largest buffers first, no set twice."""
    position = np.full(len(instance), -1)
    position[free] = np.arange(len(free))
    a, b = pairs_among(instance.conflict_first, instance.conflict, position)
    size = instance.size[free]
    heavy = np.argsort(-size, kind="stable")
    seen: dict[tuple[int, ...], None] = {}
    for i, j in sorted({(int(i), int(j)) for i, j in zip(a, b, strict=True) if i < j})[:_CLIQUES]:
        common, clique = near[i] & near[j], [i, j]
        for k in heavy[common[heavy]].tolist():
            if common[k]:
                clique.append(k)
                common &= near[k]
        seen[tuple(sorted(clique))] = None
    return [ConflictSet(tuple(free[list(clique)].tolist()), None) for clique in seen]


def parts_of(instance: Instance) -> list[Bool]:
    """Return the parts of an instance that no lifetime and no conflict joins, the heaviest first."""
    n = len(instance)
    # Conflicts by name join times, and pools share their buffers: one part.
    if len(instance.conflict) or len(instance.pools) > 1:
        return [np.ones(n, dtype=np.bool_)]
    walls = np.zeros(instance.n_live_sets + 1, dtype=np.int64)
    np.add.at(walls, instance.start + 1, 1)
    np.subtract.at(walls, instance.end, 1)
    first = np.full(n, instance.n_live_sets)
    np.minimum.at(first, instance.lifetime_buffer, instance.start)
    last = np.zeros(n, dtype=np.int64)
    np.maximum.at(last, instance.lifetime_buffer, instance.end)
    crossed = np.zeros(instance.n_live_sets + 2, dtype=np.int64)
    alive = last > 0
    np.add.at(crossed, first[alive] + 1, 1)
    np.subtract.at(crossed, last[alive], 1)
    number = np.cumsum(np.cumsum(crossed)[: instance.n_live_sets] == 0)
    part = np.where(alive, number[np.minimum(first, max(0, instance.n_live_sets - 1))], -1) if len(number) else first
    return [part == k for k in np.unique(part).tolist()]


def with_pinned(instance: Instance, rows: Sequence[int]) -> tuple[int, ...]:
    """Return some rows, and those of the pinned buffers that are in their way."""
    position = np.full(int(instance.source.max(initial=0)) + 1, -1)
    position[instance.source] = np.arange(len(instance))
    named = position[list(rows)]
    pinned = np.setdiff1d(np.flatnonzero(instance.pin >= 0), named)
    near = conflict_matrix(instance, np.concatenate((named, pinned)))[: len(named), len(named) :].any(axis=0)
    return tuple(sorted({*rows, *instance.source[pinned[near]].tolist()}))
