"""Columns (variables) and rows of an integer program, first as exact integers, then as arrays of floats."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from memplan.planner.model.buffer_table import I64, column

Key = tuple[str | int, ...]
"""The name of a column or row: a word, followed by numbers of boxes, pools or crowds."""
F64 = npt.NDArray[np.float64]
Bits = npt.NDArray[np.bool_]
Unit = Literal["", "units", "cost"]
"""The unit of a column: none, the unit of offsets and sizes, or steps of cost."""
Entry = tuple[int, int]
"""A column number and its coefficient."""


_ROUNDING = 1e-9
LOOKED_EVERY = 1024
"""The number of added rows, columns or lines between two checks of the time limit."""


class Term(NamedTuple):
    """The expression `constant + sign * column` in a row of the program."""

    column: int
    sign: int = 1
    constant: int = 0


ONE = Term(0, 0, 1)
"""The constant term 1."""


@dataclass(frozen=True, eq=False)
class LinearRow:
    """A row of the program: at_least <= sum of coefficient * column <= at_most, where None means no limit."""

    key: Key
    entries: list[Entry]
    at_least: int | None
    at_most: int | None


def _continue_writing() -> None:
    """Do nothing, as the default of `look`. A lambda would do, but could not be pickled for another process."""


@dataclass(eq=False)
class Draft:
    """An integer program under construction; `keys` are the names of its columns, and `at` maps them to numbers.

    `look` is called regularly and may raise an exception to stop the construction.
    """

    keys: list[Key] = field(default_factory=list)
    at: dict[Key, int] = field(default_factory=dict)
    lower: list[int] = field(default_factory=list)
    upper: list[int] = field(default_factory=list)
    is_whole: list[bool] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    rows: list[LinearRow] = field(default_factory=list)
    objective: int | None = None
    look: Callable[[], None] = _continue_writing

    def column(self, key: Key, lower: int, upper: int, *, is_whole: bool = False, unit: Unit = "") -> int:
        """Add a column (a variable of the program) with its lower and upper limit, and return its number."""
        self._look_at(len(self.keys))
        self.at[key] = len(self.keys)
        self.keys.append(key)
        self.lower.append(lower)
        self.upper.append(upper)
        self.is_whole.append(is_whole)
        self.units.append(unit)
        return self.at[key]

    def _look_at(self, count: int) -> None:
        if count % LOOKED_EVERY == 0:
            self.look()

    def fix(self, key: Key, value: int) -> None:
        """Fix a column to one value by setting both of its limits."""
        self.lower[self.at[key]] = self.upper[self.at[key]] = value

    def row(self, key: Key, entries: list[Entry], at_least: int | None = None, at_most: int | None = None) -> None:
        """Add a row with limits to the program; coefficients of the same column are added up, zeros dropped."""
        self._look_at(len(self.rows))
        summed: dict[int, int] = {}
        for at, coefficient in entries:
            summed[at] = summed.get(at, 0) + coefficient
        self.rows.append(LinearRow(key, [entry for entry in summed.items() if entry[1]], at_least, at_most))

    def row_of(
        self, key: Key, terms: Iterable[tuple[Term, int]], at_least: int | None = None, at_most: int | None = None
    ) -> None:
        """Add a row over terms, whose constants are moved into the limits of the row."""
        entries: list[Entry] = []
        constant = 0
        for term, coefficient in terms:
            constant += coefficient * term.constant
            if term.sign:
                entries.append((term.column, coefficient * term.sign))
        self.row(
            key,
            entries,
            None if at_least is None else at_least - constant,
            None if at_most is None else at_most - constant,
        )

    def row_if(self, term: Term, big_m: int, key: Key, sides: list[tuple[Term, int]], at_least: int) -> None:
        """Add a row that holds if `term` is 1; if `term` is 0, the left side may be smaller by `big_m`.

        If the term is always 0, no row is added.
        """
        if self._is_always_zero(term):
            return
        if term is ONE:
            self.row_of(key, sides, at_least=at_least)
        else:
            self.row_of(key, [*sides, (term, -big_m)], at_least=at_least - big_m)

    def _is_always_zero(self, term: Term) -> bool:
        limit = self.upper if term.sign > 0 else self.lower
        return term is not ONE and term.constant + term.sign * limit[term.column] == 0

    def lies_in(self, q: int, b: int) -> Term:
        """Return the binary term that is 1 if box `b` is in pool `q`: a constant if the box has no other pool."""
        here = self.at.get(("in", q, b))
        return ONE if here is None else Term(here)

    def order_term(self, a: int, b: int) -> Term:
        """Return the binary term that is 1 if box `a` is below box `b`; the program must decide their order."""
        here = self.at.get(("below", a, b))
        return Term(self.at["below", b, a], -1, 1) if here is None else Term(here)

    def has_order(self, a: int, b: int) -> bool:
        """Return True if the program has a column that decides the order of two boxes."""
        return ("below", a, b) in self.at or ("below", b, a) in self.at

    def finish(self, scale: int, cost_scale: int = 1) -> "IntegerProgram":
        """Return the program as arrays; an offset of 1 means `scale` units, and a cost of 1 `cost_scale` steps."""
        scales = {"": 1, "units": scale, "cost": cost_scale}
        by = np.array([float(scales[unit]) for unit in self.units])
        counts = [len(row.entries) for row in self.rows]
        first = column(np.concatenate(([0], np.cumsum(counts, dtype=np.int64))))
        index = column([at for row in self.rows for at, _ in row.entries])
        value = np.array([float(coefficient) for row in self.rows for _, coefficient in row.entries])
        # In rows with offset columns, divide the rest by the scale, so that the offsets keep their coefficients.
        row_by = np.ones(len(self.rows))
        np.maximum.at(row_by, np.repeat(np.arange(len(self.rows)), counts), by[index])
        cost = np.zeros(len(self.keys))
        if self.objective is not None:
            cost[self.objective] = 1.0
        return IntegerProgram(
            keys=self.keys,
            at=self.at,
            row_keys=[row.key for row in self.rows],
            scale=scale,
            cost_scale=cost_scale,
            value_of_one=1 if self.objective is None else scales[self.units[self.objective]],
            cost=cost,
            lower=np.array(self.lower, dtype=np.float64) / by,
            upper=np.array(self.upper, dtype=np.float64) / by,
            is_whole=np.array(self.is_whole, dtype=np.bool_),
            first=first,
            index=index,
            value=value * by[index] / np.repeat(row_by, counts),
            row_lower=_limit_array([row.at_least for row in self.rows], -np.inf) / row_by,
            row_upper=_limit_array([row.at_most for row in self.rows], np.inf) / row_by,
        )


def _limit_array(values: list[int | None], absent: float) -> F64:
    return np.array([absent if value is None else float(value) for value in values])


@dataclass(frozen=True, eq=False)
class IntegerProgram:
    """An integer program with `c` columns and `r` rows as arrays: minimize cost @ x, where x has a value per column.

    x is between `lower` and `upper`, and integer where `is_whole`. Row `k` has the entries first[k]:first[k + 1]. It
    requires row_lower[k] <= sum of value * x[index] over its entries <= row_upper[k]. In the program, an offset of 1
    means `scale` units, a cost of 1 means `cost_scale` steps, and an objective of 1 means `value_of_one` units or
    steps.
    """

    keys: list[Key]
    at: dict[Key, int]
    row_keys: list[Key]
    scale: int
    cost_scale: int
    value_of_one: int
    cost: F64  # (c,): coefficient of each column in the objective
    lower: F64  # (c,): lower limit of each column
    upper: F64  # (c,): upper limit of each column
    is_whole: npt.NDArray[np.bool_]  # (c,): True if the column is an integer
    first: I64  # (r + 1,): start of each row's entries in `index` and `value`, then the end of the last
    index: I64
    value: F64
    row_lower: F64  # (r,): lower limit of each row
    row_upper: F64  # (r,): upper limit of each row

    def reduce(self, idle: Bits) -> "tuple[IntegerProgram, I64]":
        """Return an equivalent smaller program, and the numbers of the columns that it keeps.

        Left out are the rows in the mask `idle`, rows that the limits of columns imply, and columns with a fixed value.
        The constant part of the objective is dropped, so objectives differ by a constant.
        """
        counts, is_free = np.diff(self.first), self.lower < self.upper
        row, limits = np.repeat(np.arange(len(counts)), counts), (self.lower[self.index], self.upper[self.index])
        low, high = (self.value * limit for limit in limits)
        least, most = (np.bincount(row, ends(low, high), minlength=len(counts)) for ends in (np.minimum, np.maximum))
        needed = ((least < self.row_lower - _ROUNDING) | (most > self.row_upper + _ROUNDING)) & ~idle
        entries, columns = needed[row] & is_free[self.index], np.flatnonzero(is_free)
        constant = np.bincount(row, np.where(is_free[self.index], 0, low), minlength=len(counts))
        keys = [self.keys[at] for at in columns.tolist()]
        sizes = np.bincount(row[entries], minlength=len(counts))[needed]
        return replace(
            self,
            keys=keys,
            at={key: at for at, key in enumerate(keys)},
            row_keys=[self.row_keys[k] for k in np.flatnonzero(needed).tolist()],
            cost=self.cost[columns],
            lower=self.lower[columns],
            upper=self.upper[columns],
            is_whole=self.is_whole[columns],
            first=column(np.concatenate(([0], np.cumsum(sizes)))),
            index=column((np.cumsum(is_free) - 1)[self.index[entries]]),
            value=self.value[entries],
            row_lower=(self.row_lower - constant)[needed],
            row_upper=(self.row_upper - constant)[needed],
        ), columns
