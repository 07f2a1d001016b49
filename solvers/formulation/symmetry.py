"""Buffers that nothing tells apart: an order between them rules out nothing but copies of the same plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from memplan.planner.instance.contents import numbers, relations
from memplan.planner.instance.instance import Instance


def identical(instance: Instance) -> Sequence[list[int]]:
    """Return groups of buffers, each ascending, that share a live set and may change places in any assignment."""
    is_free = (np.diff(instance.first) > 0) & (instance.pin < 0)  # without a lifetime they may share their bytes
    for relation in relations(instance):
        is_free &= ~relation.has_others
    looks = appearances(instance)
    groups: dict[tuple[bytes, bytes], list[int]] = defaultdict(list)
    for i in np.flatnonzero(is_free).tolist():
        groups[looks[i]].append(i)
    return [group for group in groups.values() if len(group) > 1]


def appearances(instance: Instance) -> list[tuple[bytes, bytes]]:
    """Return, for each buffer, a key of its lifetimes and of all that is asked of it alone; equal keys mean alike."""
    own = np.stack(list(numbers(instance)), axis=1)
    lives = np.stack((instance.start, instance.end), axis=1)
    rows = zip(instance.first[:-1].tolist(), instance.first[1:].tolist(), own, strict=True)
    return [(lives[low:high].tobytes(), values.tobytes()) for low, high, values in rows]
