"""The parser of the size expressions in a symbolic problem."""

import ast
from collections.abc import Callable, Sequence
from typing import NoReturn

from memplan.planner.errors import ProblemError, excerpt
from memplan.programs.symbols.polynomials import Polynomial, constant, constant_value, minus, plus, power, scale, times
from memplan.programs.symbols.space import Space

MOST_CHARACTERS = 10_000
MOST_POWER = 16
MOST_TERMS = 1_000
"""The maximum number of terms of a size: (a + b + c)**16 has 153; a product of ten such sums would exceed memory."""
MOST_DIGITS = 19
FUNCTIONS = "floor_div, ceil_div, align, min and max"


def parse_expression(text: str | int, space: Space, where: str) -> Polynomial:
    """Return the polynomial of an expression. Raises ProblemError with its position `where`, the rule and the part."""
    if isinstance(text, int):
        return constant(text)
    if len(text) > MOST_CHARACTERS:
        raise ProblemError(f"{where}: must have at most {MOST_CHARACTERS} characters, got {len(text)}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ProblemError(f"{where}: must be an expression such as '48*b*n**2', got {excerpt(text)}") from None
    try:
        return _Reader(space, where).read(tree)
    except RecursionError:
        raise ProblemError(f"{where}: must not be nested so deeply, got {excerpt(text)}") from None


class _Reader:
    """The conversion of an expression's syntax tree to a polynomial."""

    def __init__(self, space: Space, where: str) -> None:
        """Prepare to read an expression over the symbols of a space; errors begin with `where`."""
        self.space = space
        self.where = where
        self.calls: dict[str, Callable[[Sequence[Polynomial], ast.Call], Polynomial]] = {
            "floor_div": self._read_floor_div, "FloorDiv": self._read_floor_div, "ceil_div": self._read_ceil_div,
            "CeilDiv": self._read_ceil_div, "align": self._read_align, "min": self._read_min, "Min": self._read_min,
            "max": self._read_max, "Max": self._read_max,
        }  # fmt: skip

    def refuse(self, rule: str, tree: ast.AST) -> NoReturn:
        """Raise ProblemError: the part `tree` of the expression breaks `rule`."""
        raise ProblemError(f"{self.where}: {rule}, got {excerpt(ast.unparse(tree))}")

    def read(self, tree: ast.AST) -> Polynomial:
        """Return the polynomial of a syntax tree; raises ProblemError for unsupported syntax."""
        match tree:
            case ast.Constant(value=bool()):
                self.refuse("must have whole numbers", tree)
            case ast.Constant(value=int() as value):
                if abs(value) >= 10**MOST_DIGITS:
                    self.refuse(f"must have numbers of at most {MOST_DIGITS} digits", tree)
                return constant(value)
            case ast.Name(id=name):
                return self._read_symbol(name, tree)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return scale(self.read(operand), -1)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.read(operand)
            case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]) if name in self.calls and parts:
                return self.calls[name]([self.read(part) for part in parts], tree)
            case ast.Call():
                self.refuse(f"must call only {FUNCTIONS}", tree)
            case ast.BinOp():
                return self._read_operation(tree)
        return self.refuse(f"must have numbers, symbols, + - * // % **, {FUNCTIONS}", tree)

    def _read_symbol(self, name: str, tree: ast.AST) -> Polynomial:
        """Return the polynomial of a symbol; raises ProblemError if the problem has no such symbol."""
        if name not in self.space.symbols:
            names = ", ".join(sorted(self.space.symbols)) or "none"
            self.refuse(f"must use only symbols of the problem ({names})", tree)
        return self.space.symbol(name)

    def _read_operation(self, tree: ast.BinOp) -> Polynomial:
        """Return the polynomial of a binary operation; raises ProblemError for an unsupported operator."""
        left, right = self.read(tree.left), self.read(tree.right)
        match tree.op:
            case ast.Add():
                return plus(left, right)
            case ast.Sub():
                return minus(left, right)
            case ast.Mult():
                return self._limited_product(left, right, tree)
            case ast.FloorDiv():
                return self.space.floor(left, self._positive_divisor(right, tree.right))
            case ast.Mod():
                divisor = self._positive_divisor(right, tree.right)
                return minus(left, scale(self.space.floor(left, divisor), divisor))
            case ast.Div():
                divisor = self._positive_divisor(right, tree.right)
                if any(value % divisor for value in left.values()):
                    self.refuse("must divide without remainder for all values, or use //", tree)
                return {monomial: value // divisor for monomial, value in left.items()}
            case ast.Pow():
                exponent = constant_value(right)
                if exponent is None or not 0 <= exponent <= MOST_POWER:
                    self.refuse(f"must have powers from 0 to {MOST_POWER}", tree.right)
                if len(left) > 1 and len(left) ** exponent > MOST_TERMS:
                    self.refuse(f"must have at most {MOST_TERMS} terms when multiplied out", tree)
                return power(left, exponent)
        return self.refuse("must have the operators + - * // % and **", tree)

    def _limited_product(self, left: Polynomial, right: Polynomial, tree: ast.AST) -> Polynomial:
        """Return the product of two polynomials; raises ProblemError if it may have too many terms."""
        if len(left) * len(right) > MOST_TERMS:
            self.refuse(f"must have at most {MOST_TERMS} terms when multiplied out", tree)
        return times(left, right)

    def _positive_divisor(self, polynomial: Polynomial, tree: ast.AST) -> int:
        """Return the constant that a divisor equals; raises ProblemError unless it is at least 1."""
        value = constant_value(polynomial)
        if value is None or value < 1:
            self.refuse("must divide by a constant of at least 1", tree)
        return value

    def _dividend_and_divisor(self, parts: Sequence[Polynomial], tree: ast.Call) -> tuple[Polynomial, int]:
        """Return the dividend and the constant divisor of a call; raises ProblemError unless it has two arguments."""
        if len(parts) != 2:
            self.refuse("must have two arguments", tree)
        return parts[0], self._positive_divisor(parts[1], tree.args[1])

    def _read_floor_div(self, parts: Sequence[Polynomial], tree: ast.Call) -> Polynomial:
        return self.space.floor(*self._dividend_and_divisor(parts, tree))

    def _read_ceil_div(self, parts: Sequence[Polynomial], tree: ast.Call) -> Polynomial:
        inner, divisor = self._dividend_and_divisor(parts, tree)
        return self.space.floor(plus(inner, constant(divisor - 1)), divisor)

    def _read_align(self, parts: Sequence[Polynomial], tree: ast.Call) -> Polynomial:
        return self.space.align(*self._dividend_and_divisor(parts, tree))

    def _read_min(self, parts: Sequence[Polynomial], _: ast.Call) -> Polynomial:
        return self.space.minimum(parts)

    def _read_max(self, parts: Sequence[Polynomial], _: ast.Call) -> Polynomial:
        return self.space.maximum(parts)
