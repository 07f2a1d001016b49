"""The shadow execution: operations run on a plan's addresses, and each read is checked against the last write.

A check of overlaps relies on lifetimes. This check ignores lifetimes, so it finds wrong ones. It tracks which values
memory may contain, and which values are overwritten, over all paths and any number of loop iterations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from memplan.planner.errors import MAX_SHOWN, PlanError, Sentence, excerpt, prefix_sentence, unique_rule
from memplan.planner.model.columns import repeated_positions
from memplan.planner.model.field_docs import DescribedFields
from memplan.planner.model.plan import Plan
from memplan.programs.lifetimes.expansion import expand
from memplan.programs.lifetimes.timeline import (
    NOWHERE,
    Action,
    BlockPart,
    BranchChoice,
    Loop,
    ProgramTimeline,
    StatementBlock,
)
from memplan.programs.operations.operations import Operations

_READS: frozenset[Action] = frozenset(("read", "update", "hold"))
_WRITES: frozenset[Action] = frozenset(("write", "update", "scratch"))
_FORGETS: frozenset[Action] = frozenset(("alloc", "free", "end"))


@dataclass(frozen=True)
class Clobber(DescribedFields):
    """A buffer that a statement needs after its content is overwritten on some path."""

    buffer: str
    """The id of the buffer."""
    path: str
    """The statement that needs it, such as `main/3:f/0`."""
    by: str
    """The id of the buffer that was written over it."""
    overwritten_at: str
    """The statement that wrote `by`."""
    pool: str
    """The pool of both buffers."""
    bytes: tuple[int, int]
    """The half-open range of bytes in the pool that both buffers take."""


@dataclass
class _Memory:
    """The possible contents of memory at a point of the program.

    A piece is a range of bytes that are always written together: each buffer is cut where its aliases begin and end.
    `written` is True for each piece that has been written. `lost` has each piece that may have been overwritten, with
    the piece that replaced it and the stretch (statement) that wrote the replacement.
    """

    written: NDArray[np.bool_]
    lost: dict[int, tuple[int, int]] = field(default_factory=dict)

    def copy(self) -> _Memory:
        return _Memory(self.written.copy(), dict(self.lost))

    def join(self, other: _Memory) -> _Memory:
        """Return the possible contents of memory at a point where two control paths meet."""
        return _Memory(self.written | other.written, other.lost | self.lost)

    def holds(self, other: _Memory) -> bool:
        """Return True if joining the memory `other` into this memory would change nothing."""
        return other.lost.keys() <= self.lost.keys() and not (other.written & ~self.written).any()


def shadow(operations: Operations, plan: Plan) -> tuple[Clobber, ...]:
    """Return every buffer that may be overwritten before a statement needs it; empty if the plan is correct.

    Constants are outside of the pools, and so are inputs and outputs that the plan does not place. An alias is inside
    its buffer. Raises PlanError if the plan lacks a used buffer, or places an unknown one.
    """
    timeline = expand(operations)
    return tuple(_Execution(timeline, _placed_variables(timeline, plan)).run())


def _placed_variables(timeline: ProgramTimeline, plan: Plan) -> dict[int, tuple[str, int]]:
    """Return the pool and offset of each placed variable, except aliases; raises PlanError for wrong or missing ids."""
    placed = plan.placements
    index = {row.id: i for i, row in enumerate(timeline.variables)}
    breaks: list[Sentence] = [
        f"placements[{k}].id: must be a buffer of the operations, got {excerpt(name)}"
        for k, name in enumerate(placed.ids)
        if name not in index
    ]
    for first, k in repeated_positions(placed.ids):
        breaks.append(prefix_sentence(f"placements[{k}].id: ", unique_rule(excerpt(placed.ids[k]), f"at [{first}]")))
    places = {
        index[str(name)]: (placed.pool_names[pool], offset)
        for name, pool, offset in zip(placed.ids, placed.pool.tolist(), placed.offset.tolist(), strict=True)
        if name in index
    }
    for root, family in timeline.families.items():
        row = timeline.variables[root]
        if root not in places and row.role == "temporary" and _is_used(timeline, family):
            breaks.append(f"placements: must place {excerpt(row.id)}, got no placement")
    if breaks:
        raise PlanError(*breaks[:MAX_SHOWN])
    return {i: place for i, place in places.items() if timeline.variables[i].root == NOWHERE}


def _is_used(timeline: ProgramTimeline, family: list[int]) -> bool:
    marks = (mark for i in family for mark in timeline.variables[i].marks)
    return any(mark.action not in _FORGETS and not mark.is_passed for mark in marks)


class _Execution:
    """The execution of a program, repeated until one more iteration of its loops changes nothing."""

    def __init__(self, timeline: ProgramTimeline, places: dict[int, tuple[str, int]]) -> None:
        """Prepare an execution; `places` has the pool and the offset of each placed variable."""
        self.timeline, self.places = timeline, places
        self.pieces: list[tuple[int, int, int]] = []
        self.pieces_of: dict[int, range] = {}
        for root, (_, offset) in places.items():
            self._cut_into_pieces(root, offset)
        # Offsets are below 2^63 and sizes at most 2^62, so the ends fit into unsigned 64-bit numbers.
        self.low, self.high, root_of = np.array(self.pieces, np.uint64).reshape(-1, 3).T
        pools = {pool: k for k, (pool, _) in enumerate(places.values())}
        self.pool = np.array([pools[places[root][0]] for root in root_of.tolist()], np.int64)
        self.marks: defaultdict[int, list[tuple[int, Action]]] = defaultdict(list)
        for i in self.pieces_of:
            for mark in timeline.variables[i].marks:
                if not mark.is_passed:
                    self.marks[mark.stretch].append((i, mark.action))
        for activation in timeline.activations[1:]:
            for i in range(activation.first_variable, activation.after_variables):
                row = timeline.variables[i]
                if i in self.pieces_of and row.root == NOWHERE and not row.is_persistent:
                    self.marks[activation.stretch].append((i, "alloc"))
        self.carried: dict[str, _Memory] = {}
        self.found: dict[tuple[int, int], Clobber] = {}

    def _cut_into_pieces(self, root: int, offset: int) -> None:
        rows = [(i, self.timeline.variables[i]) for i in self.timeline.families[root]]
        cuts = sorted({at for _, row in rows for at in (row.distance, row.distance + row.size)})
        first = {at: len(self.pieces) + k for k, at in enumerate(cuts)}
        self.pieces += [(offset + low, offset + high, root) for low, high in pairwise(cuts)]
        for i, row in rows:
            self.pieces_of[i] = range(first[row.distance], first[row.distance + row.size])

    def run(self) -> Iterator[Clobber]:
        """Execute the program until its loops change nothing more; return the buffers overwritten too early."""
        while True:
            before = dict(self.carried)
            self._run_block(self.timeline.whole, _Memory(np.zeros(len(self.pieces), np.bool_)))
            if all(path in before and before[path].holds(memory) for path, memory in self.carried.items()):
                return iter(self.found.values())

    def _run_block(self, run: StatementBlock, memory: _Memory) -> _Memory:
        """Execute the statements of a block in order; return the possible contents of memory after the block."""
        parts = {part.first: part for part in run.parts}
        stretch = run.first
        while stretch < run.after:
            part = parts.get(stretch)
            if part is None:
                self._run_step(stretch, memory)
                stretch += 1
            else:
                memory = self._run_part(part, memory)
                stretch = part.after
        return memory

    def _run_part(self, part: BlockPart, memory: _Memory) -> _Memory:
        if isinstance(part, BranchChoice):
            first, *others = [self._run_block(branch, memory.copy()) for branch in part.branches]
            for other in others:
                first = first.join(other)
            return first
        return self._run_loop(part, memory)

    def _run_loop(self, loop: Loop, memory: _Memory) -> _Memory:
        carried = self.carried.get(loop.path)
        end = self._run_block(loop.body, memory.copy() if carried is None else memory.join(carried))
        self.carried[loop.path] = end.copy() if carried is None else carried.join(end)
        return end if loop.surely_runs else memory.join(end)

    def _run_step(self, stretch: int, memory: _Memory) -> None:
        """Execute one step: check its reads, write all its results, then check that its operands are intact."""
        marks = self.marks.get(stretch, ())
        for i, action in marks:
            if action in _FORGETS:
                self._discard_content(i, memory)
        for i, action in marks:
            if action in _READS:
                self._check_read(i, stretch, memory)
        shared: dict[int, tuple[int, int]] = {}
        written: set[int] = set()
        for i, action in marks:
            if action in _WRITES:
                self._write_variable(i, stretch, memory, written, shared)
        memory.lost.update(shared)
        for i, action in marks:
            if action not in _FORGETS:
                self._check_read(i, stretch, memory)

    def _check_read(self, variable: int, stretch: int, memory: _Memory) -> None:
        for piece in self.pieces_of[variable]:
            if piece in memory.lost:
                self.found.setdefault((variable, stretch), self._new_clobber(variable, stretch, piece, memory))

    def _write_variable(
        self, variable: int, stretch: int, memory: _Memory, written: set[int], shared: dict[int, tuple[int, int]]
    ) -> None:
        """Mark a variable's pieces (byte ranges) as written, and all pieces that overlap them as lost.

        If this step has already `written` an overlapping piece, the piece is added to `shared`, because one write
        destroys the other.
        """
        for piece in self.pieces_of[variable]:
            memory.lost.pop(piece, None)
            for other in np.flatnonzero(memory.written & self._overlapping_pieces(piece)).tolist():
                memory.lost.setdefault(other, (piece, stretch))
                if other in written:
                    shared[piece] = other, stretch
            memory.written[piece] = True
            written.add(piece)

    def _overlapping_pieces(self, piece: int) -> NDArray[np.bool_]:
        met: NDArray[np.bool_] = (
            (self.low < self.high[piece]) & (self.low[piece] < self.high) & (self.pool == self.pool[piece])
        )
        met[piece] = False
        return met

    def _discard_content(self, variable: int, memory: _Memory) -> None:
        for piece in self.pieces_of[variable]:
            memory.written[piece] = False
            memory.lost.pop(piece, None)

    def _new_clobber(self, variable: int, stretch: int, piece: int, memory: _Memory) -> Clobber:
        """Return a report: a statement needs a piece (byte range) of a variable, but another buffer overwrote it."""
        by, when = memory.lost[piece]
        (low, high, root), (other_low, other_high, other) = self.pieces[piece], self.pieces[by]
        names = self.timeline.variables
        return Clobber(
            names[variable].id,
            self.timeline.path(stretch),
            names[other].id,
            self.timeline.path(when),
            self.places[root][0],
            (max(low, other_low), min(high, other_high)),
        )
