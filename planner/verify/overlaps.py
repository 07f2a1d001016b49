"""The part of the verifier that finds buffers that share bytes although no rule allows it."""

from bisect import bisect, bisect_left
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memplan.planner.errors import excerpt
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.problem import Problem
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.violation import Violation

Numbers = npt.NDArray[np.int64] | npt.NDArray[np.uint64]
_FEW = 300
"""The number of lifetimes up to which comparing all pairs that overlap in time is faster than a sweep."""
_CHUNK = 65_536
"""The number of values converted to Python ints at a time, because these take several times the memory."""


def no_two_share_bytes(problem: Problem, placed: PlacedBuffers) -> Iterator[Violation]:
    """Yield a violation for each pair of buffers that share bytes while both are alive, or despite a conflict."""
    table, roots, seen = problem.buffers, placed.lifetime_root, set[tuple[int, int]]()
    for q in range(len(problem.pools)):
        rows = np.flatnonzero((placed.pool[roots] == q) & (table.size[roots] > 0))
        root = roots[rows]
        low, high = placed.offset[root].astype(np.uint64), placed.end[root]
        lives = _Lives(root, table.start[rows], table.end[rows], low, high)
        for i, j, time in () if lives.lie_apart() else _overlapping_pairs(problem, placed, lives):
            if (i, j) not in seen:
                seen.add((i, j))
                yield _sharing_violation(problem, placed, i, j, time)
    for i, j in _sharing_conflicts(problem, placed) if problem.conflicts else ():
        if (i, j) not in seen:
            seen.add((i, j))
            yield _sharing_violation(problem, placed, i, j, None)


class _Lives(NamedTuple):
    """The lifetimes in one pool as columns: root buffer, start and end times, and start and end offsets.

    An alias's lifetimes belong to its root buffer.
    """

    lifetime_buffer: I64
    start: I64
    end: I64
    low: npt.NDArray[np.uint64]
    high: npt.NDArray[np.uint64]

    def lie_apart(self) -> bool:
        """Return True if no two buffers share bytes at any time, which is the usual case and quickly decided.

        A lifetime with its offsets is a rectangle. A sweep over time keeps a sorted list of the live buffers; a sweep
        over offsets keeps a list of the buffers at the current offset. The sweep with the shorter list is faster: n
        rectangles that fill their frame yield a mean length of at most sqrt(n) for one of the two sweeps.
        """
        if (self.low > self.high).any():  # Another check reports negative offsets, so skip this sweep.
            return False
        if len(self.start) <= _FEW:
            return no_pair_meets(self.start, self.end, self.low, self.high)
        # Of two possible sweeps, over time or over offsets, the one with the shorter list is faster (decision 053).
        if _mean_overlap_count(self.start, self.end) <= _mean_overlap_count(self.low, self.high):
            return _are_disjoint_by_sweep(self.start, self.end, self.low, self.high)
        return _are_disjoint_by_sweep(self.low, self.high, self.start, self.end)


def _mean_overlap_count(start: Numbers, end: Numbers) -> float:
    if len(start) == 0:
        return 0.0
    return float((end.astype(np.float64) - start).sum()) / (int(end.max()) - int(start.min()))


def no_pair_meets(start: Numbers, end: Numbers, low: Numbers, high: Numbers) -> bool:
    """Return True if no two of these few non-empty rectangles overlap.

    Each rectangle is compared with all rectangles that start after it and before its end.
    """
    order = np.argsort(start, kind="stable")
    start, end, low, high = start[order], end[order], low[order], high[order]
    number = np.arange(len(start))
    count = np.searchsorted(start, end) - number - 1
    i = np.repeat(number, count)
    j = i + 1 + np.arange(len(i)) - np.repeat(np.cumsum(count) - count, count)
    return not ((low[i] < high[j]) & (low[j] < high[i])).any()


def _are_disjoint_by_sweep(start: Numbers, end: Numbers, low: Numbers, high: Numbers) -> bool:
    """Return True if no two non-empty rectangles overlap, by a sweep over their sides `start` to `end`."""
    n = len(start)
    # In a stable sort, ends come first at equal points, so ranges that merely touch do not overlap.
    order = np.argsort(np.concatenate((end, start)), kind="stable")
    lows: list[int] = []
    highs: list[int] = []
    for at in range(0, 2 * n, _CHUNK):
        events = order[at : at + _CHUNK]
        which = events % n
        for begins, bottom, top in zip((events >= n).tolist(), low[which].tolist(), high[which].tolist(), strict=True):
            if begins:
                k = bisect(lows, bottom)
                if (k > 0 and highs[k - 1] > bottom) or (k < len(lows) and lows[k] < top):
                    return False
                lows.insert(k, bottom)
                highs.insert(k, top)
            else:
                k = bisect_left(lows, bottom)
                del lows[k], highs[k]
    return True


class _Layer:
    """A set of live buffers that share no bytes with each other.

    Their order by start offset equals that by end offset, so a new buffer can overlap only its neighbours in that
    order.
    """

    def __init__(self, low: list[int], high: list[int]) -> None:
        """Start with an empty layer; `low` and `high` have the start and end offset of every buffer."""
        self.low, self.high = low, high
        self.lows: list[int] = []
        self.apart: list[int] = []

    def overlaps_of(self, i: int) -> list[int]:
        """Return the buffers of the layer that share bytes with buffer `i`."""
        low, high = self.low[i], self.high[i]
        at = bisect(self.lows, low)
        met = self.apart[at - 1 : at] if at > 0 and self.high[self.apart[at - 1]] > low else []
        return met + self.apart[at : bisect_left(self.lows, high, lo=at)]

    def add(self, i: int) -> None:
        """Add a buffer, which must share no bytes with the layer's buffers."""
        at = bisect(self.lows, self.low[i])
        self.lows.insert(at, self.low[i])
        self.apart.insert(at, i)

    def remove(self, i: int) -> None:
        """Remove a buffer, whose lifetime has ended, from the layer."""
        at = bisect(self.lows, self.low[i]) - 1
        del self.lows[at], self.apart[at]


