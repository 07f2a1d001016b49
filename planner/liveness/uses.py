"""The uses of one variable, found again in the parts of a program's time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from memplan.planner.liveness.timeline import Action, BlockPart, Loop, ProgramTimeline, StatementBlock

_READING: Set[Action] = frozenset(("read", "update"))
_WRITING: Set[Action] = frozenset(("write", "scratch", "alloc"))
WRITING_IN_PART: Set[Action] = _WRITING | {"update", "part"}
"""The actions that may write a variable bit by bit: a part that is written is given as an update, or by an alias."""


class Use(NamedTuple):
    """An action of a stretch on a variable, or on a family of a buffer and its aliases."""

    stretch: int
    start: int
    end: int
    depth: int
    action: Action

    @property
    def is_about_scope(self) -> bool:
        """True if it is about the variable's scope only, and needs none of its bytes."""
        return self.action in ("alloc", "free", "end")


class BlockItem(NamedTuple):
    """A use in a block itself (`part` is None), or all uses that lie in one of its parts."""

    start: int
    end: int
    part: BlockPart | None
    uses: Sequence[Use]


def family_uses(timeline: ProgramTimeline, root: int, *, passed: bool = False) -> list[Use]:
    """Return the uses of a buffer and its aliases in program order, with those that calls pass on if `passed`.

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
        uses.sort(key=lambda use: (use.stretch, use.action not in _READING))  # a statement reads, then writes
    return uses


def items(run: StatementBlock, uses: Sequence[Use]) -> Iterator[BlockItem]:
    """Yield the uses in a run, in program order, those in one of its parts together; O(log n) each."""
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


def within(run: StatementBlock, uses: Sequence[Use]) -> Sequence[Use]:
    """Return the uses that lie in a run, of those around it, too."""
    low = bisect_left(uses, run.first, key=lambda use: use.stretch)
    return uses[low : bisect_left(uses, run.after, lo=low, key=lambda use: use.stretch)]


def first_access(run: StatementBlock, uses: Sequence[Use], writing: Set[Action] = _WRITING) -> tuple[bool, bool]:
    """Return if a variable may be read before it is written or allocated, and if it surely is written or allocated.

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
    accesses = [first_access(branch, within(branch, item.uses), writing) for branch in item.part.branches]
    return any(may_read for may_read, _ in accesses), all(surely for _, surely in accesses)
