"""Prices of room and of copied bytes, whose bound on the cost the independent checker computes exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, lcm
from typing import Any, NamedTuple

from memplan.extensions.checkers import check, moves
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.model.problem import Problem
from memplan.solvers.moves.program import PiecesProgram

_CHECKER: Any = check
_BOUNDS: Any = moves
"""Typed as Any: they have no annotations, because people without memplan read their code."""
_SCALES = (1, 2**6, 2**20)
_MOST_BITS = 2**27
"""The limit of units of a pool up to which the sums of sizes are listed."""
_MOST_FILLED = 12


class Price(NamedTuple):
    """The price of a byte in a pool or, without one, of a copied byte, at a time.

    If it is filled, the bytes that no sum of sizes reaches are paid for too.
    """

    pool: int | None
    time: int
    price: int
    is_filled: bool = False

    def line(self) -> str:
        """Return the line of the certificate."""
        word = "step" if self.pool is None else "fill" if self.is_filled else "room"
        return " ".join(map(str, (word, *([] if self.pool is None else [self.pool]), self.time, self.price)))


@dataclass(frozen=True)
class Proved:
    """A lower bound on the cost, in units of 1 / `parts`, that prices in units of 1 / (`parts` x `scale`) prove."""

    bound: int
    parts: int
    scale: int = 1
    prices: tuple[Price, ...] = ()

    @property
    def cost(self) -> float:
        """The bound on the cost."""
        return self.bound / self.parts

    def lines(self) -> list[str]:
        """Return the lines of the certificate, after those that name its format and the pools."""
        return [f"moves {self.bound} {self.parts}", f"scale {self.scale}", *(price.line() for price in self.prices)]


class MovesChecker:
    """The independent checker's reading of a problem, and the bounds that it proves."""

    def __init__(self, problem: Problem) -> None:
        """Read nothing yet."""
        self.problem = problem
        self.parts = lcm(*(Fraction(repr(float(pool.cost))).denominator for pool in problem.pools))

    @cached_property
    def _read(self) -> Any:
        pools = [(pool.size, None) for pool in self.problem.pools]
        try:
            return _CHECKER.Problem(write_problem(self.problem).decode(), pools, None, False, True)
        except (ValueError, _CHECKER.Refused):  # It has rules that the checker does not know.
            return None

    def bound(self, scale: int, prices: Sequence[Price], most: int) -> Proved:
        """Return the bound that prices prove, at most `most` (in units of 1 / `parts`); 0 if it cannot be checked."""
        if self._read is None:
            return Proved(0, self.parts)
        return Proved(_BOUNDS.proved_bound(self._read, self.parts, scale, prices, most), self.parts, scale, (*prices,))

    def best(self, program: PiecesProgram, worth: Sequence[float], most: float) -> Proved:
        """Return the best bound up to a cost of prices per byte in the rows of loads, rounded to whole numbers."""
        rows = program.loads
        least = ceil(most * self.parts)
        found = Proved(0, self.parts)
        priced = [(row, each * self.parts) for row, each in zip(rows, worth, strict=True) if each > 0]
        for scale in _SCALES:
            prices = [Price(row.pool, row.time, round(each * scale)) for row, each in priced]
            prices = [price for price in prices if price.price]
            found = max(found, self.bound(scale, prices, least), key=lambda each: each.bound)
            if all(abs(round(each * scale) - each * scale) < 1e-6 * each * scale for _, each in priced):
                break
        return self._filled(program, found, least)

    def _filled(self, program: PiecesProgram, found: Proved, most: int) -> Proved:
        """Return the bound that is found if the bytes that no sum of sizes reaches are paid for too."""
        few = {
            (row.pool, row.time) for row in program.loads if row.pool is not None and row.most <= _MOST_BITS * row.unit
        }
        prices = [price._replace(is_filled=(price.pool, price.time) in few) for price in found.prices]
        if len(prices) > _MOST_FILLED or not any(price.is_filled for price in prices):
            return found
        prices.sort(key=lambda price: not price.is_filled)
        near = found.bound + int(_BOUNDS.MOST_LEVELS * program.cost_scale * self.parts)
        return max(
            found,
            *(self.bound(found.scale, prices, goal) for goal in {min(most, near), most}),
            key=lambda each: each.bound,
        )


def lowered_rows(program: PiecesProgram, worth: Sequence[float]) -> int:
    """Lower the limit of each priced row of loads to the largest sum of sizes below it; return how many changed."""
    count = 0
    for k, (row, price) in enumerate(zip(program.loads, worth, strict=True)):
        step = row.unit
        if price <= 0 or row.pool is None or step != int(step) or row.most // step > _MOST_BITS:
            continue
        most = int(row.most // step)
        reach = _BOUNDS.reachable([size // int(step) for size in row.sizes], most)
        if (largest := (reach.bit_length() - 1) * int(step)) < row.most:
            program.loads[k] = row._replace(most=largest)
            count += 1
    return count
