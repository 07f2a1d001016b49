"""The solutions of a program of pieces by HiGHS, in parts of growing size around its linear relaxation."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd, inf
from types import TracebackType
from typing import NamedTuple

import numpy as np

from memplan.planner.instance.instance import F64
from memplan.solvers.memory_choice.program import ProgramTask
from memplan.solvers.moves.prices import lowered_rows
from memplan.solvers.moves.program import PiecesProgram
from memplan.solvers.processes.child import ChildProcess
from memplan.solvers.search.control import Control

_FREE = (200, 400, 800)
"""The numbers of buffers whose columns are free, one after another, while the others are as in the relaxation."""
_SHARE = 0.7
"""The part of the time that is left which solving one program may take."""
_ROUNDS = 6
"""The limit of relaxations of one program, each after the limits of priced rows have been lowered."""
_ROUNDING = 1e-8
"""The relative difference up to which the engine takes a cost and its bound for equal."""


class Relaxation(NamedTuple):
    """The value of each column in the linear relaxation, and the price of a byte in each row of loads."""

    values: F64
    worth: list[float]


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

    def __enter__(self) -> PiecesEngine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._child.close()

    def relax(self, program: PiecesProgram) -> Relaxation:
        """Return the relaxation, after the limits of priced rows are lowered; it is empty without a result."""
        try:
            for _ in range(_ROUNDS):
                self._child.give(ProgramTask(program.rows(), np.zeros(0), self.control.remaining_s / 3))
                dual, values = (np.asarray(self._child.answer(), dtype=np.float64) for _ in range(2))
                if len(values) == 0:
                    break
                worth = program.prices(dual)
                if lowered_rows(program, worth) == 0:
                    return Relaxation(values, worth)
        except EOFError:  # The child ends with the search.
            return Relaxation(np.zeros(0), [])
        return Relaxation(values, worth if len(values) else [])

    def solutions(self, program: PiecesProgram, relaxed: F64, start: F64, target: float) -> Iterator[Solution]:
        """Yield solutions of growing parts of the program, and at last of all of it, each down to the target."""
        whole = program.cost_scale == int(program.cost_scale)
        aim = target / program.cost_scale + (0.25 if whole else 0.0)
        n, best = len(program.timelines), Solution(np.zeros(0), 0.0)
        order = self._random.permutation(n)
        for count in (*(each for each in _FREE if each < n and len(relaxed)), None):
            seconds = self.control.remaining_s * (_SHARE if count is None else _SHARE / 4)
            fixed = None if count is None else self._fixed(program, relaxed, order[:count])
            known = best.values
            if count is None and len(known) == 0:
                known = start
            elif len(known) and program.cost_of(known) <= target:
                known, order = np.zeros(0), self._random.permutation(n)  # That one cannot be packed; find another.
            try:
                self._child.give(ProgramTask(None, known, seconds, 0.0, fixed, aim))
                values, bound = (np.asarray(self._child.answer(), dtype=np.float64) for _ in range(2))
            except EOFError:
                return
            if len(values):
                best = Solution(values, 0.0)
            if count is None:
                yield Solution(values, self._whole_bound(program, values, float(bound[0]) * program.cost_scale))
            elif len(values):
                yield best

    def _fixed(self, program: PiecesProgram, relaxed: F64, free: np.ndarray) -> F64:
        """Return the values of the columns that are not free; those of buffers with fractions are free too."""
        fixed, fractions = np.round(relaxed), np.abs(relaxed - np.round(relaxed)) > 1e-6
        for k, line in enumerate(program.timelines):
            part = slice(line.columns.start, line.columns.stop)
            if k in free or fractions[part].any():
                fixed[part] = np.nan
        return fixed

    @staticmethod
    def _whole_bound(program: PiecesProgram, values: F64, least: float) -> float:
        """Return the engine's bound, rounded up to the next sum of the costs of columns if these are whole numbers."""
        if least == inf or len(values) == 0:
            return inf if least == inf else max(0.0, least * (1 - _ROUNDING))
        cost, costs = program.cost_of(values), [*program.columns.cost, program.columns.base]
        if cost - least <= abs(cost) * _ROUNDING:
            return cost
        step = gcd(*map(int, costs)) if all(each == int(each) for each in costs) else 0
        return min(cost, float(-int(-(least - step * 1e-3) // step) * step)) if step else max(0.0, least)
