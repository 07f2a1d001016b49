"""The columns and rows of an integer program, whose columns are 0 or 1."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from memplan.planner.instance.instance import F64
from memplan.planner.model.buffer_table import I64

Terms = list[int]
"""The numbers of columns whose sum is meant."""


class Entries(NamedTuple):
    """The entries of rows, which are numbered from 0, and the right-hand side of each row."""

    row: I64
    col: I64
    value: F64
    most: F64


@dataclass(eq=False)
class ProgramColumns:
    """ProgramColumns with their costs, and rows; `base` is the cost of a solution in which all columns are 0."""

    cost: list[float] = field(default_factory=list)
    base: float = 0.0
    _choices: list[Terms] = field(default_factory=list)
    _limits: list[tuple[Terms, Terms, int]] = field(default_factory=list)

    def add(self, cost: float = 0.0) -> int:
        """Return the number of a new column."""
        self.cost.append(cost)
        return len(self.cost) - 1

    def choose(self, terms: Iterable[int]) -> None:
        """Add the row sum(terms) = 1."""
        self._choices.append([*terms])

    def limit(self, terms: Iterable[int], others: Iterable[int], most: int = 0) -> None:
        """Add the row sum(terms) - sum(others) <= most."""
        self._limits.append(([*terms], [*others], most))

    @property
    def n_choices(self) -> int:
        """The number of rows that are equations, which are the first rows."""
        return len(self._choices)

    def rows(self) -> Entries:
        """Return all rows."""
        parts: list[tuple[Terms, Terms]] = [(terms, []) for terms in self._choices]
        parts += [(terms, others) for terms, others, _ in self._limits]
        counts = [len(terms) + len(others) for terms, others in parts]
        return Entries(
            np.repeat(np.arange(len(parts)), counts),
            np.array([col for terms, others in parts for col in (*terms, *others)], dtype=np.int64),
            np.array([sign for one, other in parts for sign in (*[1.0] * len(one), *[-1.0] * len(other))]),
            np.array([*[1.0] * len(self._choices), *(float(most) for _, _, most in self._limits)]),
        )
