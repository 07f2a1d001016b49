"""Integer polynomials, as mappings from monomials (sorted tuples of variable names) to nonzero coefficients."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import product
from typing import TypeVar

Monomial = tuple[str, ...]
"""The type of a monomial: the names of its variables in ascending order; a power repeats the name."""
Number = TypeVar("Number", int, Fraction)
Polynomial = Mapping[Monomial, int]
Key = tuple[tuple[Monomial, int], ...]
"""The type of a polynomial in hashable form."""


def constant(value: int) -> Polynomial:
    """Return the constant polynomial that equals an integer."""
    return {(): value} if value else {}


def variable(name: str, factor: int = 1) -> Polynomial:
    """Return the polynomial `factor * name`."""
    return {(name,): factor}


def hashable_form(polynomial: Mapping[Monomial, Number]) -> tuple[tuple[Monomial, Number], ...]:
    """Return a hashable form of a polynomial, equal for equal polynomials."""
    return tuple(sorted(polynomial.items()))


def plus(left: Mapping[Monomial, Number], right: Mapping[Monomial, Number], factor: int = 1) -> dict[Monomial, Number]:
    """Return `left + factor * right`."""
    total = dict(left)
    for monomial, coefficient in right.items():
        value = total.get(monomial, 0) + factor * coefficient
        if value:
            total[monomial] = value
        else:
            total.pop(monomial, None)
    return total


def minus(left: Mapping[Monomial, Number], right: Mapping[Monomial, Number]) -> dict[Monomial, Number]:
    """Return `left - right`."""
    return plus(left, right, -1)


def times(left: Mapping[Monomial, Number], right: Mapping[Monomial, Number]) -> dict[Monomial, Number]:
    """Return `left * right`."""
    total: dict[Monomial, Number] = {}
    for (a, x), (b, y) in product(left.items(), right.items()):
        monomial = tuple(sorted(a + b))
        value = total.get(monomial, 0) + x * y
        if value:
            total[monomial] = value
        else:
            total.pop(monomial, None)
    return total


def power(base: Polynomial, exponent: int) -> Polynomial:
    """Return `base ** exponent`."""
    total: Polynomial = {(): 1}
    for _ in range(exponent):
        total = times(total, base)
    return total


def scale(polynomial: Polynomial, factor: int) -> Polynomial:
    """Return `factor * polynomial`."""
    return {monomial: factor * coefficient for monomial, coefficient in polynomial.items()} if factor else {}


def exact_quotient(left: Polynomial, right: Polynomial) -> Polynomial | None:
    """Return `left / right` if this is an integer polynomial, else None; `right` must not be 0."""
    lead = max(right, key=_monomial_rank)
    quotient: Polynomial = {}
    rest = dict(left)
    while rest:
        top = max(rest, key=_monomial_rank)
        factors = list(top)
        for name in lead:
            if name not in factors:
                return None
            factors.remove(name)
        value, left_over = divmod(rest[top], right[lead])
        if left_over:
            return None
        term = {tuple(factors): value}
        quotient, rest = plus(quotient, term), minus(rest, times(term, right))
    return quotient


def _monomial_rank(monomial: Monomial) -> tuple[int, Monomial]:
    return len(monomial), monomial


def constant_value(polynomial: Polynomial) -> int | None:
    """Return the integer that a polynomial equals, or None if it has variables."""
    if not polynomial:
        return 0
    return polynomial[()] if set(polynomial) == {()} else None


def variable_names(polynomials: Iterable[Mapping[Monomial, Number]]) -> set[str]:
    """Return the names of all variables in some polynomials."""
    return {name for polynomial in polynomials for monomial in polynomial for name in monomial}


def degree(polynomial: Mapping[Monomial, Number], name: str) -> int:
    """Return the highest power of a variable in a polynomial; 0 if the variable does not occur."""
    return max((monomial.count(name) for monomial in polynomial), default=0)
