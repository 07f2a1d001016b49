"""Restriction of an instance to some buffers and one pool, and groups of interchangeable buffers."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from memplan.planner.instance.columns import Axis
from memplan.planner.instance.contents import relations, requirement_columns
from memplan.planner.instance.instance import COLUMNS, HOLDING_BUFFERS, ON, Bool, Instance
from memplan.planner.model.buffer_table import ABSENT, I64
from memplan.planner.model.constraints.kept import first_of_equals


def part_of(instance: Instance, kept: Bool, q: int = 0) -> Instance:
    """Return the instance of the buffers in the mask `kept`, with pool `q` only; units and times are unchanged.

    A live set is kept if a kept lifetime starts in it, because two overlapping lifetimes also overlap where the later
    one starts. Buffers at fixed distances must all be kept or all be dropped.
    """
    chosen, lives = np.flatnonzero(kept), kept[instance.lifetime_buffer]
    is_kept_set = np.zeros(instance.n_live_sets, dtype=np.bool_)
    is_kept_set[instance.start[lives]] = True
    set_position = np.concatenate(([0], np.cumsum(is_kept_set)))
    position = np.full(len(instance), ABSENT)
    position[chosen] = np.arange(len(chosen))
    columns: dict[str, Any] = {name: getattr(instance, name) for name in COLUMNS}
    for name in ON[Axis.POOL]:
        columns[name] = (columns[name][q],)
    for name in ON[Axis.BUFFER]:
        columns[name] = columns[name][chosen]
    for name in ON[Axis.POOL_AND_BUFFER]:
        columns[name] = columns[name][q : q + 1, chosen]
    for name in ON[Axis.LIFETIME]:
        columns[name] = set_position[columns[name][lives]]
    for name in {COLUMNS[name].along for name in ON[Axis.LIFETIME]}:
        columns[name] = np.concatenate(([0], np.cumsum(np.diff(columns[name])[chosen])))
    for name in ON[Axis.LIVE_SET]:
        columns[name] = columns[name][is_kept_set]
    for name in ON[Axis.LIST]:
        first = COLUMNS[name].along
        columns[first], columns[name] = _sublists(columns[first], columns[name], position)
    for name in ON[Axis.PAIR]:
        columns[name] = columns[name][kept[getattr(instance, COLUMNS[name].along)].all(axis=1)]
    for name in HOLDING_BUFFERS:
        columns[name] = position[columns[name]]
    # With one pool, only rigid groups bind buffers together, so colocation follows the anchors.
    columns["colocation"] = first_of_equals(columns["anchor"])
    for values in columns.values():
        if isinstance(values, np.ndarray):
            values.setflags(write=False)
    return Instance(**columns)


def _sublists(first: I64, neighbour: I64, position: I64) -> tuple[I64, I64]:
    """Restrict symmetric adjacency lists to some buffers, and renumber these; return the lists as (first, neighbour).

    position[i] is the new position of buffer i, or ABSENT if the buffer is dropped.
    """
    buffer, other = pairs_among(first, neighbour, position)
    degrees = np.bincount(buffer, minlength=int((position >= 0).sum()))
    return np.concatenate(([0], np.cumsum(degrees))), other


def pairs_among(first: I64, other: I64, position: I64) -> tuple[I64, I64]:
    """Return the pairs that remain in adjacency lists after renumbering the buffers, as two arrays of positions."""
    a, b = position[np.repeat(np.arange(len(first) - 1), np.diff(first))], position[other]
    inside = (a >= 0) & (b >= 0)
    return a[inside], b[inside]


def identical(instance: Instance) -> Sequence[list[int]]:
    """Return groups of buffers that any plan may exchange (equal lifetimes and requirements), each ascending."""
    # Buffers without lifetimes are never alive together, so leave them out.
    is_free = (np.diff(instance.first) > 0) & (instance.pin < 0)
    # A buffer with relations to certain others cannot be interchanged, so leave it out.
    for relation in relations(instance):
        is_free &= ~relation.has_others
    free = np.flatnonzero(is_free)
    groups: dict[tuple[bytes, bytes], list[int]] = defaultdict(list)
    for i, look in zip(free.tolist(), appearances(instance, free), strict=True):
        groups[look].append(i)
    return [group for group in groups.values() if len(group) > 1]


def appearances(instance: Instance, buffers: I64) -> list[tuple[bytes, bytes]]:
    """Return a key for each given buffer; two keys are equal if the buffers' lifetimes and requirements are equal."""
    own = np.stack([values[buffers] for values in requirement_columns(instance)], axis=1)
    lives = np.stack((instance.start, instance.end), axis=1)
    rows = zip(instance.first[buffers].tolist(), instance.first[buffers + 1].tolist(), own, strict=True)
    return [(lives[low:high].tobytes(), values.tobytes()) for low, high, values in rows]
