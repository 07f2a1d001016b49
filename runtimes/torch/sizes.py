"""Sizes in PyTorch's exported programs: numbers, or expressions of symbols in the syntax of Python or sympy."""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from math import prod
from typing import Any

from memplan.planner.errors import FormatError, excerpt
from memplan.planner.model.rows import MAX_BYTES
from memplan.programs.symbols.numbers import max_number, min_number

_LARGEST_POWER = 16
_COMPUTED: Mapping[str, Callable[[int, int], int]] = {
    **dict.fromkeys(("Add", "Integer", "Symbol"), operator.add),
    **dict.fromkeys(("Mul", "Mult"), operator.mul),
    **dict.fromkeys(("FloorDiv", "CleanDiv"), lambda a, b: a // b if b else -1),
    **dict.fromkeys(("Mod", "PythonMod"), lambda a, b: a % b if b else -1),
    "Sub": operator.sub,
    "Pow": lambda a, b: prod([a] * b) if 0 <= b <= _LARGEST_POWER else -1,
    "Max": max_number,
    "Min": min_number,
}
"""The functions that may occur in sizes, keyed by their names in Python's syntax tree, sympy and torch."""
_LONGEST = 300


def evaluated_size(dim: Any, dims: Mapping[str, int]) -> int:
    """Return a size as a number, with symbols' sizes from `dims`. Raises FormatError if it is not computable."""
    expression = _expression(dim)
    size = dim.get("as_int") if isinstance(dim, dict) else None
    size = size if expression is None else evaluate(expression, dims)
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= MAX_BYTES:
        raise FormatError(f"sizes: must be numbers from 0 to {MAX_BYTES}, got {excerpt(size)}")
    return size


def _expression(dim: Any) -> ast.expr | None:
    """Return the parsed expression of a size, or None for a number; raises FormatError if it does not parse."""
    row = dim.get("as_expr") if isinstance(dim, dict) else None
    text = row.get("expr_str") if isinstance(row, dict) else None
    try:
        return None if row is None else ast.parse(str(text)[:_LONGEST], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormatError(f"sizes: must be numbers or expressions of symbols, got {excerpt(text)}") from None


def symbols_in_size(dim: Any) -> Iterator[str]:
    """Yield the symbols in a size, which are written as Python names or as sympy's Symbol('s0', integer=True)."""
    expression = _expression(dim)
    calls = [part for part in ast.walk(expression) if isinstance(part, ast.Call)] if expression is not None else []
    functions = {id(call.func) for call in calls}
    for part in ast.walk(expression) if expression is not None else ():
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        elif isinstance(part, ast.Name) and id(part) not in functions:
            yield part.id


def evaluate(found: ast.expr, dims: Mapping[str, int]) -> int | None:
    """Return the value of an expression; None if it contains unknown symbols, unknown functions or non-integers."""
    if isinstance(found, ast.Constant):
        return (
            dims.get(found.value) if isinstance(found.value, str) else found.value if type(found.value) is int else None
        )
    if isinstance(found, ast.Name):
        return dims.get(found.id)
    word, parts = "", list[ast.expr]()
    if isinstance(found, ast.BinOp):
        word, parts = type(found.op).__name__, [found.left, found.right]
    elif isinstance(found, ast.UnaryOp) and isinstance(found.op, ast.USub):
        word, parts = "Sub", [ast.Constant(0), found.operand]
    elif isinstance(found, ast.Call) and isinstance(found.func, ast.Name):
        word, parts = found.func.id, found.args
    values = [evaluate(part, dims) for part in parts]
    numbers = [value for value in values if value is not None and abs(value) <= MAX_BYTES]
    if word not in _COMPUTED or not numbers or len(numbers) < len(values):
        return None
    return reduce(_COMPUTED[word], numbers)
