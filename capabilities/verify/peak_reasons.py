"""The reasons of a valid plan's peaks: in each pool, the buffers that decide it, and what fewer of them would take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.planner.model.problem import Problem
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.places import LowestPlaces

DecidedBy = Literal["live-set", "tower", "highest"]
MOST_NAMED = 1_000
"""The most buffers that are named of one pool."""
_LEFT_OUT = 12
"""Of so many buffers of the fullest time, the largest, the bytes alive without each are counted."""


@dataclass(frozen=True)
class PoolReason:
    """The reason of one pool's peak, `used`; buffers by their positions, the first MOST_NAMED of each kind.

    Where it is decided by a `live-set`, `decides` are alive together at `time` and take all of it; else they are the
    highest buffer and what that stands on (`tower`), or the `highest` ones alone where that was not looked for. `live`
    are the most bytes alive, in `alive` at `time`, and `without` what they would be without one of those, the least
    first. `live_bounds` says that no plan with the same buffers in the pool uses less; `reserved` are bytes of reserved
    ranges below the peak.
    """

    used: int
    highest: tuple[int, ...]
    decided_by: DecidedBy
    decides: tuple[int, ...]
    idle: int
    live: int
    time: int | None
    alive: tuple[int, ...]
    live_bounds: bool
    without: tuple[tuple[int, int], ...]
    reserved: int


def peak_reasons(problem: Problem, placed: PlacedBuffers, found: LowestPlaces | None) -> list[PoolReason]:
    """Return the reason of each pool's peak; `found` are the places of the buffers, where they were looked for."""
    return [_reason(problem, placed, found, q) for q in range(len(problem.pools))]


def _reason(problem: Problem, placed: PlacedBuffers, found: LowestPlaces | None, q: int) -> PoolReason:
    size, root = problem.buffers.size, placed.root
    here = np.flatnonzero((placed.pool == q) & (size > 0) & (root == np.arange(len(size))))
    ends = placed.end[here]
    used = int(ends.max(initial=0))
    highest = here[ends == used].tolist()
    rows = np.flatnonzero((placed.pool[placed.lifetime_root] == q) & (size[placed.lifetime_root] > 0))
    load = _Load.of(problem, placed, rows)
    time, live, alive = load.fullest()
    by: DecidedBy = "live-set" if live == used else "highest" if found is None or not highest else "tower"
    decides = alive if by == "live-set" else highest
    idle = 0
    if by == "tower" and found is not None:
        decides = found.tower(highest[0])
        idle = sum(int(found.idle[i]) for i in decides)
    ranges = sorted((low, low + width) for low, width in problem.pools[q].reserved)
    reserved, at = 0, 0
    for low, high in ranges:
        reserved += max(0, min(high, used) - max(low, at))
        at = max(at, high)
    without = sorted(((i, load.without(i)) for i in alive[:_LEFT_OUT]), key=lambda row: row[1])
    return PoolReason(
        used=used,
        highest=tuple(highest[:MOST_NAMED]),
        decided_by=by,
        decides=tuple(decides[:MOST_NAMED]),
        idle=idle,
        live=live,
        time=time,
        alive=tuple(alive[:MOST_NAMED]),
        live_bounds=not problem.may_share and not problem.buffers.rules["relative"],
        without=tuple((i, bytes_) for i, bytes_ in without if bytes_ < live),
        reserved=reserved,
    )


@dataclass(frozen=True, eq=False)
class _Load:
    """Bytes alive over time in one pool: those of `spans`, each once though an alias keeps it alive, too."""

    size: I64
    buffer: I64
    start: I64
    end: I64

    @classmethod
    def of(cls, problem: Problem, placed: PlacedBuffers, rows: I64) -> _Load:
        """Join the lifetimes of each buffer and its aliases where they meet."""
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

    def _steps(self, is_counted: np.ndarray | slice = slice(None)) -> tuple[I64, I64]:
        """Return times, and the bytes that are alive from each on, of some lifetimes."""
        times = np.concatenate((self.start[is_counted], self.end[is_counted]))
        size = self.size[self.buffer[is_counted]]
        if float(size.sum(dtype=np.float64)) >= 2**62:
            size = size.astype(object)
        when, at = np.unique(times, return_inverse=True)
        change = np.zeros(len(when), dtype=size.dtype)
        np.add.at(change, at, np.concatenate((size, -size)))
        return when, np.cumsum(change)

    def fullest(self) -> tuple[int | None, int, list[int]]:
        """Return the first time when most bytes are alive, the bytes, and the buffers then, the largest first."""
        when, load = self._steps()
        if len(when) == 0:
            return None, 0, []
        k = int(np.argmax(load))
        alive = np.unique(self.buffer[(self.start <= when[k]) & (when[k] < self.end)])
        alive = alive[np.argsort(-self.size[alive], kind="stable")]
        return int(when[k]), int(load[k]), alive.tolist()

    def without(self, i: int) -> int:
        """Return the most bytes that are alive without one buffer."""
        load = self._steps(self.buffer != i)[1]
        return int(load.max()) if len(load) else 0
