"""The integer program of the pieces of all buffers, without offsets: which pools hold a buffer at which times.

Each buffer has grid times at which copies may begin or arrive and operations may use it. A column states that a right
piece lies in a pool from one grid time to the next, that a copy begins, or that an access uses a pool. Rows limit the
load of each pool at each time. `docs/moves.md` has the rules.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from math import gcd
from typing import NamedTuple

import numpy as np

from memplan.planner.instance.instance import F64
from memplan.planner.model.buffer_table import I64, column
from memplan.planner.model.moving import MovingBuffer, Piece, moves_of
from memplan.planner.model.plan import BufferCopy
from memplan.planner.model.problem import Problem
from memplan.solvers.memory_choice.program import ChoiceProgram
from memplan.solvers.moves.capacities import Capacity
from memplan.solvers.moves.columns import Entries, ProgramColumns, Terms
from memplan.solvers.moves.timeline import Setting, Timeline, TimelineWriter

_MOST_GRID = 4_000
"""The limit of grid times, summed over the buffers, up to which copies may begin at every time."""
_SHIFTS = (1, 2, 4, 8, 16)
"""The steps by which copies may begin earlier than needed, if the bytes of a step are limited."""
_MOST_UNITS = 10**8
"""The limit up to which costs and loads are written as whole numbers of their common divisor."""


class LoadRow(NamedTuple):
    """The bytes by column that a pool holds at a time, or that are copied then (without a pool), and their limit.

    `sizes` has the bytes of each buffer in the row. If the limit `is_reached`, some of them add up to it. In the
    program, 1 stands for `unit` bytes.
    """

    pool: int | None
    time: int
    terms: dict[int, int]
    sizes: tuple[int, ...]
    most: int
    unit: float
    is_reached: bool = False

    @classmethod
    def from_terms(cls, pool: int | None, time: int, terms: dict[int, int], sizes: Sequence[int], most: int) -> LoadRow:
        """Return a row with the bytes of one unit: whole numbers are exact for the engine."""
        step = gcd(*sizes) or 1
        return cls(pool, time, terms, tuple(sizes), most, step if most // step <= _MOST_UNITS else most / 1e5)

    @property
    def has_sums(self) -> bool:
        """True if the sums of sizes are few enough to be listed."""
        return self.pool is not None and self.unit == int(self.unit)


class PiecesProgram:
    """The program of a problem; `is_complete` if a solution of any plan is a solution of the program."""

    def __init__(self, problem: Problem, rows: Sequence[MovingBuffer], limits: Sequence[Capacity]) -> None:
        """Write all columns and rows; `limits` may be lower than the capacities of the pools."""
        self.problem, self.limits = problem, limits
        self.rules = moves_of(problem)
        self.columns = ProgramColumns()
        every = sum(row.end - row.start for row in rows) <= _MOST_GRID
        has_open = any(limit.most is None for limit in limits)
        is_tiered = len(limits) == 2 and has_open and self.rules.bytes_per_step is None
        self.is_complete = every or is_tiered
        keeps_open = is_tiered and self.rules.lead == 0
        is_open = [keeps_open and limit.most is None for limit in limits]
        self._setting = Setting(problem.pools, self.rules.lead, is_open)
        self.timelines = [self._timeline(row, every) for row in rows]
        self._tie_groups()
        self.loads = [*self._load_rows()]
        """The rows of loads, whose limits may be lowered to what sizes can add up to."""

    def _timeline(self, row: MovingBuffer, every: bool) -> Timeline:
        line, first = Timeline(row, self._grid(row, every)), len(self.columns.cost)
        TimelineWriter(self.columns, line, self._setting).write()
        line.columns = range(first, len(self.columns.cost))
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
        starts |= {use.time + shift for use in row.uses if use.write is not None for shift in (0, *shifts)}
        starts.add(row.start)
        grid = starts | {time + lead for time in starts} | {use.time for use in row.uses} | {row.start, last}
        return sorted(time for time in grid if row.start <= time <= last)

    def _tie_groups(self) -> None:
        by_position = {line.row.position: line for line in self.timelines}
        for group in self.problem.together:
            lines = [by_position[i] for i in {self.problem.root_of(name) for name in group}]
            for one, other in pairwise(lines):
                for q in range(len(self.limits)):
                    self.columns.limit(one.points[0][q], other.points[0][q])
                    self.columns.limit(other.points[0][q], one.points[0][q])

    def forbid(self, terms: Sequence[int]) -> None:
        """Forbid that all of these columns are 1."""
        self.columns.limit(terms, (), len(terms) - 1)

    def columns_in(self, q: int, chosen: I64) -> Terms:
        """Return the columns of a solution by which pieces take room in a pool."""
        terms = {
            col for line in self.timelines for parts in (line.points, line.gaps) for each in parts for col in each[q]
        }
        return [col for col in sorted(terms) if chosen[col]]

    def rows(self) -> ChoiceProgram:
        """Return the program for the engine, whose first rows are equations."""
        written, n_rows = self.columns.rows(), len(self.loads)
        units = np.array([load.unit for load in self.loads])
        counts = [len(load.terms) for load in self.loads]
        loads = Entries(
            np.repeat(np.arange(n_rows), counts) + len(written.most),
            np.array([col for load in self.loads for col in load.terms], dtype=np.int64),
            np.array([size for load in self.loads for size in load.terms.values()]) / np.repeat(units, counts),
            self.load_limits(),
        )
        rows, index, value, most = (np.concatenate(each) for each in zip(written, loads, strict=True))
        n = max(1, len(self.columns.cost))
        keys, place = np.unique(rows * n + index, return_inverse=True)
        summed = np.zeros(len(keys))
        np.add.at(summed, place, value)
        none = column([])
        return ChoiceProgram(
            self.columns.n_choices,
            np.array(self.columns.cost) / self.cost_scale,
            column(np.searchsorted(keys, np.arange(len(most) + 1) * n)),
            column(keys % n),
            summed,
            most,
            none,
            none,
            none,
            np.zeros(0),
            self.columns.base / self.cost_scale,
        )

    def load_limits(self) -> F64:
        """Return the right-hand sides of the rows of loads, which are the last rows."""
        return np.array(
            [row.most // row.unit if row.unit == int(row.unit) else row.most / row.unit for row in self.loads]
        )

    @cached_property
    def cost_scale(self) -> float:
        """The divisor of costs: that which all have in common, or the largest for costs around 100,000."""
        costs = self.columns.cost
        largest = max(map(abs, costs), default=0.0)
        step = gcd(*map(int, costs)) if all(cost == int(cost) for cost in costs) else 0
        return step if step and largest / step <= _MOST_UNITS else max(1.0, largest / 1e5)

    @property
    def largest_cost(self) -> float:
        """A cost that no plan exceeds."""
        return self.columns.base + sum(cost for cost in self.columns.cost if cost > 0)

    def prices(self, dual: F64) -> list[float]:
        """Return the price of a byte in each row of loads, from the dual values of all rows of the program."""
        mine = dual[len(dual) - len(self.loads) :].tolist()
        return [max(0.0, -each * self.cost_scale / load.unit) for each, load in zip(mine, self.loads, strict=True)]

    def _load_rows(self) -> Iterator[LoadRow]:
        """Yield the rows of each limited pool, and of the bytes of a step; of equal rows, only the first."""
        moments = sorted({time for line in self.timelines for time in line.times})
        for q, limit in enumerate(self.limits):
            if limit.most is None:
                continue
            loads: list[dict[int, int]] = [{} for _ in moments]
            sizes: list[list[int]] = [[] for _ in moments]
            for line in self.timelines:
                self._add_loads(line, q, limit.load(line.row.size), moments, loads, sizes)
            seen = set()
            for time, load, each in zip(moments, loads, sizes, strict=True):
                if sum(load.values()) > limit.most and (key := tuple(load.items())) not in seen:
                    seen.add(key)
                    yield LoadRow.from_terms(q, time, load, each, limit.most)
        if self.rules.bytes_per_step is not None:
            begun: dict[int, dict[int, int]] = {}
            for line in self.timelines:
                for copy in line.copies:
                    step = begun.setdefault(copy.time, {})
                    step[copy.begun] = line.row.size
                    step.update(dict.fromkeys(copy.before, -line.row.size))
            for time, step in begun.items():
                yield LoadRow.from_terms(None, time, step, [*map(abs, step.values())], self.rules.bytes_per_step)

    def _add_loads(
        self, line: Timeline, q: int, size: int, moments: list[int], loads: list[dict[int, int]], sizes: list[list[int]]
    ) -> None:
        if size == 0 or q not in line.row.pools:
            return
        for j, time in enumerate(line.times):
            at = bisect_left(moments, time)
            end = line.times[j + 1] if j + 1 < len(line.times) else line.row.end
            until = bisect_left(moments, end)
            for terms, places in ((line.points[j][q], (at,)), (line.gaps[j][q], range(at + 1, until))):
                for place in places if terms else ():
                    sizes[place].append(size)
                    for col in terms:
                        loads[place][col] = loads[place].get(col, 0) + size

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
        values = np.full(len(self.columns.cost), np.nan)
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
        return self.columns.base + float(np.dot(np.array(self.columns.cost), values > 0.5))
