"""Offsets that are expressions of another system, checked for all values: overlaps, ends, alignment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from memplan.capabilities.shapes.search.certificate import within
from memplan.capabilities.shapes.search.programs import StackedProgram
from memplan.planner.symbols.comparing import samples
from memplan.planner.symbols.polynomials import Key, Polynomial, key, minus, plus, scaled
from memplan.planner.symbols.problem import Sized
from memplan.planner.symbols.space import Values


@dataclass(frozen=True)
class Fault:
    """A rule that buffers break at a value of the symbols; None where it is not known whether they do at any."""

    rule: str
    buffers: tuple[int, ...]
    at: Values | None


def faults(
    sized: Sized, sizes: Sequence[Polynomial], offsets: Sequence[Polynomial], arena: Polynomial | None, deadline: float
) -> Iterator[Fault]:
    """Yield what is wrong with offsets of buffers of given sizes, for all values of the symbols, by a time limit."""
    claims = _Claims(sized, deadline)
    ends = [plus(offset, size) for offset, size in zip(offsets, sizes, strict=True)]
    for b, offset in enumerate(offsets):
        over = minus(offset, scaled(sized.space.floor(offset, sized.problem.alignment), sized.problem.alignment))
        rows = {"is below 0": scaled(offset, -1), f"is no multiple of {sized.problem.alignment}": over}
        if arena is not None:
            rows["ends behind the arena"] = minus(ends[b], arena)
        for rule, form in rows.items():
            yield from claims.fault(rule, (b,), [form])
    alive: list[int] = []
    for b in np.argsort(sized.first, kind="stable").tolist():
        alive = [a for a in alive if sized.last[a] > sized.first[b]]
        for a in alive:
            apart = [minus(ends[a], offsets[b]), minus(ends[b], offsets[a]), sizes[a], sizes[b]]
            yield from claims.fault("share bytes", (a, b), apart)
        alive.append(b)


class _Claims:
    """Claims that at each value one of some forms is at most 0; what was found of them is kept."""

    def __init__(self, sized: Sized, deadline: float) -> None:
        self.sized, self.deadline = sized, deadline
        self.points = samples(sized.space, 64)
        self.known: dict[frozenset[Key], Values | bool] = {}

    def fault(self, rule: str, buffers: tuple[int, ...], forms: Sequence[Polynomial]) -> Iterator[Fault]:
        known = frozenset(map(key, forms))
        if known not in self.known:
            self.known[known] = self._broken(forms)
        found = self.known[known]
        if found is not False:
            yield Fault(rule, buffers, None if found is True else found)

    def _broken(self, forms: Sequence[Polynomial]) -> Values | bool:
        """Return a value at which all forms are above 0; False where there is none, True where that is not known."""
        columns = self.sized.space.columns(self.points)
        least = np.min([self.sized.space.at(form, columns) for form in forms], axis=0)
        if least.max() > 0:
            return self.points[int(np.argmax(least > 0))]
        ways = [StackedProgram((), (), (), (), (form,)) for form in forms]
        verdict = within(self.sized, ways, [{}], Fraction(0), self.deadline)
        return verdict.at or True if verdict.found != "proved" else False
