"""Budgets of pools, and how much they may grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from memplan.capabilities.sizes import named_size, parse_size, with_capacities
from memplan.planner.errors import OptionError, shown
from memplan.planner.model.problem import Pool, Problem

_MOST_PERCENT = 1_000_000


@dataclass(frozen=True)
class Tolerance:
    """The allowed growth of a pool: so many bytes, and a part of what it used."""

    bytes: int = 0
    part: Fraction = Fraction(0)

    @classmethod
    def read(cls, text: str) -> Tolerance:
        """Read `2%`, `512` or `1KiB`; raises OptionError."""
        try:
            if not text.endswith("%"):
                return cls(bytes=parse_size(text))
            percent = Fraction(text[:-1].strip())
        except (ValueError, ZeroDivisionError):
            percent = Fraction(-1)
        if not 0 <= percent <= _MOST_PERCENT:
            raise OptionError(f"tolerance: must be a size or a percentage, such as 512, 1KiB or 2%, got {shown(text)}")
        return cls(part=percent / 100)

    def allowed(self, before: int) -> int:
        """Return how many bytes a pool that used `before` bytes may grow."""
        return self.bytes + int(self.part * before)


NOTHING_MORE = Tolerance()
"""No pool may grow at all."""


def read_budgets(texts: Sequence[str], problem: Problem) -> tuple[Problem, dict[str, int]]:
    """Read `SIZE` for the only pool, or `NAME=SIZE` for each; return the problem with these pools, and their budgets.

    Where the problem names no pools, the names make them, without sizes, in order of preference. Raises
    OptionError.
    """
    named = [named_size(text, problem, len(texts), "budget") for text in texts]
    budgets = {name: size for name, size in named if size is not None}
    if len(dict(named)) < len(named):
        raise OptionError("budget: must be given once for each pool")
    if problem.pools == (Pool(),) and named and "default" not in dict(named):
        problem = with_capacities(problem, [f"{name}=unlimited" for name, _ in named])
    known = [pool.name for pool in problem.pools]
    if unknown := [name for name, _ in named if name not in known]:
        raise OptionError(f"budget: must name a pool of the problem ({', '.join(known)}), got {shown(unknown[0])}")
    return problem, budgets


def within(problem: Problem, budgets: Mapping[str, int]) -> Problem:
    """Return the problem with no pool larger than its budget."""
    limits = []
    for pool in problem.pools:
        sizes = [size for size in (pool.size, budgets.get(pool.name)) if size is not None]
        if sizes:
            limits.append(f"{pool.name}={min(sizes)}")
    return with_capacities(problem, limits)
