"""CP-SAT constraints that keep conflicting buffers disjoint, unless they may share bytes.

Times are fixed, so one NoOverlap of address intervals per maximal live set replaces a NoOverlap2D of lifetimes and
addresses.

Each buffer has its own interval, with two exceptions:

- Views are members of one rigid group that overlap. Their distances are fixed, so one interval represents them.
- Partners may share an offset. If they do, the smaller buffer lies inside the larger one, whose interval keeps all
other buffers away from both, so the smaller one's interval is absent. The larger one's own partners and views may
still overlap it. Buffers that partners and views connect form a cluster, and two buffers of a cluster that must not
overlap get a separate constraint.

If overlapping views include a buffer with a partner, neither exception applies: pairwise constraints separate them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.solvers.cp_sat.boxes import AddressBoxes
from memplan.solvers.formulation.pair_rules import pair_clearances
from memplan.solvers.formulation.sharing import Sharing

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntervalVar, IntVar, LiteralT


Shares = dict[tuple[int, int, int], "IntVar"]
"""The literals that two partners share an offset in a pool, by (lower position, higher position, pool)."""


@dataclass(eq=False)
class AddressIntervals:
    """The intervals of all buffers in pool `q`; each interval is created only once."""

    model: CpModel
    instance: Instance
    boxes: AddressBoxes
    shares: Shares
    q: int
    _made: dict[tuple[object, ...], IntervalVar] = field(default_factory=dict)
    _apart: set[frozenset[int]] = field(default_factory=set)

    @cached_property
    def sharing(self) -> Sharing:
        """The pairs of buffers that may share bytes while both are alive."""
        return Sharing(self.instance)

    def intervals_of(self, members: list[int]) -> tuple[list[IntervalVar], list[int]]:
        """Return (intervals for members of a live set, members that no interval represents)."""
        among, is_tied = frozenset(members), self.sharing.is_tied
        intervals = [self.boxes[i][self.q].interval for i in members if not is_tied[i]]
        alone: list[int] = []
        for views in self._overlapping_views([i for i in members if is_tied[i]]):
            # Views of one buffer may overlap, so one interval must represent all of them.
            if len(views) == 1:
                intervals.append(self.buffer_interval(views[0], among))
            elif any(self.sharing.partners[i] & among for i in views):
                alone += views
            else:
                intervals.append(self._views_interval(views))
        return intervals, alone

    def buffer_interval(self, i: int, among: frozenset[int] = frozenset()) -> IntervalVar:
        """Return buffer `i`'s interval. It is absent if a partner in `among` at the same offset contains the buffer."""
        around = [j for j in sorted(self.sharing.partners[i] & among) if self.sharing.is_inside(i, j)]
        shares = [share for share in (self._sharing_literal(i, j) for j in around) if share is not None]
        return self._interval_unless_shared(i, shares)

    def clusters(self, members: list[int]) -> list[list[int]]:
        """Return the clusters of a live set: members connected by a shared offset (partners) or as views."""
        return self.sharing.clusters(i for i in members if self.sharing.is_tied[i])

    def keep_apart(self, i: int, j: int) -> None:
        """Require two buffers to be disjoint, unless they share an offset or have a fixed distance."""
        if self.sharing.are_views(i, j) or frozenset((i, j)) in self._apart:
            return
        self._apart.add(frozenset((i, j)))
        share = self._sharing_literal(i, j)
        self.model.add_no_overlap(
            [self.buffer_interval(i), self._interval_unless_shared(j, [] if share is None else [share])]
        )

    def _sharing_literal(self, i: int, j: int) -> IntVar | None:
        """Return the literal that is true if two partners have the same offset in this pool; None for other pairs."""
        return self.shares.get((min(i, j), max(i, j), self.q))

    def _overlapping_views(self, members: list[int]) -> list[list[int]]:
        """Return the members as lists of overlapping views (of one rigid group), each list ascending by distance."""
        anchor, distance, size = self.instance.anchor, self.instance.distance, self.instance.size
        views: list[list[int]] = []
        last, end = -1, 0
        for i in sorted(members, key=lambda i: (anchor[i], distance[i], i)):
            if anchor[i] != last or distance[i] >= end:
                views.append([])
                last, end = int(anchor[i]), 0
            views[-1].append(i)
            end = max(end, int(distance[i] + size[i]))
        return views

    def _views_interval(self, views: list[int]) -> IntervalVar:
        low = views[0]
        end = max(int(self.instance.distance[i] + self.instance.size[i]) for i in views)
        box, key = self.boxes[low][self.q], ("views", low, end)
        if key not in self._made:
            size = end - int(self.instance.distance[low])
            self._made[key] = self.model.new_optional_fixed_size_interval_var(box.start, size, box.is_here, "")
        return self._made[key]

    def _interval_unless_shared(self, i: int, shares: list[IntVar]) -> IntervalVar:
        """Return the interval of a buffer, present if the buffer is in this pool and all `shares` are false."""
        box, key = self.boxes[i][self.q], ("absent", i, *(share.index for share in shares))
        if not shares:
            return box.interval
        if key not in self._made:
            # If the box has one possible pool and one partner, the negated literal already has the needed meaning.
            is_sure = len(self.boxes[i]) == 1 == len(shares)
            is_there = ~shares[0] if is_sure else self._conjunction(box.is_here, shares)
            size = int(self.instance.size[i])
            self._made[key] = self.model.new_optional_fixed_size_interval_var(box.start, size, is_there, "")
        return self._made[key]

    def _conjunction(self, is_here: LiteralT, shares: list[IntVar]) -> LiteralT:
        is_there = self.model.new_bool_var("")
        self.model.add_bool_and([is_here, *(~share for share in shares)]).only_enforce_if(is_there)
        self.model.add_bool_or([is_there, *shares]).only_enforce_if(is_here)
        return is_there


