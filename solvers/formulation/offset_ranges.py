"""Ranges of legal offsets below given ends of pools, and upper limits on the ends of best plans."""

from collections.abc import Sequence
from math import lcm

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.solvers.formulation.pair_rules import PairRules

Span = tuple[int, int]
"""The lowest and the highest offset of a buffer in a pool, in units."""


def spans(instance: Instance, ends: Sequence[int]) -> list[dict[int, Span]]:
    """Return, for each buffer, a mapping from pool number to (lowest offset, highest offset) below the given ends.

    `ends` has an end for each pool, in units. With these offsets, all buffers at fixed distances from the buffer end at
    or below the pool's end. Alignments and offset ranges are respected, but not pages, reserved ranges and other
    buffers. Pools that a member of the buffer's colocation group cannot use are missing.
    """
    ranges: list[dict[int, Span]] = [{} for _ in range(len(instance))]
    reach, anchor, distance = _group_extents(instance), instance.anchor.tolist(), instance.distance.tolist()
    for q, end in enumerate(ends):
        lowest, highest, step = (row[q].tolist() for row in (instance.lowest, instance.highest, instance.alignment))
        for i in np.flatnonzero(instance.allowed[q]).tolist():
            # The whole rigid group must end below the limit, so subtract the group's extent above this buffer.
            slack = end - reach[anchor[i]] + distance[i] - lowest[i]
            if slack >= 0:
                ranges[i][q] = (lowest[i], min(lowest[i] + slack // step[i] * step[i], highest[i]))
    shared: dict[int, set[int]] = {}
    for i, colocation in enumerate(instance.colocation.tolist()):
        shared[colocation] = shared.get(colocation, set(ranges[i])) & ranges[i].keys()
    return [
        {q: span for q, span in mine.items() if q in shared[colocation]}
        for mine, colocation in zip(ranges, instance.colocation.tolist(), strict=True)
    ]


def horizon(instance: Instance, q: int) -> int:
    """Return an end, in units, that pool `q` need not exceed in some best assignment.

    This is the end of a stack of all buffers that may be in the pool: one rigid group after another above all fixed
    ranges, each at the first offset that its alignment, pages and pair rules allow.
    """
    mine = np.flatnonzero(instance.allowed[q])
    reach = _group_extents(instance)
    free = PairRules.from_pool(instance, q).max_clearances()
    if instance.pools[q].bank:  # A priced pair may need separate banks, so add a bank's size.
        by_bank = instance.priced_pairs.rows[instance.priced_pairs.by_bank].ravel()
        free[by_bank] = np.maximum(free[by_bank], instance.pools[q].bank)
    anchors: list[int] = instance.anchor[mine].tolist()
    waste, period = dict.fromkeys(anchors, 0), dict.fromkeys(anchors, 1)
    for i, anchor in zip(mine.tolist(), anchors, strict=True):
        period[anchor] = lcm(period[anchor], int(instance.alignment[q, i]), int(instance.page[q, i]) or 1)
        waste[anchor] = max(waste[anchor], int(free[i]))
    _, barred = instance.barred_in(q)
    fixed = (instance.pools[q].reserved, barred, instance.lowest[q, mine])
    base = max(int(rows.max(initial=0)) for rows in fixed)
    # The stack grows by each group's extent and by the units that its alignment, pages and pair rules may waste.
    return base + sum(reach[anchor] + waste[anchor] + period[anchor] - 1 for anchor in waste)


def _group_extents(instance: Instance) -> list[int]:
    reach = np.zeros(len(instance), dtype=np.int64)
    np.maximum.at(reach, instance.anchor, instance.distance + instance.size)
    offsets: list[int] = reach.tolist()
    return offsets
