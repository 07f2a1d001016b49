"""Lower bounds, each with its witness, and live bytes over time.

The largest live set must fit: buffers alive at one time use disjoint bytes of the pools that they may use, except for
buffers that may use bytes of others (`demand`); so do buffers that conflict pairwise. Aligned buffers take whole
granules, which lifts the bound; reserved ranges and pins push ends up.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from memplan.planner.bounds.cliques import clearance_bytes, heavy_clique
from memplan.planner.bounds.demand import Demand, Reserve
from memplan.planner.instance.instance import Bool, Instance
from memplan.planner.instance.objective import Score, cost_of
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.plan import ProofKind


class Witness(NamedTuple):
    """The reason for a bound or for infeasibility: buffers (positions) that are alive together at a time.

    Where `kind` is "clique" they conflict pairwise, but for various reasons, and there is no one time.
    `missing` is what `pool` lacks, in units, where nothing fits; `by` names the solvers, where a search is the proof.
    """

    kind: ProofKind
    time: int | None = None
    buffers: tuple[int, ...] = ()
    pool: int | None = None
    missing: int | None = None
    by: str | None = None


class Bound(NamedTuple):
    """No assignment has a smaller `score`, nor a smaller sum of used units over the pools than `total`."""

    score: Score
    witness: Witness
    total: int
    nothing_fits: Witness | None = None


# Rounded up to an alignment, another live set than the heaviest may have the highest end.
PEAKS_TRIED = 8
GRIDS_TRIED = 4
"""The most alignments that get a separate bound, in addition to the common divisor; bounds.hpp has the same limit."""


def live_bytes(instance: Instance) -> list[tuple[int, int]]:
    """Return (time, bytes alive) for every maximal live set, in time order; shared bytes count once."""
    demand = Demand.from_instance(instance)
    loads = (int(load) * instance.unit for load in instance.sums(demand.start, demand.end, demand.size).tolist())
    return list(zip(instance.live_set_time.tolist(), loads, strict=True))


def lower_bound(instance: Instance) -> Bound:
    """Return the best bound from live sets, alignment, reserved ranges and pins; O(m + n) for each set of pools."""
    demand = Demand.from_instance(instance)
    packings = [_LiveSetPacking(instance, demand, grid) for grid in _grids(instance)]
    plain = packings[0]
    # A buffer that fits no pool, even alone, needs no other witness: the instance names it.
    lacks = [Witness("capacity")] if instance.unplaceable else (packing.overflow() for packing in packings)
    nothing_fits = next(filter(None, lacks), None)
    # Explicit conflicts add nothing to live sets if conflicting buffers may share bytes or use different pools.
    has_names = not instance.features.isdisjoint({"conflicts", "clearances"})
    has_cliques = has_names and instance.features.isdisjoint({"relative", "sharing", "pools"})
    clique = heavy_clique(instance) if has_cliques else None
    forced = _single_ends(instance)
    ends: list[int] = []
    witnesses: list[Witness] = []
    for q in reversed(range(len(instance.pools))):
        candidates = [plain.min_end(q), *([forced[q]] if q in forced else [])]
        candidates += [packing.min_end(q) for packing in packings[1:]]
        if clique is not None:
            candidates += [packing.clique_end(clique) for packing in packings]
        end, why = max(candidates, key=lambda pair: pair[0])
        # Bytes that this pool cannot hold below its bound must be in the pools before it.
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
    """Return the cost with every buffer in its cheapest allowed pool, rounded as objective.total_cost rounds."""
    prices = np.array([pool.cost for pool in instance.pools])
    cheapest = np.where(instance.allowed, prices[:, None], np.inf).min(axis=0, initial=np.inf)
    return cost_of((sum(instance.traffic[cheapest == price].tolist()), price) for price in sorted({*prices.tolist()}))


class _OffsetGrid(NamedTuple):
    """The offsets that the `kept` buffers may have in pool `q`: in every plan they are shift[q] + k * granule."""

    granule: int
    shift: list[int]
    kept: Bool


def _grids(instance: Instance) -> list[_OffsetGrid]:
    """Return the grid that all offsets lie on, and the grids of the most common coarser alignments.

    With rigid groups, only the grid of single units: in a group, whole granules may overlap where the buffers do not.
    """
    everywhere = _OffsetGrid(1, [0] * len(instance.pools), np.ones(len(instance), dtype=np.bool_))
    if "relative" in instance.features or "alignment" not in instance.features:
        return [everywhere]
    steps, counts = np.unique(instance.alignment[instance.allowed], return_counts=True)
    common = int(np.gcd.reduce(steps))
    coarse = {common, *steps[np.argsort(-counts, kind="stable")][:GRIDS_TRIED].tolist()} - {1}
    grids = [_grid(instance, step) for step in sorted(coarse)]
    return [everywhere, *(grid for grid in grids if grid.kept.any())]


def _grid(instance: Instance, step: int) -> _OffsetGrid:
    """Return the grid of the largest set of buffers whose offsets are congruent modulo `step` in each pool."""
    allowed, remainder = instance.allowed, instance.lowest % step
    is_on_step = np.asarray((~allowed | (instance.alignment % step == 0)).all(axis=0))
    shifts = []
    for mine, rest in zip(allowed, remainder, strict=True):
        remainders, counts = np.unique(rest[mine & is_on_step], return_counts=True)
        shifts.append(int(remainders[counts.argmax()]) if len(remainders) else 0)
        is_on_step &= ~mine | (rest == shifts[-1])
    return _OffsetGrid(step, shifts, is_on_step)


def _single_ends(instance: Instance) -> dict[int, tuple[int, Witness]]:
    """Return, for each pool, the least end forced by a single buffer: by its pin, or since it may use no other pool."""
    is_confined = instance.allowed.sum(axis=0) == 1
    ends: dict[int, tuple[int, Witness]] = {}
    for q, is_allowed in enumerate(instance.allowed):
        here = np.flatnonzero(is_allowed & is_confined)
        if len(here):
            # A range of offsets is for searches: no witness could show it to who checks the bound.
            ranged = instance.is_ranged[instance.anchor[here]]
            low = instance.lowest[q, here]
            end = np.where(ranged, low % instance.alignment[q, here], low) + instance.size[here]
            k = int(end.argmax())
            kind: ProofKind = "pinned" if instance.pin[here[k]] >= 0 else "largest-buffer"
            ends[q] = int(end[k]), Witness(kind, buffers=(int(here[k]),))
    return ends


@dataclass(eq=False, repr=False)
class _PoolGroup:
    """Pools that some buffers are confined to, the heaviest live sets of those buffers, and the largest load.

    `free` is the number of bytes free for them in these pools, each up to its capacity or its current limit.
    """

    pools: list[int]
    load: int
    live_sets: list[tuple[int, I64]]  # its time, and its terms of the demand whose buffers are confined to the group
    free: int


class _LiveSetPacking:
    """The live-set argument for the buffers of a grid, whose sizes are rounded up to granules."""

    def __init__(self, instance: Instance, demand: Demand, grid: _OffsetGrid) -> None:
        self.instance, self.demand, self.grid, self.granule = instance, demand, grid, grid.granule
        self.size, self.waste = demand.size, np.zeros_like(demand.size)
        if self.granule > 1:
            is_kept = grid.kept[demand.lifetime_buffer]
            self.waste = np.where(is_kept, -demand.size % self.granule, 0)
            self.size = np.where(is_kept, demand.size + self.waste, 0)
        self.reserves = [
            Reserve([(self._round_up(q, low), self._round_up(q, high)) for low, high in pool.reserved.tolist()])
            for q, pool in enumerate(instance.pools)
        ]
        self.free = [self._free_bytes(q, pool.capacity) for q, pool in enumerate(instance.pools)]
        self.groups = [self._group(pools) for pools in self._groups()]
        self.groups_of: list[list[_PoolGroup]] = [[] for _ in self.free]
        for group in self.groups:
            for q in group.pools:
                self.groups_of[q].append(group)
        self.largest_load = max((group.load for group in self.groups), default=0)

    def _groups(self) -> list[list[int]]:
        """Return the sets of pools that some buffer is confined to, and the set of all."""
        p = len(self.instance.pools)
        everything = list(range(p))
        # Sets of pools are bits of an int64.
        if p == 1 or p > 62:
            return [everything]
        codes = (self.instance.allowed.astype(np.int64) << np.arange(p)[:, None]).sum(axis=0)
        kinds, counts = np.unique(codes, return_counts=True)
        common = kinds[np.argsort(-counts, kind="stable")][:64].tolist()
        return [[q for q in everything if group >> q & 1] for group in sorted({(1 << p) - 1, *common} - {0})]

    def _group(self, pools: list[int]) -> _PoolGroup:
        outside = sorted(set(range(len(self.free))).difference(pools))
        mine = self.size
        if outside:
            may_be_outside = np.logical_or.reduce(self.instance.allowed[outside])
            mine = np.where(may_be_outside[self.demand.lifetime_buffer], 0, mine)
        load = self.instance.sums(self.demand.start, self.demand.end, mine)
        free = sum(self.free[q] for q in pools)
        if len(load) == 0:
            return _PoolGroup(pools, 0, [], free)
        # With granules the end is less by the largest waste, so another live set than the heaviest may end highest.
        tried = np.argsort(np.negative(load), kind="stable")[:PEAKS_TRIED] if self.granule > 1 else [load.argmax()]
        live_sets = []
        for t in map(int, tried):
            counts = (self.demand.start <= t) & (t < self.demand.end) & (mine > 0)
            live_sets.append((int(self.instance.live_set_time[t]), np.flatnonzero(counts)))
        return _PoolGroup(pools, int(load.max()), live_sets, free)

    def _round_up(self, q: int, offset: int) -> int:
        """Return the first grid offset of pool `q` not below `offset`, as a distance from the grid's start."""
        return max(0, -(-(offset - self.grid.shift[q]) // self.granule) * self.granule)

    def _free_bytes(self, q: int, end: int) -> int:
        """Return the free bytes below `end`, in units of whole granules."""
        return self.reserves[q].free_below(self._round_up(q, end))

    def overflow(self) -> Witness | None:
        """Return a live set that does not fit into the pools that it may use."""
        for group in self.groups:
            if group.load > group.free:
                when, rows = group.live_sets[0]
                return Witness("capacity", when, self._buffers(rows), group.pools[-1], group.load - group.free)
        return None

    def limit(self, q: int, end: int) -> None:
        """Limit pool `q` to end at `end` instead of at its capacity."""
        less = self.free[q] - self._free_bytes(q, end)
        self.free[q] -= less
        for group in self.groups_of[q]:
            group.free -= less

    def min_end(self, q: int) -> tuple[int, Witness]:
        """Return the least end of pool `q` when others end at their limits or are full."""
        best, why = 0, Witness("empty")
        for group in self.groups_of[q]:
            for when, rows in group.live_sets:
                end = self._end(q, self.size[rows], self.waste[rows], group.free - self.free[q])
                if end > best:
                    kind: ProofKind = "alignment" if self.granule > 1 else "live-set"
                    best, why = end, Witness(kind, when, self._buffers(rows), q)
        return best, why

    def _buffers(self, rows: I64) -> tuple[int, ...]:
        return tuple(sorted(set(self.demand.lifetime_buffer[rows].tolist())))

    def _end(self, q: int, size: I64, waste: I64, elsewhere: int = 0) -> int:
        """Return the least end of pool `q` that holds all but `elsewhere` of the bytes that must lie apart."""
        amount = sum(size.tolist()) - elsewhere
        return self.grid.shift[q] + self.reserves[q].reach(amount) - int(waste.max(initial=0)) if amount > 0 else 0

    def clique_end(self, clique: I64) -> tuple[int, Witness]:
        """Return the least end of the only pool if it holds a whole clique."""
        counted = clique[self.grid.kept[clique]]
        waste = -self.instance.size[counted] % self.granule
        extent = self.instance.size[counted] + waste
        end = self._end(0, extent, waste)
        if len(self.instance.clear_pairs):
            # A reserved range may fill the clearance between two buffers.
            free = clearance_bytes(self.instance, counted, self.granule)
            end = max(end, self.grid.shift[0] + int(extent.sum()) + free - int(waste.max(initial=0)))
        return end, Witness("clique", buffers=tuple(counted.tolist()), pool=0)
