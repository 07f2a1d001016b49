"""Builds an offset program: formulas (maxima of sums) for the offsets of buffers stacked in a given order."""

from collections.abc import Callable

from memplan.extensions.shapes.offset_programs import OffsetProgram
from memplan.extensions.shapes.search.stacking import Order, buffers_below
from memplan.programs.symbols.polynomials import Key, Polynomial, hashable_form, plus
from memplan.programs.symbols.sized import CompiledSizes

MOST_FORMS = 600
"""The maximum number of polynomials of one offset; good orders have few, because their chains are live sets."""
Term = tuple[int, int]
"""The type of the sum of an offset value and a size, as a pair of indices."""


def program_of(sized: CompiledSizes, order: Order, is_over: Callable[[], bool] = lambda: False) -> OffsetProgram | None:
    """Return the offset program of a stacking order; None if a buffer below a pinned one may end above the pin.

    Once `is_over` returns True, offsets get no polynomials unless a pin needs them. Offsets with equal polynomials
    share one value. A term is kept if one of its polynomials may be the maximum.
    """
    pins = dict(sized.pins)
    maker = _ProgramBuilder(sized, (lambda: False) if pins else is_over)
    which = [0] * sized.count
    standing = buffers_below(sized, order)
    for buffer in order:
        terms = {(which[each], int(sized.form_of[each])) for each in standing[buffer]}
        if buffer in pins:
            lower, _ = maker.max_forms(terms)
            pin = sized.forms[pins[buffer]]
            if lower is None or not all(sized.compare.is_never_above(form, pin) for form in lower):
                return None
            terms = {(0, pins[buffer])}
        which[buffer] = maker.value(terms)
    for view, root, distance in sized.views:
        which[view] = maker.value({(which[root], distance)})
    inner = {each for row in standing for each in row} | {view for view, _, _ in sized.views}
    tops = {(which[each], int(sized.form_of[each])) for each in range(sized.count) if each not in inner}
    forms, last = maker.max_forms(tops)
    return OffsetProgram(
        values=tuple(maker.values),
        which=tuple(which),
        last=last,
        order=order,
        forms=None if forms is None else tuple(forms),
    )


class _ProgramBuilder:
    """An offset program under construction, with the polynomials of each value in `forms` (None: too many)."""

    def __init__(self, sized: CompiledSizes, is_over: Callable[[], bool]) -> None:
        """Start with value 0, which is always 0; once `is_over` returns True, values get no polynomials."""
        self.sized, self.is_over = sized, is_over
        self.values: list[tuple[Term, ...]] = [()]
        self.forms: list[tuple[Polynomial, ...] | None] = [({},)]
        self.known: dict[object, int] = {((),): 0}

    def value(self, terms: set[Term]) -> int:
        """Return the index of the value that is the maximum of `terms`; it is added unless an equal one exists."""
        forms, needed = self.max_forms(terms)
        if not needed:
            return 0
        form_keys = needed if forms is None else tuple(sorted(hashable_form(form) for form in forms))
        if form_keys not in self.known:
            self.known[form_keys] = len(self.values)
            self.values.append(needed)
            self.forms.append(None if forms is None else tuple(forms))
        return self.known[form_keys]

    def max_forms(self, terms: set[Term]) -> tuple[list[Polynomial] | None, tuple[Term, ...]]:
        """Return the polynomials of the maximum of `terms`, and the few terms that suffice for all of them."""
        if self.is_over():
            return (None, tuple(sorted(terms))) if terms else ([{}], ())
        ends: dict[Term, dict[Key, Polynomial]] = {}
        for value, form in sorted(terms):
            lower = self.forms[value]
            if lower is None:
                return None, tuple(sorted(terms))
            sums = (plus(each, self.sized.forms[form]) for each in lower)
            ends[value, form] = {hashable_form(each): each for each in sums if each}
        every = {end_form: each for end in ends.values() for end_form, each in end.items()}
        if not every:
            return [{}], ()
        if len(every) > MOST_FORMS:
            return None, tuple(sorted(terms))
        forms = self.sized.compare.drop_dominated(list(every.values()))
        forms_left = {hashable_form(form) for form in forms}
        needed = []
        for term in sorted(ends, key=lambda term: (-len(ends[term].keys() & forms_left), term)):
            if brought := ends[term].keys() & forms_left:
                needed.append(term)
                forms_left -= brought
        return forms, tuple(sorted(needed))
