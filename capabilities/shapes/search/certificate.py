"""Proofs for all values: is the least peak of some programs within a ratio of the bound, everywhere?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from memplan.capabilities.shapes.search.boxes import ProofByBoxes
from memplan.planner.symbols.polynomials import Polynomial, plus
from memplan.planner.symbols.problem import Sized
from memplan.planner.symbols.space import Values

Forms = Sequence[Polynomial]
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


def within(sized: Sized, peaks: Sequence[Forms], loads: Forms, over: Fraction, deadline: float) -> Verdict:
    """Prove or refute that the least of some peaks is at most `1 + over` times the bound for all values.

    A peak is the largest of its forms, and the bound that of `loads`. `deadline` is a time of the monotonic clock.
    Without a largest value of a symbol only the first way is open: every form of a peak lies below one of the bound.
    """
    if not peaks:
        return Verdict("open")
    for forms in peaks:
        if all(any(sized.compare.never_above(form, load) for load in loads) for form in forms):
            return Verdict("proved", by="forms")
    if not sized.space.is_bounded:
        return Verdict("open")
    refuted = ProofByBoxes(sized, peaks, loads, over).refuted(deadline)
    if refuted is None:
        return Verdict("open")
    return (
        Verdict("proved", "boxes") if isinstance(refuted, bool) else Verdict("refuted", at=refuted[0], ratio=refuted[1])
    )
