"""Sequences of runs with a link: what is away during which runs, and when its transfers begin.

A *stay* of a tensor lies between two of its uses. It is away during some of the runs between, one behind the other: its
sending ends before the first of them, and its fetch begins behind the last. So the bytes during each run follow from
what is away alone, and the time from the queues of both directions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from math import inf
from typing import NamedTuple

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan_recompute.offload.steps import Linked, Step

Away = Mapping[int, tuple[int, int]]
"""The first and the last run during which stays are away, by the positions of stays."""
_Waiting = tuple[int, int, int, int]
"""The run that a transfer is due at, its place, its tensor, and what it takes."""
_Begun = tuple[int, int, int]
"""The start of a transfer, its place and its tensor."""


class Stay(NamedTuple):
    """A tensor between two runs that use it, by their places in the sequence: -1 is the start, n the end.

    It can be sent from behind the run at `made` on, as long as others read it.
    """

    tensor: int
    made: int
    begin: int
    end: int
    transfer: int


@dataclass
class _Direction:
    """One direction of the link: one transfer at a time, of those that wait the one that is due first."""

    free: int = 0
    now: int = 0
    waiting: list[_Waiting] = field(default_factory=list)
    begun: list[_Begun] = field(default_factory=list)
    ended: dict[int, int] = field(default_factory=dict)

    def release(self, now: int, rows: Sequence[_Waiting]) -> None:
        """Let transfers wait from now on."""
        while self.waiting and max(self.free, self.now) < now:
            self._begin()
        self.now = now
        for row in rows:
            heappush(self.waiting, row)

    def end_due(self, place: int) -> int:
        """Begin all that is due at a run, and return when the last of what is due then has ended."""
        while self.waiting and self.waiting[0][0] <= place:
            self._begin()
        return self.ended.get(place, 0)

    def _begin(self) -> None:
        due, place, tensor, transfer = heappop(self.waiting)
        start = max(self.free, self.now)
        self.begun.append((start, place, tensor))
        self.free = start + transfer
        self.ended[due] = max(self.free, self.ended.get(due, 0))


class Runs:
    """A sequence of runs: the bytes during each if nothing is away, those behind all last, and its stays.

    `before` is the time in front of each, and behind all, if nothing is waited for.
    """

    def __init__(self, program: Linked, runs: Sequence[int]) -> None:
        self.program, self.runs, self.n = program, list(runs), len(runs)
        self.before = [0, *accumulate(program.costs[v] for v in runs)]
        graph, size = program.graph, program.graph.counted
        self.bytes: I64 = np.zeros(self.n + 1, dtype=np.int64)
        self.stays: list[Stay] = []
        uses = {
            t: [-1] for t, maker in enumerate(graph.maker) if maker is None and (graph.readers[t] or t in graph.kept)
        }
        copies: list[tuple[int, list[int]]] = []
        for k, v in enumerate(runs):
            row = graph.ops[v]
            self.bytes[k] += row.work
            for t in {*row.inputs, *row.outputs}:
                if t in graph.made[v]:
                    copies += [(t, uses[t])] if t in uses else []
                    uses[t] = [k]
                else:
                    uses[t].append(k)
        for t, places in uses.items():
            copies.append((t, [*places, self.n] if t in graph.kept else places))
        for t, places in copies:
            self.bytes[max(places[0], 0) : places[-1] + 1] += size[t]
            transfer = program.transfer[t]
            if transfer is not None:
                self.stays += [Stay(t, places[0], a, b, transfer) for a, b in pairwise(places) if b - a > 1]

    def time(self, away: Away) -> int:
        """Return when all has ended."""
        return self._timed(away)[0]

    def steps(self, away: Away) -> tuple[Step, ...]:
        """Return the steps in their order."""
        _, waits, sends, fetches = self._timed(away)
        starts = [self.before[k] + waits[bisect_right(waits, (k, inf)) - 1][1] for k in range(self.n)]
        rows = [(start, k, 1, Step("run", self.runs[k], start)) for k, start in enumerate(starts)]
        rows += [(start, place, 2, Step("send", t, start)) for start, place, t in sends]
        rows += [(start, place, 0, Step("fetch", t, start)) for start, place, t in fetches]
        return tuple(row[-1] for row in sorted(rows))

    def _timed(self, away: Away) -> tuple[int, list[tuple[int, int]], list[_Begun], list[_Begun]]:
        """Return the time, by how much runs are late from which one on, and how transfers begin."""
        sent: set[int] = set()
        send_at: dict[int, list[_Waiting]] = {}
        fetch_at: dict[int, list[_Waiting]] = {}
        places = {0, self.n}
        for s in sorted(away, key=lambda s: self.stays[s].begin):
            (first, last), (t, made, _, end, transfer) = away[s], self.stays[s]
            if t not in sent:  # a copy that was sent once stays at the other end
                sent.add(t)
                send_at.setdefault(made + 1, []).append((first, made, t, transfer))
            fetch_at.setdefault(last + 1, []).append((end, last + 1, t, transfer))
            places.update((made + 1, first, last + 1, end))
        sends, fetches = _Direction(), _Direction()
        late = freed = 0
        waits = []
        # In front of other runs, nothing begins and nothing is waited for.
        for k in sorted(places):
            now = self.before[k] + late
            if k in send_at:
                sends.release(now, send_at[k])
            freed = max(freed, sends.end_due(k))
            if k in fetch_at:
                fetches.release(max(now, freed), fetch_at[k])
            late = max(now, freed, fetches.end_due(k)) - self.before[k]
            waits.append((k, late))
        return self.before[self.n] + late, waits, sends.begun, fetches.begun
