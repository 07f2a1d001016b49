"""The rounds of the exact search at the bound with the slack filled, see `dummies`: one guess after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.solvers.exact.dummies import dummy_buffers, filled
from memplan.solvers.exact.restarts import AT_BOUND, ORDERS, RestartSchedule
from memplan.solvers.kernels.exact.search import EXHAUSTED, FOUND

HEAD_START = 64
"""So many nodes for each buffer of a component are spent without dummy buffers before any with them; then both have as
many.
"""
A_GUESS = 64
"""Nodes for each buffer that a guess may take."""
GUESSING = 16
"""The price of making a guess, in nodes for each buffer: so rounds that end at once have no more turns than others."""
MOST, MOST_A_RISE = 0.1, 1.5
"""The most dummy buffers for each buffer, and for each rise of the slack: beyond that, guesses are wrong."""
NOGOOD_BITS = 14


@dataclass(eq=False)
class DummyRounds:
    """One search thread's guesses on one component, whose own rounds are those of `schedule`.

    `filled` is the schedule of the guess at hand, if any, which fills the component's slack under `capacity`.
    """

    schedule: RestartSchedule
    capacity: int = -1
    slack: I64 | None = None
    filled: RestartSchedule | None = None
    nodes: int = 0

    def is_due(self, capacity: int, flag: I64) -> bool:
        """Say whether the next round should be one with dummy buffers."""
        n = len(self.schedule.component.buffers)
        if self.schedule.is_proving or self.nodes > self.schedule.nodes - HEAD_START * n:
            return False
        if capacity != self.capacity:
            self.capacity, self.filled = capacity, None
            self.slack = self._simple_slack(flag)
        return self.slack is not None

    def _simple_slack(self, flag: I64) -> I64 | None:
        """Return the slack of each section with nothing placed, in granules; None if it takes many dummy buffers."""
        outcome, _, _ = self.schedule.run(AT_BOUND, 0, self.capacity, 1, flag)  # a search of one node leaves it
        if outcome == EXHAUSTED:
            return None
        slack = self.schedule.state.table.slack // self.schedule.component.sections.granule
        rises = int((np.diff(slack, prepend=0) > 0).sum())
        # Slack that takes more was not left by a few missing buffers.
        most = min(MOST * len(self.schedule.component.buffers), MOST_A_RISE * rises)
        return slack if 0 < rises <= most and len(dummy_buffers(slack, self.schedule.rng)) <= most else None

    def round(self, most: int, flag: I64) -> I64 | None:
        """Search in each order, for at most `most` nodes; return the offsets of the component's buffers, if found."""
        n = len(self.schedule.component.buffers)
        if self.filled is None:
            self.filled = self._guess()
            self.nodes += GUESSING * n
        schedule, found = self.filled, None
        limit, _ = schedule.begin(AT_BOUND)
        for order in range(len(ORDERS)):
            if most <= 0 or flag[0] != 0:
                break
            before = schedule.nodes
            outcome, _, offset = schedule.run(AT_BOUND, order, self.capacity, min(limit, most), flag)
            self.nodes += schedule.nodes - before
            most -= schedule.nodes - before
            if outcome == FOUND:
                found = offset[:n]
            # A guess that is refuted says nothing of the problem; the next one may be right.
            if outcome in (FOUND, EXHAUSTED):
                self.filled = None
                break
        schedule.rounds[AT_BOUND] += 1
        if schedule.nodes >= A_GUESS * n:
            self.filled = None
        return found

    def _guess(self) -> RestartSchedule:
        assert self.slack is not None
        component = filled(self.schedule.component, dummy_buffers(self.slack, self.schedule.rng))
        return RestartSchedule(component, self.schedule.rng, nogood_bits=NOGOOD_BITS)
