"""Let the buffers of a plan sink as far as they can while none passes another: exact offsets from nearly exact ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memplan.planner.instance.instance import F64, I64_MAX, Bool, Instance
from memplan.planner.instance.objective import clashes
from memplan.planner.model.buffer_table import I64, column
from memplan.solvers.formulation.pair_rules import PairRules
from memplan.solvers.packing.rigid_bodies import Bodies, Body
from memplan.solvers.packing.sharing_decisions import parted, share_pairs

_FAR = 2.0**62
"""Raw offsets are cut at plus and minus this: no buffer of a plan lies much farther up."""


def compact(instance: Instance, offset: F64) -> I64 | None:
    """Return the lowest offsets, in the one pool there is, at which what conflicts keeps the order of raw offsets.

    `offset` is in units, also fractions. Where the raw offsets are a plan, but for a part of each buffer's size, so is
    what comes out, and nothing lies higher in it than there: what shares an offset, or should lie in different banks
    and does, goes on doing so. Returns None where the order cannot be kept. O(n^2), and as much again for a few rounds
    where there are rigid groups.

    Each rule of two buffers says that the upper one lies at or above f(offset of the lower one), each rule of one that
    it lies at the next legal offset; none of these functions falls. So the least offsets that meet all of them are
    where raising offsets comes to rest, begun at the lowest legal ones.
    """
    raw = np.clip(offset, -_FAR, _FAR)[instance.anchor] + instance.distance
    instance = parted(instance, _keeping_apart(instance, raw))
    bodies = Bodies(instance, 0, _sharing(instance, raw))
    body = [bodies.of(i) for i in range(len(instance))]
    middle = raw + instance.size / 2
    order = np.argsort(middle, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    rules = PairRules.of(instance, 0)
    reserved = instance.pools[0].reserved
    passed = np.append(0, reserved[:, 1])[np.searchsorted(reserved.mean(axis=1), middle)]
    below = [
        _below(instance, rules, int(passed[i]), i, _others(instance, body[i]) & (rank < rank[i]))
        for i in range(len(order))
    ]

    found = np.zeros(len(instance), dtype=np.int64)
    if not all(_raise_to(found, each, each.lowest) for each in body):
        return None
    for _ in range(2 + 2 * sum(len(each.members) > 1 for each in body)):
        before = found.copy()
        for i in order.tolist():
            floor = below[i].floor(rules, found + instance.size)
            distance = body[i].distances[body[i].members.index(i)]
            if floor > found[i] and not _raise_to(found, body[i], floor - distance):
                return None
        if np.array_equal(before, found):
            return None if _meets_reserved(instance, found) else column(found)
    return None


def _raise_to(offset: I64, body: Body, at: int) -> bool:
    """Move a body to its next legal offset; return False if there is none."""
    legal = body.next(at)
    if legal is not None:
        offset[list(body.members)] = [legal + distance for distance in body.distances]
    return legal is not None


def _others(instance: Instance, body: Body) -> Bool:
    others = np.ones(len(instance), dtype=np.bool_)
    others[list(body.members)] = False
    return others


def _sharing(instance: Instance, raw: F64) -> list[tuple[int, int]]:
    """Return the pairs that share an offset in the raw ones: those which overlap by more than half of the smaller."""
    found = []
    for i, j in share_pairs(instance):
        overlap = min(raw[i] + instance.size[i], raw[j] + instance.size[j]) - max(raw[i], raw[j])
        if 2 * overlap > min(instance.size[i], instance.size[j]):
            found.append((i, j))
    return found


def _keeping_apart(instance: Instance, raw: F64) -> list[tuple[int, int]]:
    """Return the pairs that should lie in different banks, and do so in the raw offsets."""
    nowhere_else = np.zeros(len(instance), dtype=np.int64)
    is_clash = clashes(instance, instance.soft_pairs, nowhere_else, np.rint(raw).astype(np.int64))
    return [(int(i), int(j)) for i, j in instance.soft_pairs[~is_clash]]


@dataclass(frozen=True)
class _Below:
    """The things below a buffer that must stay there: `buffers`, those of `rows` of rules, and what is `reserved`."""

    buffers: I64
    rows: I64
    reserved: int

    def floor(self, rules: PairRules, ends: I64) -> int:
        """Return the least offset that the buffer may have, if buffers end at `ends`."""
        floor = max(self.reserved, int(ends[self.buffers].max(initial=0)))
        return max(floor, int(rules.above(self.rows, ends[rules.other[self.rows]]).max())) if len(self.rows) else floor


def _below(instance: Instance, rules: PairRules, reserved: int, i: int, lower: Bool) -> _Below:
    """Return what of the `lower` ones, and of what is reserved, buffer `i` stays above."""
    near = np.zeros(len(instance), dtype=np.bool_)
    for life in range(instance.first[i], instance.first[i + 1]):
        near[
            instance.lifetime_buffer[(instance.start < instance.end[life]) & (instance.start[life] < instance.end)]
        ] = True
    mine = slice(rules.first[i], rules.first[i + 1])
    named = rules.other[mine]
    near[named] = True
    return _Below(
        buffers=column(np.flatnonzero(near & lower)),
        rows=column(rules.first[i] + np.flatnonzero(rules.needs_more[mine] & lower[named])),
        reserved=reserved,
    )


def _meets_reserved(instance: Instance, offset: I64) -> bool:
    """Say whether a buffer shares bytes with a reserved range."""
    rows = instance.pools[0].reserved
    first = np.searchsorted(rows[:, 1], offset, side="right")
    return bool((np.append(rows[:, 0], I64_MAX)[first] < offset + instance.size).any())
