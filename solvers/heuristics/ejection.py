"""The search for placements in which few buffers leave their homes (given offsets), with the ejection kernel."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import ABSENT, I64, Bool
from memplan.planner.model.columns import unique_values
from memplan.solvers.core.ejection import PLACED, Ejection, Homes, eject
from memplan.solvers.core.tables import Reference

MOST_PAIRS = 6_000_000
"""The limit of conflicting pairs, which are all listed."""
MOST_LIFETIMES = 20_000
ROUNDS, ROUNDS_HOME, ROUNDS_SOON = 40, 6, 2
"""The rounds per buffer: for a first placement, for returning a buffer home, and for a quick attempt."""
ENDLESS = 2**62
FEATURES = frozenset({"holes", "conflicts", "pools", "capacity", "alignment", "pins", "ranges", "reserved", "cost"})
"""The instance features that ejection supports."""


@dataclass(eq=False)
class Places:
    """The pool and the offset, in units, of each buffer of an instance; offset ABSENT means not placed."""

    pool: I64
    offset: I64


def conflict_lists(instance: Instance) -> tuple[I64, I64] | None:
    """Return the conflicts of all buffers as adjacency lists (first, other); None if there are too many to list."""
    m = len(instance.start)
    if m > MOST_LIFETIMES:
        return None
    a, b = [], []
    # The matrix of all pairs could exceed the memory, so compute it in strips of rows.
    total, rows = 0, max(1, 4_000_000 // max(1, m))
    for low in range(0, m, rows):
        part = slice(low, low + rows)
        meets = (instance.start[part, None] < instance.end) & (instance.start < instance.end[part, None])
        first, second = np.nonzero(meets)
        total += len(first)
        if total > MOST_PAIRS:
            return None
        a.append(instance.lifetime_buffer[first + low])
        b.append(instance.lifetime_buffer[second])
    a.append(np.repeat(np.arange(len(instance)), np.diff(instance.conflict_first)))
    b.append(np.asarray(instance.conflict))
    i, j = np.concatenate(a), np.concatenate(b)
    keys = unique_values((i * len(instance) + j)[i != j])
    lists = np.ascontiguousarray(keys % max(1, len(instance)))
    counts = np.bincount(keys // max(1, len(instance)), minlength=len(instance))
    return np.concatenate(([0], np.cumsum(counts))), lists


@dataclass(eq=False)
class Ejector:
    """A search for a placement in which few buffers leave their homes (given offsets).

    To make space for a buffer, it ejects others and places them elsewhere. `pool` and `offset` are the homes of the
    buffers; offset ABSENT means no home. weight[i] is the cost of moving buffer i away from its home. `near` are the
    conflicts as adjacency lists.
    """

    instance: Instance
    pool: I64
    offset: I64
    weight: I64
    near: tuple[I64, I64]
    seed: int
    flag: I64

    def __post_init__(self) -> None:
        """Convert the instance and the homes to the table that the ejection kernel reads."""
        instance = self.instance
        reserved = [(q, low, high) for q, pool in enumerate(instance.pools) for low, high in pool.reserved.tolist()]
        is_fixed, capacity = instance.pin >= 0, np.array([pool.capacity for pool in instance.pools])
        self._homes = Reference(
            Homes(
                size=_int64_array(instance.size),
                may_use=_int64_array(instance.allowed.astype(np.int64)),
                alignment=_int64_array(instance.alignment),
                lowest=_int64_array(instance.lowest),
                highest=_int64_array(np.minimum(instance.highest, capacity[:, None] - instance.size)),
                home=_int64_array(np.where(is_fixed, instance.pin, self.offset)),
                home_pool=_int64_array(np.where(is_fixed, np.argmax(instance.allowed, axis=0), self.pool)),
                is_fixed=np.ascontiguousarray(is_fixed),
                near_first=_int64_array(self.near[0]),
                near=_int64_array(self.near[1]),
                reserved=np.array(reserved, dtype=np.int64).reshape(-1, 3),
            )
        )
        self._random = np.random.default_rng(self.seed)

    def moved_mask(self, places: Places) -> Bool:
        """Return a mask (n,) of the buffers that have a home (an offset to keep) but are elsewhere."""
        homes = self._homes.table
        is_moved: Bool = (homes.home >= 0) & ((places.offset != homes.home) | (places.pool != homes.home_pool))
        return is_moved

    def weigh(self, places: Places) -> int:
        """Return the total weight of the buffers that have a home (an offset to keep) but are elsewhere."""
        return int(self.weight[self.moved_mask(places)].sum())

    def first_placement(self, stays: Bool, turns: int = ENDLESS) -> Places | None:
        """Place all buffers; return None if `turns` attempts fail.

        The buffers in the mask `stays` come first, at their homes (the offsets to keep).
        """
        homes = self._homes.table
        while self.flag[0] == 0 and turns > 0:
            turns -= 1
            places = Places(homes.home_pool.copy(), np.where(stays | homes.is_fixed, homes.home, ABSENT))
            if self._run_kernel(places, np.flatnonzero(places.offset < 0), ROUNDS):
                return places
        return None

    def quick_placement(self, stays: Bool, rounds: int = ROUNDS_SOON) -> Places | None:
        """Place all buffers in one short attempt; return None if it fails.

        The buffers in the mask `stays` come first, at their homes (the offsets to keep).
        """
        homes = self._homes.table
        places = Places(homes.home_pool.copy(), np.where(stays | homes.is_fixed, homes.home, ABSENT))
        return places if self._run_kernel(places, np.flatnonzero(places.offset < 0), rounds) else None

    def improve(self, best: Places, enough: int = 0, turns: int = ENDLESS) -> Iterator[Places]:
        """Yield placements of decreasing weight.

        In each turn, buffers return to their homes (offsets to keep) and eject other buffers there. Ends once a
        placement weighs at most `enough`, after `turns` turns, or after too many turns without a gain.
        """
        fails = 0
        while self.flag[0] == 0 and turns > 0:
            turns -= 1
            away = np.flatnonzero(self.moved_mask(best))
            # After several failures per buffer that is not at home, stop, as no gain is expected.
            if self.weigh(best) <= enough or fails > 6 * len(away) + 20:
                return
            sent = self._random.choice(away, size=min(len(away), 1 + int(self._random.integers(3))), replace=False)
            places = Places(best.pool.copy(), best.offset.copy())
            for i in sent.tolist():
                if not self._send_home(places, i):
                    places.offset[i] = ABSENT
            waiting = np.flatnonzero(places.offset < 0)
            heat = dict.fromkeys(sent.tolist(), 3.0)
            if not self._run_kernel(places, waiting, ROUNDS_HOME, heat):
                fails += 1
                continue
            before, now = self.weigh(best), self.weigh(places)
            fails = 0 if now < before else fails + 1
            # Accept a placement of equal weight, as other buffers may be able to return home from it.
            if now <= before:
                best = places
            if now < before:
                yield Places(places.pool.copy(), places.offset.copy())

    def _send_home(self, places: Places, i: int) -> bool:
        """Move a buffer to its home (offset to keep), and eject the buffers there; return False if one is fixed."""
        homes = self._homes.table
        low, high = int(homes.home[i]), int(homes.home[i] + homes.size[i])
        near = homes.near[homes.near_first[i] : homes.near_first[i + 1]]
        is_hit = (places.offset[near] >= 0) & (places.pool[near] == homes.home_pool[i])
        hit = near[is_hit & (places.offset[near] < high) & (low < places.offset[near] + homes.size[near])]
        if homes.is_fixed[hit].any():
            return False
        places.offset[hit] = ABSENT
        places.pool[i], places.offset[i] = homes.home_pool[i], low
        return True

    def _run_kernel(self, places: Places, waiting: I64, rounds: int, heat: dict[int, float] | None = None) -> bool:
        """Run the ejection kernel on the `waiting` buffers, update the placement, and return True if all are placed."""
        n = len(self.instance)
        run = Ejection(
            pool=places.pool,
            offset=places.offset,
            heat=1.0 + 0.1 * self._random.random(n),
            queue=np.zeros(n, dtype=np.int64),
            waiting=np.array([len(waiting)]),
            random=self._random.integers(1, 2**62, 1),
            rounds=rounds * max(n, 20),
            flag=self.flag,
        )
        run.queue[: len(waiting)] = waiting
        for i, value in (heat or {}).items():
            # A buffer that has just returned home gets more weight, so that it is ejected last.
            run.heat[i] += value
        return eject(self._homes, Reference(run)) == PLACED


def _int64_array(values: I64) -> I64:
    return np.ascontiguousarray(values, dtype=np.int64)
