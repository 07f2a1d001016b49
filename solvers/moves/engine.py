"""The solutions of a program of pieces by HiGHS: near the linear relaxation, near the best solution, and of all."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from math import gcd, inf, isinf
from types import TracebackType
from typing import NamedTuple

import numpy as np

from memplan.planner.instance.instance import F64
from memplan.planner.model.buffer_table import I64
from memplan.solvers.memory_choice.program import ProgramTask
from memplan.solvers.moves.prices import lowered_rows
from memplan.solvers.moves.program import PiecesProgram
from memplan.solvers.processes.child import ChildProcess
from memplan.solvers.search.control import Control

_PARTS = ((200, False), (400, False), (400, True), (400, True))
"""The parts that are solved first: the number of free buffers, and whether the others are as in the best solution."""
_LARGEST_PART = 0.6
"""The largest part of the buffers that may be free in a part."""
_SHARE = 0.7
"""The part of the time that is left which solving one program may take."""
_ROUNDS = 6
"""The limit of relaxations of one program, each after the limits of priced rows have been lowered."""
_ROUNDING = 1e-8
"""The relative difference up to which the engine takes a cost and its bound for equal."""


class Relaxation(NamedTuple):
    """The value of each column in the linear relaxation, the price of a byte in each row of loads, and the cost."""

    values: F64
    worth: list[float]
    cost: float


class Solution(NamedTuple):
    """The values of all columns, empty without a solution, and a lower bound on the cost."""

    values: F64
    bound: float


class PiecesEngine:
    """HiGHS in a child process, which ends with the `with` block."""

    def __init__(self, control: Control, seed: int | None) -> None:
        """Start the process."""
        self.control, self._random = control, np.random.default_rng(seed or 0)
        self._child = ChildProcess("memplan.solvers.memory_choice.program", lambda: control.is_over)

    def __enter__(self) -> "PiecesEngine":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._child.close()

    def relax(self, program: PiecesProgram) -> Relaxation:
        """Return the relaxation, after the limits of priced rows are lowered; it is empty without a result."""
        rows = program.rows()
        with contextlib.suppress(EOFError):  # The child ends with the search.
            for _ in range(_ROUNDS):
                self._child.give(ProgramTask(rows, np.zeros(0), self.control.remaining_s / 3))
                dual, values = (np.asarray(self._child.answer(), dtype=np.float64) for _ in range(2))
                if len(values) == 0:
                    break
                worth = program.prices(dual)
                if lowered_rows(program, worth) == 0:
                    cost = float(np.dot(rows.cost, values) + rows.base) * program.cost_scale
                    return Relaxation(values, worth, cost)
                fixed = len(rows.most) - len(program.loads)
                rows = replace(rows, most=np.concatenate((rows.most[:fixed], program.load_limits())))
        return Relaxation(np.zeros(0), [], 0.0)

    def solutions(self, program: PiecesProgram, relaxed: Relaxation, start: F64, target: float) -> Iterator[Solution]:
        """Yield a solution near the relaxation, better ones near it, and at last that of the whole program.

        In a part of the program, a few buffers are free. Each search ends at the target of the cost.
        """
        whole = program.cost_scale == int(program.cost_scale)
        aim = target / program.cost_scale + (0.25 if whole else 0.0)
        n, best = len(program.timelines), Solution(np.zeros(0), 0.0)
        parts = [part for part in _PARTS if part[0] < _LARGEST_PART * n and len(relaxed.values)]
        for free, is_near_best in (*parts, (n, True)):
            is_whole, is_known = free == n, is_near_best and len(best.values) > 0
            seconds = self.control.remaining_s * (_SHARE if is_whole else _SHARE / (len(parts) + 1))
            around = best.values if is_known else relaxed.values
            fixed = None if is_whole else self._fixed_values(program, around, self._random.permutation(n)[:free])
            known = best.values if is_known else start if is_whole else np.zeros(0)
            try:
                self._child.give(ProgramTask(None, known, seconds, 0.0, fixed, aim))
                values, bound = (np.asarray(self._child.answer(), dtype=np.float64) for _ in range(2))
            except EOFError:
                return
            if len(values) and (len(best.values) == 0 or program.cost_of(values) < program.cost_of(best.values)):
                best = Solution(values, 0.0)
            if is_whole:
                yield Solution(values, self._whole_bound(program, values, float(bound[0]) * program.cost_scale))
            elif len(values):
                yield Solution(values, 0.0)

    def _fixed_values(self, program: PiecesProgram, around: F64, free: I64) -> F64:
        """Return the values of the columns that are not free; those of buffers with fractions are free too."""
        fixed, fractions = np.round(around), np.abs(around - np.round(around)) > 1e-6
        chosen = {*free.tolist()}
        for k, line in enumerate(program.timelines):
            part = slice(line.columns.start, line.columns.stop)
            if k in chosen or fractions[part].any():
                fixed[part] = np.nan
        return fixed

    @staticmethod
    def _whole_bound(program: PiecesProgram, values: F64, least: float) -> float:
        """Return the engine's bound, rounded up to the next sum of the costs of columns if these are whole numbers."""
        if isinf(least) or len(values) == 0:
            return inf if least == inf else max(0.0, least * (1 - _ROUNDING))
        cost, costs = program.cost_of(values), [*program.columns.cost, program.columns.base]
        if cost - least <= abs(cost) * _ROUNDING:
            return cost
        step = gcd(*map(int, costs)) if all(each == int(each) for each in costs) else 0
        return min(cost, float(-int(-(least - step * 1e-3) // step) * step)) if step else max(0.0, least)
