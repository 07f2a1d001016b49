"""The cheapest choice of pools by HiGHS, as an integer program without offsets, in a child process.

A binary column puts an item into a pool. A row limits the load of a pool in a live set, and another row forbids each
set of items that is known not to fit. The linear relaxation's dual values are prices of capacity. They are rounded to
multipliers, whose bound is computed exactly, so that no bound relies on HiGHS.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from memplan.planner.errors.extras import is_installed
from memplan.planner.instance.instance import F64
from memplan.planner.model.buffer_table import ABSENT, I64, column
from memplan.solvers.memory_choice.knapsack import Knapsack
from memplan.solvers.memory_choice.multipliers import Multipliers, NoGood
from memplan.solvers.processes.child import ChildProcess
from memplan.solvers.processes.parent import Parent
from memplan.solvers.search.incumbent import Search

_MOST_ENTRIES = 4_000_000
"""The limit of entries in all rows; larger programs would take minutes."""
_ROW_SCALE = 1e5
"""The right-hand side to which rows are scaled, as the engine's tolerances are absolute."""
_GAP = 2e-5
"""The relative gap at which the engine stops; the packing usually costs more."""


@dataclass(frozen=True, eq=False)
class ChoiceProgram:
    """The rows `value @ x <= most`, row by row from `first`, and the costs of the columns.

    The first `n_items` rows give each item one pool. Row n_items + r limits the load of pool[r] in the live set row[r],
    in `scale[r]` parts of a unit. `cell` is the number of each column in an array (p, k).
    """

    n_items: int
    cost: F64
    first: I64
    index: I64
    value: F64
    most: F64
    cell: I64
    pool: I64
    row: I64
    scale: F64
    base: float = 0.0
    """The cost of a solution in which all columns are 0."""


class ProgramTask(NamedTuple):
    """The task of relaxing a program or, without one, of solving the last one in whole numbers from a start.

    `start` is the value of each column, or not a number if it is unknown, and `fixed` that of the columns which are not
    free. The engine stops after some seconds, at a relative gap, or at a target of the cost. If `shows_each`, each
    better solution is sent when it is found.
    """

    program: ChoiceProgram | None
    start: F64
    seconds: float
    gap: float = _GAP
    fixed: F64 | None = None
    target: float = -inf
    shows_each: bool = False


def write_program(knapsack: Knapsack, limit: I64, nogoods: Sequence[NoGood]) -> ChoiceProgram | None:
    """Return the program of all choices within `limit` (p, rows) and the no-goods, or None if it is too large."""
    p, k = knapsack.homes.shape
    number = np.full((p, k), ABSENT)
    number[knapsack.homes] = np.arange(int(knapsack.homes.sum()))
    cell = np.flatnonzero(knapsack.homes.ravel())
    rows = [(np.arange(k).repeat(p), number.T.ravel(), np.ones(p * k))]
    most, pools, times, scales = [np.ones(k)], [], [], []
    count = k
    spans = knapsack.end - knapsack.start
    for q in range(p):
        is_here = knapsack.homes[q, knapsack.item_of_lifetime]
        demand = knapsack.row_sums(np.where(is_here, knapsack.size[q, knapsack.lifetime_buffer], 0)[None, :])[0]
        binding = np.flatnonzero(demand > limit[q])
        place = np.full(knapsack.rows, ABSENT)
        place[binding] = np.arange(len(binding))
        if int(spans[is_here].sum()) > _MOST_ENTRIES:
            return None
        mine = np.flatnonzero(is_here)
        each = np.repeat(mine, spans[mine])
        time = (
            np.arange(len(each)) - np.repeat(np.cumsum(spans[mine]) - spans[mine], spans[mine]) + knapsack.start[each]
        )
        is_bound = place[time] >= 0
        each, time = each[is_bound], time[is_bound]
        scale = _ROW_SCALE / np.maximum(1, limit[q, binding])
        size = knapsack.size[q, knapsack.lifetime_buffer[each]] * scale[place[time]]
        rows.append((count + place[time], number[q, knapsack.item_of_lifetime[each]], size))
        most.append(np.where(limit[q, binding] > 0, _ROW_SCALE, 0.0))
        pools.append(np.full(len(binding), q))
        times.append(binding)
        scales.append(scale)
        count += len(binding)
    for nogood in nogoods:
        items = column(sorted(nogood.items))
        rows.append((np.full(len(items), count), number[nogood.pool, items], np.ones(len(items))))
        most.append(np.array([len(items) - 1.0]))
        count += 1
    row, index, value = (np.concatenate(part) for part in zip(*rows, strict=True))
    row, index, value = (values[index >= 0] for values in (row, index, value))
    keys, position = np.unique(row * max(1, len(cell)) + index, return_inverse=True)
    summed = np.zeros(len(keys))
    np.add.at(summed, position, value)  # An item with several live buffers has one entry.
    first = np.searchsorted(keys, np.arange(count + 1) * max(1, len(cell)))
    cost = knapsack.price.ravel()[cell].astype(np.float64)
    return ChoiceProgram(
        k,
        cost / max(1.0, cost.max(initial=0.0)) * _ROW_SCALE,
        column(first),
        column(keys % max(1, len(cell))),
        summed,
        np.concatenate(most),
        column(cell),
        column(np.concatenate(pools)),
        column(np.concatenate(times)),
        np.concatenate(scales),
    )


