"""A part of an instance, as an instance of one memory: what one memory holds, or its core."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from memplan.planner.instance.instance import Bool, Instance
from memplan.planner.model.buffer_table import ABSENT, I64, column


def part_of(instance: Instance, kept: Bool, q: int = 0) -> Instance:
    """Return the instance of the `kept` buffers, in their order, with memory `q` alone; units and times stay.

    Live sets are kept where a kept lifetime starts: two lifetimes that meet do so, too, where the later one starts.
    Rigid groups are kept as a whole, or not at all. In one memory, nobody is asked to be in company.
    """
    chosen = np.flatnonzero(kept)
    lives = kept[instance.lifetime_buffer]
    is_kept_set = np.zeros(instance.n_live_sets, dtype=np.bool_)
    is_kept_set[instance.start[lives]] = True
    before = np.concatenate(([0], np.cumsum(is_kept_set)))
    first = np.concatenate(([0], np.cumsum(np.diff(instance.first)[chosen])))

    position = np.full(len(instance), ABSENT)
    position[chosen] = np.arange(len(chosen))
    conflict_first, conflict = _among(instance.conflict_first, instance.conflict, position)
    share_first, share = _among(instance.share_first, instance.share, position)
    bank_first, bank_with = _among(instance.bank_first, instance.bank_with, position)
    soft = kept[instance.soft_pairs].all(axis=1)
    anchor = column(position[instance.anchor[chosen]])
    _, first_of_group, group = np.unique(anchor, return_index=True, return_inverse=True)
    return replace(
        instance,
        pools=(instance.pools[q],),
        source=column(instance.source[chosen]),
        size=column(instance.size[chosen]),
        first=column(first),
        start=column(before[instance.start[lives]]),
        end=column(before[instance.end[lives]]),
        live_set_time=column(instance.live_set_time[is_kept_set]),
        conflict_first=conflict_first,
        conflict=conflict,
        allowed=instance.allowed[q : q + 1, chosen],
        alignment=column(instance.alignment[q : q + 1, chosen]),
        residue=column(instance.residue[q : q + 1, chosen]),
        pin=column(instance.pin[chosen]),
        hint=column(instance.hint[chosen]),
        traffic=column(instance.traffic[chosen]),
        page=column(instance.page[q : q + 1, chosen]),
        page_shift=column(instance.page_shift[q : q + 1, chosen]),
        anchor=anchor,
        distance=column(instance.distance[chosen]),
        colocation=column(first_of_group[group]),
        share_first=share_first,
        share=share,
        bank_first=bank_first,
        bank_with=bank_with,
        soft_pairs=column(position[instance.soft_pairs[soft]]),
        soft_weight=instance.soft_weight[soft],
    )


def whole(instance: Instance, kept: Bool) -> Bool:
    """Return which buffers are kept where a rigid group is as soon as one of its members is."""
    some = np.zeros(len(instance), dtype=np.bool_)
    some[instance.anchor[kept]] = True
    grown: Bool = some[instance.anchor]
    return grown


def alive_with(instance: Instance, which: Bool) -> Bool:
    """Return who shares a live set with a buffer of `which`; these are among them."""
    lives = which[instance.lifetime_buffer]
    size = instance.n_live_sets + 1
    change = np.bincount(instance.start[lives], minlength=size) - np.bincount(instance.end[lives], minlength=size)
    met = np.concatenate(([0], np.cumsum(np.cumsum(change)[:-1] > 0)))
    found = np.array(which)  # of whom some may have no lifetime
    found[instance.lifetime_buffer[met[instance.end] > met[instance.start]]] = True
    return found


def _among(first: I64, neighbour: I64, position: I64) -> tuple[I64, I64]:
    """Return symmetric adjacency lists of those that have a position, in terms of positions."""
    lifetime_buffer, other = position[np.repeat(np.arange(len(first) - 1), np.diff(first))], position[neighbour]
    inside = (lifetime_buffer >= 0) & (other >= 0)
    degrees = np.bincount(lifetime_buffer[inside], minlength=int((position >= 0).sum()))
    return column(np.concatenate(([0], np.cumsum(degrees)))), column(other[inside])
