"""The search for what is away in a sequence of runs, so that it comes within a limit in the least time."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from memplan.planner.model.buffer_table import I64, Bool
from memplan.solvers.search.control import Control
from memplan_recompute.offload.schedule import Runs

_LOOKED_AT = 4
"""So many stays that may be away are timed for a run that is above the limit."""
_TIMED = 1000
"""In a longer sequence, none are timed, but each is taken to be the only one that is away."""
_REMOVED = 3
"""At most so many stays come back at once before others are chosen."""
WORK_PER_STEP = 4

Chosen = dict[int, tuple[int, int]]


class AwaySearch:
    """Looks for what is away in a sequence of runs; `control` is watched, and ends it."""

    def __init__(self, runs: Runs, limit: int, control: Control) -> None:
        self.runs, self.limit, self.control = runs, limit, control
        self.size = [runs.program.graph.counted[stay.tensor] for stay in runs.stays]
        self.begin = np.array([stay.begin for stay in runs.stays], dtype=np.int64)
        self.end = np.array([stay.end for stay in runs.stays], dtype=np.int64)
        self.draw = random.Random(0)

    def first(self) -> Chosen | None:
        """Return what is away by the choice that delays least each time; None if that does not reach the limit."""
        chosen = self._covered({}, self.runs.bytes.copy())
        return None if chosen is None else self._shortened(*chosen)[0]

    def improved(self, chosen: Chosen, rounds: int, goal: int) -> Chosen:
        """Let some stays back and choose others, so often, as long as the time does not rise and is above a goal."""
        best, least = chosen, self._time(chosen)
        goal = max(goal, self.runs.before[-1])
        for _ in range(rounds):
            if self.control.is_over or least <= goal or not best:
                break
            tried = dict(best)
            bytes_ = self._bytes(best)
            for s in self.draw.sample(sorted(tried), k=min(len(tried), self.draw.randint(1, _REMOVED))):
                self._change(tried, bytes_, s, None)
            covered = self._covered(tried, bytes_, is_drawn=True)
            if covered is None:
                continue
            tried, _ = self._shortened(*covered)
            time = self._time(tried)
            if time <= least:
                best, least = tried, time
        return best

    def _time(self, chosen: Chosen) -> int:
        self.control.spend(WORK_PER_STEP * self.runs.n)
        return self.runs.time(chosen)

    def _bytes(self, chosen: Chosen) -> I64:
        bytes_ = self.runs.bytes.copy()
        for s, (first, last) in chosen.items():
            bytes_[first : last + 1] -= self.size[s]
        return bytes_

    def _change(self, chosen: Chosen, bytes_: I64, s: int, span: tuple[int, int] | None) -> None:
        """Let a stay be away during other runs than before, or not at all."""
        if s in chosen:
            first, last = chosen.pop(s)
            bytes_[first : last + 1] += self.size[s]
        if span is not None:
            chosen[s] = span
            bytes_[span[0] : span[1] + 1] -= self.size[s]

    def _late(self, s: int, span: tuple[int, int] | None) -> int:
        """Return by how much the transfers of a stay are too long for the runs beside which they may be."""
        if span is None:
            return 0
        stay, before = self.runs.stays[s], self.runs.before
        send = stay.transfer - before[span[0]] + before[stay.made + 1]
        fetch = stay.transfer - before[stay.end] + before[span[1] + 1]
        return max(0, send) + max(0, fetch)

    def _covered(self, chosen: Chosen, bytes_: I64, is_drawn: bool = False) -> tuple[Chosen, I64] | None:
        """Let more be away until all runs are within the limit; None where nothing is left for one."""
        while not self.control.is_over:
            k = int(bytes_.argmax())
            over = int(bytes_[k]) - self.limit
            if over <= 0:
                return chosen, bytes_
            # All runs around this one that are above the limit, as long as they are, are taken together.
            low, high = _around(bytes_ > self.limit, k)
            rows = []
            for s in np.flatnonzero((self.begin < k) & (k < self.end)).tolist():
                old = chosen.get(s)
                if old is None or not old[0] <= k <= old[1]:
                    span = max(low, self.runs.stays[s].begin + 1), min(high, self.runs.stays[s].end - 1)
                    span = span if old is None else (min(old[0], span[0]), max(old[1], span[1]))
                    late = self._late(s, span) - self._late(s, old) + (0 if old else self.runs.stays[s].transfer / 1e3)
                    rows.append((late / min(self.size[s], over), -self.size[s], s, span))
            if not rows:
                return None
            rows.sort()
            rows = rows[:_LOOKED_AT]
            *_, s, span = self.draw.choice(rows[: _LOOKED_AT // 2]) if is_drawn else self._soonest(chosen, rows, over)
            self._change(chosen, bytes_, s, span)
        return None

    def _soonest(
        self, chosen: Chosen, rows: Sequence[tuple[float, int, int, tuple[int, int]]], over: int
    ) -> tuple[float, int, int, tuple[int, int]]:
        """Return the row of the stay that delays least for its bytes."""
        if len(rows) == 1 or self.runs.n > _TIMED:
            return rows[0]
        now = self._time(chosen)
        later = [self._time({**chosen, s: span}) - now for _, _, s, span in rows]
        best = min(range(len(rows)), key=lambda k: (later[k] / min(self.size[rows[k][2]], over), rows[k]))
        return rows[best]

    def _shortened(self, chosen: Chosen, bytes_: I64) -> tuple[Chosen, I64]:
        """Let stays be away during no more runs than the limit needs, those first that are most late."""
        for s in sorted(chosen, key=lambda s: (-self._late(s, chosen[s]), s)):
            first, last = chosen[s]
            room = self.limit - self.size[s]
            while first <= last and bytes_[first] <= room:
                first += 1
            while first <= last and bytes_[last] <= room:
                last -= 1
            self._change(chosen, bytes_, s, (first, last) if first <= last else None)
        return chosen, bytes_


def _around(is_above: Bool, k: int) -> tuple[int, int]:
    """Return the first and the last of the flags around one that are set without a gap."""
    before, behind = np.flatnonzero(~is_above[:k]), np.flatnonzero(~is_above[k:])
    return int(before[-1]) + 1 if len(before) else 0, k + int(behind[0]) - 1 if len(behind) else len(is_above) - 1
