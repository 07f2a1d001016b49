"""The uses of a variable within the parts of a timeline, and lifetimes by usage.

A time step belongs to the lifetime if, on some path, the variable is used in or before the step, and if some path from
the step on uses it. A variable used in a loop is usually alive for the whole loop. But if each iteration writes the
variable before reading it, and it is not used before or after the loop, its lifetime begins anew in each iteration.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from memplan.programs.lifetimes.timeline import (
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
"""The actions that write a variable, even if they may write only some of its bytes."""


class Use(NamedTuple):
    """An action on a variable or one of its aliases, with the index, time and depth of the acting statement."""

    stretch: int
    start: int
    end: int
    depth: int
    action: Action

    @property
    def is_about_scope(self) -> bool:
        """True for `alloc`, `free` and `end`, which only begin or end a scope and need no bytes of the variable."""
        return self.action in ("alloc", "free", "end")


class BlockItem(NamedTuple):
    """The uses of a variable in one item of a block: a single use, or all uses in the nested choice or loop `part`."""

    start: int
    end: int
    part: BlockPart | None
    uses: Sequence[Use]


def family_uses(timeline: ProgramTimeline, root: int, *, passed: bool = False) -> list[Use]:
    """Return the uses of a variable and its aliases in program order; `passed` includes accesses by call statements.

    A write to an alias that is smaller than the variable counts as a write of some of its bytes.
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
        uses.sort(key=lambda use: (use.stretch, use.action not in _READING))  # A statement reads first, then it writes.
    return uses


def uses_by_part(run: StatementBlock, uses: Sequence[Use]) -> Iterator[BlockItem]:
    """Yield the uses in a block in program order, grouped by nested part; it takes O(log n) time for each group."""
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
    """Return the given uses that are inside a block, in the same order."""
    low = bisect_left(uses, run.first, key=lambda use: use.stretch)
    return uses[low : bisect_left(uses, run.after, lo=low, key=lambda use: use.stretch)]


def first_access(run: StatementBlock, uses: Sequence[Use], writing: Set[Action] = _WRITING) -> tuple[bool, bool]:
    """Return (may_read, surely_written): whether a path reads the variable before any write, and whether all write it.

    `writing` is the set of actions that count as writes.
    """
    for item in uses_by_part(run, uses):
        may_read, surely_written = _first_access_of_item(item, writing)
        if may_read or surely_written:
            return may_read, surely_written
    return False, False


def _first_access_of_item(item: BlockItem, writing: Set[Action]) -> tuple[bool, bool]:
    if item.part is None:
        action = item.uses[0].action
        return action in _READING - writing, action in writing
    if isinstance(item.part, Loop):
        may_read, surely_written = first_access(item.part.body, item.uses, writing)
        return may_read, surely_written and item.part.surely_runs
    accesses = [first_access(branch, uses_in_run(branch, item.uses), writing) for branch in item.part.branches]
    return any(may_read for may_read, _ in accesses), all(surely for _, surely in accesses)


def _is_surely_used(item: BlockItem) -> bool:
    return _first_access_of_item(item, frozenset(get_args(Action)))[1]


Where = Literal["after", "start-of"]


@dataclass(frozen=True)
class Death:
    """The point from which a variable is unused: after a statement, or at the start of a branch or of the program."""

    where: Where
    path: str


@dataclass
class Lifetime:
    """A variable's lifetime as half-open intervals in time order, and all points at which the variable dies."""

    intervals: list[tuple[int, int]] = field(default_factory=list)
    deaths: list[Death] = field(default_factory=list)

    def add(self, start: int, end: int) -> None:
        """Add an interval that starts no earlier than the last one; intervals that touch or overlap are merged."""
        if start >= end:
            return
        if self.intervals and self.intervals[-1][1] >= start:
            start, last = self.intervals.pop()
            end = max(end, last)
        self.intervals.append((start, end))

    def covers(self, other: "Lifetime") -> bool:
        """Return True if this lifetime starts no later than the other one and ends no earlier."""
        return self.intervals[0][0] <= other.intervals[0][0] and other.intervals[-1][1] <= self.intervals[-1][1]


def lifetime_by_usage(timeline: ProgramTimeline, uses: Sequence[Use], activation: int) -> Lifetime:
    """Return a variable's lifetime from its uses in program order; `activation` is the call that owns the variable."""
    call = timeline.activations[activation].stretch
    born_at = timeline.stretches[call].depth if activation else NOWHERE
    walk = _Walk(timeline, uses, born_at)
    walk.run(timeline.whole, [use for use in uses if not use.is_about_scope], False, False)
    return walk.found


