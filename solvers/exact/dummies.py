"""Dummy buffers: they take up the slack of a component, so that the exact search is not free to waste bytes.

Where a section has slack, a search may leave gaps, in many ways; where it has none, every move is forced or fails at
once. What can be placed together with dummy buffers can be placed without them. So where the slack is made of little,
it is worth guessing of what: it rises where a dummy buffer begins, and falls where one ends. A guess that is wrong
proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from memplan.planner.model.buffer_table import I64, column
from memplan.solvers.core.exact import EXHAUSTED, FOUND
from memplan.solvers.exact.components import Component
from memplan.solvers.exact.restarts import AT_BOUND, ORDERS, RestartSchedule
from memplan.solvers.exact.sections import Lives
from memplan.solvers.formulation.subinstance import with_dummies

GUESSES = 30
"""Guesses from which the one with the fewest dummy buffers is taken: the simplest explanation is the likeliest."""


class DummyBuffer(NamedTuple):
    """A dummy buffer of so many granules, alive in the sections [start, end) of a component."""

    start: int
    end: int
    size: int


def dummy_buffers(slack: I64, rng: np.random.Generator) -> list[DummyBuffer]:
    """Return dummy buffers that add up to the slack of each section, in granules: a guess with few of them."""
    return min((_guess(slack, rng) for _ in range(GUESSES)), key=len)


def _guess(slack: I64, rng: np.random.Generator) -> list[DummyBuffer]:
    """Read the slack from one end of time, drawn by lot, to the other."""
    # Read forwards and backwards, slack suggests different buffers.
    if rng.random() < 0.5:
        return _read(slack, rng)
    k = len(slack)
    return [DummyBuffer(k - row.end, k - row.start, row.size) for row in _read(slack[::-1], rng)]


def _read(slack: I64, rng: np.random.Generator) -> list[DummyBuffer]:
    """Begin a dummy buffer where the slack rises, and end some where it falls.

    If those that end are too large, the last of them goes on with the rest, or another one begins with that.
    """
    done: list[DummyBuffer] = []
    alive: list[tuple[int, int]] = []  # (start, size)
    for s, change in enumerate(np.diff(slack, prepend=0, append=0).tolist()):
        if change > 0:
            alive.append((s, change))
        if change >= 0:
            continue
        alive = [alive[x] for x in rng.permutation(len(alive)).tolist()]
        ended = _ended(alive, -change)
        alive = [row for row in alive if row not in ended]
        rest = sum(size for _, size in ended) + change
        if rest > 0:
            start, size = ended.pop()
            # A buffer larger than the fall is two, of which either may have begun earlier.
            goes_on = rng.random() < 0.5
            alive.append((start if goes_on else s, rest))
            ended.append((start, size - rest if goes_on else size))
        done += [DummyBuffer(start, s, size) for start, size in ended]
    return done


def _ended(alive: list[tuple[int, int]], fall: int) -> list[tuple[int, int]]:
    """Return the dummy buffers that end: one or two as large as the fall, else one that is larger, else several."""
    # What falls by exactly one or two sizes is most likely the end of these.
    for count in (1, 2):
        for chosen in combinations(alive, count):
            if sum(size for _, size in chosen) == fall:
                return list(chosen)
    ended = [row for row in alive if row[1] > fall][:1]
    for row in alive:
        if sum(size for _, size in ended) >= fall:
            break
        ended.append(row)
    return ended


def filled(component: Component, rows: list[DummyBuffer]) -> Component:
    """Return the component with dummy buffers after its buffers."""
    whole, sections = component.instance, component.sections
    n, granule = len(whole), sections.granule
    start, end, size = column(np.array(rows).reshape(-1, 3).T)
    shift = int(component.lives.start[np.isin(component.lives.lifetime_buffer, component.buffers)].min())
    each, mine = np.ones(len(rows), dtype=np.int64), n + np.arange(len(rows))
    lives = Lives(
        np.append(component.lives.lifetime_buffer, mine),
        np.append(component.lives.start, shift + start),
        np.append(component.lives.end, shift + end),
        component.lives.n_sections,
    )
    instance = with_dummies(
        whole,
        len(rows),
        size=column(np.append(whole.size, granule * size)),
        first=column(np.append(whole.first, whole.first[-1] + 1 + np.arange(len(rows)))),
        start=column(np.append(whole.start, shift + start)),
        end=column(np.append(whole.end, shift + end)),
        alignment=np.append(whole.alignment, [granule * each], axis=1),
        # Dummy buffers lie on the grid of the component, or they could not fill it.
        lowest=np.append(whole.lowest, [sections.residue[0] % granule * each], axis=1),
    )
    return Component(instance, lives, np.append(component.buffers, mine))


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
