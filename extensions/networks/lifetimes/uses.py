"""The uses of a variable within the parts of a program's time, and lifetimes by usage.

A step belongs to the lifetime if some way that leads there has used the variable, that step included, and some way on
from there uses it. A variable that an iteration of a loop surely writes before it reads it, and that is not used
before or after the loop, starts anew in each iteration; every other variable used in a loop crosses its iterations, and
is alive for the whole of it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from memplan.extensions.networks.lifetimes.timeline import (
    NOWHERE,
    Action,
    BlockPart,
    BranchChoice,
    Loop,
    ProgramTimeline,
    StatementBlock,
)

_READING: Set[Action] = frozenset(("read", "update"))
_WRITING: Set[Action] = frozenset(("write", "scratch", "alloc"))
WRITING_IN_PART: Set[Action] = _WRITING | {"update", "part"}
"""The actions that may write a variable bit by bit; partial writes appear as updates, or through aliases."""


class Use(NamedTuple):
    """An action of a stretch on a variable or its family (the buffer and its aliases)."""

    stretch: int
    start: int
    end: int
    depth: int
    action: Action

    @property
    def is_about_scope(self) -> bool:
        """True if this concerns the variable's scope only and needs none of its bytes."""
        return self.action in ("alloc", "free", "end")


class BlockItem(NamedTuple):
    """A use in a block itself (`part` is None), or all uses within one of its parts."""

    start: int
    end: int
    part: BlockPart | None
    uses: Sequence[Use]


def family_uses(timeline: ProgramTimeline, root: int, *, passed: bool = False) -> list[Use]:
    """Return the uses of a buffer and its aliases in program order; with `passed`, also the uses that calls pass on.

    A write to an alias of a part writes a part.
    """
    uses: list[Use] = []
    size = timeline.variables[root].size
    for i in timeline.families[root]:
        row = timeline.variables[i]
        for mark in row.marks:
            if mark.is_passed and not passed:
                continue
            stretch = timeline.stretches[mark.stretch]
            action: Action = "part" if mark.action == "write" and row.size < size else mark.action
            uses.append(Use(mark.stretch, stretch.start, stretch.end, stretch.depth, action))
    if len(timeline.families[root]) > 1:
        uses.sort(key=lambda use: (use.stretch, use.action not in _READING))  # a statement first reads, then writes
    return uses


def items(run: StatementBlock, uses: Sequence[Use]) -> Iterator[BlockItem]:
    """Yield the uses in a run in program order, grouped by part; O(log n) each."""
    at = 0
    while at < len(uses):
        use = uses[at]
        if use.depth == run.depth:
            yield BlockItem(use.start, use.end, None, [use])
            at += 1
        else:
            part = run.parts[bisect_right(run.parts, use.stretch, key=lambda part: part.first) - 1]
            behind = bisect_left(uses, part.after, lo=at, key=lambda use: use.stretch)
            yield BlockItem(part.start, part.end, part, uses[at:behind])
            at = behind


def uses_in_run(run: StatementBlock, uses: Sequence[Use]) -> Sequence[Use]:
    """Return the given uses that are inside a run."""
    low = bisect_left(uses, run.first, key=lambda use: use.stretch)
    return uses[low : bisect_left(uses, run.after, lo=low, key=lambda use: use.stretch)]


def first_access(run: StatementBlock, uses: Sequence[Use], writing: Set[Action] = _WRITING) -> tuple[bool, bool]:
    """Return whether a variable may be read before it is written or allocated, and whether it surely is written.

    `writing` are the actions that count as writing it.
    """
    for item in items(run, uses):
        may_read, surely_written = _first_access(item, writing)
        if may_read or surely_written:
            return may_read, surely_written
    return False, False


def _first_access(item: BlockItem, writing: Set[Action]) -> tuple[bool, bool]:
    if item.part is None:
        action = item.uses[0].action
        return action in _READING - writing, action in writing
    if isinstance(item.part, Loop):
        may_read, surely_written = first_access(item.part.body, item.uses, writing)
        return may_read, surely_written and item.part.surely_runs
    accesses = [first_access(branch, uses_in_run(branch, item.uses), writing) for branch in item.part.branches]
    return any(may_read for may_read, _ in accesses), all(surely for _, surely in accesses)


Where = Literal["after", "start-of"]


@dataclass(frozen=True)
class Death:
    """The end of a variable's use: after a statement, or at the start of a branch or of the program."""

    where: Where
    path: str


@dataclass
class Lifetime:
    """Half-open intervals in time order, merged where they touch, and every point where the variable dies."""

    intervals: list[tuple[int, int]] = field(default_factory=list)
    deaths: list[Death] = field(default_factory=list)

    def add(self, start: int, end: int) -> None:
        """Add an interval that starts no earlier than the last one; it extends that one if they touch."""
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
    """A walk down the parts of the program's time in which a variable is used.

    `before`: some path to this part has used the variable; `after`: some path from it uses it.
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
            inside = uses_in_run(branch, uses)
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
        """Return True if an iteration may read a value left by an earlier one, of a variable used nowhere else."""
        if loop.body.depth <= self.born_at:  # the loop contains the call, and each call has a separate variable
            return False
        return first_access(loop.body, uses_in_run(loop.body, self.uses))[0]

    def _dies(self, where: Where, path: str) -> None:
        self.found.deaths.append(Death(where, path))
