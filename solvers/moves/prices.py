"""Prices of room and of copied bytes, whose bound on the cost the independent checker computes exactly."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, lcm
from typing import Any, NamedTuple

from memplan.checkers import check, moves
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.model.problem import Problem
from memplan.solvers.moves.program import PiecesProgram

_CHECKER: Any = check
_BOUNDS: Any = moves
"""Typed as Any: they have no annotations, because people without memplan read their code."""
_SCALES = (1, 2**6, 2**20)
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
class ProvedBound:
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
        """Return the lines of the certificate, after its format and pool sizes."""
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

    def bound(self, scale: int, prices: Sequence[Price], most: int) -> ProvedBound:
        """Return the bound that prices prove, at most `most` (in units of 1 / `parts`); 0 if it cannot be checked."""
        if self._read is None:
            return ProvedBound(0, self.parts)
        return ProvedBound(
            _BOUNDS.proved_bound(self._read, self.parts, scale, prices, most), self.parts, scale, (*prices,)
        )

    def best(self, program: PiecesProgram, worth: Sequence[float], least: float, most: float) -> ProvedBound:
        """Return the bound up to a cost of prices per byte in the rows of loads, which are rounded to whole numbers.

        `least` is about the cost of the relaxation with these prices.
        """
        priced = [(row, each * self.parts) for row, each in zip(program.loads, worth, strict=True) if each > 0]
        scale = next((s for s in _SCALES if all(_is_whole(each * s) for _, each in priced)), _SCALES[-1])
        few = len(priced) <= _MOST_FILLED
        prices = [Price(row.pool, row.time, round(each * scale), few and row.has_sums) for row, each in priced]
        prices = sorted((price for price in prices if price.price), key=lambda price: not price.is_filled)
        goal = ceil(most * self.parts)
        near = int((least + _BOUNDS.MOST_LEVELS // 4 * program.cost_scale) * self.parts)
        found = self.bound(scale, prices, min(near, goal))
        return self.bound(scale, prices, goal) if near <= found.bound < goal else found


def _is_whole(number: float) -> bool:
    return abs(round(number) - number) < 1e-6 * number


def lowered_rows(program: PiecesProgram, worth: Sequence[float]) -> int:
    """Lower the limit of each priced row of loads to the largest sum of sizes below it; return how many changed."""
    count = 0
    for k, (row, price) in enumerate(zip(program.loads, worth, strict=True)):
        if price <= 0 or row.is_reached or not row.has_sums:
            continue
        step = int(row.unit)
        reach = _BOUNDS.reachable([size // step for size in row.sizes], row.most // step)
        largest = (reach.bit_length() - 1) * step
        program.loads[k] = row._replace(most=largest, is_reached=True)
        count += largest < row.most
    return count
