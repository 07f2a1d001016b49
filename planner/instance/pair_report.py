"""Pairs of buffers in a plan: those that share an offset, and those that touch a common bank."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from memplan.planner.instance.instance import Bool, Instance
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.problem import Problem

U64 = npt.NDArray[np.uint64]
IdPairs = tuple[tuple[int | str, int | str], ...]


def shared_pairs(problem: Problem, instance: Instance, placements: PlacementTable) -> IdPairs:
    """Return the pairs of `may_share` that start at one offset while they are alive together, as the problem has them.

    The placements are in the problem's order.
    """
    if len(instance.share) == 0:
        return ()
    place = list(zip(placements.pool.tolist(), placements.offset.tolist(), strict=True))
    lifetime_buffer = instance.source[np.repeat(np.arange(len(instance)), np.diff(instance.share_first))]
    meeting = set(zip(lifetime_buffer.tolist(), instance.source[instance.share].tolist(), strict=True))
    rows = [(problem.root_of(a), problem.root_of(b)) for a, b in problem.may_share]
    return tuple(
        pair for pair, (i, j) in zip(problem.may_share, rows, strict=True) if (i, j) in meeting and place[i] == place[j]
    )


def bank_clashes(problem: Problem, placements: PlacementTable) -> IdPairs:
    """Return the pairs of `bank` entries with a weight that touch a common bank, as the problem has them.

    The placements are in the problem's order, their pools in any. With an alias, its whole family touches a bank.
    """
    found: list[tuple[int | str, int | str]] = []
    for use in problem.bank:
        if use.weight is None:
            continue
        rows = np.array([problem.root_of(name) for name in use.buffers])
        bank, first, last = _banks(problem, placements, rows)
        i, j = np.triu_indices(len(rows), 1)
        is_near = (placements.pool[rows[i]] == placements.pool[rows[j]]) & bank[i] & bank[j]
        clash = is_near & (first[i] <= last[j]) & (first[j] <= last[i])
        found += [(use.buffers[a], use.buffers[b]) for a, b in zip(i[clash].tolist(), j[clash].tolist(), strict=True)]
    return tuple(found)


def _banks(problem: Problem, placements: PlacementTable, rows: I64) -> tuple[Bool, U64, U64]:
    """Return (True where a buffer touches a bank at all, the first bank, the last bank)."""
    pools = [problem.pools[problem.pool_index[name]] for name in placements.pool_names]
    width = np.array([pool.bank_size or 0 for pool in pools], dtype=np.uint64)[placements.pool[rows]]
    base = np.array([pool.base_address for pool in pools], dtype=np.uint64)[placements.pool[rows]]
    size = problem.buffers.size[rows].astype(np.uint64)
    touches = (width > 0) & (size > 0)
    width, size = np.maximum(width, np.uint64(1)), np.maximum(size, np.uint64(1))
    low = placements.offset[rows].astype(np.uint64) + base  # below 2^64, and so is the last byte's address
    return touches, low // width, (low + size - np.uint64(1)) // width