class _LiveBuffers:
    """The live buffers of one pool, in layers of buffers that share no bytes with each other.

    Each buffer is in the first layer where it fits. In a valid plan, one layer holds all buffers, except members of
    rigid groups and `may_share` pairs, which may share bytes.
    """

    def __init__(self, low: list[int], high: list[int]) -> None:
        """Start without buffers; `low` and `high` have the start and end offset of every buffer."""
        self.low, self.high = low, high
        self.layers: list[_Layer] = []
        self.layer_of: dict[int, _Layer] = {}

    def add(self, i: int) -> list[int]:
        """Add a buffer whose lifetime starts; return the live buffers with which it shares bytes."""
        met: list[int] = []
        for layer in self.layers:
            neighbours = layer.overlaps_of(i)
            met += neighbours
            if not neighbours and i not in self.layer_of:
                self.layer_of[i] = layer
        if i not in self.layer_of:
            self.layer_of[i] = _Layer(self.low, self.high)
            self.layers.append(self.layer_of[i])
        self.layer_of[i].add(i)
        return met

    def remove(self, i: int) -> None:
        """Remove a buffer whose lifetime has ended."""
        self.layer_of.pop(i).remove(i)


class _SharingRights:
    """The pairs of buffers that may share bytes although both are alive."""

    def __init__(self, problem: Problem, placed: PlacedBuffers) -> None:
        """Resolve the `may_share` pairs to root buffers, because an alias has the rights of its root buffer."""
        self.placed = placed
        self.pairs = {frozenset(placed.root_of(name) for name in pair) for pair in problem.may_share}

    def may_share(self, i: int, j: int) -> bool:
        """Return True if two buffers have a fixed distance, or are a `may_share` pair at equal offsets."""
        offset, group = self.placed.offset, self.placed.group[0]
        return bool(group[i] == group[j] or (frozenset((i, j)) in self.pairs and offset[i] == offset[j]))


def _overlapping_pairs(
    problem: Problem, placed: PlacedBuffers, lives: _Lives
) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Yield the pairs (i < j) of one pool that share bytes while both are alive, with the first common time range.

    The method is a sweep over time. A buffer counts together with its aliases, whose overlapping lifetimes are treated
    as one.
    """
    m = len(lives.lifetime_buffer)
    # Lifetimes are half-open, so at equal times, process ends before starts.
    time = np.concatenate((lives.end, lives.start))
    order = np.argsort(time, kind="stable")
    buffers, steps = lives.lifetime_buffer.tolist(), list(zip(order.tolist(), time[order].tolist(), strict=True))
    alive = _LiveBuffers(placed.offset.tolist(), placed.end.tolist())
    leave = _SharingRights(problem, placed)
    count = [0] * len(problem.buffers)
    deaths: list[list[int]] = [[] for _ in problem.buffers]
    for event, now in reversed(steps):
        # Events are visited backwards, so a buffer's first end seen is its last end before the next start.
        i = buffers[event % m]
        if event < m and count[i] == 0:
            deaths[i].append(now)
        count[i] += 1 if event < m else -1
    for event, now in steps:
        i = buffers[event % m]
        if event < m:
            count[i] -= 1
            if count[i] == 0:
                alive.remove(i)
                deaths[i].pop()
            continue
        count[i] += 1
        if count[i] == 1:
            for j in alive.add(i):
                if not leave.may_share(i, j):
                    yield min(i, j), max(i, j), (now, min(deaths[i][-1], deaths[j][-1]))


def _sharing_conflicts(problem: Problem, placed: PlacedBuffers) -> list[tuple[int, int]]:
    ends = map(placed.row.__getitem__, chain.from_iterable(problem.conflicts))
    pairs = placed.root[np.fromiter(ends, np.int64, 2 * len(problem.conflicts)).reshape(-1, 2)]
    i, j = pairs.min(axis=1), pairs.max(axis=1)
    size = problem.buffers.size
    is_near = (placed.pool[i] == placed.pool[j]) & (placed.pool[i] >= 0) & (i != j) & (size[i] > 0) & (size[j] > 0)
    distance = placed.offset[i] - placed.offset[j]
    bad = is_near & (distance < size[j]) & (-distance < size[i])
    return list(zip(i[bad].tolist(), j[bad].tolist(), strict=True))


def _sharing_violation(
    problem: Problem, placed: PlacedBuffers, i: int, j: int, time: tuple[int, int] | None
) -> Violation:
    first, second = problem.buffers.ids[i], problem.buffers.ids[j]
    low = max(int(placed.offset[i]), int(placed.offset[j]))
    high = min(int(placed.end[i]), int(placed.end[j]))
    pool = excerpt(problem.pools[int(placed.pool[i])].name)
    why = "they are in conflict" if time is None else f"both are alive in [{time[0]}, {time[1]})"
    message = f"buffers {excerpt(first)} and {excerpt(second)} share bytes [{low}, {high}) of {pool}, but {why}"
    return Violation("conflict" if time is None else "overlap", message, first, second, (low, high), time)
