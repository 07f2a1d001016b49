"""A part of an instance, as an instance of one memory: what one memory holds, or its core."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.instance import Bool, Instance
from planner.table import ABSENT, column


def part_of(instance: Instance, kept: Bool, q: int = 0) -> Instance:
    """Return the instance of the `kept` buffers, in their order, with memory `q` alone; units and times stay.

    Live sets are kept where a kept lifetime starts: two lifetimes that meet do so, too, where the later one starts.
    """
    chosen = np.flatnonzero(kept)
    lives = kept[instance.owner]
    is_kept_set = np.zeros(instance.n_live_sets, dtype=np.bool_)
    is_kept_set[instance.start[lives]] = True
    before = np.concatenate(([0], np.cumsum(is_kept_set)))
    first = np.concatenate(([0], np.cumsum(np.diff(instance.first)[chosen])))

    position = np.full(len(instance), ABSENT)
    position[chosen] = np.arange(len(chosen))
    whose = np.repeat(np.arange(len(instance)), np.diff(instance.conflict_first))
    pairs = kept[whose] & kept[instance.conflict]
    degrees = np.bincount(position[whose[pairs]], minlength=len(chosen))
    return replace(
        instance,
        memories=(instance.memories[q],),
        source=column(instance.source[chosen]),
        size=column(instance.size[chosen]),
        first=column(first),
        start=column(before[instance.start[lives]]),
        end=column(before[instance.end[lives]]),
        live_set_time=column(instance.live_set_time[is_kept_set]),
        conflict_first=column(np.concatenate(([0], np.cumsum(degrees)))),
        conflict=column(position[instance.conflict[pairs]]),
        allowed=instance.allowed[q : q + 1, chosen],
        alignment=column(instance.alignment[q : q + 1, chosen]),
        residue=column(instance.residue[q : q + 1, chosen]),
        pin=column(instance.pin[chosen]),
        hint=column(instance.hint[chosen]),
        traffic=column(instance.traffic[chosen]),
    )
