"""The integer program of the pieces of all buffers, without offsets: which pools hold a buffer at which times.

Each buffer has grid times at which copies may begin or arrive and operations may use it. A column states that a right
piece lies in a pool from one grid time to the next, that a copy begins, or that an access uses a pool. Rows limit the
load of each pool at each time. `docs/moves.md` has the rules.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import gcd, lcm
from typing import NamedTuple

import numpy as np

from memplan.planner.instance.instance import F64
from memplan.planner.model.buffer_table import I64, column
from memplan.planner.model.moving import MovingBuffer, Piece, Use, moves_of
from memplan.planner.model.plan import BufferCopy
from memplan.planner.model.problem import Problem
from memplan.solvers.memory_choice.program import ChoiceProgram

_MOST_GRID = 4_000
"""The limit of grid times, summed over the buffers, up to which copies may begin at every time."""
_SHIFTS = (1, 2, 4, 8, 16)
"""The steps by which copies may begin earlier than needed, if the bytes of a step are limited."""

Terms = list[int]
"""The numbers of columns whose sum is meant."""


class Capacity(NamedTuple):
    """The bytes of a pool, in cells of `step` bytes, to which sizes are rounded up; None without a limit."""

    most: int | None
    step: int

    def load(self, size: int) -> int:
        """Return the bytes that a buffer takes from the pool."""
        return -(-size // self.step) * self.step


def capacities(problem: Problem, rows: Sequence[MovingBuffer]) -> list[Capacity]:
    """Return the capacity of each pool; it has no limit if all buffers that are ever alive together fit."""
    found = []
    for q, pool in enumerate(problem.pools):
        here = [row for row in rows if q in row.pools]
        step = gcd(*(lcm(int(problem.buffers.alignment[row.position]), pool.alignment) for row in here)) or 1
        step = 1 if pool.base_address % step or pool.reserved else step
        if pool.size is None:
            found.append(Capacity(None, step))
            continue
        most = pool.size - sum(width for _, width in pool.reserved) if step == 1 else -(-pool.size // step) * step
        change: dict[int, int] = {}
        for row in here:
            for time, sign in ((row.start, 1), (row.end, -1)):
                change[time] = change.get(time, 0) + sign * Capacity(0, step).load(row.size)
        load = np.cumsum([change[time] for time in sorted(change)]).max(initial=0)
        found.append(Capacity(None if load <= most and not pool.reserved else most, step))
    return found


class _CopyColumns(NamedTuple):
    """A copy at a time between two pools: it begins if the column `begun` is 1, and all columns `before` are 0."""

    begun: int
    before: tuple[int, ...]
    time: int
    source: int
    to: int


@dataclass(eq=False)
class Timeline:
    """The columns of one buffer: at each grid time and pool, the first for pieces, and those for copies."""

    row: MovingBuffer
    times: list[int]
    points: list[list[Terms]] = field(default_factory=list)
    gaps: list[list[Terms]] = field(default_factory=list)
    copies: list[_CopyColumns] = field(default_factory=list)

    def pieces(self, values: I64) -> list[Piece]:
        """Return the pieces of a solution, in which each column is 0 or 1."""
        pieces = []
        for q in self.row.pools:
            begun: int | None = None
            for j, time in enumerate(self.times):
                is_there = values[self.points[j][q]].any()
                if begun is not None and not is_there:
                    pieces.append(Piece(self.row.position, q, begun, time))
                    begun = None
                if begun is None and is_there:
                    begun = time
                if begun is not None and not values[self.gaps[j][q]].any():
                    pieces.append(Piece(self.row.position, q, begun, time + 1))
                    begun = None
            if begun is not None:
                pieces.append(Piece(self.row.position, q, begun, self.row.end))
        return sorted(pieces, key=lambda piece: (piece.start, piece.end))


class PiecesProgram:
    """The program of a problem; `is_complete` if a solution of any plan is a solution of the program."""

    def __init__(self, problem: Problem, rows: Sequence[MovingBuffer], limits: Sequence[Capacity]) -> None:
        """Write all columns and rows; `limits` may be lower than the capacities of the pools."""
        self.problem, self.limits = problem, limits
        self.rules = moves_of(problem)
        self.cost: list[float] = []
        self.base = 0.0
        """The cost of a solution in which all columns are 0."""
        self._equal: list[tuple[Terms, int]] = []
        self._at_most: list[tuple[Terms, Terms, int]] = []
        every = sum(row.end - row.start for row in rows) <= _MOST_GRID
        open_pools = [q for q, limit in enumerate(limits) if limit.most is None]
        is_tiered = len(limits) == 2 and bool(open_pools) and self.rules.bytes_per_step is None
        self.is_complete = every or is_tiered
        self.keeps_open = is_tiered and self.rules.lead == 0
        self.timelines = [self._timeline(row, every) for row in rows]
        self._tie_groups()

    def _column(self, cost: float = 0.0) -> int:
        self.cost.append(cost)
        return len(self.cost) - 1

    def _limit(self, terms: Iterable[int], others: Iterable[int], most: int = 0) -> None:
        """Add the row sum(terms) - sum(others) <= most."""
        self._at_most.append(([*terms], [*others], most))

    def _timeline(self, row: MovingBuffer, every: bool) -> Timeline:
        line = Timeline(row, self._grid(row, every))
        _Writer(self, line).write()
        return line

    def _grid(self, row: MovingBuffer, every: bool) -> list[int]:
        last = row.end - 1
        if row.is_fixed or len(row.pools) == 1:
            return sorted({row.start, last, *(use.time for use in row.uses)})
        if every:
            return [*range(row.start, row.end)]
        lead, shifts = self.rules.lead, _SHIFTS if self.rules.bytes_per_step is not None else ()
        needed = [use.time for use in row.uses] + ([] if row.kept_in is None else [row.end])
        starts = {time - lead - shift for time in needed for shift in (0, *shifts)}
        starts |= {use.time + shift for use in row.uses if use.write is not None for shift in (0, *shifts)} | {
            row.start
        }
        grid = starts | {time + lead for time in starts} | {use.time for use in row.uses} | {row.start, last}
        return sorted(time for time in grid if row.start <= time <= last)

    def _tie_groups(self) -> None:
        """Let the buffers of each list of `together` choose one pool."""
        by_position = {line.row.position: line for line in self.timelines}
        for group in self.problem.together:
            lines = [by_position[i] for i in {self.problem.root_of(name) for name in group}]
            for one, other in pairwise(lines):
                for q in range(len(self.limits)):
                    self._limit(one.points[0][q], other.points[0][q])
                    self._limit(other.points[0][q], one.points[0][q])

    def forbid(self, terms: Sequence[int]) -> None:
        """Forbid that all of these columns are 1."""
        self._limit(terms, (), len(terms) - 1)

    def columns_in(self, q: int, chosen: I64) -> Terms:
        """Return the columns of a solution by which pieces take room in a pool."""
        terms = {
            col for line in self.timelines for parts in (line.points, line.gaps) for each in parts for col in each[q]
        }
        return [col for col in sorted(terms) if chosen[col]]

    def rows(self) -> ChoiceProgram:
        """Return the program for the engine, whose first rows are equations."""
        row: list[int] = []
        index: list[int] = []
        value: list[float] = []
        most = [1.0] * len(self._equal)
        for r, (terms, _) in enumerate(self._equal):
            row += [r] * len(terms)
            index += terms
            value += [1.0] * len(terms)
        for terms, others, limit in self._at_most:
            row += [len(most)] * (len(terms) + len(others))
            index += terms + others
            value += [1.0] * len(terms) + [-1.0] * len(others)
            most.append(float(limit))
        parts = [(np.array(row, dtype=np.int64), np.array(index, dtype=np.int64), np.array(value))]
        for at, which, much, limits in self._loads(len(most)):
            parts.append((at, which, much))
            most += limits
        rows, indices, values = (np.concatenate(each) for each in zip(*parts, strict=True))
        n = max(1, len(self.cost))
        keys, place = np.unique(rows * n + indices, return_inverse=True)
        summed = np.zeros(len(keys))
        np.add.at(summed, place, values)
        none = column([])
        return ChoiceProgram(
            len(self._equal),
            np.array(self.cost) / self.cost_scale,
            column(np.searchsorted(keys, np.arange(len(most) + 1) * n)),
            column(keys % n),
            summed,
            np.array(most),
            none,
            none,
            none,
            np.zeros(0),
            self.base / self.cost_scale,
        )

    @property
    def cost_scale(self) -> float:
        """The divisor of costs, because the tolerances of the engine are absolute."""
        return max(1.0, max(map(abs, self.cost), default=0.0) / 1e5)

    def _loads(self, first: int) -> Iterable[tuple[I64, I64, F64, list[float]]]:
        """Yield the rows of each limited pool, and of the bytes of a step, numbered from `first`."""
        moments = sorted({time for line in self.timelines for time in line.times})
        for q, limit in enumerate(self.limits):
            if limit.most is None:
                continue
            loads: list[dict[int, int]] = [{} for _ in moments]
            for line in self.timelines:
                self._add_loads(line, q, limit.load(line.row.size), moments, loads)
            bound = {tuple(load.items()): None for load in loads if sum(load.values()) > limit.most}
            yield self._scaled_rows(first, [dict(items) for items in bound], limit.most)
            first += len(bound)
        if self.rules.bytes_per_step is not None:
            begun: dict[int, dict[int, int]] = {}
            for line in self.timelines:
                for copy in line.copies:
                    step = begun.setdefault(copy.time, {})
                    step[copy.begun] = line.row.size
                    step.update(dict.fromkeys(copy.before, -line.row.size))
            yield self._scaled_rows(first, [*begun.values()], self.rules.bytes_per_step)

    def _add_loads(self, line: Timeline, q: int, size: int, moments: list[int], loads: list[dict[int, int]]) -> None:
        if size == 0 or q not in line.row.pools:
            return
        for j, time in enumerate(line.times):
            at = bisect_left(moments, time)
            for col in line.points[j][q]:
                loads[at][col] = loads[at].get(col, 0) + size
            end = line.times[j + 1] if j + 1 < len(line.times) else line.row.end
            for col in line.gaps[j][q]:
                for between in range(at + 1, bisect_left(moments, end)):
                    loads[between][col] = loads[between].get(col, 0) + size

    @staticmethod
    def _scaled_rows(first: int, loads: list[dict[int, int]], most: int) -> tuple[I64, I64, F64, list[float]]:
        scale = 1e5 / max(1, most)
        counts = [len(load) for load in loads]
        index = np.array([col for load in loads for col in load], dtype=np.int64)
        value = np.array([size for load in loads for size in load.values()], dtype=np.float64) * scale
        return np.repeat(np.arange(first, first + len(loads)), counts), index, value, [most * scale] * len(loads)

    def solution(self, values: F64) -> tuple[list[Piece], list[BufferCopy]]:
        """Return the pieces and the copies of a solution, in order of time."""
        chosen = column(values > 0.5)
        pieces = [piece for line in self.timelines for piece in line.pieces(chosen)]
        names, ids = [pool.name for pool in self.problem.pools], self.problem.buffers.ids
        copies = [
            BufferCopy(
                id=ids[line.row.position],
                source=names[copy.source],
                to=names[copy.to],
                time=copy.time,
                bytes=line.row.size,
            )
            for line in self.timelines
            for copy in line.copies
            if chosen[copy.begun] and not chosen[[*copy.before]].any()
        ]
        return pieces, sorted(copies, key=lambda copy: copy.time)

    def values_of(self, pieces: Sequence[Piece], copies: Sequence[BufferCopy]) -> F64:
        """Return the value of each column in a plan; values that its pieces do not determine are not numbers."""
        values = np.full(len(self.cost), np.nan)
        mine: dict[int, list[Piece]] = {}
        for piece in pieces:
            mine.setdefault(piece.buffer, []).append(piece)
        begun = {(copy.id, copy.time, copy.source, copy.to) for copy in copies}
        names, ids = [pool.name for pool in self.problem.pools], self.problem.buffers.ids
        for line in self.timelines:
            for copy in line.copies:
                if not copy.before:
                    key = (ids[line.row.position], copy.time, names[copy.source], names[copy.to])
                    values[copy.begun] = key in begun
            for q in line.row.pools:
                here = [piece for piece in mine.get(line.row.position, ()) if piece.pool == q]
                for j, time in enumerate(line.times):
                    for terms, until in ((line.points[j][q], time + 1), (line.gaps[j][q], time + 2)):
                        is_there = any(piece.start <= time and piece.end >= until for piece in here)
                        if len(terms) == 1 or not is_there:
                            values[terms] = is_there
        return values

    def cost_of(self, values: F64) -> float:
        """Return the cost of a solution."""
        return self.base + float(np.dot(np.array(self.cost), values > 0.5))


class _Writer:
    """Writes the columns and rows of one buffer, in order of time."""

    def __init__(self, program: PiecesProgram, line: Timeline) -> None:
        """Start before the first grid time."""
        self.program, self.line, self.row = program, line, line.row
        self.lead = program.rules.lead
        self.prices = [pool.cost for pool in program.problem.pools]
        self.direct = [q for q in self.row.pools if program.problem.pools[q].direct]
        self.writes = [use.time for use in self.row.uses if use.write is not None]
        self.uses = {use.time: use for use in self.row.uses}
        self.may_move = not self.row.is_fixed and len(self.row.pools) > 1 and len(self.row.uses) + self._is_kept > 0
        self.arriving: dict[int, list[tuple[int, int]]] = {}
        """By time, the (column, pool) of each copy that arrives."""
        self.is_born = False
        """Whether an access writes the buffer at the start of its lifetime, so that it has no value before."""
        self.stops = {*line.times, line.row.end} if self.lead else {*line.times}
        self.before: dict[int, tuple[int, ...]] = {}
        """The columns of the piece before a copy, by the column of the room that it takes."""
        self.flying: list[tuple[int, int, int]] = []
        """The (column, pool, arrival) of the copies under way."""

    @property
    def _is_kept(self) -> bool:
        return self.row.kept_in is not None

    def write(self) -> None:
        """Write all grid times."""
        row, program = self.row, self.program
        use = self.uses.get(row.start)
        self.is_born = row.given is None and use is not None and use.write is not None and use.read is None
        pools = [row.given] if row.given is not None else self.direct if self.is_born else row.pools
        first = {q: program._column() for q in pools}
        program._equal.append(([*first.values()], 1))
        kept: dict[int, Terms] = {q: [col] for q, col in first.items()}
        for j, time in enumerate(self.line.times):
            kept = self._write_time(j, time, kept)
        if row.kept_in is not None:
            late = [col for col, q in self.arriving.get(row.end, []) if q == row.kept_in]
            program._limit((), [*kept.get(row.kept_in, []), *late], -1)

    def _write_time(self, j: int, time: int, kept: dict[int, Terms]) -> dict[int, Terms]:
        program, row, none = self.program, self.row, ()
        use = self.uses.get(time, Use(time, None, None))
        is_last = j + 1 == len(self.line.times)
        flying = [each for each in self.flying if each[2] > time]
        right = {q: [*kept.get(q, none)] for q in row.pools}
        if arrivals := self.arriving.get(time, []):
            right = self._may_end(right, [col for col, _ in arrivals])
        for col, q in arrivals:
            right[q].append(col)
        begun = [] if self.is_born and j == 0 else self._begin_copies(j, time, right, use, is_last)
        flying += [(col, q, time + self.lead) for col, _, q in begun if self.lead]
        if not self.lead:
            for col, _, q in begun:
                right[q] = [col] if self.before.get(col) else [*right[q], col]
        points = {q: [*right[q], *(col for col, to, _ in flying if to == q)] for q in row.pools}
        for q, terms in points.items():
            if len(terms) > 1 and terms != kept.get(q):
                program._limit(terms, (), 1)
        after = right
        if use.read is not None:
            self._read(right, use.read)
        sent: list[tuple[int, int]] = []
        if use.write is not None:
            is_first = self.is_born and j == 0
            written = self._write_columns(right, use.write, is_first)
            sent = self._send_copies(time, written, is_first)
            after = {q: [written[q]] if q in written else [] for q in row.pools}
            flying = [(col, q, time + self.lead) for col, q in sent] if self.lead else []
            if not self.lead:
                for col, q in sent:
                    after[q].append(col)
            points = {q: self._room(points[q], [col for col, to in sent if to == q]) for q in row.pools}
        self.flying = flying
        self.line.points.append([points.get(q, []) for q in range(len(program.limits))])
        following = self._keep(after, is_last, reuses=use.write is None or (self.is_born and j == 0))
        for col, p, q in begun:
            if self._is_kept_after(p, q, use) and q in following:
                program._limit([col], [*following[q], *self.before.get(col, ())])
        gaps = {q: [*following.get(q, none), *(col for col, to, _ in flying if to == q)] for q in row.pools}
        self.line.gaps.append([gaps.get(q, []) for q in range(len(program.limits))])
        return following

    def _may_end(self, kept: dict[int, Terms], arrivals: Terms) -> dict[int, Terms]:
        """Return columns of the pieces that last through a time at which copies arrive; the others end before it."""
        lasting: dict[int, Terms] = {q: [] for q in kept}
        for q, terms in kept.items():
            if terms:
                lasting[q] = [self.program._column()]
                self.program._limit(lasting[q], terms)
        self.program._limit((), [*arrivals, *(col for terms in lasting.values() for col in terms)], -1)
        return lasting

    def _is_kept_after(self, p: int, q: int, use: Use) -> bool:
        """Return True if a copy serves only if its piece outlasts the time, as an access could use the source."""
        is_served = use.read is None or (self.program.problem.pools[p].direct and use.read <= self.row.size)
        return not self.lead and use.write is None and is_served

    def _room(self, before: Terms, sent: Terms) -> Terms:
        """Return a column for the room at a time when a piece may become stale and be written again by a copy."""
        if not sent:
            return before
        room = self.program._column()
        self.program._limit(before, [room])
        self.program._limit(sent, [room])
        self.program._limit([room], [*before, *sent])
        return [room]

    def _keep(self, after: dict[int, Terms], is_last: bool, reuses: bool) -> dict[int, Terms]:
        """Return the columns of the pieces that are right until the next grid time."""
        program, row = self.program, self.row
        following: dict[int, Terms] = {}
        for q in row.pools:
            if not after[q] or (is_last and q != row.kept_in):
                continue
            is_open = program.keeps_open and program.limits[q].most is None
            if (not self.may_move or is_open) and reuses:
                following[q] = after[q]
                continue
            col = program._column()
            program._limit([col], after[q])
            following[q] = [col]
        terms = [col for terms in following.values() for col in terms]
        if not is_last and (self.may_move or not reuses):
            program._limit((), terms, -1)
        return following

    def _may_begin(self, time: int, is_after_write: bool) -> bool:
        """Return True if a copy that begins at a time arrives within the lifetime, and no write makes it stale."""
        arrival = time + self.lead
        if not self.may_move or arrival not in self.stops:
            return False
        low = bisect_right(self.writes, time) if is_after_write else bisect_left(self.writes, time)
        return not self.lead or low == bisect_left(self.writes, arrival)

    def _begin_copies(
        self, j: int, time: int, right: dict[int, Terms], use: Use, is_last: bool
    ) -> list[tuple[int, int, int]]:
        """Return the (column, from, to) of the copies that begin before the accesses of a time."""
        if not self._may_begin(time, False):
            return []
        begun = []
        for q in self.row.pools:
            is_open = self.program.keeps_open and self.program.limits[q].most is None
            if is_open and j > 0:
                continue  # A copy to a pool without a limit may as well begin at the start or after the last write.
            for p in self.row.pools:
                if p == q or not right[p] or (is_last and q != self.row.kept_in and self._is_kept_after(p, q, use)):
                    continue
                is_room = not self.lead and len(self.row.pools) == 2 and j > 0
                begun.append((self._copy(time, p, q, right[q] if is_room else []), p, q))
                if not is_room:  # Otherwise, the value is in one of the two pools.
                    self.program._limit([begun[-1][0]], right[p])
        return begun

    def _send_copies(self, time: int, written: dict[int, int], is_first: bool) -> list[tuple[int, int]]:
        """Return the (column, to) of the copies of a value that has just been written."""
        if not self._may_begin(time, True):
            return []
        sent = []
        for p, source in written.items():
            for q in self.row.pools:
                if p == q or (is_first and q in written and self.prices[q] <= self.prices[p]):
                    continue  # It costs no more to write the buffer in the cheaper pool, and to copy it from there.
                sent.append((self._copy(time, p, q), q))
                self.program._limit([sent[-1][0]], [source])
        return sent

    def _copy(self, time: int, p: int, q: int, before: Sequence[int] = ()) -> int:
        """Return the column of a copy or, if the pool may hold a right piece before, of the room that it takes."""
        cost = self.row.size * (self.prices[p] + self.prices[q])
        col = self.program._column(cost)
        for each in before:
            self.program.cost[each] -= cost
        if before:
            self.program._limit(before, [col])
            self.before[col] = tuple(before)
        self.line.copies.append(_CopyColumns(col, tuple(before), time, p, q))
        if self.lead:
            self.arriving.setdefault(time + self.lead, []).append((col, q))
        return col

    def _read(self, right: dict[int, Terms], count: int) -> None:
        """Let a read use the cheapest of the right pieces."""
        usable = sorted((q for q in self.direct if right[q]), key=lambda q: self.prices[q])
        if len(usable) > 2:
            self._access(right, count)
            return
        if len(self.row.pools) > len(usable):
            self.program._limit((), [col for q in usable for col in right[q]], -1)
        dearest = self.prices[usable[-1]] if usable else 0.0
        self.program.base += count * dearest
        for col in right[usable[0]] if usable else ():
            self.program.cost[col] -= count * (dearest - self.prices[usable[0]])

    def _write_columns(self, right: dict[int, Terms], count: int, is_first: bool) -> dict[int, int]:
        """Return the column of each pool in which a write may take place: the cheapest pool with a right piece."""
        if is_first:
            written = {q: right[q][0] for q in self.direct}
            for q, col in written.items():
                self.program.cost[col] += count * self.prices[q]
            return written
        written = self._access(right, count)
        for q, col in written.items():
            for p in self.direct:
                if (self.prices[p], p) < (self.prices[q], q):
                    self.program._limit([col, *right[p]], (), 1)
        return written

    def _access(self, right: dict[int, Terms], count: int) -> dict[int, int]:
        """Let an access use one of the right pieces; return the column of each pool that it may use."""
        chosen = {}
        for q in self.direct:
            if right[q]:
                chosen[q] = self.program._column(count * self.prices[q])
                self.program._limit([chosen[q]], right[q])
        self.program._equal.append(([*chosen.values()], 1))
        return chosen