class _Walk:
    """A walk through the parts of a timeline that use a variable.

    `before` is True if some path to the part has used the variable; `after` is True if some path from the part uses it.
    `surely` is True if every path to the part has used the variable in the same iteration of the innermost loop.
    """

    def __init__(self, timeline: ProgramTimeline, uses: Sequence[Use], born_at: int) -> None:
        """Start a walk for a variable with the given uses; the call that owns the variable begins at step `born_at`."""
        self.timeline, self.uses, self.born_at = timeline, uses, born_at
        self.found = Lifetime()
        self.may_die_unused = False
        """True if some path of the current iteration comes to a death of the variable without a use of it."""

    def run(self, run: StatementBlock, uses: Sequence[Use], before: bool, after: bool, surely: bool = False) -> None:
        """Add the lifetime of the variable within a block that uses it."""
        if before and after:
            self.found.add(run.start, run.end)
            return
        there = list(uses_by_part(run, uses))
        first = min(there, key=lambda item: (item.start, item.part is not None))
        last = max(there, key=lambda item: (item.end, item.part is None))
        low = run.start if before else first.start
        high = run.end if after else last.end
        if first is last and first.part is not None:
            self.found.add(low, first.start)
            self._walk_part(first.part, first.uses, before, after, surely)
            self.found.add(first.end, high)
            return
        if not before and first.part is not None:
            self._walk_part(first.part, first.uses, False, True, surely)
            low = first.end
        inner = not after and last.part is not None
        self.found.add(low, last.start if inner else high)
        if inner:
            assert last.part is not None
            surely = surely or any(_is_surely_used(item) for item in there if item is not last)
            self._walk_part(last.part, last.uses, True, False, surely)
        elif not after:
            stretch = last.uses[0].stretch
            self._add_death("after" if stretch else "start-of", self.timeline.path(stretch), True)

    def _walk_part(self, part: BlockPart, uses: Sequence[Use], before: bool, after: bool, surely: bool) -> None:
        if isinstance(part, Loop):
            self._walk_loop(part, uses, before, after, surely)
        else:
            self._walk_choice(part, uses, before, after, surely)

    def _walk_choice(self, choice: BranchChoice, uses: Sequence[Use], before: bool, after: bool, surely: bool) -> None:
        """Add the variable's lifetime in each branch of a choice.

        If the variable is alive before the choice, it dies at the start of each branch that does not use it.
        """
        for k, branch in enumerate(choice.branches):
            inside = uses_in_run(branch, uses)
            if inside:
                self.run(branch, inside, before, after, surely)
            elif before:
                self._add_death("start-of", f"{choice.path}.{k}", surely)

    def _walk_loop(self, loop: Loop, uses: Sequence[Use], before: bool, after: bool, surely: bool) -> None:
        """Add the variable's lifetime in a loop.

        It is the whole loop if a value may live into the loop, out of it, or from one iteration into the next.
        Otherwise, it is the lifetime inside one iteration. The variable then dies in each iteration or, if an iteration
        might come to this death without a use since the death in an earlier one, after the loop.
        """
        surely = surely or _is_surely_used(BlockItem(loop.start, loop.end, loop, uses))
        if before or after or self._crosses_iterations(loop):
            self.found.add(loop.start, loop.end)
            if not after:
                self._add_death("after", loop.path, surely)
            return
        might_before, deaths, self.may_die_unused = self.may_die_unused, [*self.found.deaths], False
        self.run(loop.body, uses, False, False)
        if self.may_die_unused:
            self.found.deaths, self.may_die_unused = deaths, might_before
            self._add_death("after", loop.path, surely)
        else:
            self.may_die_unused = might_before

    def _crosses_iterations(self, loop: Loop) -> bool:
        """Return True if a value of the variable may be written in one iteration of the loop and read in a later one.

        The variable must not be used outside the loop.
        """
        # If the loop contains the call, each iteration has a new variable, so no value crosses iterations.
        if loop.body.depth <= self.born_at:
            return False
        return first_access(loop.body, uses_in_run(loop.body, self.uses))[0]

    def _add_death(self, where: Where, path: str, surely: bool) -> None:
        self.found.deaths.append(Death(where, path))
        self.may_die_unused |= not surely
