"""Buffers that are alive together, or in conflict by name, do not overlap, unless they share an offset.

Times are fixed, so a NoOverlap2D of lifetimes and addresses falls into one NoOverlap of addresses per maximal live set;
that is what is posted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.solvers.cp_sat.address_intervals import AddressIntervals, Shares
from memplan.solvers.cp_sat.boxes import AddressBoxes
from memplan.solvers.formulation.pair_rules import kept_clear
from memplan.solvers.formulation.sharing import Sharing

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntervalVar


def partners_may_share_an_offset(model: CpModel, instance: Instance, boxes: AddressBoxes) -> Shares:
    """Make the choices: to share an offset, both partners must lie in the pool, and start there together."""
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
    """Post one NoOverlap per live set and pool; what is reserved takes part in each."""
    without_lifetime = [[i] for i in np.flatnonzero(np.diff(instance.first) == 0).tolist()]
    live_sets = [instance.members(t).tolist() for t in range(instance.n_live_sets)] + without_lifetime
    for q, end in enumerate(ends):
        intervals_of = AddressIntervals(model, instance, boxes, shares, q)
        reserved = _reserved_intervals(model, instance, q, end)
        before: set[int] = set()
        for members in live_sets:
            here = [i for i in members if q in boxes[i]]
            # A live set whose members in this pool were all in the last one says nothing new.
            if len(here) + len(reserved) > 1 and not before.issuperset(here):
                _live_set_does_not_overlap(model, intervals_of, here, reserved)
                before = set(here)


def _live_set_does_not_overlap(
    model: CpModel, intervals_of: AddressIntervals, members: list[int], reserved: list[IntervalVar]
) -> None:
    """Keep what is alive together apart from each other and from what is reserved, all at once where that is right."""
    intervals, alone = intervals_of.of(members)
    model.add_no_overlap([*intervals, *reserved])
    for i in alone:
        model.add_no_overlap([intervals_of.of_one(i), *reserved])
        for j in members:
            intervals_of.keep_apart(i, j)
    for cluster in intervals_of.clusters(members):
        for i, j in combinations(cluster, 2):
            if j not in intervals_of.sharing.partners[i]:
                intervals_of.keep_apart(i, j)


def named_pairs_keep_apart(model: CpModel, instance: Instance, boxes: AddressBoxes) -> None:
    """Post a NoOverlap for each pair of conflicts and clearances, other than views; both take what is to be free."""
    longer: dict[tuple[int, int, int], IntervalVar] = {}

    def interval(i: int, q: int, clearance: int) -> IntervalVar:
        box, size = boxes[i][q], int(instance.size[i]) + clearance
        if clearance == 0:
            return box.interval
        if (i, q, clearance) not in longer:
            longer[i, q, clearance] = model.new_optional_fixed_size_interval_var(box.start, size, box.is_here, "")
        return longer[i, q, clearance]

    for (i, j), clearance in kept_clear(instance).items():
        if instance.anchor[i] != instance.anchor[j]:
            for q in boxes[i].keys() & boxes[j].keys():
                model.add_no_overlap([interval(i, q, clearance), interval(j, q, clearance)])


def reserved_ranges(instance: Instance, q: int, end: int) -> list[tuple[int, int]]:
    """Return what is reserved in a pool below an end."""
    return [(low, min(high, end)) for low, high in instance.pools[q].reserved.tolist() if low < end]


def _reserved_intervals(model: CpModel, instance: Instance, q: int, end: int) -> list[IntervalVar]:
    """Return intervals for what is reserved in a pool below an end."""
    return [model.new_fixed_size_interval_var(low, high - low, "") for low, high in reserved_ranges(instance, q, end)]
