"""Proofs for all values: is the least peak of some programs within a ratio of the bound, everywhere?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from memplan.capabilities.shapes.search.boxes import ProofByBoxes
from memplan.capabilities.shapes.search.programs import StackedProgram
from memplan.planner.errors.extras import is_installed
from memplan.planner.symbols.polynomials import Polynomial, plus
from memplan.planner.symbols.problem import Sized
from memplan.planner.symbols.space import Values

FEW_BOXES, MOST_BOXES = 1000, 10**9
"""The boxes that are tried before CP-SAT, and after it."""
Found = Literal["proved", "refuted", "open"]


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
    forms = [program.peak_forms or () for program in usable]
    boxes = ProofByBoxes(sized, forms, loads, over)
    if (refuted := boxes.refuted(deadline, FEW_BOXES)) is None and is_installed("ortools"):
        # Imported here: OR-Tools takes half a second, and most programs are proved without it.
        from memplan.capabilities.shapes.search.by_solver import found_by_solver

        found = found_by_solver(sized, forms, loads, over, deadline)
        if isinstance(found, dict):
            return _at(sized, usable, loads, found)
        if found:
            return Verdict("proved", by="cp-sat")
    if refuted is None and (refuted := boxes.refuted(deadline, MOST_BOXES)) is None:
        return Verdict("open")
    if isinstance(refuted, bool):
        return Verdict("proved", "boxes")
    at, ratio = refuted
    return Verdict("refuted", at=at, ratio=ratio)


def _at(sized: Sized, programs: Sequence[StackedProgram], loads: Sequence[Polynomial], at: Values) -> Verdict:
    """Return the verdict that a value refutes."""
    space = sized.space
    peak = min(max(space.value(form, at) for form in program.peak_forms or ()) for program in programs)
    load = max(space.value(form, at) for form in loads)
    return Verdict("refuted", at=at, ratio=Fraction(peak, max(1, load)))
