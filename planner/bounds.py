"""Lower bounds, each with its witness, and live bytes over time.

The largest live set must fit: what is alive at one time lies side by side, in the memories it may use; so does what
conflicts pairwise. Aligned buffers take whole granules, which lifts the bound; reserved ranges and pins push ends up.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

import numpy as np

from planner.cliques import heavy_clique
from planner.instance import Instance
from planner.objective import Score
from planner.plan import ProofKind
from planner.table import I64

_PEAKS_TRIED = 8


@dataclass(frozen=True)
class Witness:
    """Why a bound holds, or why nothing fits: buffers (positions in the instance) alive together at a time.

    Where `kind` is "clique" they conflict pairwise, but for various reasons, and there is no one time.
    `missing` is what `memory` lacks, in units, where nothing fits; `by` says who searched, where a search is the proof.
    """

    kind: ProofKind
    time: int | None = None
    buffers: tuple[int, ...] = ()
    memory: int | None = None
    missing: int | None = None
    by: str | None = None


@dataclass(frozen=True)
class Bound:
    """No assignment has a smaller `score`, nor a smaller sum of what is used over the memories than `total` (units)."""

    score: Score
    witness: Witness
    total: int
    nothing_fits: Witness | None = None


def live_bytes(instance: Instance) -> list[tuple[int, int]]:
    """Return (time, bytes alive) for every maximal live set, in time order."""
    loads = (int(load) * instance.unit for load in instance.load().tolist())
    return list(zip(instance.live_set_time.tolist(), loads, strict=True))


def lower_bound(instance: Instance) -> Bound:
    """Return the best bound that live sets, alignment, reserved ranges and pins give; O(m + n) a set of memories."""
    plain = _Packing(instance, 1)
    granule = _granule(instance)
    packings = [plain] if granule == 1 else [plain, _Packing(instance, granule)]
    nothing_fits = _homeless(instance) or next(filter(None, (packing.overflow() for packing in packings)), None)
    clique = heavy_clique(instance) if len(instance.conflict) and len(instance.memories) == 1 else None
    if clique is not None and nothing_fits is None:
        nothing_fits = next(filter(None, (packing.clique_overflow(clique) for packing in packings)), None)
    ends: list[int] = []
    witnesses: list[Witness] = []
    for q in reversed(range(len(instance.memories))):
        limits = {len(instance.memories) - 1 - k: end for k, end in enumerate(ends)}
        found = [packing.least_end(q, limits) for packing in packings] + _single_ends(instance, q)
        if clique is not None:
            found += [packing.clique_end(clique) for packing in packings]
        end, why = max(found, key=lambda pair: pair[0])
        ends.append(end)
        witnesses.append(why)
    witness = next((why for why in witnesses if why.kind != "empty"), witnesses[0])
    score: Score = tuple(ends)
    if instance.objective == "cost":
        score = (_least_cost(instance), *score)
    return Bound(score, witness, max(plain.largest_load, ends[0]), nothing_fits)


def _least_cost(instance: Instance) -> float:
    """Return the cost with every buffer in the cheapest memory it may use, rounded as objective.total_cost rounds."""
    prices = np.array([memory.cost for memory in instance.memories])
    cheapest = np.where(instance.allowed, prices[:, None], np.inf).min(axis=0, initial=np.inf)
    return fsum((instance.traffic * np.where(np.isfinite(cheapest), cheapest, 0)).tolist())


def _homeless(instance: Instance) -> Witness | None:
    """Say that a buffer fits no memory that it may use, even alone; the instance names it."""
    return Witness("capacity") if instance.homeless else None


def _granule(instance: Instance) -> int:
    """Return the largest step that all offsets are multiples of, whatever the plan; 1 where there is none."""
    asked = instance.alignment[instance.allowed]
    step = int(np.gcd.reduce(asked, initial=0)) or 1
    return step if not (instance.residue[instance.allowed] % step).any() else 1


def _single_ends(instance: Instance, q: int) -> list[tuple[int, Witness]]:
    """Return the ends that single buffers force in memory `q`: pinned ones, and those which may live nowhere else."""
    only_here = instance.allowed[q] & (instance.allowed.sum(axis=0) == 1)
    ends = np.where(only_here, np.where(instance.pin >= 0, instance.pin, instance.residue[q]) + instance.size, 0)
    if not only_here.any():
        return []
    i = int(ends.argmax())
    return [(int(ends[i]), Witness("pinned" if instance.pin[i] >= 0 else "largest-buffer", buffers=(i,)))]


class _Packing:
    """The live-set argument, with sizes rounded up to a granule; groups of memories are bit sets."""

    def __init__(self, instance: Instance, granule: int) -> None:
        self.instance, self.granule = instance, granule
        self.waste: I64 = (granule - instance.size % granule) % granule
        self.size: I64 = instance.size + self.waste
        self.room = [self._free(q, memory.capacity) for q, memory in enumerate(instance.memories)]
        self.groups = [(group, *self._heaviest(group)) for group in self._groups()]
        self.largest_load = max((load for _, load, _ in self.groups), default=0) if granule == 1 else 0

    def _groups(self) -> list[int]:
        """Return the sets of memories that some buffer is confined to, and the set of all."""
        p = len(self.instance.memories)
        everything = (1 << p) - 1
        if p == 1 or p > 62:
            return [everything]
        codes = (self.instance.allowed.astype(np.int64) << np.arange(p)[:, None]).sum(axis=0)
        kinds, counts = np.unique(codes, return_counts=True)
        common = kinds[np.argsort(-counts, kind="stable")][:64].tolist()
        return sorted({everything, *common} - {0})

    def _heaviest(self, group: int) -> tuple[int, list[int]]:
        """Return the largest load that buffers confined to the group make, and the live sets with most of it."""
        outside = [q for q in range(len(self.instance.memories)) if not group >> q & 1]
        confined = ~self.instance.allowed[outside].any(axis=0)
        load = self.instance.load(np.where(confined, self.size, 0))
        if len(load) == 0:
            return 0, []
        heaviest = np.argsort(np.negative(load), kind="stable")[:_PEAKS_TRIED] if self.granule > 1 else [load.argmax()]
        return int(load.max()), [int(t) for t in heaviest]

    def _reserved(self, q: int) -> list[tuple[int, int]]:
        step = self.granule
        ranges = self.instance.memories[q].reserved.tolist()
        return [(-(-low // step) * step, -(-high // step) * step) for low, high in ranges]

    def _free(self, q: int, end: int) -> int:
        """Return how much below `end` is free for buffers, in whole granules."""
        end = -(-end // self.granule) * self.granule
        return end - sum(max(0, min(high, end) - low) for low, high in self._reserved(q) if low < end)

    def _reach(self, q: int, amount: int) -> int:
        """Return the least end below which `amount` is free; 0 where nothing is needed."""
        if amount <= 0:
            return 0
        end = amount
        for low, high in self._reserved(q):
            if low < end:
                end += high - low
        return end

    def _alive(self, live_set: int, group: int) -> I64:
        members = self.instance.members(live_set)
        outside = [q for q in range(len(self.instance.memories)) if not group >> q & 1]
        return members[~self.instance.allowed[outside][:, members].any(axis=0)]

    def overflow(self) -> Witness | None:
        """Say which live set does not fit the memories that it may use."""
        for group, load, live_sets in self.groups:
            inside = [q for q in range(len(self.room)) if group >> q & 1]
            missing = load - sum(self.room[q] for q in inside)
            if missing > 0:
                when = int(self.instance.live_set_time[live_sets[0]])
                members = self._alive(live_sets[0], group)
                return Witness("capacity", when, tuple(members.tolist()), inside[-1], missing)
        return None

    def least_end(self, q: int, limits: dict[int, int]) -> tuple[int, Witness]:
        """Return the least end of memory `q` when others end at their `limits` (those given) or are full."""
        best, why = 0, Witness("empty")
        for group, _, live_sets in self.groups:
            if not group >> q & 1:
                continue
            others = [j for j in range(len(self.room)) if j != q and group >> j & 1]
            elsewhere = sum(self._free(j, limits[j]) if j in limits else self.room[j] for j in others)
            for t in live_sets:
                members = self._alive(t, group)
                end = self._end(q, members, elsewhere)
                if end > best:
                    kind: ProofKind = "alignment" if self.granule > 1 else "live-set"
                    when = int(self.instance.live_set_time[t])
                    best, why = end, Witness(kind, when, tuple(members.tolist()), q)
        return best, why

    def _end(self, q: int, members: I64, elsewhere: int = 0) -> int:
        """Return the least end of memory `q` where all but `elsewhere` of what conflicts pairwise lies in it."""
        amount = self._amount(members) - elsewhere
        return self._reach(q, amount) - int(self.waste[members].max(initial=0)) if amount > 0 else 0

    def _amount(self, members: I64) -> int:
        return sum(self.size[members].tolist())

    def clique_end(self, clique: I64) -> tuple[int, Witness]:
        """Return the least end of the only memory with all of a clique in it."""
        return self._end(0, clique), Witness("clique", buffers=tuple(clique.tolist()), memory=0)

    def clique_overflow(self, clique: I64) -> Witness | None:
        """Say that a clique does not fit the only memory."""
        missing = self._amount(clique) - self.room[0]
        buffers = tuple(clique.tolist())
        return Witness("clique", buffers=buffers, memory=0, missing=missing) if missing > 0 else None
