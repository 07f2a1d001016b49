"""The proof for all values by CP-SAT: it looks for a value at which every peak is above what is allowed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from memplan.planner.symbols.comparing import box_of
from memplan.planner.symbols.polynomials import Polynomial, key
from memplan.planner.symbols.problem import Sized
from memplan.planner.symbols.space import Floor, Values

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, LinearExprT

_MOST = 2**62
Forms = Sequence[Polynomial]
Expression = tuple[Any, int, int]
"""A linear expression of CP-SAT, and numbers between which it lies."""


def found_by_solver(
    sized: Sized, peaks: Sequence[Forms], loads: Forms, over: Fraction, deadline: float
) -> Values | bool:
    """Return a value at which all peaks are above `1 + over` times the bound, or True: there is none. Needs ortools.

    `peaks` are the closed forms of the peak of each program, `loads` those of the bound. All symbols have a largest
    value. False: neither is known by the time `deadline` of the monotonic clock.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    variables = _Variables(sized, model)
    known = {key(load) for load in loads}
    bounds = [variables.polynomial(load) for load in loads]
    top, bottom = over.numerator + over.denominator, over.denominator
    for forms in peaks:
        choices = {}
        for form in forms:
            if over or key(form) not in known:
                choices[model.new_bool_var("")] = variables.polynomial(form)
        if any(high * bottom >= _MOST for _, _, high in choices.values()):
            return False
        for chosen, (expression, _, _) in choices.items():
            for load, _, _ in bounds:
                model.add(expression * bottom >= load * top + 1).only_enforce_if(chosen)
        model.add_bool_or(list(choices))
    if any(high * top >= _MOST for _, _, high in (*bounds, *variables.products.values())):
        return False
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(0.01, deadline - time.monotonic())
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        symbols = sized.space.symbols.items()
        return {name: solver.value(variables.known[name][0]) * each.multiple_of for name, each in symbols}
    return bool(status == cp_model.INFEASIBLE)


class _Variables:
    """The variables of symbols, atoms and products of them, as they are needed."""

    def __init__(self, sized: Sized, model: CpModel) -> None:
        self.space, self.model = sized.space, model
        self.products: dict[tuple[str, ...], Expression] = {}
        self.known: dict[str, Expression] = {}
        for name, (low, high) in box_of(sized.space).items():
            assert high is not None
            self.known[name] = (model.new_int_var(low, high, name), low, high)

    def polynomial(self, polynomial: Polynomial) -> Expression:
        total: LinearExprT = 0
        low = high = 0
        for monomial, value in polynomial.items():
            term, least, most = self._product(monomial)
            total += value * term
            low, high = low + min(value * least, value * most), high + max(value * least, value * most)
        return total, low, high

    def _product(self, monomial: tuple[str, ...]) -> Expression:
        if not monomial:
            return 1, 1, 1
        if len(monomial) == 1:
            return self._variable(monomial[0])
        if monomial not in self.products:
            a, a_low, a_high = self._product(monomial[:-1])
            b, b_low, b_high = self._variable(monomial[-1])
            ends = [x * y for x in (a_low, a_high) for y in (b_low, b_high)]
            made = self.model.new_int_var(min(ends), max(ends), "")
            self.model.add_multiplication_equality(made, [a, b])
            self.products[monomial] = (made, min(ends), max(ends))
        return self.products[monomial]

    def _variable(self, name: str) -> Expression:
        if name not in self.known:
            atom = self.space.atoms[name]
            inner, low, high = self.polynomial(atom.inner)
            if isinstance(atom, Floor):
                low, high = low // atom.divisor, high // atom.divisor
                made = self.model.new_int_var(low, high, name)
                rest = self.model.new_int_var(0, atom.divisor - 1, "")
                self.model.add(inner == atom.divisor * made + rest)
            else:
                low, high = max(0, low), max(0, high)
                made = self.model.new_int_var(low, high, name)
                self.model.add_max_equality(made, [inner, 0])
            self.known[name] = (made, low, high)
        return self.known[name]
