"""The pairs of buffers in a plan that share an offset, touch a common bank, or share bytes at a price."""

import numpy as np
import numpy.typing as npt

from memplan.planner.instance.instance import Bool, Instance
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Reused
from memplan.planner.model.problem import Problem

U64 = npt.NDArray[np.uint64]
IdPairs = tuple[tuple[int | str, int | str], ...]


def shared_pairs(problem: Problem, instance: Instance, placements: PlacementTable) -> IdPairs:
    """Return the `may_share` pairs that have one offset while both are alive, in the problem's order.

    The placements must be in the order of the problem's buffers.
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
    """Return the pairs of weighted `bank` entries whose buffers touch a common bank, in the problem's order.

    The placements must be in the order of the problem's buffers. An alias counts as the buffer that contains it.
    """
    clashes: list[tuple[int | str, int | str]] = []
    for use in problem.bank:
        if use.weight is None:
            continue
        rows = np.array([problem.root_of(name) for name in use.buffers])
        bank, first, last = _touched_banks(problem, placements, rows)
        i, j = np.triu_indices(len(rows), 1)
        is_near = (placements.pool[rows[i]] == placements.pool[rows[j]]) & bank[i] & bank[j]
        clash = is_near & (first[i] <= last[j]) & (first[j] <= last[i])
        clashes += [(use.buffers[a], use.buffers[b]) for a, b in zip(i[clash].tolist(), j[clash].tolist(), strict=True)]
    return tuple(clashes)


def reused_pairs(problem: Problem, instance: Instance, placements: PlacementTable) -> tuple[Reused, ...]:
    """Return the `reuse` pairs that share bytes in a plan.

    Each pair has its cost and the order of use that it implies. The placements must be in the order of the problem's
    buffers. A pair in two entries is returned twice.
    """
    position = np.full(len(problem.buffers), -1)
    position[instance.source] = np.arange(len(instance))
    priced = {(i, j) for i, j in instance.reuse_pairs.tolist()}
    start, end = _live_set_starts(instance), _live_set_ends(instance)
    pool, low = placements.pool.tolist(), placements.offset.tolist()
    size = problem.buffers.size.tolist()
    pairs = []
    for row in problem.reuse:
        for pair in row.pairs:
            rows = [problem.root_of(name) for name in pair]
            (a, b), (i, j) = rows, position[rows].tolist()
            if (min(i, j), max(i, j)) not in priced or pool[a] != pool[b]:
                continue
            if low[a] < low[b] + size[b] and low[b] < low[a] + size[a]:
                order = pair if end[i] <= start[j] else pair[::-1] if end[j] <= start[i] else (None, None)
                pairs.append(Reused(buffers=pair, cost=row.cost, first=order[0], then=order[1]))
    return tuple(pairs)


def _live_set_starts(instance: Instance) -> list[int]:
    births = np.full(len(instance), instance.n_live_sets)
    np.minimum.at(births, instance.lifetime_buffer, instance.start)
    return list(births.tolist())


def _live_set_ends(instance: Instance) -> list[int]:
    deaths = np.zeros(len(instance), dtype=np.int64)
    np.maximum.at(deaths, instance.lifetime_buffer, instance.end)
    return list(deaths.tolist())


def _touched_banks(problem: Problem, placements: PlacementTable, rows: I64) -> tuple[Bool, U64, U64]:
    pools = [problem.pools[problem.pool_index[name]] for name in placements.pool_names]
    width = np.array([pool.bank_size or 0 for pool in pools], dtype=np.uint64)[placements.pool[rows]]
    base = np.array([pool.base_address for pool in pools], dtype=np.uint64)[placements.pool[rows]]
    size = problem.buffers.size[rows].astype(np.uint64)
    touches = (width > 0) & (size > 0)
    width, size = np.maximum(width, np.uint64(1)), np.maximum(size, np.uint64(1))
    low = placements.offset[rows].astype(np.uint64) + base  # addresses stay below 2^64, so uint64 suffices
    return touches, low // width, (low + size - np.uint64(1)) // width
