"""Sets of buffers that conflict pairwise, and what is pinned in their way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.intervals import merged
from memplan.solvers.formulation.sharing import conflict_matrix


@dataclass(frozen=True)
class ConflictSet:
    """Buffers that conflict pairwise, pinned ones too (positions in the instance); what is alive at `time`, if any."""

    buffers: tuple[int, ...]
    time: int | None


def in_the_way(instance: Instance, q: int, pinned: I64) -> list[tuple[int, int]]:
    """Return the reserved ranges of a pool and the extents of some pinned buffers in it, disjoint and ascending."""
    here = pinned[instance.allowed[q, pinned]]
    extents = zip(instance.pin[here].tolist(), (instance.pin[here] + instance.size[here]).tolist(), strict=True)
    return merged([*((low, high) for low, high in instance.pools[q].reserved.tolist()), *extents])


def with_pinned(instance: Instance, rows: Sequence[int]) -> tuple[int, ...]:
    """Return some rows, and those of the pinned buffers that are in their way."""
    position = np.full(int(instance.source.max(initial=0)) + 1, -1)
    position[instance.source] = np.arange(len(instance))
    named = position[list(rows)]
    pinned = np.setdiff1d(np.flatnonzero(instance.pin >= 0), named)
    near = conflict_matrix(instance, np.concatenate((named, pinned)))[: len(named), len(named) :].any(axis=0)
    return tuple(sorted({*rows, *instance.source[pinned[near]].tolist()}))
