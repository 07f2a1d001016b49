"""Exact proofs of inequalities between forms (polynomials over symbols), made by splitting boxes of symbol values."""

import math, sys
from fractions import Fraction
from importlib import import_module
from itertools import product
from pathlib import Path

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
symbols = import_module(f"{__package__ or ''}.symbols".lstrip("."))
Refused, Undecided, add, form_key, multiply = (
    getattr(symbols, name) for name in ("Refused", "Undecided", "add", "form_key", "multiply")
)
no_less_than_0 = symbols.no_less_than_0

MOST_BOXES, LEAF, PER_BOX = 20_000, 1024, 100


def has_equal_maximum(symbols, some, others):
    """Return True if two lists of forms (polynomials) are proved to have equal maxima at all symbol values."""
    if {*map(form_key, some)} == {*map(form_key, others)}:
        return True
    try:
        for a, b in ((some, others), (others, some)):
            prove(symbols, [a], b, Fraction(0))
    except Refused:
        return False
    return True


def prove(symbols, peaks, loads, over):
    """Prove that, at all symbol values, at least one peak is at most (1 + over) times the largest load.

    Raises Refused with a counterexample, or Undecided if too many boxes are needed.
    """
    top, bottom = over.numerator + over.denominator, over.denominator
    room = {}

    def refute(at, left):
        """Raise Refused if every peak in `left` is above the claimed ratio at the symbol values `at`."""
        load = max(symbols.value(form, at) for form in loads)
        if min(max(symbols.value(form, at) for form in forms) for forms in left) * bottom > load * top:
            where = ", ".join(f"{name}={at[name] * symbols.step[name]}" for name in symbols.box if name in at)
            raise Refused(f"the peak must be within the claimed ratio, got more at {where}")

    def is_within(form, load, box):
        symbols.stop_if_over()  # Many forms in a box may take seconds, so check the time limit for each form.
        pair = (form_key(form), form_key(load))
        if pair not in room:
            room[pair] = symbols.lower_bound_forms(add(multiply(load, {(): top}), form, -bottom))
        return all(no_less_than_0(each, box) for each in room[pair])

    for at in symbols.points:
        refute(dict(at), peaks)
    free = symbols.free_symbols([form for forms in (*peaks, loads) for form in forms])

    def undecided_forms(box, left):
        return [[form for form in forms if not any(is_within(form, load, box) for load in loads)] for forms in left]

    whole = {name: symbols.box[name] for name in sorted(free)}
    work, effort = [(whole, undecided_forms(whole, peaks))], 0
    while work:
        box, points = work.pop()
        if any(not forms for forms in points):
            continue
        count = math.inf if any(high is None for _, high in box.values()) else _count(box)
        effort += 1 + (count // PER_BOX if count <= LEAF else 0)
        if effort > MOST_BOXES or count == math.inf:
            raise Undecided(f"too many boxes of symbol values: {effort}")
        symbols.stop_if_over()
        if count <= LEAF:
            for row in product(*(range(low, high + 1) for low, high in box.values())):
                refute(dict(zip(box, row)), points)
            continue
        names = sorted((name for name in box if len({*box[name]}) > 1), key=lambda each: -_ratio(*box[each]))
        ways = [[(half, undecided_forms(half, points)) for half in _halves(box, name)] for name in names]
        work += min(ways, key=lambda way: sum(min(map(len, open_points)) for _, open_points in way))


def _halves(box, name):
    low, high = box[name]
    middle = min(high - 1, max(low, math.isqrt(max(1, low) * high)))
    return [{**box, name: ends} for ends in ((low, middle), (middle + 1, high))]


def _ratio(low, high):
    return (high + 1) / max(1, low)


def _count(box):
    return math.prod(high - low + 1 for low, high in box.values())
