"""Lifetimes by usage: from the first to the last use, on every way through the program.

A step belongs to the lifetime if some way that leads there has used the variable, that step included, and some way on
from there uses it. A variable that an iteration of a loop surely writes before it reads it, and that is not used
before or after the loop, starts anew in each iteration; every other variable used in a loop crosses its iterations, and
is alive for the whole of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from memplan.planner.liveness.timeline import NOWHERE, BlockPart, BranchChoice, Loop, ProgramTimeline, StatementBlock
from memplan.planner.liveness.uses import Use, first_access, items, within

Where = Literal["after", "start-of"]


@dataclass(frozen=True)
class Death:
    """The end of a variable's use: after a statement, or at the start of a branch, or of the program."""

    where: Where
    path: str


@dataclass
class Lifetime:
    """Half-open intervals in time order, touching ones apart; and every point where the variable dies."""

    intervals: list[tuple[int, int]] = field(default_factory=list)
    deaths: list[Death] = field(default_factory=list)

    def add(self, start: int, end: int) -> None:
        """Add an interval that starts no earlier than the last; one that touches it makes it longer."""
        if start >= end:
            return
        if self.intervals and self.intervals[-1][1] >= start:
            start, last = self.intervals.pop()
            end = max(end, last)
        self.intervals.append((start, end))

    def covers(self, other: Lifetime) -> bool:
        """Return True if it begins no later than another lifetime, and ends no earlier."""
        return self.intervals[0][0] <= other.intervals[0][0] and other.intervals[-1][1] <= self.intervals[-1][1]


def lifetime_by_usage(timeline: ProgramTimeline, uses: Sequence[Use], activation: int) -> Lifetime:
    """Return the lifetime of a variable of an activation, by its uses in program order."""
    call = timeline.activations[activation].stretch
    born_at = timeline.stretches[call].depth if activation else NOWHERE
    walk = _Walk(timeline, uses, born_at)
    walk.run(timeline.whole, [use for use in uses if not use.is_about_scope], False, False)
    return walk.found


class _Walk:
    """Goes down the parts of the program's time in which a variable is used.

    `before`: some way to this part has used the variable; `after`: some way on from it uses it.
    """

    def __init__(self, timeline: ProgramTimeline, uses: Sequence[Use], born_at: int) -> None:
        self.timeline, self.uses, self.born_at = timeline, uses, born_at
        self.found = Lifetime()

    def run(self, run: StatementBlock, uses: Sequence[Use], before: bool, after: bool) -> None:
        """Find the lifetime in a run that has uses."""
        if before and after:
            self.found.add(run.start, run.end)
            return
        there = list(items(run, uses))
        first = min(there, key=lambda item: (item.start, item.part is not None))
        last = max(there, key=lambda item: (item.end, item.part is None))
        low = run.start if before else first.start
        high = run.end if after else last.end
        if first is last and first.part is not None:
            self.found.add(low, first.start)
            self._part(first.part, first.uses, before, after)
            self.found.add(first.end, high)
            return
        if not before and first.part is not None:
            self._part(first.part, first.uses, False, True)
            low = first.end
        inner = not after and last.part is not None
        self.found.add(low, last.start if inner else high)
        if inner:
            assert last.part is not None
            self._part(last.part, last.uses, True, False)
        elif not after:
            stretch = last.uses[0].stretch
            self._dies("after" if stretch else "start-of", self.timeline.path(stretch))

    def _part(self, part: BlockPart, uses: Sequence[Use], before: bool, after: bool) -> None:
        if isinstance(part, Loop):
            self._loop(part, uses, before, after)
        else:
            self._choice(part, uses, before, after)

    def _choice(self, choice: BranchChoice, uses: Sequence[Use], before: bool, after: bool) -> None:
        for k, branch in enumerate(choice.branches):
            inside = within(branch, uses)
            if inside:
                self.run(branch, inside, before, after)
            elif before:
                self._dies("start-of", f"{choice.path}.{k}")

    def _loop(self, loop: Loop, uses: Sequence[Use], before: bool, after: bool) -> None:
        if not (before or after or self._crosses_iterations(loop)):
            self.run(loop.body, uses, False, False)
            return
        self.found.add(loop.start, loop.end)
        if not after:
            self._dies("after", loop.path)

    def _crosses_iterations(self, loop: Loop) -> bool:
        """Return True if an iteration may read what an earlier one left, of a variable that is used nowhere else."""
        if loop.body.depth <= self.born_at:  # the loop goes round the call, and each call has a variable of its own
            return False
        return first_access(loop.body, within(loop.body, self.uses))[0]

    def _dies(self, where: Where, path: str) -> None:
        self.found.deaths.append(Death(where, path))
