"""Lower bounds on the peak with their witnesses, and the live bytes over time.

Buffers that are alive at the same time, or that conflict pairwise, use disjoint bytes of their allowed pools, unless
they may share bytes (see `demand`). So the heaviest live set or clique bounds the peak. Three rules raise this bound:
aligned buffers occupy whole granules (multiples of the alignment), reserved ranges shift buffers upwards, and a pinned
buffer cannot end below its fixed end.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from memplan.planner.bounds.cliques import clearance_bytes, heavy_clique
from memplan.planner.bounds.demand import Demand, Reserve
from memplan.planner.instance.instance import I64_MAX, Bool, Instance
from memplan.planner.instance.objective import Score, cost_of
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.plan import ProofKind


class Witness(NamedTuple):
    """The proof of a bound or of infeasibility: the positions of buffers that are alive together at a time.

    If `kind` is "clique", the buffers conflict pairwise and `time` is None. If the buffers do not fit, `missing` is the
    number of units that `pool` lacks. For a proof by search, `by` names the solvers.
    """

    kind: ProofKind
    time: int | None = None
    buffers: tuple[int, ...] = ()
    pool: int | None = None
    missing: int | None = None
    by: str | None = None


class Bound(NamedTuple):
    """A lower bound: no assignment has a smaller `score`, or uses fewer than `total` units over all pools.

    `nothing_fits` is a witness that no valid plan exists; None without such a witness.
    """

    score: Score
    witness: Witness
    total: int
    nothing_fits: Witness | None = None


# Rounding sizes up can change which live set ends highest, so try several of the heaviest live sets.
PEAKS_TRIED = 8
GRIDS_TRIED = 4
"""The maximum number of alignments with a separate bound, besides their common divisor; as in bounds.hpp."""


def live_bytes(instance: Instance) -> list[tuple[int, int]]:
    """Return (time, live bytes) for each maximal live set in order of time; bytes that buffers share count once."""
    demand = Demand.from_instance(instance)
    loads = (
        int(load) * instance.unit for load in instance.live_set_sums(demand.start, demand.end, demand.size).tolist()
    )
    return list(zip(instance.live_set_time.tolist(), loads, strict=True))


def lower_bound(instance: Instance) -> Bound:
    """Return the best lower bound from live sets, cliques, alignments, reserved ranges and pinned buffers.

    For each distinct set of allowed pools, the time is linear in the numbers of pools and lifetimes.
    """
    demand = Demand.from_instance(instance)
    packings = [_LiveSetPacking(instance, demand, grid) for grid in _offset_grids(instance)]
    plain = packings[0]
    # The instance already lists the buffers that fit into no pool, so the witness of infeasibility names no buffers.
    lacks = [Witness("capacity")] if instance.unplaceable else (packing.overflow() for packing in packings)
    nothing_fits = next(filter(None, lacks), None) or plain.overflow_below_ends()
    # Buffers with several lifetimes may conflict pairwise without ever being alive together.
    # Members of a clique add up to a peak only if they cannot share bytes and all lie in the same pool.
    has_pairs = not instance.features.isdisjoint({"conflicts", "clearances", "holes"})
    has_cliques = has_pairs and instance.features.isdisjoint({"relative", "sharing", "pools"})
    clique = heavy_clique(instance) if has_cliques else None
    forced = _single_buffer_ends(instance)
    ends: list[int] = []
    witnesses: list[Witness] = []
    for q in reversed(range(len(instance.pools))):
        candidates = [plain.min_end(q), *([forced[q]] if q in forced else [])]
        candidates += [packing.min_end(q) for packing in packings[1:]]
        if clique is not None:
            candidates += [packing.clique_end(clique) for packing in packings]
        end, why = max(candidates, key=lambda pair: pair[0])
        # Bytes that do not fit below this pool's bound belong in earlier pools, so count units only up to the bound.
        for packing in packings if q > 0 else ():
            packing.limit(q, end)
        ends.append(end)
        witnesses.append(why)
    witness = next((why for why in witnesses if why.kind != "empty"), witnesses[0])
    missing = ends[0] - instance.pools[-1].capacity
    if missing > 0 and not instance.unplaceable:
        kind: ProofKind = "clique" if witnesses[0].kind == "clique" else "capacity"
        nothing_fits = witnesses[0]._replace(kind=kind, pool=len(instance.pools) - 1, missing=missing)
    score: Score = tuple(ends)
    if instance.objective == "cost":
        score = (_min_cost(instance), *score)
    return Bound(score, witness, max(plain.largest_load, ends[0]), nothing_fits)


def _min_cost(instance: Instance) -> float:
    prices = np.array([pool.cost for pool in instance.pools])
    cheapest = np.where(instance.allowed, prices[:, None], np.inf).min(axis=0, initial=np.inf)
    return cost_of((sum(instance.traffic[cheapest == price].tolist()), price) for price in sorted({*prices.tolist()}))


class _OffsetGrid(NamedTuple):
    """A grid of offsets: if a buffer of the mask `kept` is in pool `q`, its offset is shift[q] + k * granule."""

    granule: int
    shift: list[int]
    kept: Bool


def _offset_grids(instance: Instance) -> list[_OffsetGrid]:
    """Return offset grids: the grid of all offsets (granule 1), then one with a larger granule per common alignment.

    With rigid groups (buffers at fixed distances), larger granules are left out: group members may overlap once their
    sizes are rounded up to whole granules.
    """
    everywhere = _OffsetGrid(1, [0] * len(instance.pools), np.ones(len(instance), dtype=np.bool_))
    if "relative" in instance.features or "alignment" not in instance.features:
        return [everywhere]
    steps, counts = np.unique(instance.alignment[instance.allowed], return_counts=True)
    common = int(np.gcd.reduce(steps))
    coarse = {common, *steps[np.argsort(-counts, kind="stable")][:GRIDS_TRIED].tolist()} - {1}
    grids = [_largest_congruent_grid(instance, step) for step in sorted(coarse)]
    return [everywhere, *(grid for grid in grids if grid.kept.any())]


def _largest_congruent_grid(instance: Instance, step: int) -> _OffsetGrid:
    """Return the grid with granule `step` that keeps the most buffers.

    The offsets of the kept buffers are congruent modulo `step` within each pool.
    """
    allowed, remainder = instance.allowed, instance.lowest % step
    is_on_step = np.asarray((~allowed | (instance.alignment % step == 0)).all(axis=0))
    shifts = []
    for mine, rest in zip(allowed, remainder, strict=True):
        remainders, counts = np.unique(rest[mine & is_on_step], return_counts=True)
        shifts.append(int(remainders[counts.argmax()]) if len(remainders) else 0)
        is_on_step &= ~mine | (rest == shifts[-1])
    return _OffsetGrid(step, shifts, is_on_step)


def _single_buffer_ends(instance: Instance) -> dict[int, tuple[int, Witness]]:
    """Return, for each pool, the greatest end that a single buffer forces, and that buffer as the witness.

    A buffer confined to one pool ends at or above its lowest offset plus its size. Other pools are left out.
    """
    is_confined = instance.allowed.sum(axis=0) == 1
    ends: dict[int, tuple[int, Witness]] = {}
    for q, is_allowed in enumerate(instance.allowed):
        here = np.flatnonzero(is_allowed & is_confined)
        if len(here):
            # The checker of a witness does not know allowed ranges of offsets, so the bound ignores these ranges.
            ranged = instance.is_ranged[instance.anchor[here]]
            low = instance.lowest[q, here]
            end = np.where(ranged, low % instance.alignment[q, here], low) + instance.size[here]
            k = int(end.argmax())
            kind: ProofKind = "pinned" if instance.pin[here[k]] >= 0 else "largest-buffer"
            ends[q] = int(end[k]), Witness(kind, buffers=(int(here[k]),))
    return ends


@dataclass(eq=False, repr=False)
class _PoolGroup:
    """A set of pools, and the heaviest live sets of the buffers that may use only these pools.

    `load`: the units of the heaviest live set. `free`: the free units in these pools, each counted up to the pool's
    capacity or current limit.
    """

    pools: list[int]
    load: int
    live_sets: list[tuple[int, I64]]  # Each live set has a time and the demand terms of its confined buffers.
    free: int


class _LiveSetPacking:
    """A lower bound from live sets of the buffers on one grid of offsets; sizes are rounded up to whole grid steps."""

    def __init__(self, instance: Instance, demand: Demand, grid: _OffsetGrid) -> None:
        """Round the sizes up to granules, and compute the free units and heaviest live sets for the sets of pools."""
        self.instance, self.demand, self.grid, self.granule = instance, demand, grid, grid.granule
        self.size, self.waste = demand.size, np.zeros_like(demand.size)
        if self.granule > 1:
            is_kept = grid.kept[demand.lifetime_buffer]
            self.waste = np.where(is_kept, -demand.size % self.granule, 0)
            self.size = np.where(is_kept, demand.size + self.waste, 0)
        self.reserves = [
            Reserve(
                [(self._grid_distance(q, low), self._grid_distance(q, high)) for low, high in pool.reserved.tolist()]
            )
            for q, pool in enumerate(instance.pools)
        ]
        self.free = [self._free_units(q, pool.capacity) for q, pool in enumerate(instance.pools)]
        self.groups = [self._pool_group(pools) for pools in self._confining_pool_sets()]
        self.groups_of: list[list[_PoolGroup]] = [[] for _ in self.free]
        for group in self.groups:
            for q in group.pools:
                self.groups_of[q].append(group)
        self.largest_load = max((group.load for group in self.groups), default=0)

    def _confining_pool_sets(self) -> list[list[int]]:
        """Return lists of pool positions: the most common sets of allowed pools, and the set of all pools."""
        p = len(self.instance.pools)
        everything = list(range(p))
        # The bits of an int64 encode a set of pools, so at most 62 pools are supported.
        if p == 1 or p > 62:
            return [everything]
        codes = (self.instance.allowed.astype(np.int64) << np.arange(p)[:, None]).sum(axis=0)
        kinds, counts = np.unique(codes, return_counts=True)
        common = kinds[np.argsort(-counts, kind="stable")][:64].tolist()
        return [[q for q in everything if group >> q & 1] for group in sorted({(1 << p) - 1, *common} - {0})]

    def _pool_group(self, pools: list[int]) -> _PoolGroup:
        """Return the group of these pools. Its live sets count only buffers that may use no other pool."""
        outside = sorted(set(range(len(self.free))).difference(pools))
        mine = self.size
        if outside:
            may_be_outside = np.logical_or.reduce(self.instance.allowed[outside])
            mine = np.where(may_be_outside[self.demand.lifetime_buffer], 0, mine)
        load = self.instance.live_set_sums(self.demand.start, self.demand.end, mine)
        free = sum(self.free[q] for q in pools)
        if len(load) == 0:
            return _PoolGroup(pools, 0, [], free)
        # The topmost buffer needs no padding, so a live set with fewer bytes may give a higher bound: try several.
        tried = np.argsort(np.negative(load), kind="stable")[:PEAKS_TRIED] if self.granule > 1 else [load.argmax()]
        live_sets = []
        for t in map(int, tried):
            counts = (self.demand.start <= t) & (t < self.demand.end) & (mine > 0)
            live_sets.append((int(self.instance.live_set_time[t]), np.flatnonzero(counts)))
        return _PoolGroup(pools, int(load.max()), live_sets, free)

    def _grid_distance(self, q: int, offset: int) -> int:
        return max(0, -(-(offset - self.grid.shift[q]) // self.granule) * self.granule)

    def _free_units(self, q: int, end: int) -> int:
        return self.reserves[q].free_below(self._grid_distance(q, end))

    def overflow(self) -> Witness | None:
        """Return the witness of a live set that exceeds the pools its buffers may use; None if all live sets fit."""
        for group in self.groups:
            if group.load > group.free:
                when, rows = group.live_sets[0]
                return Witness("capacity", when, self._buffers_of_terms(rows), group.pools[-1], group.load - group.free)
        return None

    def overflow_below_ends(self) -> Witness | None:
        """Return the witness of a live set whose ends are limited to an offset below which they do not fit; or None."""
        instance, demand = self.instance, self.demand
        # The verifier recounts what fits into one pool by its whole capacity, so this is for several pools.
        if len(instance.pools) == 1 or instance.features.isdisjoint({"ranges", "pins"}):
            return None
        capacity = np.array([[pool.capacity] for pool in instance.pools])
        tops = np.minimum(capacity, np.minimum(instance.highest, I64_MAX - instance.size) + instance.size)
        top = np.where(instance.allowed, tops, 0).max(axis=0)
        ends, counts = np.unique(top[top < capacity.max()], return_counts=True)
        for end in ends[np.argsort(-counts, kind="stable")][:GRIDS_TRIED].tolist():
            used = np.flatnonzero(instance.allowed[:, top <= end].any(axis=1)).tolist()
            free = sum(self._free_units(q, min(end, instance.pools[q].capacity)) for q in used)
            mine = np.where(top[demand.lifetime_buffer] <= end, self.size, 0)
            load = instance.live_set_sums(demand.start, demand.end, mine)
            if load.max(initial=0) > free:
                t = int(load.argmax())
                rows = np.flatnonzero((demand.start <= t) & (t < demand.end) & (mine > 0))
                return Witness("capacity", int(instance.live_set_time[t]), self._buffers_of_terms(rows))
        return None

    def limit(self, q: int, end: int) -> None:
        """Reduce the free units of pool `q` to those below the offset `end`."""
        less = self.free[q] - self._free_units(q, end)
        self.free[q] -= less
        for group in self.groups_of[q]:
            group.free -= less

    def min_end(self, q: int) -> tuple[int, Witness]:
        """Return a lower bound on the end of pool `q` if all other pools are full, and the witness of this bound."""
        best, why = 0, Witness("empty")
        for group in self.groups_of[q]:
            for when, rows in group.live_sets:
                end = self._least_end(q, self.size[rows], self.waste[rows], group.free - self.free[q])
                if end > best:
                    kind: ProofKind = "alignment" if self.granule > 1 else "live-set"
                    best, why = end, Witness(kind, when, self._buffers_of_terms(rows), q)
        return best, why

    def _buffers_of_terms(self, rows: I64) -> tuple[int, ...]:
        return tuple(sorted(set(self.demand.lifetime_buffer[rows].tolist())))

    def _least_end(self, q: int, size: I64, waste: I64, elsewhere: int = 0) -> int:
        """Return a lower bound on the end of pool `q`, given disjoint buffers with `elsewhere` units in other pools.

        `size` and `waste` have, for each buffer, the size rounded up to granules, and the units added by rounding.
        """
        amount = sum(size.tolist()) - elsewhere
        return self.grid.shift[q] + self.reserves[q].reach(amount) - int(waste.max(initial=0)) if amount > 0 else 0

    def clique_end(self, clique: I64) -> tuple[int, Witness]:
        """Return (lower bound on the end of the only pool, its witness); the pool holds all buffers of the clique."""
        counted = clique[self.grid.kept[clique]]
        waste = -self.instance.size[counted] % self.granule
        extent = self.instance.size[counted] + waste
        end = self._least_end(0, extent, waste)
        if len(self.instance.clear_pairs):
            # Clearances may overlap reserved ranges, so add clearances to the sizes, not to the reserved end.
            free = clearance_bytes(self.instance, counted, self.granule)
            end = max(end, self.grid.shift[0] + int(extent.sum()) + free - int(waste.max(initial=0)))
        return end, Witness("clique", buffers=tuple(counted.tolist()), pool=0)
