"""The old places in a changed problem: which are legal by themselves, and which collide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Literal

import numpy as np

from memplan.planner.model.buffer_table import ABSENT, I64, Bool, column
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.overlaps import no_two_share_bytes
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.tie_rules import PAIR_RULES, groups_are_together
from memplan.planner.verify.verifier import check_places
from memplan.planner.verify.violation import Violation

Least = Literal["buffers", "bytes"]
"""The measure of change: the number of buffers that move, or their bytes."""
MOST_COLLISIONS = 100_000
"""The most pairs examined; an old plan with more collisions is thinned out without proof."""


@dataclass(frozen=True, eq=False)
class OldPlaces:
    """The old pool and offset (bytes) of each buffer of a problem, in its order; ABSENT where the old plan has none.

    `is_counted` are the buffers that can move: with an old place, with bytes, and not inside of another one. Of those
    `must_move` maps the ones whose old place alone breaks a rule to the sentence that says so. `collisions` are pairs
    of buffers that cannot both stay, as positions.
    """

    problem: Problem
    pool: I64
    offset: I64
    is_counted: Bool
    must_move: Mapping[int, str]
    collisions: Sequence[tuple[int, int]]

    def weights(self, least: Least) -> I64:
        """Return the weight of moving each buffer, (n,)."""
        weight = self.problem.buffers.size if least == "bytes" else np.ones(len(self.pool), dtype=np.int64)
        return column(np.where(self.is_counted, weight, 0))

    def moved_mask(self, placements: PlacementTable) -> Bool:
        """Return True for the counted buffers that placements, in the problem's order, move."""
        names = [pool.name for pool in self.problem.pools]
        pool = np.array([names.index(name) for name in placements.pool_names], dtype=np.int64)[placements.pool]
        is_moved: Bool = self.is_counted & ((pool != self.pool) | (placements.offset != self.offset))
        return is_moved

    def keepable_places(self, least: Least) -> tuple[Bool, Cover]:
        """Return which old places can be kept as far as pairs show, with the cover of the collisions."""
        weight = self.weights(least)
        cover = cheapest_cover(self.collisions, weight, _fixed_mask(self.problem))
        stays = self.offset != ABSENT
        stays[list(self.must_move)] = False
        stays[list(cover.chosen)] = False
        return stays, cover

    def concurrent_with_moved(self, stays: Bool) -> Bool:
        """Return True for the buffers alive together with one that cannot keep a place."""
        table = self.problem.buffers
        is_new = (~stays) & (table.size > 0)
        is_new[list(table.aliases)] = False
        buffer_of = np.repeat(np.arange(len(table)), np.diff(table.first))
        near = np.zeros(len(table), dtype=np.bool_)
        new_rows = np.flatnonzero(is_new[buffer_of])
        for k in new_rows.tolist():
            near[buffer_of[(table.start < table.end[k]) & (table.start[k] < table.end)]] = True
        return near


def old_places(problem: Problem, old: Plan | None, *, has_hints: bool = False) -> OldPlaces:
    """Return the old places; with hints, buffers without one use theirs in the first allowed pool.

    Without an old plan, hints take its place.
    """
    placed = PlacedBuffers.from_placements(
        problem, Plan().placements if old is None else _usable_placements(problem, old.placements)
    )
    pool, offset = placed.pool.copy(), np.where(placed.pool >= 0, placed.offset, ABSENT)
    hinted = np.flatnonzero((pool < 0) & (problem.buffers.hint != ABSENT))
    for i in hinted.tolist() if has_hints or old is None else ():
        pool[i], offset[i] = next(iter(problem.allowed_pools(i)), ABSENT), problem.buffers.hint[i]
    offset[pool < 0] = ABSENT
    root = placed.root
    is_counted: Bool = (pool >= 0) & (problem.buffers.size > 0) & (root == np.arange(len(root)))
    must_move = _illegal_alone(problem, pool, offset)
    places = PlacedBuffers(problem, np.where(_mask(len(pool), must_move), ABSENT, pool), offset)
    pairs = list(islice(_pairs(problem, places), MOST_COLLISIONS + 1))
    if len(pairs) > MOST_COLLISIONS:
        places, pairs = _thin_collisions(problem, places, pairs)
        torn = np.flatnonzero((places.pool == ABSENT) & (pool != ABSENT)).tolist()
        must_move |= {i: "its old bytes are those of many others" for i in torn if i not in must_move}
    return OldPlaces(problem, column(pool), column(offset), is_counted, must_move, tuple(pairs))


def _usable_placements(problem: Problem, placements: PlacementTable) -> PlacementTable:
    """Return the placements of buffers that the problem has, at possible offsets."""
    is_named = np.array([name in problem.index for name in placements.ids], dtype=np.bool_) & (placements.offset >= 0)
    if is_named.all():
        return placements
    ids = tuple(name for name, is_known in zip(placements.ids, is_named.tolist(), strict=True) if is_known)
    return replace(
        placements, ids=ids, pool=column(placements.pool[is_named]), offset=column(placements.offset[is_named])
    )


