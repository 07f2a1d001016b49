"""Proofs without search: a buffer has no legal place, or a clique of conflicting buffers exceeds its pools."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from memplan.planner.bounds.cliques import heavy_clique
from memplan.planner.bounds.demand import Reserve
from memplan.planner.instance.instance import Bool, Instance
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.intervals import merge_spans
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.certificates.text import ClaimText, ConflictSet, SetNumbers, obstructed_ranges
from memplan.solvers.formulation.sharing import Sharing, conflict_matrix

_TIMES = 8
"""The limit of live sets that are tried for each group of pools."""
_GRANULES = 5
_PINNED = 2_000


def simple_claim(problem: Problem, instance: Instance, plan: Plan, ends: Sequence[int]) -> ClaimText | None:
    """Return a one-line proof that no plan ends at or below `ends` (bytes per pool), or None without such a proof."""
    p, unit = len(ends), instance.unit
    caps = np.array([end // unit for end in ends], dtype=object)
    allowed = _allowed_pools(instance, caps)
    if (is_out := np.logical_not(allowed.any(axis=0))).any():
        row = int(instance.source[is_out.argmax()])
        return ClaimText(tuple(ends), (f"end !{row}",), 0, (row,))
    if (collided := _pinned_collision(instance)) is not None:
        return ClaimText(tuple(ends), (f"end !{collided[0]}",), 0, collided)
    # The number of groups doubles with each pool, so with 7 or more pools try only single pools and all pools together.
    for group in range(1, 1 << p) if p <= 6 else [1 << q for q in range(p)] + [(1 << p) - 1]:
        pools = [q for q in range(p) if group >> q & 1]
        outside = np.ones(p, dtype=np.bool_)
        outside[pools] = False
        confined = np.logical_not(np.logical_or.reduce(allowed[outside], axis=0))
        for which in _conflict_sets(problem, instance, plan, confined):
            members = np.array([i for i in which.buffers if confined[i]], dtype=np.int64)
            claim = _excess_grid(instance, which, members, pools, [int(cap) for cap in caps[pools]])
            if claim is not None:
                sets = SetNumbers(instance.source.tolist())
                granule = claim[0] * unit if claim[0] > 1 or len(pools) > 1 else 1
                ref = sets.ref(which, granule, claim[1] * unit, group)
                rows = tuple(sorted(instance.source[members].tolist()))
                return ClaimText(tuple(ends), (*sets.lines, f"end {ref}"), 0, rows)
    return None


def _pinned_collision(instance: Instance) -> tuple[int, int] | None:
    """Return the rows in the problem of two pinned buffers that conflict but share bytes, or None."""
    pinned = np.flatnonzero(instance.pin >= 0)[:_PINNED]
    low = instance.pin[pinned]
    high = low + instance.size[pinned]
    is_same_pool = instance.allowed[:, pinned].T.argmax(axis=1)
    clash = conflict_matrix(instance, pinned) & (low[:, None] < high[None, :]) & (low[None, :] < high[:, None])
    clash &= is_same_pool[:, None] == is_same_pool[None, :]
    pairs = np.argwhere(clash)
    return (
        (int(instance.source[pinned[pairs[0, 0]]]), int(instance.source[pinned[pairs[0, 1]]])) if len(pairs) else None
    )


def _allowed_pools(instance: Instance, caps: I64) -> Bool:
    return np.asarray(
        instance.allowed & ((instance.lowest + instance.size).astype(object) <= caps[:, None]), dtype=np.bool_
    )


def _conflict_sets(problem: Problem, instance: Instance, plan: Plan, confined: Bool) -> Iterator[ConflictSet]:
    """Yield sets of conflicting buffers to try: the clique that the plan names, the fullest live sets, a heavy clique.

    The fullest live sets are those with the most bytes in buffers of the mask `confined`. The heavy clique consists of
    buffers in explicit conflict.
    """
    position = {int(row): i for i, row in enumerate(instance.source.tolist())} if plan.proof else {}
    if plan.proof is not None and plan.proof.kind == "clique":
        named = (position.get(problem.root_of(name)) for name in plan.proof.buffers)
        yield ConflictSet(tuple(sorted(i for i in named if i is not None)), None)
    load = instance.loads(np.where(confined, instance.size, 0))
    is_plain, sharing = instance.features.isdisjoint({"sharing", "relative"}), Sharing(instance)
    for t in np.argsort(np.negative(load), kind="stable")[:_TIMES].tolist():
        members = instance.live_set_members(t)
        if is_plain:
            yield ConflictSet(tuple(members.tolist()), int(instance.live_set_time[t]))
        else:
            yield ConflictSet(tuple(sharing.disjoint_buffers(members.tolist())), None)
    if len(instance.conflict):
        yield ConflictSet(tuple(heavy_clique(instance).tolist()), None)


def _excess_grid(
    instance: Instance, which: ConflictSet, members: I64, pools: list[int], caps: list[int]
) -> tuple[int, int] | None:
    """Return the (granule, remainder) of an offset grid on which conflicting `members` exceed the pools.

    `caps` are the ends of the given pools, in units. Returns None if the members exceed the pools on no grid.
    """
    pinned = [i for i in which.buffers if instance.pin[i] >= 0]
    members = members[instance.pin[members] < 0]
    blocks = [obstructed_ranges(instance, q, np.array(pinned, dtype=np.int64)) for q in pools]
    if len(pools) > 1:
        free = sum(Reserve(rows).free_below(cap) for rows, cap in zip(blocks, caps, strict=True))
        # Offsets in several pools have no common grid, so use the grid of all offsets.
        return (1, 0) if sum(instance.size[members].tolist()) > free else None
    for granule, remainder in _grids(instance, members, pools[0]):
        narrowed = members[
            (instance.alignment[pools[0], members] % granule == 0)
            & (instance.lowest[pools[0], members] % granule == remainder)
        ]
        size = instance.size[narrowed].tolist()
        if not size:
            continue
        waste = [-each % granule for each in size]
        # No member can use bytes below the lowest offset of all members, so count the granules from there.
        rounded = [(low + (remainder - low) % granule, high + (remainder - high) % granule) for low, high in blocks[0]]
        lows = [int(instance.lowest[pools[0], i]) for i in narrowed.tolist()]
        start = min(lows)
        rows = merge_spans((low - start, high - start) for low, high in rounded if high > max(low, start))
        end = start + Reserve([(max(0, low), high) for low, high in rows]).reach(sum(size) + sum(waste)) - max(waste)
        if end > caps[0]:
            return granule, remainder
    return None


def _grids(instance: Instance, members: I64, q: int) -> Iterable[tuple[int, int]]:
    """Return the offset grids to try for the members, as (granule, remainder) in units, beginning with (1, 0)."""
    alignment, residue = instance.alignment[q, members], instance.lowest[q, members]
    steps, counts = np.unique(alignment, return_counts=True)
    common = int(np.gcd.reduce(steps)) if len(steps) else 1
    grids = {(1, 0): None}
    for granule in [common, *steps[np.argsort(-counts, kind="stable")][:_GRANULES].tolist()]:
        rests, count = np.unique(residue[alignment % granule == 0] % granule, return_counts=True)
        if len(rests):
            grids[int(granule), int(rests[count.argmax()])] = None
    return grids
