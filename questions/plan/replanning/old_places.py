"""The old places of buffers in a changed problem: which of them are still legal, and which of them collide."""

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
"""The measure of change to be minimised: the number of moved buffers, or their bytes."""
MOST_COLLISIONS = 100_000
"""The maximum number of colliding pairs; beyond it, old places are discarded, and the fewest moves are not proved."""


@dataclass(frozen=True, eq=False)
class OldPlaces:
    """The old pool and offset in bytes of each buffer, in the problem's order; ABSENT without an old place.

    `is_counted` marks the buffers that can move: not aliases, with a size above 0 and an old place. `must_move` maps
    each buffer whose old place alone breaks a rule to the violation's message. `collisions` are pairs of buffer
    positions that cannot both keep their places.
    """

    problem: Problem
    pool: I64
    offset: I64
    is_counted: Bool
    must_move: Mapping[int, str]
    collisions: Sequence[tuple[int, int]]

    def weights(self, least: Least) -> I64:
        """Return the weight of moving each buffer, (n,): 1 or its bytes, and 0 for a buffer that is not counted."""
        weight = self.problem.buffers.size if least == "bytes" else np.ones(len(self.pool), dtype=np.int64)
        return column(np.where(self.is_counted, weight, 0))

    def moved_mask(self, placements: PlacementTable) -> Bool:
        """Return the mask of counted buffers that the given placements, in the problem's order, have moved."""
        names = [pool.name for pool in self.problem.pools]
        pool = np.array([names.index(name) for name in placements.pool_names], dtype=np.int64)[placements.pool]
        is_moved: Bool = self.is_counted & ((pool != self.pool) | (placements.offset != self.offset))
        return is_moved

    def keepable_places(self, least: Least) -> "tuple[Bool, Cover]":
        """Return the mask of buffers that keep their old places, and the buffers that move: a cover of all collisions.

        Only pairs are judged, so a plan with all these places need not exist.
        """
        weight = self.weights(least)
        cover = cheapest_cover(self.collisions, weight, _fixed_mask(self.problem))
        stays = self.offset != ABSENT
        stays[list(self.must_move)] = False
        stays[list(cover.chosen)] = False
        return stays, cover

    def concurrent_with_moved(self, stays: Bool) -> Bool:
        """Return the mask of buffers alive at the same time as a moved buffer (one outside the mask `stays`)."""
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
    """Return the old places of a problem's buffers; without an old plan, hints serve as old places.

    With `has_hints`, a buffer without an old place also gets its hint, in its first allowed pool.
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
    must_move = _illegal_places(problem, pool, offset)
    places = PlacedBuffers(problem, np.where(_row_mask(len(pool), must_move), ABSENT, pool), offset)
    pairs = list(islice(_colliding_pairs(problem, places), MOST_COLLISIONS + 1))
    if len(pairs) > MOST_COLLISIONS:
        places, pairs = _thin_collisions(problem, places, pairs)
        torn = np.flatnonzero((places.pool == ABSENT) & (pool != ABSENT)).tolist()
        must_move |= {i: "its old bytes are claimed by many other buffers" for i in torn if i not in must_move}
    return OldPlaces(problem, column(pool), column(offset), is_counted, must_move, tuple(pairs))


def _usable_placements(problem: Problem, placements: PlacementTable) -> PlacementTable:
    is_named = np.array([name in problem.index for name in placements.ids], dtype=np.bool_) & (placements.offset >= 0)
    if is_named.all():
        return placements
    ids = tuple(name for name, is_known in zip(placements.ids, is_named.tolist(), strict=True) if is_known)
    return replace(
        placements, ids=ids, pool=column(placements.pool[is_named]), offset=column(placements.offset[is_named])
    )


def _row_mask(n: int, rows: Mapping[int, str]) -> Bool:
    """Return a mask (n,) that is True at the keys of `rows`."""
    mask = np.zeros(n, dtype=np.bool_)
    mask[list(rows)] = True
    return mask


def _illegal_places(problem: Problem, pool: I64, offset: I64) -> dict[int, str]:
    """Return, by buffer position, the violation message of each old place that breaks a rule on single buffers.

    A rule of an alias that its buffer's old place would break counts for the buffer as well.
    """
    reasons: dict[int, str] = {}
    placed = PlacedBuffers(problem, pool, offset)
    checks = [(placed, np.arange(len(pool)))]
    if problem.buffers.aliases:
        root, distance = placed.root_distances
        inside = np.where(offset[root] == ABSENT, ABSENT, offset[root] + distance)
        checks.append((PlacedBuffers(problem, pool[root], inside), root))
    for places, row in checks:
        for violation in check_places(problem, places):
            if violation.first is not None:
                reasons.setdefault(int(row[placed.row[violation.first]]), violation.message)
    return reasons


def _colliding_pairs(problem: Problem, placed: PlacedBuffers) -> Iterator[tuple[int, int]]:
    """Yield the pairs of buffers that cannot both keep their places, because they overlap or break a pair rule."""
    seen: set[tuple[int, int]] = set()
    broken = [no_two_share_bytes(problem, placed)]
    broken += [rule(problem, placed) for field, rule in PAIR_RULES.items() if getattr(problem, field)]
    found = chain(*broken, groups_are_together(problem, placed))
    torn = (_sorted_roots(placed, violation) for violation in found if violation.first is not None)
    for pair in chain(torn, _wrong_distance_pairs(problem, placed)):
        if pair not in seen:
            seen.add(pair)
            yield pair


def _wrong_distance_pairs(problem: Problem, placed: PlacedBuffers) -> Iterator[tuple[int, int]]:
    for i, (name, distance) in problem.buffers.rules["relative"].items():
        if placed.required_and_actual(i, placed.row[name], distance):
            a, b = int(placed.root[i]), placed.root_of(name)
            yield min(a, b), max(a, b)


def _sorted_roots(placed: PlacedBuffers, violation: Violation) -> tuple[int, int]:
    first, second = violation.first, violation.second
    assert first is not None
    assert second is not None
    a, b = placed.root_of(first), placed.root_of(second)
    return min(a, b), max(a, b)


def _thin_collisions(
    problem: Problem, placed: PlacedBuffers, pairs: list[tuple[int, int]]
) -> tuple[PlacedBuffers, list[tuple[int, int]]]:
    """Discard the most colliding places until at most MOST_COLLISIONS pairs remain; return the places and pairs."""
    pool = placed.pool.copy()
    fixed = _fixed_mask(problem)
    while len(pairs) > MOST_COLLISIONS:
        counts = np.bincount(np.array(pairs).ravel(), minlength=len(pool))
        counts[fixed] = 0
        if not counts.any():
            break
        # Each round compares all pairs again, so discard a quarter of the buffers per round, not one.
        pool[np.argsort(-counts)[: max(1, np.count_nonzero(counts) // 4)]] = ABSENT
        placed = PlacedBuffers(problem, pool, placed.offset)
        pairs = list(islice(_colliding_pairs(problem, placed), MOST_COLLISIONS + 1))
    return placed, pairs


def _fixed_mask(problem: Problem) -> Bool:
    is_fixed: Bool = problem.buffers.offset != ABSENT
    return is_fixed


@dataclass(frozen=True)
class Cover:
    """A vertex cover of colliding pairs: the buffers, their weight, and a lower bound on any cover's weight."""

    chosen: frozenset[int]
    weight: int
    bound: int


