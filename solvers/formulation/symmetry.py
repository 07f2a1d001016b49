"""Buffers that nothing distinguishes: an order between them rules out nothing but copies of the same plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from memplan.planner.instance.contents import numbers, relations
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64


def identical(instance: Instance) -> Sequence[list[int]]:
    """Return groups of buffers, each ascending, that share a live set and may change places in any assignment."""
    is_free = (np.diff(instance.first) > 0) & (instance.pin < 0)  # without a lifetime they may share their bytes
    # What is tied to others is distinguished by these, so it is no copy of its like.
    for relation in relations(instance):
        is_free &= ~relation.has_others
    free = np.flatnonzero(is_free)
    groups: dict[tuple[bytes, bytes], list[int]] = defaultdict(list)
    for i, look in zip(free.tolist(), appearances(instance, free), strict=True):
        groups[look].append(i)
    return [group for group in groups.values() if len(group) > 1]


def appearances(instance: Instance, buffers: I64) -> list[tuple[bytes, bytes]]:
    """Return, for some buffers, a key of the lifetimes and of all that is required of each; equal keys mean alike."""
    own = np.stack([values[buffers] for values in numbers(instance)], axis=1)
    lives = np.stack((instance.start, instance.end), axis=1)
    rows = zip(instance.first[buffers].tolist(), instance.first[buffers + 1].tolist(), own, strict=True)
    return [(lives[low:high].tobytes(), values.tobytes()) for low, high, values in rows]
