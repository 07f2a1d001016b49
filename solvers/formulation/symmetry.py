"""Buffers that nothing tells apart: an order between them rules out nothing but copies of the same plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from memplan.planner.instance.instance import Bool, Instance


def identical(instance: Instance) -> Sequence[list[int]]:
    """Return groups of buffers, each ascending, that share a live set and may change places in any assignment."""
    groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
    has_lifetimes = np.diff(instance.first) > 0  # those that are alive at no time may share their bytes
    is_free = has_lifetimes & ~_has_ties(instance) & (instance.pin < 0)
    has_cost = instance.objective == "cost"
    for i in np.flatnonzero(is_free).tolist():
        lives = slice(instance.first[i], instance.first[i + 1])
        rules = (instance.allowed, instance.alignment, instance.residue, instance.page, instance.page_shift)
        columns = (instance.start[lives], instance.end[lives], *(rule[:, i] for rule in rules))
        what = tuple(column.tobytes() for column in columns)
        groups[int(instance.size[i]), int(instance.traffic[i]) if has_cost else 0, what].append(i)
    return [group for group in groups.values() if len(group) > 1]


def _has_ties(instance: Instance) -> Bool:
    """Say which buffers some rule names together with another one."""
    tied = np.zeros(len(instance), dtype=np.bool_)
    for first in (instance.conflict_first, instance.share_first, instance.bank_first):
        tied |= np.diff(first) > 0
    tied[instance.soft_pairs.ravel()] = True
    counts = np.bincount(instance.colocation, minlength=len(instance))
    return tied | (counts[instance.colocation] > 1)
