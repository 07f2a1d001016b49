"""Proofs for all values: is the least peak of some programs within a ratio of the bound, everywhere?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import isqrt, prod
from typing import Literal

import numpy as np

from memplan.planner.errors.extras import is_installed
from memplan.planner.symbols.comparing import Exact, box_of, not_negative
from memplan.planner.symbols.polynomials import Polynomial, minus, plus, scaled
from memplan.planner.symbols.problem import Sized
from memplan.planner.symbols.space import Values
from memplan.solvers.symbolic.programs import StackedProgram

LEAF = 4096
"""Boxes of at most so many values are looked at value by value."""
Found = Literal["proved", "refuted", "open"]
Ends = dict[str, tuple[int, int]]


def load_forms(sized: Sized) -> list[Polynomial]:
    """Return polynomials whose maximum is the bound: sums of the sizes of live sets, without those that others pass."""
    change = np.zeros((sized.live_sets + 1, len(sized.forms)), np.int64)
    np.add.at(change, (sized.first, sized.form_of), 1)
    np.subtract.at(change, (sized.last, sized.form_of), 1)
    counts = np.unique(change.cumsum(axis=0)[:-1], axis=0)
    counts = counts[np.argsort(-counts.sum(axis=1), kind="stable")]
    kept: list[np.ndarray] = []
    for row in counts:
        if not any(bool((row <= other).all()) for other in kept):
            kept.append(row)
    sums: list[Polynomial] = []
    for row in kept:
        total: Polynomial = {}
        for form, count in zip(sized.forms, row.tolist(), strict=True):
            total = plus(total, form, count) if count else total
        sums.append(total)
    return sized.compare.undominated(sums) if sums else [{}]


@dataclass(frozen=True)
class Verdict:
    """The outcome of a proof: `refuted` has the value `at` which the least peak is `ratio` times the bound."""

    found: Found
    by: str = ""
    at: Values | None = None
    ratio: Fraction = Fraction(1)


def within(
    sized: Sized, programs: Sequence[StackedProgram], loads: Sequence[Polynomial], over: Fraction, deadline: float
) -> Verdict:
    """Prove or refute that the least peak is at most `1 + over` times the bound for all values.

    `deadline` is a time of the monotonic clock. Without a largest value of a symbol only the first way is open: every
    form of the peak lies below one of the bound.
    """
    usable = [program for program in programs if program.peak_forms is not None]
    if not usable:
        return Verdict("open")
    for program in usable:
        if all(any(sized.compare.never_above(form, load) for load in loads) for form in program.peak_forms or ()):
            return Verdict("proved", by="forms")
    if not sized.space.is_bounded:
        return Verdict("open")
    if is_installed("ortools") and deadline > time.monotonic():
        # Imported here: OR-Tools takes half a second, and most programs are proved without it.
        from memplan.solvers.symbolic.by_solver import found_by_solver

        found = found_by_solver(sized, [each.peak_forms or () for each in usable], loads, over, deadline)
        if isinstance(found, dict):
            return _at(sized, usable, loads, found)
        if found:
            return Verdict("proved", by="cp-sat")
        if time.monotonic() > deadline:  # the comparisons that boxes begin with look at no clock
            return Verdict("open")
    return _Boxes(sized, usable, loads, over, deadline).verdict()


def _at(sized: Sized, programs: Sequence[StackedProgram], loads: Sequence[Polynomial], at: Values) -> Verdict:
    """Return the verdict that a value refutes."""
    space = sized.space
    peak = min(max(space.value(form, at) for form in program.peak_forms or ()) for program in programs)
    load = max(space.value(form, at) for form in loads)
    return Verdict("refuted", at=at, ratio=Fraction(peak, max(1, load)))


class _Boxes:
    """The proof by boxes: halves of the ranges, in each of which one program is proved, or which are looked at."""

    def __init__(
        self,
        sized: Sized,
        programs: Sequence[StackedProgram],
        loads: Sequence[Polynomial],
        over: Fraction,
        deadline: float,
    ) -> None:
        self.sized = sized
        self.programs = programs
        self.loads = loads
        self.over = over
        self.deadline = deadline
        top, bottom = over.numerator + over.denominator, over.denominator
        lower = sized.compare.lower
        self.rooms: list[list[list[list[Exact]]]] = [
            [
                [lower(minus(scaled(load, top), scaled(form, bottom))) for load in loads]
                for form in program.peak_forms or ()
            ]
            for program in programs
        ]  # of a program, a form of its peak, a load: what is not negative where the form is allowed

    def verdict(self) -> Verdict:
        box: Ends = {
            name: (low, high if high is not None else low) for name, (low, high) in box_of(self.sized.space).items()
        }
        work = [(box, [list(range(len(rooms))) for rooms in self.rooms])]
        while work:
            box, left = work.pop()
            if time.monotonic() > self.deadline:
                return Verdict("open")
            left = [
                [i for i in forms if not self._allowed(rooms[i], box)]
                for forms, rooms in zip(left, self.rooms, strict=True)
            ]
            if not all(left):
                continue
            count = prod(high - low + 1 for low, high in box.values())
            if (refuted := self._looked_at(box, every=count <= LEAF)) is not None:
                return refuted
            if count > LEAF:
                work += [(half, left) for half in _halves(box)]
        return Verdict("proved", "boxes")

    def _allowed(self, rooms: Sequence[Sequence[Exact]], box: Ends) -> bool:
        return any(all(not_negative(case, box) for case in room) for room in rooms)

    def _looked_at(self, box: Ends, *, every: bool) -> Verdict | None:
        """Return the worst value of a box, or of its corners and middle, where it is not allowed."""
        axes = [range(low, high + 1) if every else sorted({low, (low + high) // 2, high}) for low, high in box.values()]
        grid = np.array(list(product(*axes)), np.int64).reshape(-1, len(box))
        space = self.sized.space
        columns = space.filled(dict(zip(box, grid.T, strict=True)))
        peak = np.min(
            [np.max([space.at(form, columns) for form in each.peak_forms or ()], axis=0) for each in self.programs],
            axis=0,
        )
        load = np.max([space.at(form, columns) for form in self.loads], axis=0)
        worst = max(range(len(peak)), key=lambda i: Fraction(int(peak[i]), max(1, int(load[i]))))
        ratio = Fraction(int(peak[worst]), max(1, int(load[worst])))
        if ratio <= 1 + self.over:
            return None
        point = {name: int(grid[worst, i]) * space.symbols[name].multiple_of for i, name in enumerate(box)}
        return Verdict("refuted", at=point, ratio=ratio)


def _halves(box: Ends) -> list[Ends]:
    """Return the halves of a box across the symbol whose values differ most by ratio; wide ones are cut by ratios."""
    name = max(box, key=lambda name: (box[name][0] < box[name][1], (box[name][1] + 1) / (box[name][0] + 1)))
    low, high = box[name]
    middle = isqrt(max(low, 1) * high) if low * 4 < high else (low + high) // 2
    middle = min(high - 1, max(low, middle))
    return [{**box, name: (low, middle)}, {**box, name: (middle + 1, high)}]