class ProgramSolver:
    """HiGHS in a child process, which starts with the first program and ends with the `with` block."""

    def __init__(self, knapsack: Knapsack, search: Search) -> None:
        """Start no process yet."""
        self.knapsack, self.search = knapsack, search
        # The engine's work cannot be counted, so a search by work has none.
        self.is_ready = is_installed("highspy") and not search.deterministic and not search.counts_processor
        self._child: ChildProcess | None = None
        self._program: ChoiceProgram | None = None

    def __enter__(self) -> "ProgramSolver":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._child is not None:
            self._child.close()

    def relax(self, limit: I64, nogoods: Sequence[NoGood]) -> tuple[I64, Multipliers] | None:
        """Return (the pool of each item in the linear relaxation, rounded; multipliers), or None without a result.

        The rounded choice may exceed the limits (p, rows).
        """
        self._program = write_program(self.knapsack, limit, nogoods) if self.is_ready else None
        if self._program is None:
            return None
        if self._child is None:
            self._child = ChildProcess("memplan.solvers.memory_choice.program", lambda: self.search.is_over)
        self._child.give(ProgramTask(self._program, np.zeros(0), self.search.remaining_s / 2))
        dual, values = self._answer(), self._answer()
        if len(values) == 0 or len(dual) == 0:
            return None
        return self._home(values), self._multipliers(self._program, dual)

    def begin(self, start: I64, seconds: float) -> bool:
        """Let the child solve the last program in whole numbers, from a choice; return False without a program."""
        if not self.is_ready or self._program is None or self._child is None:
            return False
        home = np.zeros(self.knapsack.homes.shape)
        home[start, np.arange(len(start))] = 1
        self.is_ready = False
        self._child.give(ProgramTask(None, home.ravel()[self._program.cell], seconds, shows_each=True))
        return True

    def choices(self) -> Iterator[I64]:
        """Wait for each choice that `begin` leads to, and yield the pool of each item; the cheapest choice is last."""
        while len(values := self._answer()):
            yield self._home(values)
        self.is_ready = len(self._answer()) > 0

    def _answer(self) -> F64:
        """Return the child's next array, which is empty if the child fails."""
        assert self._child is not None
        with contextlib.suppress(EOFError, ValueError, TypeError):
            return np.asarray(self._child.answer(), dtype=np.float64)
        self.is_ready = False
        return np.zeros(0)

    def _home(self, values: F64) -> I64:
        assert self._program is not None
        whole = np.full(self.knapsack.homes.size, -1.0)
        whole[self._program.cell] = values
        return column(whole.reshape(self.knapsack.homes.shape).argmax(axis=0))

    def _multipliers(self, program: ChoiceProgram, dual: F64) -> Multipliers:
        knapsack = self.knapsack
        unit = float(knapsack.price.max(initial=0)) / _ROW_SCALE
        worth = np.zeros((len(knapsack.homes), knapsack.rows))
        part = slice(program.n_items, program.n_items + len(program.row))
        worth[program.pool, program.row] = np.maximum(0.0, -dual[part]) * program.scale * unit
        return Multipliers.from_prices(knapsack, worth)


def main() -> None:
    """Solve programs in the child process, each one first relaxed, and then in whole numbers if the parent wants it.

    For a program, the dual values of its rows and the values of its columns are sent; else the values of its columns,
    and a lower bound on the cost, which is infinite if there is no solution. After values of several solutions follow
    none.
    """
    import highspy

    parent, lp = Parent(is_kept=True), highspy.HighsLp()
    with contextlib.suppress(EOFError):
        while True:
            task = parent.next_task()
            highs = highspy.Highs()
            highs.setOptionValue("output_flag", False)
            highs.setOptionValue("threads", 1)
            highs.setOptionValue("time_limit", task.seconds)
            if task.program is not None:
                lp = linear_program(highspy, task.program)
                highs.passModel(lp)
            else:
                highs.setOptionValue("mip_rel_gap", task.gap)
                highs.setOptionValue("objective_target", task.target)
                fixed = np.full(lp.num_col_, np.nan) if task.fixed is None else task.fixed
                lp.col_lower_, lp.col_upper_ = np.nan_to_num(fixed), np.nan_to_num(fixed, nan=1.0)
                lp.integrality_ = [highspy.HighsVarType.kInteger] * lp.num_col_
                highs.passModel(lp)
                if len(task.start):
                    known = np.flatnonzero(~np.isnan(task.start)).astype(np.int32)
                    highs.setSolution(len(known), known, task.start[known])
            if task.shows_each:  # A pipe holds many solutions of one byte a column, so the engine need not wait.
                highs.cbMipImprovingSolution.subscribe(
                    lambda event: parent.send(np.rint(event.data_out.mip_solution).astype(np.int8))
                )
            highs.run()
            is_found = highs.getInfo().primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
            found = highs.getSolution()
            if task.program is not None:
                parent.send(np.array(found.row_dual) if is_found else np.zeros(0))
            parent.send(np.array(found.col_value) if is_found else np.zeros(0))
            if task.shows_each and is_found:
                parent.send(np.zeros(0))
            if task.program is None:
                is_empty = highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible
                parent.send(np.array([np.inf if is_empty else highs.getInfo().mip_dual_bound]))


def linear_program(highspy: Any, program: ChoiceProgram) -> Any:
    """Return a program as HiGHS's model, with columns between 0 and 1."""
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(program.cost), len(program.most)
    lp.offset_ = program.base
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = program.cost, np.zeros(lp.num_col_), np.ones(lp.num_col_)
    least = np.full(lp.num_row_, -highspy.kHighsInf)
    least[: program.n_items] = 1.0
    lp.row_lower_, lp.row_upper_ = least, program.most
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = program.first, program.index, program.value
    return lp


if __name__ == "__main__":
    main()
