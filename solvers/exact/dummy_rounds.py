"""The rounds of the exact search at the bound with the slack filled, see `dummies`: one guess after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.solvers.exact.dummies import filled, fillers
from memplan.solvers.exact.restarts import AT_BOUND, ORDERS, RestartSchedule
from memplan.solvers.kernels.exact import EXHAUSTED, FOUND

HEAD_START = 64
"""So many nodes for each buffer of a part are spent without fillers before any with them; then both have as many."""
A_GUESS = 64
"""How many nodes for each buffer a guess is worth."""
GUESSING = 16
"""What making a guess counts, in nodes for each buffer: so rounds that end at once have no more turns than others."""
MOST, MOST_A_RISE = 0.1, 1.5
"""How many fillers there may be for each buffer, and for each rise of the slack: beyond that, guesses are wrong."""
NOGOOD_BITS = 14


@dataclass(eq=False)
class DummyRounds:
    """One climber's guesses on one part, whose own rounds are those of `ladder`.

    `filled` is the ladder of the guess at hand, if any, which fills the part's slack under `capacity`.
    """

    ladder: RestartSchedule
    capacity: int = -1
    slack: I64 | None = None
    filled: RestartSchedule | None = None
    nodes: int = 0

    def is_due(self, capacity: int, flag: I64) -> bool:
        """Say whether the next round should be one with fillers."""
        n = len(self.ladder.part.buffers)
        if self.ladder.is_proving or self.nodes > self.ladder.nodes - HEAD_START * n:
            return False
        if capacity != self.capacity:
            self.capacity, self.filled = capacity, None
            self.slack = self._simple_slack(flag)
        return self.slack is not None

    def _simple_slack(self, flag: I64) -> I64 | None:
        """Return the slack of each section where nothing is placed, in granules; None if few fillers do not make it."""
        outcome, _, _ = self.ladder.run(AT_BOUND, 0, self.capacity, 1, flag)  # a search of one node leaves it
        if outcome == EXHAUSTED:
            return None
        slack = self.ladder.state.table.slack // self.ladder.part.sections.granule
        rises = int((np.diff(slack, prepend=0) > 0).sum())
        most = min(MOST * len(self.ladder.part.buffers), MOST_A_RISE * rises)
        return slack if 0 < rises <= most and len(fillers(slack, self.ladder.rng)) <= most else None

    def round(self, most: int, flag: I64) -> I64 | None:
        """Search in each order, for `most` nodes at the utmost; return the offsets of the part's buffers, if found."""
        n = len(self.ladder.part.buffers)
        if self.filled is None:
            self.filled = self._guess()
            self.nodes += GUESSING * n
        ladder, found = self.filled, None
        limit, _ = ladder.begin(AT_BOUND)
        for order in range(len(ORDERS)):
            if most <= 0 or flag[0] != 0:
                break
            before = ladder.nodes
            outcome, _, offset = ladder.run(AT_BOUND, order, self.capacity, min(limit, most), flag)
            self.nodes += ladder.nodes - before
            most -= ladder.nodes - before
            if outcome == FOUND:
                found = offset[:n]
            if outcome in (FOUND, EXHAUSTED):
                self.filled = None
                break
        ladder.rounds[AT_BOUND] += 1
        if ladder.nodes >= A_GUESS * n:
            self.filled = None
        return found

    def _guess(self) -> RestartSchedule:
        assert self.slack is not None
        part = filled(self.ladder.part, fillers(self.slack, self.ladder.rng))
        return RestartSchedule(part, self.ladder.rng, nogoods=np.zeros((1 << NOGOOD_BITS, 4), dtype=np.int64))
