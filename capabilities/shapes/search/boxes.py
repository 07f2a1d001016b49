"""The proof for all values by boxes: halves of the ranges, in each of which one program is proved, or looked at."""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from memplan.planner.symbols.comparing import LEAF, bounded, halves, not_negative
from memplan.planner.symbols.polynomials import Polynomial, minus, scaled
from memplan.planner.symbols.problem import Sized
from memplan.planner.symbols.space import Values
from memplan.planner.symbols.tables import Box, settled

MOST_PAIRS = 2**24
"""The most numbers that compare forms with the bound, 128 MB; 600 forms with 27 loads of T5's training are 200,000."""
Points = NDArray[np.int64]
Left = list[NDArray[np.int64]]
"""Of each program, the forms that are not proved in a box."""


class ProofByBoxes:
    """The question whether the least peak of some programs is at most `1 + over` times the bound, for all values."""

    def __init__(
        self, sized: Sized, peaks: Sequence[Sequence[Polynomial]], loads: Sequence[Polynomial], over: Fraction
    ) -> None:
        self.sized, self.peaks, self.loads, self.over = sized, peaks, loads, over
        self.table = sized.compare.table([*loads, *(form for forms in peaks for form in forms)])
        self.begins = np.cumsum([len(loads), *map(len, peaks)])[:-1].tolist()
        count = sum(map(len, peaks)) * len(loads) * (len(self.table.powers) if self.table else 0)
        self.is_usable = self.table is not None and count <= MOST_PAIRS
        if self.table is not None and self.is_usable:
            every = np.arange(len(loads))[None, :]
            self.rooms = [
                self.table.room(every, begin + np.arange(len(forms))[:, None], float(1 + over))
                for begin, forms in zip(self.begins, peaks, strict=True)
            ]

    def refuted(self, deadline: float) -> tuple[Values, Fraction] | bool | None:
        """Return a value that is not allowed, and how many times the bound is needed there; False: there is none.

        None where neither is known by a time of the monotonic clock.
        """
        whole = bounded(self.sized.compare.box)
        if not self.is_usable or whole is None:
            return None
        work: list[tuple[Box, Left]] = [(whole, [np.arange(len(forms)) for forms in self.peaks])]
        while work:
            if time.monotonic() > deadline:
                return None
            box, left = work.pop()
            left = [self._left(i, rows, box) for i, rows in enumerate(left)]
            if not all(map(len, left)):
                continue
            count = prod(high - low + 1 for low, high in box)
            if (found := self._looked_at(box, left, every=count <= LEAF)) is not None:
                return found
            if count > LEAF:
                work += [(half, left) for half in halves(box)]
        return False

    def _left(self, program: int, rows: NDArray[np.int64], box: Box) -> NDArray[np.int64]:
        """Return those of a program's forms that are not proved to be allowed in a box."""
        assert self.table is not None
        error = self.table.error(box)
        margin = float(1 + self.over) * error[None, : len(self.loads)] + error[self.begins[program] + rows][:, None]
        is_sure, is_open = settled(self.rooms[program][:, rows], self.table.to_bernstein(box), margin)
        is_proved = np.asarray(is_sure.any(axis=1))
        for i in np.flatnonzero(~is_proved & is_open.any(axis=1)):
            loads = np.flatnonzero(is_open[i]).tolist()
            is_proved[i] = any(self._is_allowed(self.peaks[program][rows[i]], self.loads[at], box) for at in loads)
        return rows[~is_proved]

    def _is_allowed(self, form: Polynomial, load: Polynomial, box: Box) -> bool:
        top, bottom = self.over.numerator + self.over.denominator, self.over.denominator
        ends = dict(zip(self.sized.space.symbols, box, strict=True))
        cases = self.sized.compare.lower(minus(scaled(load, top), scaled(form, bottom)))
        return all(not_negative(case, ends) for case in cases)

    def _looked_at(self, box: Box, left: Left, *, every: bool) -> tuple[Values, Fraction] | None:
        """Return the worst value of a box, or of its corners and middles, where it is not allowed."""
        assert self.table is not None
        axes = [range(low, high + 1) if every else sorted({low, (low + high) // 2, high}) for low, high in box]
        grid = np.array(list(product(*axes)), np.int64).reshape(-1, len(box))
        symbols = self.sized.space.symbols
        columns = self.sized.space.filled({name: grid[:, i] for i, name in enumerate(symbols)} or {"": grid[:, 0]})
        # The forms that are proved in the box break no rule in it.
        ends = [self.table.values(columns, begin + rows) for begin, rows in zip(self.begins, left, strict=True)]
        peak = np.min([each.max(axis=0) for each in ends], axis=0)
        load = np.maximum(self.table.values(columns, np.arange(len(self.loads))).max(axis=0), 1)
        for at in np.argsort(-(peak / load), kind="stable").tolist():
            ratio = Fraction(int(peak[at]), int(load[at]))
            if ratio > 1 + self.over:
                steps = zip(symbols.items(), grid[at].tolist(), strict=True)
                return {name: step * symbol.multiple_of for (name, symbol), step in steps}, ratio
            if peak[at] / load[at] < float(1 + self.over) * (1 - 1e-9):
                break
        return None
