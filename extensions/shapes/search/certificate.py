"""Proofs that, for all symbol values, the lowest peak of several programs is within a ratio of the lower bound.

If comparing polynomials gives no proof, the ranges of the symbols are halved into boxes, and one program is proved in
each box.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memplan.programs.symbols.comparing import LEAF, box_ends, box_halves, is_non_negative
from memplan.programs.symbols.polynomials import Polynomial, minus, plus, scale
from memplan.programs.symbols.sized import CompiledSizes
from memplan.programs.symbols.space import Values
from memplan.programs.symbols.tables import Box, sign_masks

Forms = Sequence[Polynomial]
_MOST_CELLS = 2**22
"""The maximum number of entries in the table of live sets by sizes; the bound omits live sets beyond it."""
_MOST_UNCOMPARED = 16
"""The maximum number of polynomials of a bound that are still compared pairwise after the time is over."""
Found = Literal["proved", "refuted", "open"]


def lower_bound_forms(sized: CompiledSizes, is_over: Callable[[], bool] = lambda: False) -> list[Polynomial]:
    """Return polynomials whose maximum is a lower bound: sums of live sets, and ends of pinned buffers.

    Polynomials that never exceed another one are omitted. Once `is_over` returns True, fewer are returned: still a
    bound.
    """
    form_of, most = (
        sized.form_of[sized.members],
        np.array([float(sized.space.magnitude_bound(row) or 0) for row in sized.forms]),
    )
    # The table may have no room for all live sets, so sort them by their bytes and keep the largest.
    largest = np.argsort(-np.bincount(sized.sets, most[form_of], sized.live_sets), kind="stable")
    row_of = np.full(sized.live_sets, -1)
    row_of[largest] = np.arange(sized.live_sets)
    rows, is_in = row_of[sized.sets], row_of[sized.sets] < (height := max(1, _MOST_CELLS // max(1, len(sized.forms))))
    counts = np.zeros((min(height, sized.live_sets), len(sized.forms)), np.int64)
    np.add.at(counts, (rows[is_in], form_of[is_in]), 1)
    counts = np.unique(counts, axis=0)
    counts = counts[np.argsort(-counts.sum(axis=1), kind="stable")]
    rows, count = np.zeros_like(counts), 0
    for row in counts:
        if count and is_over():
            break
        if not (row <= rows[:count]).all(axis=1).any():
            rows[count] = row
            count += 1
    pinned = [(sized.forms[at], sized.forms[sized.form_of[buffer]]) for buffer, at in sized.pins]
    sums: list[Polynomial] = [plus(at, size) for at, size in pinned if sized.compare.is_never_above({(): 1}, size)]
    for row in rows[:count]:
        if sums and is_over():
            break
        total: Polynomial = {}
        for form, count in zip(sized.forms, row.tolist(), strict=True):
            total = plus(total, form, count) if count else total
        sums.append(total)
    sums = sums[:_MOST_UNCOMPARED] if is_over() else sums
    return sized.compare.drop_dominated(sums) if sums else [{}]


@dataclass(frozen=True)
class Verdict:
    """The outcome of a proof; if refuted, the lowest peak is `ratio` times the bound at the symbol values `at`."""

    found: Found
    by: str = ""
    at: Values | None = None
    ratio: Fraction = Fraction(1)


def prove_within(
    sized: CompiledSizes, peaks: Sequence[Forms], loads: Forms, over: Fraction, deadline: float
) -> Verdict:
    """Prove or refute that, for all symbol values, the lowest of `peaks` is at most `1 + over` times the lower bound.

    A peak is the maximum of several polynomials (its forms), and the bound is the maximum of `loads`. `deadline` is a
    time of the monotonic clock. If a symbol has no maximum, only one proof is tried: that every form of a peak is at
    most one form of the bound.
    """
    if not peaks:
        return Verdict("open")
    for forms in peaks:
        if all(any(sized.compare.is_never_above(form, load) for load in loads) for form in forms):
            return Verdict("proved", by="forms")
    if not sized.space.is_bounded:
        return Verdict("open")
    refuted = ProofByBoxes(sized, peaks, loads, over).refutation(deadline)
    if refuted is None:
        return Verdict("open")
    return (
        Verdict("proved", "boxes") if isinstance(refuted, bool) else Verdict("refuted", at=refuted[0], ratio=refuted[1])
    )


_ENDLESS = Fraction(2**62)
"""The ratio of a peak to a bound of 0, which is larger than all ratios that proofs try."""
MOST_PAIRS = 2**24
"""The maximum number of integers in a comparison of forms (polynomials): 128 MB; T5's training needs 200,000."""
Points = NDArray[np.int64]
Left = list[NDArray[np.int64]]
"""The type of the indices, for each program, of the forms (polynomials) that are not yet proved in a box."""


