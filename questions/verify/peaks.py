"""The peaks of a valid plan: which buffers determine each pool's peak, and the peak without one buffer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lcm
from typing import Literal

import numpy as np

from memplan.planner.errors import excerpt
from memplan.planner.model.buffer_table import ABSENT, I64
from memplan.planner.model.plan import Ids, Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Id
from memplan.planner.model.sizes import gap_text, size_text
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.places import LowestPlaces
from memplan.questions.question import Answer
from memplan.solvers.certificates.goals import kind_of
from memplan.solvers.search.to_plan import gap_of

MOST_NAMED = 1_000
"""The maximum number of buffers that an answer names for one pool."""
_LEFT_OUT = 12
"""The number of buffers, largest first, without which the live peak is computed."""
_NAMED = 3
"""The maximum number of buffers that a sentence names."""
Bounds = Mapping[str, tuple[int | None, str | None]]
"""For each pool, the claimed lower bound on its use and the check that confirmed it; None if unknown."""


class PoolPeak(Answer):
    """The peak of a pool in a plan, with the buffers that decide it. At most MOST_NAMED buffers of each kind are
    named."""

    name: str
    """The name of the pool."""
    used: int
    """The peak: the largest end offset of a buffer, in bytes."""
    lower_bound: int | None
    """A bound on the use by any plan, in bytes, as claimed or counted here; null if none is known."""
    proved_by: str | None
    """The check that confirmed the bound, such as `placements`, `witness`, `certificate` or `live-set`; null for an
    unrepeated search or solver."""
    gap: float | None
    """How far `used` is above the bound, as a fraction; null without a bound."""
    among: str = ""
    """If another goal is minimised first, the plans for which the bound holds, as a phrase; else empty."""
    highest: Ids
    """The names of the buffers that end at `used`."""
    decided_by: Literal["live-set", "tower", "pinned", "highest"]
    """Why `decides` make the peak. `live-set`: they are alive together at `time`. `tower`: they are the highest buffer
    and the stack under it, down to a pinned buffer or the bottom. `pinned`: the highest buffer is pinned. `highest`:
    they are all buffers with the highest end."""
    decides: Ids
    """The names of the buffers that make the peak."""
    idle: int
    """The bytes between the buffers of a tower."""
    padding: int = 0
    """The bytes of `idle` that alignment causes."""
    live: int
    """The most bytes that are alive at once."""
    time: int | None
    """The first time step at which they are; null without lifetimes."""
    alive: Ids
    """The names of the buffers that are alive then, largest first."""
    live_bounds: bool
    """True if no plan with the same buffers in the pool uses less than `live`."""
    without: tuple[tuple[Id, int], ...]
    """For some of these buffers, the name and `live` without this buffer, smallest first."""
    reserved: int
    """The bytes of reserved ranges below `used`."""
    sentence: str = ""
    """A summary of the above."""


def pool_peaks(
    problem: Problem, plan: Plan, placed: PlacedBuffers, found: LowestPlaces | None, bounds: Bounds
) -> list[PoolPeak]:
    """Return the peak of each pool; `found` has the lowest possible offset of each buffer, if computed.

    For pools of equal use, only the pools with the largest peak are returned.
    """
    among = [""] * len(problem.pools) if problem.equal_use else _bound_conditions(problem, plan)
    peaks = [
        _pool_peak(problem, placed, found, q, bounds.get(pool.name, (None, None)), among[q])
        for q, pool in enumerate(problem.pools)
    ]
    most = max((peak.used for peak in peaks), default=0)
    return [peak for peak in peaks if peak.used == most or not problem.equal_use]


def _bound_conditions(problem: Problem, plan: Plan) -> list[str]:
    kind, names = kind_of(problem, plan), [excerpt(pool.name) for pool in problem.pools]
    conditions = []
    for q in range(len(names)):
        is_first = kind == "used" or (kind == "balanced" and q == len(names) - 1)
        limits = [] if is_first else ["cost no more"]
        limits += [f"use no more of {_join_words(names[q + 1 :])}"] if q < len(names) - 1 else []
        conditions.append(f" of all plans that {' and '.join(limits)}" if limits else "")
    return conditions


def _pool_peak(
    problem: Problem,
    placed: PlacedBuffers,
    found: LowestPlaces | None,
    q: int,
    claimed: tuple[int | None, str | None],
    among: str,
) -> PoolPeak:
    """Return the peak of pool `q`: its bytes, bound, deciding buffers, live bytes and sentence."""
    size, root = problem.buffers.size, placed.root
    here = np.flatnonzero((placed.pool == q) & (size > 0) & (root == np.arange(len(size))))
    ends = placed.end[here]
    used = int(ends.max(initial=0))
    highest = here[ends == used].tolist()
    rows = np.flatnonzero((placed.pool[placed.lifetime_root] == q) & (size[placed.lifetime_root] > 0))
    load = _Load.from_problem(problem, placed, rows)
    time, live, alive = load.peak_load()
    live_bounds = not problem.may_share and not problem.buffers.rules["relative"]
    is_live = live == used and (live_bounds or not used)
    is_tower = not is_live and found is not None and bool(highest)
    pinned = {problem.roots.get(i, (i, 0))[0] for i in np.flatnonzero(problem.buffers.offset != ABSENT).tolist()}
    tower = _pinned_prefix(found.tower(highest[0]), pinned) if is_tower and found is not None else []
    gaps = [] if found is None else [i for i in tower if i not in pinned and found.idle[i]]
    decides = tower or (alive if is_live else highest)
    without = sorted(((i, load.load_without(i)) for i in alive[:_LEFT_OUT]), key=lambda row: row[1])
    bound, by = claimed
    choices = {problem.buffers.pool_choices[choice] for choice in np.unique(problem.buffers.pool_choice[here]).tolist()}
    # No buffer may leave the pool, so its live bytes bound every plan.
    is_at_home = len(problem.pools) == 1 or choices <= {(problem.pools[q].name,)}
    if is_at_home and live_bounds and live >= (bound or 0) and by is None:
        bound, by, among = live, "live-set", ""
    ids = problem.buffers.ids
    peak = PoolPeak(
        name=problem.pools[q].name,
        used=used,
        lower_bound=bound,
        proved_by=by,
        gap=gap_of([(used, bound)]),
        among=among,
        highest=_ids_at(ids, highest),
        decided_by="live-set"
        if is_live
        else "pinned"
        if {*tower} & pinned and len(tower) == 1
        else "tower"
        if tower
        else "highest",
        decides=_ids_at(ids, decides),
        idle=0 if found is None else sum(int(found.idle[i]) for i in gaps),
        padding=0 if found is None else sum(_padding_bytes(problem, placed, found, i) for i in gaps),
        live=live,
        time=time,
        alive=_ids_at(ids, alive),
        live_bounds=live_bounds,
        without=tuple((ids[i], bytes_left) for i, bytes_left in without if bytes_left < live),
        reserved=_reserved_below(problem.pools[q].reserved, used),
    )
    ground = tower[-1] if tower and tower[-1] in pinned else None
    at = None if ground is None else int(placed.offset[ground])
    return peak.model_copy(update={"sentence": _peak_sentence(peak, at)})


def _pinned_prefix(tower: list[int], pinned: set[int]) -> list[int]:
    return tower[: next((k + 1 for k, i in enumerate(tower) if i in pinned), len(tower))]


def _padding_bytes(problem: Problem, placed: PlacedBuffers, found: LowestPlaces, i: int) -> int:
    own, pool = int(problem.buffers.alignment[i]), problem.pools[int(placed.pool[i])].alignment
    idle = int(found.idle[i])
    return idle if int(found.lowest[i]) == int(placed.offset[i]) and idle < lcm(own, pool) else 0


def _ids_at(ids: Sequence[Id], positions: Sequence[int]) -> tuple[Id, ...]:
    return tuple(ids[i] for i in positions[:MOST_NAMED])


def _reserved_below(ranges: Sequence[tuple[int, int]], used: int) -> int:
    reserved, at = 0, 0
    for low, width in sorted(ranges):
        reserved += max(0, min(low + width, used) - max(low, at))
        at = max(at, low + width)
    return reserved


def _peak_sentence(peak: PoolPeak, pinned_at: int | None) -> str:
    """Return a sentence about a pool's peak: whether it is proved minimal, and which buffers determine it.

    `pinned_at` is the offset of the lowest deciding buffer if that buffer is pinned.
    """
    if peak.used == 0:
        return "nothing with bytes lies here"
    if peak.lower_bound is None:
        text = "how near that is to the least is not known"
    elif peak.lower_bound == peak.used:
        by = "according to the solver, not re-checked" if peak.proved_by is None else ""
        text = f"the least{peak.among} {by}" if by else f"proved to be the least{peak.among}"
    else:
        gap = "" if peak.gap is None else f"{gap_text(peak.gap)} "
        text = f"{gap}above the bound {size_text(peak.lower_bound)}{peak.among}"
    first, *others = peak.decides
    ground = "" if pinned_at is None else f", which is pinned at {size_text(pinned_at)}"
    if peak.decided_by == "live-set":
        are = "are alive together" if others else "is alive"
        why = f"{_names_text(peak.decides)} {are} at time {peak.time}"
    elif peak.decided_by == "highest":
        why = f"{_names_text(peak.decides)} end{'' if others else 's'} highest"
    elif peak.decided_by == "pinned":
        why = f"{excerpt(first)} ends highest{ground}"
    else:
        padding = (
            " for alignment" if peak.padding == peak.idle else f", {size_text(peak.padding)} of them for alignment"
        )
        stands = f", and stands on {_names_text(others)}{ground}" if others else ""
        idle = f", with {size_text(peak.idle)} idle" + (padding if peak.padding else "") if peak.idle else ""
        why = f"{excerpt(first)} ends highest{stands}{idle}"
    less = ""
    name, bytes_left = peak.without[0] if peak.without else ("", 0)
    if bytes_left and peak.decided_by == "live-set":
        less = f"; without {excerpt(name)}, at most {size_text(bytes_left)} would be alive at once"
    elif peak.decided_by != "live-set" and peak.live_bounds and peak.time is not None:
        less = f"; at most {size_text(peak.live)} are alive at once"
    return f"{size_text(peak.used)}, {text}: {why}{less}"


def _names_text(names: Sequence[Id]) -> str:
    first_names = [excerpt(name) for name in names[:_NAMED]]
    if len(names) > _NAMED:
        first_names.append(f"{len(names) - _NAMED:,} others" if len(names) > _NAMED + 1 else "1 other")
    return _join_words(first_names)


def _join_words(told: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(told[:-1]), told[-1])))


@dataclass(frozen=True, eq=False)
class _Load:
    """The live bytes over time in one pool; the lifetimes of a buffer and its aliases are merged."""

    size: I64
    buffer: I64
    start: I64
    end: I64

    @classmethod
    def from_problem(cls, problem: Problem, placed: PlacedBuffers, rows: I64) -> "_Load":
        """Return the load of the lifetimes `rows`; overlapping lifetimes of a buffer and its aliases are merged."""
        table = problem.buffers
        buffer, start, end = placed.lifetime_root[rows], table.start[rows], table.end[rows]
        if table.aliases:
            order = np.lexsort((start, buffer))
            joined: list[list[int]] = []
            for i, since, until in zip(*(column[order].tolist() for column in (buffer, start, end)), strict=True):
                if joined and joined[-1][0] == i and since <= joined[-1][2]:
                    joined[-1][2] = max(joined[-1][2], until)
                else:
                    joined.append([i, since, until])
            buffer, start, end = np.array(joined, dtype=np.int64).reshape(-1, 3).T
        return cls(table.size, buffer, start, end)

    def _load_over_time(self, is_counted: np.ndarray | slice = slice(None)) -> tuple[I64, I64]:
        times = np.concatenate((self.start[is_counted], self.end[is_counted]))
        size = self.size[self.buffer[is_counted]]
        if float(size.sum(dtype=np.float64)) >= 2**62:
            size = size.astype(object)
        when, at = np.unique(times, return_inverse=True)
        change = np.zeros(len(when), dtype=size.dtype)
        np.add.at(change, at, np.concatenate((size, -size)))
        return when, np.cumsum(change)

    def peak_load(self) -> tuple[int | None, int, list[int]]:
        """Return the first time of the live peak, the live bytes then, and the live buffers, largest first."""
        when, load = self._load_over_time()
        if len(when) == 0:
            return None, 0, []
        k = int(np.argmax(load))
        alive = np.unique(self.buffer[(self.start <= when[k]) & (when[k] < self.end)])
        alive = alive[np.argsort(-self.size[alive], kind="stable")]
        return int(when[k]), int(load[k]), alive.tolist()

    def load_without(self, i: int) -> int:
        """Return the live peak, in bytes, without buffer `i`."""
        load = self._load_over_time(self.buffer != i)[1]
        return int(load.max()) if len(load) else 0