def partners_may_share_an_offset(model: CpModel, instance: Instance, boxes: AddressBoxes) -> Shares:
    """Return, for each pair of partners and each common pool, a literal that both have the same offset there."""
    shares: Shares = {}
    for i, j in Sharing(instance).pairs:
        for q in boxes[i].keys() & boxes[j].keys():
            share = shares[i, j, q] = model.new_bool_var("")
            model.add(boxes[i][q].start == boxes[j][q].start).only_enforce_if(share)
            model.add_bool_and([boxes[i][q].is_here, boxes[j][q].is_here]).only_enforce_if(share)
    return shares


def live_buffers_do_not_overlap(
    model: CpModel, instance: Instance, boxes: AddressBoxes, shares: Shares, ends: Sequence[int]
) -> None:
    """Add one NoOverlap per live set and pool, which also keeps buffers out of the pool's reserved ranges."""
    without_lifetime = [[i] for i in np.flatnonzero(np.diff(instance.first) == 0).tolist()]
    live_sets = [instance.live_set_members(t).tolist() for t in range(instance.n_live_sets)] + without_lifetime
    for q, end in enumerate(ends):
        intervals_of = AddressIntervals(model, instance, boxes, shares, q)
        reserved = _reserved_intervals(model, instance, q, end)
        before: set[int] = set()
        for members in live_sets:
            here = [i for i in members if q in boxes[i]]
            # A live set whose members in this pool were all in the previous set adds no constraint, so skip it.
            if len(here) + len(reserved) > 1 and not before.issuperset(here):
                _separate_live_set(model, intervals_of, here, reserved)
                before = set(here)


def _separate_live_set(
    model: CpModel, intervals_of: AddressIntervals, members: list[int], reserved: list[IntervalVar]
) -> None:
    """Keep a live set's buffers and the reserved ranges disjoint, by one NoOverlap where possible."""
    intervals, alone = intervals_of.intervals_of(members)
    model.add_no_overlap([*intervals, *reserved])
    for i in alone:
        model.add_no_overlap([intervals_of.buffer_interval(i), *reserved])
        for j in members:
            intervals_of.keep_apart(i, j)
    for cluster in intervals_of.clusters(members):
        for i, j in combinations(cluster, 2):
            if j not in intervals_of.sharing.partners[i]:
                intervals_of.keep_apart(i, j)


def named_pairs_keep_apart(model: CpModel, instance: Instance, boxes: AddressBoxes) -> None:
    """Add a NoOverlap for each pair with a conflict or clearance, unless the pair has a fixed distance.

    The intervals are longer than the buffers by the clearance.
    """
    longer: dict[tuple[int, int, int], IntervalVar] = {}

    def padded_interval(i: int, q: int, clearance: int) -> IntervalVar:
        box, size = boxes[i][q], int(instance.size[i]) + clearance
        if clearance == 0:
            return box.interval
        if (i, q, clearance) not in longer:
            longer[i, q, clearance] = model.new_optional_fixed_size_interval_var(box.start, size, box.is_here, "")
        return longer[i, q, clearance]

    for (i, j), clearance in pair_clearances(instance).items():
        if instance.anchor[i] != instance.anchor[j]:
            for q in boxes[i].keys() & boxes[j].keys():
                model.add_no_overlap([padded_interval(i, q, clearance), padded_interval(j, q, clearance)])


def reserved_ranges(instance: Instance, q: int, end: int) -> list[tuple[int, int]]:
    """Return the reserved ranges (low, high) of pool `q` below `end`, truncated at `end`."""
    return [(low, min(high, end)) for low, high in instance.pools[q].reserved.tolist() if low < end]


def _reserved_intervals(model: CpModel, instance: Instance, q: int, end: int) -> list[IntervalVar]:
    return [model.new_fixed_size_interval_var(low, high - low, "") for low, high in reserved_ranges(instance, q, end)]