class ProofByBoxes:
    """A proof by boxes of symbol values: in each box, some program has a peak of at most `1 + over` times the bound."""

    def __init__(
        self, sized: CompiledSizes, peaks: Sequence[Sequence[Polynomial]], loads: Sequence[Polynomial], over: Fraction
    ) -> None:
        """Prepare a proof: the lowest of `peaks` is at most `1 + over` times the maximum of `loads`."""
        self.sized, self.peaks, self.loads, self.over = sized, peaks, loads, over
        self.table = sized.compare.table([*loads, *(form for forms in peaks for form in forms)])
        self.begins = np.cumsum([len(loads), *map(len, peaks)])[:-1].tolist()
        count = sum(map(len, peaks)) * len(loads) * (len(self.table.powers) if self.table else 0)
        self.is_usable = self.table is not None and count <= MOST_PAIRS
        if self.table is not None and self.is_usable:
            every = np.arange(len(loads))[None, :]
            self.rooms = [
                self.table.difference_coefficients(every, begin + np.arange(len(forms))[:, None], float(1 + over))
                for begin, forms in zip(self.begins, peaks, strict=True)
            ]

    def refutation(self, deadline: float) -> tuple[Values, Fraction] | bool | None:
        """Return symbol values at which the ratio is exceeded, and the ratio there; False if none exist.

        Return None if neither is proved by `deadline`, a time of the monotonic clock.
        """
        whole = box_ends(self.sized.compare.box)
        if not self.is_usable or whole is None:
            return None
        work: list[tuple[Box, Left]] = [(whole, [np.arange(len(forms)) for forms in self.peaks])]
        while work:
            if time.monotonic() > deadline:
                return None
            box, indices = work.pop()
            indices = [self._open_forms(i, rows, box) for i, rows in enumerate(indices)]
            if not all(map(len, indices)):
                continue
            count = prod(high - low + 1 for low, high in box)
            if (refuted := self._worst_breaking_value(box, indices, every=count <= LEAF)) is not None:
                return refuted
            if count > LEAF:
                work += [(half, indices) for half in box_halves(box)]
        return False

    def _open_forms(self, program: int, rows: NDArray[np.int64], box: Box) -> NDArray[np.int64]:
        """Return the entries of `rows` (polynomials of a program's peak) that may exceed the ratio in a box."""
        assert self.table is not None
        error = self.table.error(box)
        margin = float(1 + self.over) * error[None, : len(self.loads)] + error[self.begins[program] + rows][:, None]
        is_sure, is_open = sign_masks(self.rooms[program][:, rows], self.table.bernstein_matrix(box), margin)
        is_proved = np.asarray(is_sure.any(axis=1))
        for i in np.flatnonzero(~is_proved & is_open.any(axis=1)):
            loads = np.flatnonzero(is_open[i]).tolist()
            is_proved[i] = any(self._is_within_ratio(self.peaks[program][rows[i]], self.loads[at], box) for at in loads)
        return rows[~is_proved]

    def _is_within_ratio(self, form: Polynomial, load: Polynomial, box: Box) -> bool:
        top, bottom = self.over.numerator + self.over.denominator, self.over.denominator
        ends = dict(zip(self.sized.space.symbols, box, strict=True))
        cases = self.sized.compare.lower_polynomials(minus(scale(load, top), scale(form, bottom)))
        return all(is_non_negative(case, ends) for case in cases)

    def _worst_breaking_value(self, box: Box, left: Left, *, every: bool) -> tuple[Values, Fraction] | None:
        """Return the symbol values in a box that exceed the ratio most, with their ratio; None if none are found.

        If `every` is False, only corners and midpoints are tried. `left` has the unproved forms of each program's peak.
        """
        assert self.table is not None
        axes = [range(low, high + 1) if every else sorted({low, (low + high) // 2, high}) for low, high in box]
        grid = np.array(list(product(*axes)), np.int64).reshape(-1, len(box))
        symbols = self.sized.space.symbols
        columns = self.sized.space.fill_atoms({name: grid[:, i] for i, name in enumerate(symbols)} or {"": grid[:, 0]})
        # Forms that are proved in a box are within the ratio there, so evaluate only the other forms.
        ends = [self.table.values(columns, begin + rows) for begin, rows in zip(self.begins, left, strict=True)]
        peak = np.min([each.max(axis=0) for each in ends], axis=0)
        load = self.table.values(columns, np.arange(len(self.loads))).max(axis=0)
        # A pinned buffer may lie above a bound of 0 even if all sizes are 0, so the ratio is then infinite.
        worst = np.where((load <= 0) & (peak > 0), np.inf, peak / np.maximum(load, 1))
        for at in np.argsort(-worst, kind="stable").tolist():
            ratio = Fraction(int(peak[at]), int(max(load[at], 1))) if np.isfinite(worst[at]) else _ENDLESS
            if ratio > 1 + self.over:
                steps = zip(symbols.items(), grid[at].tolist(), strict=True)
                return {name: step * symbol.multiple_of for (name, symbol), step in steps}, ratio
            if worst[at] < float(1 + self.over) * (1 - 1e-9):
                break
        return None