def _mask(n: int, rows: Mapping[int, str]) -> Bool:
    mask = np.zeros(n, dtype=np.bool_)
    mask[list(rows)] = True
    return mask


def _illegal_alone(problem: Problem, pool: I64, offset: I64) -> dict[int, str]:
    """Return the buffers whose places break a rule about single buffers."""
    reasons: dict[int, str] = {}
    placed = PlacedBuffers(problem, pool, offset)
    for violation in check_places(problem, placed):
        if violation.first is not None:
            reasons.setdefault(placed.row[violation.first], violation.message)
    return reasons


def _pairs(problem: Problem, placed: PlacedBuffers) -> Iterator[tuple[int, int]]:
    """Yield the pairs of buffers that cannot both stay: by lifetimes, conflicts, ties or pair rules."""
    seen: set[tuple[int, int]] = set()
    broken = [no_two_share_bytes(problem, placed)]
    broken += [rule(problem, placed) for field, rule in PAIR_RULES.items() if getattr(problem, field)]
    found = chain(*broken, groups_are_together(problem, placed))
    torn = (_pair(placed, violation) for violation in found if violation.first is not None)
    for pair in chain(torn, _wrong_distance_pairs(problem, placed)):
        if pair not in seen:
            seen.add(pair)
            yield pair


def _wrong_distance_pairs(problem: Problem, placed: PlacedBuffers) -> Iterator[tuple[int, int]]:
    """Yield pairs of buffers at a wrong distance; either may move."""
    for i, (name, distance) in problem.buffers.rules["relative"].items():
        if placed.required_and_actual(i, placed.row[name], distance):
            a, b = int(placed.root[i]), placed.root_of(name)
            yield min(a, b), max(a, b)


def _pair(placed: PlacedBuffers, violation: Violation) -> tuple[int, int]:
    first, second = violation.first, violation.second
    assert first is not None
    assert second is not None
    a, b = placed.root_of(first), placed.root_of(second)
    return min(a, b), max(a, b)


def _thin_collisions(
    problem: Problem, placed: PlacedBuffers, pairs: list[tuple[int, int]]
) -> tuple[PlacedBuffers, list[tuple[int, int]]]:
    """Remove the buffers that collide most, until few enough pairs are left."""
    pool = placed.pool.copy()
    fixed = _fixed_mask(problem)
    while len(pairs) > MOST_COLLISIONS:
        counts = np.bincount(np.array(pairs).ravel(), minlength=len(pool))
        counts[fixed] = 0
        if not counts.any():
            break
        # A quarter at a time: one by one would compare all pairs each time.
        pool[np.argsort(-counts)[: max(1, np.count_nonzero(counts) // 4)]] = ABSENT
        placed = PlacedBuffers(problem, pool, placed.offset)
        pairs = list(islice(_pairs(problem, placed), MOST_COLLISIONS + 1))
    return placed, pairs


def _fixed_mask(problem: Problem) -> Bool:
    """Return True for the buffers that the problem pins."""
    is_fixed: Bool = problem.buffers.offset != ABSENT
    return is_fixed


@dataclass(frozen=True)
class Cover:
    """The chosen buffers, their weight, and a lower bound on it."""

    chosen: frozenset[int]
    weight: int
    bound: int


def cheapest_cover(pairs: Sequence[tuple[int, int]], weight: I64, is_fixed: Bool) -> Cover:
    """Choose buffers, none of which is fixed, that cover all pairs.

    Leaves are covered by their neighbours where that costs no more, which is always right; else the buffer with the
    most pairs for its weight is chosen. The bound shares weights out to pairs: no buffer's pairs have more than its
    weight.
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
                # A leaf is in one pair; if its neighbour weighs no more, it is the better choice to cover that pair.
                if not is_fixed[j] and weight[j] <= weight[i]:
                    bound += int(weight[j]) if is_exact else 0
                    take(j)
        if near and is_exact:
            # Choices up to here are forced; later ones are guesses, and the bound is the weight pairs can get.
            is_exact, rest = False, _shared_out(near, weight)
        free = [i for i in near if not is_fixed[i]]
        if not free:  # both buffers of each pair are pinned: no plan separates them
            break
        if near:
            # The buffer that covers most pairs for its weight.
            take(max(free, key=lambda i: (len(near[i]) / max(1, int(weight[i])), i)))
    return Cover(frozenset(chosen), sum(int(weight[i]) for i in chosen), bound + rest)


def _shared_out(near: dict[int, set[int]], weight: I64) -> int:
    """Return how much of the weights pairs can be given, which bounds every cover from below."""
    rest = {i: int(weight[i]) for i in near}
    total = 0
    for i in sorted(near, key=lambda i: (len(near[i]), i)):
        for j in sorted(near[i], key=lambda j: (len(near[j]), j)):
            shared = min(rest[i], rest[j])
            rest[i] -= shared
            rest[j] -= shared
            total += shared
    return total