def cheapest_cover(pairs: Sequence[tuple[int, int]], weight: I64, is_fixed: Bool) -> Cover:
    """Return buffers of small total weight that include one of each pair (a vertex cover), but no fixed buffer.

    The only pair of a leaf (a buffer in one pair) is covered by the leaf's neighbour if that weighs no more, which is
    always optimal. Otherwise the buffer with the most pairs per weight is chosen. For the bound, each pair gets a share
    of weight such that the shares at a buffer never exceed its weight.
    """
    near: dict[int, set[int]] = {}
    for a, b in pairs:
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    chosen: set[int] = set()
    bound = 0

    def choose_buffer(i: int) -> None:
        """Add buffer `i` to the cover, and remove its pairs; its neighbours with one remaining pair become leaves."""
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
                choose_buffer(j)
    leaves = sorted(i for i in near if len(near[i]) == 1)
    is_exact, rest = True, 0
    while near:
        while leaves:
            i = leaves.pop()
            if i in near and len(near[i]) == 1:
                (j,) = near[i]
                # A neighbour no heavier than the leaf is an optimal choice: it covers the leaf's only pair and more.
                if not is_fixed[j] and weight[j] <= weight[i]:
                    bound += int(weight[j]) if is_exact else 0
                    choose_buffer(j)
        if near and is_exact:
            # The choices so far are optimal, but later ones are greedy, so add only the shares of pairs to the bound.
            is_exact, rest = False, _shared_weight(near, weight)
        free = [i for i in near if not is_fixed[i]]
        if not free:  # Pinned buffers cannot move, so if no others are left, stop.
            break
        if near:
            # Prefer the buffer that covers the most pairs per unit of weight, so that the cover is light.
            choose_buffer(max(free, key=lambda i: (len(near[i]) / max(1, int(weight[i])), i)))
    return Cover(frozenset(chosen), sum(int(weight[i]) for i in chosen), bound + rest)


def _shared_weight(near: dict[int, set[int]], weight: I64) -> int:
    """Return a lower bound on the weight of covers: a sum of shares of pairs, within each buffer's weight."""
    rest = {i: int(weight[i]) for i in near}
    total = 0
    for i in sorted(near, key=lambda i: (len(near[i]), i)):
        for j in sorted(near[i], key=lambda j: (len(near[j]), j)):
            shared = min(rest[i], rest[j])
            rest[i] -= shared
            rest[j] -= shared
            total += shared
    return total
