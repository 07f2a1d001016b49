"""The buffers of an instance that may not share bytes, as a matrix; and lists of pairs and ranges as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memplan.planner.instance.instance import Bool, Instance
from memplan.planner.model.buffer_table import I64


def conflict_matrix(instance: Instance, buffers: I64) -> Bool:
    """Return which buffers may not share bytes, whatever else is said, bool (n, n)."""
    n, position = len(buffers), np.full(len(instance), -1)
    position[buffers] = np.arange(n)
    near = np.zeros((n, n), dtype=np.bool_)
    rows = position[instance.lifetime_buffer] >= 0
    buffer_of, start, end = position[instance.lifetime_buffer[rows]], instance.start[rows], instance.end[rows]
    order = np.argsort(start, kind="stable")
    buffer_of, start, end = buffer_of[order], start[order], end[order]
    after = np.searchsorted(start, end)
    for k in range(len(buffer_of)):
        near[buffer_of[k], buffer_of[k + 1 : after[k]]] = True
    near |= near.T
    near[pairs_among(instance.conflict_first, instance.conflict, position)] = True
    near[pairs_among(instance.share_first, instance.share, position)] = False
    # Members of a rigid group count as if they could share bytes: certificates leave that rule out.
    near &= instance.anchor[buffers][:, None] != instance.anchor[buffers][None, :]
    return near


def pairs_among(first: I64, other: I64, position: I64) -> tuple[I64, I64]:
    """Return the pairs of adjacency lists whose two buffers have a position, as positions."""
    a, b = position[np.repeat(np.arange(len(first) - 1), np.diff(first))], position[other]
    inside = (a >= 0) & (b >= 0)
    return a[inside], b[inside]


def ragged_rows(lists: Sequence[Sequence[Sequence[int]]]) -> tuple[I64, I64]:
    """Return lists of (low, high) rows as (first, rows)."""
    first = np.append(0, np.cumsum([len(rows) for rows in lists])).astype(np.int64)
    return first, np.array([row for rows in lists for row in rows], dtype=np.int64).reshape(-1, 2)
