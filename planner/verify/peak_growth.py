"""The causes of a peak's growth, found by comparing the buffers alive at the new peak with the old problem.

Times of two problems are not comparable, because one additional operation shifts all later times. Buffers are
comparable by their ids. The new peak is therefore compared with the old problem's time at which most of the same
buffers were alive.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal

from memplan.planner.model.field_docs import DescribedFields
from memplan.planner.model.intervals import merge_spans
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.placed import PlacedBuffers

Id = int | str
Kind = Literal["new", "grown", "shrunk", "longer-lived", "at-another-time", "from-another-pool", "gone"]
_ALL_TIMES = ((-(2**63), 2**63),)


@dataclass(frozen=True)
class Cause(DescribedFields):
    """A buffer's contribution to the growth of a pool's peak."""

    buffer: Id
    """The name of the buffer."""
    kind: Kind
    """What changed: the buffer is `new`, `grown`, `shrunk`, `longer-lived`, alive `at-another-time`,
    `from-another-pool`, or `gone`."""
    bytes: int
    """Its contribution to the growth of the live bytes at the peak; negative if it is less than before."""
    before: int | None
    """Its size in the old problem, in bytes; null if it is new."""
    after: int | None
    """Its size in the new problem, in bytes; null if the pool no longer has it."""


@dataclass(frozen=True)
class LiveSet(DescribedFields):
    """The buffers of a pool that are alive when its live bytes peak."""

    time: int | None
    """The first time step of this peak; null without lifetimes."""
    bytes: int
    """The sum of their sizes, in bytes."""
    buffers: tuple[Id, ...]
    """The names of these buffers, largest first."""


@dataclass(frozen=True)
class PeakGrowth:
    """The growth of a pool's peak: the live set at the new peak, the live bytes at a similar old time, and the causes.

    The bytes of all `causes`, listed by decreasing bytes, add up to the difference of the live bytes.
    """

    now: LiveSet
    time_before: int | None
    bytes_before: int
    causes: tuple[Cause, ...]


@dataclass(frozen=True)
class Occupancy:
    """The buffers in one pool, without aliases: their sizes, and the times at which they or their aliases are alive.

    A buffer without lifetimes, restricted by conflicts only, counts as always alive. `used` is the pool's largest end
    offset.
    """

    sizes: Mapping[Id, int]
    alive: Mapping[Id, tuple[tuple[int, int], ...]]
    used: int

    @cached_property
    def live_set(self) -> LiveSet:
        """The live set at the first time at which the live bytes peak."""
        loads = self._live_bytes_by_time(self.sizes)
        time = max(loads, key=lambda when: loads[when]) if loads else None
        names = self.buffers_at(time)
        return LiveSet(time, sum(self.sizes[name] for name in names), names)

    def buffers_at(self, time: int | None) -> tuple[Id, ...]:
        """Return the buffers that are alive at a time, largest first; all buffers if `time` is None."""
        names = [name for name, spans in self.alive.items() if time is None or any(a <= time < b for a, b in spans)]
        return tuple(sorted(names, key=lambda name: -self.sizes[name]))

    def similar_time(self, now: "Occupancy", names: Collection[Id]) -> int | None:
        """Return the time at which the named buffers have the most live bytes; None if there are no times.

        Buffers that live longer in `now` count only to break ties, since their longer lifetimes already explain the
        growth. Of times that are still equal, the one with the fewest live bytes of all buffers is returned.
        """
        stable = {name for name in names if name in self.alive and now.duration(name) <= self.duration(name)}
        firm, shared, everything = map(self._live_bytes_by_time, (stable, frozenset(names), self.sizes))
        return max(everything, key=lambda at: (firm[at], shared[at], -everything[at])) if everything else None

    def duration(self, name: Id) -> int:
        """Return the number of time steps for which a buffer is alive."""
        return sum(end - start for start, end in self.alive[name])

    def _live_bytes_by_time(self, names: Collection[Id]) -> dict[int, int]:
        change: defaultdict[int, int] = defaultdict(int)
        for name, spans in self.alive.items():
            size = self.sizes[name] if name in names else 0
            for start, end in spans if spans != _ALL_TIMES else ():
                change[start] += size
                change[end] -= size
        times = sorted(change)
        return dict(zip(times, accumulate(change[time] for time in times), strict=True))


def occupancies(problem: Problem, plan: Plan) -> dict[str, Occupancy]:
    """Return each pool's contents (buffers, lifetimes, used bytes) under a valid plan, by the pool's name."""
    buffers, places = problem.buffers, plan.placements
    pool_of = {name: places.pool_names[pool] for name, pool in zip(places.ids, places.pool.tolist(), strict=True)}
    spans: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for i in range(len(buffers)):
        spans[problem.roots.get(i, (i, 0))[0]] += buffers.intervals(i)
    occupancies_: dict[str, Occupancy] = {}
    used = PlacedBuffers.from_placements(problem, places).pool_uses()
    for pool in problem.pools:
        mine = [i for i in spans if pool_of[buffers.ids[i]] == pool.name and buffers.size[i] > 0]
        sizes = {buffers.ids[i]: int(buffers.size[i]) for i in mine}
        alive = {buffers.ids[i]: tuple(merge_spans(spans[i])) or _ALL_TIMES for i in mine}
        occupancies_[pool.name] = Occupancy(sizes, alive, used[pool.name])
    return occupancies_


def peak_growth(now: Occupancy, then: Occupancy, elsewhere: Mapping[Id, int]) -> PeakGrowth:
    """Return the growth of a pool's peak; `elsewhere` has the old sizes of buffers that were in other pools then."""
    peak = now.live_set
    time = then.similar_time(now, peak.buffers)
    before = frozenset(then.buffers_at(time))
    causes = [_growth_cause(name, now, then, name in before, elsewhere) for name in peak.buffers]
    causes += [
        Cause(name, "gone", -then.sizes[name], then.sizes[name], now.sizes.get(name))
        for name in before.difference(peak.buffers)
    ]
    reported = sorted((cause for cause in causes if cause.bytes), key=lambda cause: (-cause.bytes, str(cause.buffer)))
    return PeakGrowth(peak, time, sum(then.sizes[name] for name in before), tuple(reported))


def growths(now: Mapping[str, Occupancy], then: Mapping[str, Occupancy]) -> dict[str, PeakGrowth]:
    """Return the growth of each pool's peak, by the pool's name."""
    nothing = Occupancy({}, {}, 0)
    growths_ = {}
    for name, mine in now.items():
        elsewhere = {buffer: size for pool, lay in then.items() if pool != name for buffer, size in lay.sizes.items()}
        growths_[name] = peak_growth(mine, then.get(name, nothing), elsewhere)
    return growths_


def _growth_cause(name: Id, now: Occupancy, then: Occupancy, was_there: bool, elsewhere: Mapping[Id, int]) -> Cause:
    """Return why a buffer alive at the new peak adds to the growth: it is new, larger, longer alive, or moved here.

    `was_there` is true if the buffer was alive at the compared old time.
    """
    size = now.sizes[name]
    if was_there:
        more = size - then.sizes[name]
        return Cause(name, "grown" if more > 0 else "shrunk", more, then.sizes[name], size)
    if name in then.sizes:
        is_longer = now.duration(name) > then.duration(name)
        return Cause(name, "longer-lived" if is_longer else "at-another-time", size, then.sizes[name], size)
    if name in elsewhere:
        return Cause(name, "from-another-pool", size, elsewhere[name], size)
    return Cause(name, "new", size, None, size)
