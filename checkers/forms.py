"""Arithmetic of forms: polynomials, stored as dicts from products (tuples of names) to coefficients."""

import math
from itertools import product


def add(left, right, factor=1):
    """Return the form (polynomial) left + factor * right, where `factor` is a number."""
    total = dict(left)
    for names, value in right.items():
        total[names] = total.get(names, 0) + factor * value
    return {names: value for names, value in total.items() if value}


def multiply(left, right):
    """Return the product of two forms (polynomials)."""
    products = {}
    for (a, x), (b, y) in product(left.items(), right.items()):
        names = tuple(sorted(a + b))
        products[names] = products.get(names, 0) + x * y
    return {names: value for names, value in products.items() if value}


def constant_value(form):
    """Return the value of a form (polynomial) without names, as a number. Raises ValueError if it has names."""
    if set(form) - {()}:
        raise ValueError("must be a number without symbols")
    return form.get((), 0)


def form_key(form):
    """Return a hashable key of a form (polynomial); equal forms have equal keys."""
    return frozenset(form.items())


def substitute(form, name, value):
    """Return a copy of a form (polynomial) in which the form `value` replaces `name`."""
    replaced = {}
    for names, number in form.items():
        term = {tuple(each for each in names if each != name): number}
        for _ in range(names.count(name)):
            term = multiply(term, value)
        replaced = add(replaced, term)
    return replaced


def integer_multiple(form):
    """Return the smallest positive multiple of a form (polynomial) with only integer coefficients."""
    scale = math.lcm(*(value.denominator for value in form.values()))
    return {names: int(value * scale) for names, value in form.items()}


def no_less_than_0(form, box):
    """Return True if a form is proved to be at least 0 on a box, because its Bernstein coefficients are at least 0.

    These coefficients enclose the form's values. A symbol without a maximum is replaced by its excess over its minimum.
    """
    if all(value >= 0 for value in form.values()):
        return True
    rows = form
    for name in sorted({name for names in form for name in names}):
        low, high = box[name]
        width = 1 if high is None else high - low
        rows = substitute(
            rows, name, {(name,): width, (): low} if low and width else {(name,): width} if width else {(): low}
        )
    if all(value >= 0 for value in rows.values()):
        return True
    axes = [name for name in sorted({name for names in rows for name in names}) if box[name][1] is not None]
    if len(axes) < len({name for names in rows for name in names}):
        return False
    degree = [max(names.count(name) for names in rows) for name in axes]
    powers = {tuple(map(names.count, axes)): value for names, value in rows.items()}
    for k, most in enumerate(degree):
        turned, scale = {}, math.lcm(*(math.comb(most, power) for power in range(most + 1)))
        for at, value in powers.items():
            value *= scale // math.comb(most, at[k])
            for i in range(at[k], most + 1):
                row = (*at[:k], i, *at[k + 1 :])
                turned[row] = turned.get(row, 0) + value * math.comb(i, at[k])
        powers = turned
    return all(value >= 0 for value in powers.values())
