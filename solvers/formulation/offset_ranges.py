"""Ranges of offsets under limited ends, and the most that pools must be filled."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.solvers.formulation.pair_rules import PairRules

Span = tuple[int, int]
"""The lowest and the highest offset."""


def spans(instance: Instance, ends: Sequence[int]) -> list[dict[int, Span]]:
    """Return each buffer's span in each pool `q` below ends[q], taking rigid groups into account.

    Alignments and ranges limit the offsets; pages, reserved ranges and other buffers are ignored.
    """
    ranges: list[dict[int, Span]] = [{} for _ in range(len(instance))]
    reach, anchor, distance = _reach(instance), instance.anchor.tolist(), instance.distance.tolist()
    for q, end in enumerate(ends):
        lowest, highest, step = (row[q].tolist() for row in (instance.lowest, instance.highest, instance.alignment))
        for i in np.flatnonzero(instance.allowed[q]).tolist():
            # The buffers above it in its rigid group must fit, too.
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
    """Return an end that pool `q` has in some best assignment, or stays below.

    All that lies there can be stacked above all that is fixed, group after group: each at the first offset that its
    alignment, pages and rules of pairs allow.
    """
    mine = np.flatnonzero(instance.allowed[q])
    reach = _reach(instance)
    free = PairRules.from_pool(instance, q).max_clearances()
    if instance.pools[q].bank:  # a priced pair may be parted by banks as well
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
    # Every group stacked on all that is fixed, each with the most that its alignment, pages and banks may waste.
    return base + sum(reach[anchor] + waste[anchor] + period[anchor] - 1 for anchor in waste)


def _reach(instance: Instance) -> list[int]:
    """Return the bytes from each anchor's start to its group's end, 0 for other buffers."""
    reach = np.zeros(len(instance), dtype=np.int64)
    np.maximum.at(reach, instance.anchor, instance.distance + instance.size)
    offsets: list[int] = reach.tolist()
    return offsets
