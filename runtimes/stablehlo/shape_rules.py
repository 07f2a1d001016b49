"""Rules for the result shapes of StableHLO's operators, which depend on operand shapes and known integer operands.

Integers that determine sizes are computed before the program runs, if they are known.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memplan.planner.errors import FormatError
from memplan.programs.symbols.numbers import max_number, min_number
from memplan.runtimes.stablehlo.text import Array, HloOperation


class UnknownNumber:
    """A number unknown until run time, stored as an unknown base plus a known number `above`."""

    def __init__(self, base: object = None, above: int = 0) -> None:
        self.base, self.above = base or self, above

    def plus(self, other: Any) -> Any:
        """Return the sum with `other`, with the same base if `other` is a known number, else with a new base."""
        return UnknownNumber() if isinstance(other, UnknownNumber) else UnknownNumber(self.base, self.above + other)


def _sum(a: Any, b: Any) -> Any:
    return a.plus(b) if isinstance(a, UnknownNumber) else b.plus(a) if isinstance(b, UnknownNumber) else a + b


def difference(a: Any, b: Any) -> Any:
    """Return the difference of two numbers, which is known if both are known or have the same unknown base."""
    if isinstance(b, UnknownNumber):
        return a.above - b.above if isinstance(a, UnknownNumber) and a.base is b.base else UnknownNumber()
    return a.plus(-b) if isinstance(a, UnknownNumber) else a - b


def _quotient(a: int, b: int) -> int:
    """Return a quotient rounded toward 0. Raises ZeroDivisionError if the divisor may be less than 1."""
    if not b > 0:
        raise ZeroDivisionError
    return a // b if a >= 0 else -(-a // b)


def _is_equal(a: int, b: int) -> bool:
    """Return True if two numbers are equal. Raises FormatError if this depends on the values of symbols."""
    return a == b or not (a < b or a > b)


def _choose(which: Any, a: Any, b: Any) -> Any:
    if isinstance(which, UnknownNumber):
        return a if a is b or (isinstance(a, int) and isinstance(b, int) and a == b) else UnknownNumber()
    return a if which else b


_COMPARED: Mapping[str, Callable[[int, int], bool]] = {
    "EQ": _is_equal,
    "NE": lambda a, b: not _is_equal(a, b),
    "GE": operator.ge,
    "GT": operator.gt,
    "LE": operator.le,
    "LT": operator.lt,
}
_OF_UNKNOWN: Mapping[str, Callable[..., Any]] = {
    "add": _sum,
    "subtract": difference,
    "select": _choose,
    "convert": lambda a: a,
}
"""Maps the operators that can be computed with some unknown operands to functions."""
_OF_KNOWN: Mapping[str, Callable[..., Any]] = {
    "multiply": operator.mul,
    "divide": _quotient,
    "remainder": lambda a, b: a - _quotient(a, b) * b,
    "maximum": max_number,
    "minimum": min_number,
    "negate": operator.neg,
    "sign": lambda a: 1 if a > 0 else 0 if _is_equal(a, 0) else -1,
    "clamp": lambda low, a, high: min_number(max_number(low, a), high),
    "and": operator.and_,
    "or": operator.or_,
}
_BY_JAX: Mapping[str, Callable[[int, int], int]] = {"floor_divide": operator.floordiv, "remainder": operator.mod}
"""Maps functions that JAX emits for quotients of sizes to Python's functions, which are called instead of inlining."""


def compute(operation: HloOperation, given: Sequence[Array], shape: tuple[int, ...]) -> Array | None:
    """Return the result of an operation on integer arrays, or None if the operation is not supported."""
    kind = operation.kind
    if kind == "reshape":
        return given[0].reshape(shape)
    if kind == "concatenate":
        return np.concatenate(given, axis=operation.numbers("dim", "dimension")[0])
    if kind == "broadcast_in_dim":
        rows = np.ones(len(shape), int)
        rows[operation.numbers("dims", "broadcast_dimensions")] = given[0].shape
        return np.broadcast_to(given[0].reshape(rows), shape)
    function = (
        _COMPARED.get(operation.direction or "") if kind == "compare" else _OF_UNKNOWN.get(kind) or _OF_KNOWN.get(kind)
    )
    if function is None:
        return None

    def apply_known(*values: Any) -> Any:
        if kind not in _OF_UNKNOWN and any(isinstance(each, UnknownNumber) for each in values):
            return UnknownNumber()
        try:
            return function(*values)
        # A result that depends on symbols is an error only if it is used, so do not raise the error here.
        except (FormatError, ZeroDivisionError):
            return UnknownNumber()

    return np.asarray(np.frompyfunc(apply_known, len(given), 1)(*given), object)


def compute_as_jax(function: str, given: Sequence[Array | None]) -> Array | None:
    """Return the quotient or remainder that a function of JAX computes, or None for any other function."""
    compute = _BY_JAX.get(function.rstrip("_0123456789"))
    numbers = [row.item() for row in given[-2:] if row is not None and row.size == 1]
    if compute is None or len(numbers) < 2 or not all(isinstance(each, int) for each in numbers) or numbers[1] <= 0:
        return None
    return np.array(compute(*numbers), object)


Sizes = tuple[Any, ...]


@dataclass(frozen=True)
class KnownOperands:
    """The shapes of an operation's operands, and the known integers in them."""

    operation: HloOperation
    shapes: Sequence[Sizes]
    known: Sequence[list[Any] | None]

    def numbers(self, k: int) -> list[Any]:
        """Return the integers of operand k as a list. Raises LookupError if they are unknown."""
        numbers = self.known[k]
        if numbers is None:
            raise LookupError(k)
        return numbers


Rule = Callable[[KnownOperands], list[Sizes]]


def _operand_shapes(given: KnownOperands) -> list[Sizes]:
    types = given.operation.types
    if len(types) > 1:
        return list(given.shapes[: len(types)])
    return [next(shape for shape in given.shapes if len(shape) == len(types[0].shape))]


def _shape_operand_rule(k: int) -> Rule:
    return lambda given: [tuple(given.numbers(k))]


def _concatenation_shapes(given: KnownOperands) -> list[Sizes]:
    axis = given.operation.numbers("dim", "dimension")[0]
    total = sum(shape[axis] for shape in given.shapes)
    return [(*given.shapes[0][:axis], total, *given.shapes[0][axis + 1 :])]


def _dot_general_shapes(given: KnownOperands) -> list[Sizes]:
    """Return the shape of a product: the batch axes, then the other uncontracted axes of the left and right operand."""
    (shapes, right), text, rows = given.shapes[:2], given.operation.text, []
    for name in ("batching_dim", "contracting_dim"):
        pretty = re.search(rf"\b{name}s = \[([\d, ]*)\] x \[([\d, ]*)\]", text)
        generic = (re.findall(rf"{side}_{name}ensions = \[([\d, ]*)\]", text) for side in ("lhs", "rhs"))
        sides = pretty.groups() if pretty else map("".join, generic)
        rows.append([[int(each) for each in re.findall(r"\d+", side)] for side in sides])
    (left_batch, right_batch), (left_in, right_in) = rows
    free = [size for k, size in enumerate(shapes) if k not in {*left_batch, *left_in}]
    free += [size for k, size in enumerate(right) if k not in {*right_batch, *right_in}]
    return [(*(shapes[k] for k in left_batch), *free)]


def _reduction_shapes(given: KnownOperands) -> list[Sizes]:
    axes = given.operation.numbers("dimensions")
    return [tuple(size for k, size in enumerate(given.shapes[0]) if k not in axes)] * len(given.operation.types)


def _slice_shapes(given: KnownOperands) -> list[Sizes]:
    rows = zip(*map(given.numbers, (1, 2, 3)), strict=True)
    return [tuple(-(difference(start, end) // step) for start, end, step in rows)]


def _gather_shapes(given: KnownOperands) -> list[Sizes]:
    """Return the shape of a gather: slice axes at the `offset_dims`, and axes of the indices elsewhere."""
    numbers, indices = given.operation.numbers, given.shapes[1]
    sizes = given.numbers(2) if len(given.shapes) > 2 else numbers("slice_sizes")
    left_out = {*numbers("collapsed_slice_dims", default=[]), *numbers("operand_batching_dims", default=[])}
    inside = iter([size for k, size in enumerate(sizes) if k not in left_out])
    along = numbers("index_vector_dim", default=[0])[0]
    outside = iter([size for k, size in enumerate(indices) if k != along])
    offsets = numbers("offset_dims", default=[])
    rank = len(given.operation.types[0].shape)
    return [tuple(next(inside if k in offsets else outside) for k in range(rank))]


def _pad_shapes(given: KnownOperands) -> list[Sizes]:
    numbers, sizes = given.operation.numbers, given.shapes[0]
    is_open = len(given.shapes) > 2
    names = (("low", "edge_padding_low"), ("high", "edge_padding_high"), ("interior", "interior_padding"))
    rows = map(given.numbers, (2, 3, 4)) if is_open else (numbers(*each) for each in names)
    each = zip(sizes, *rows, strict=True)
    return [tuple(size + low + high + (size - 1) * inner for size, low, high, inner in each)]


def _window_counts(
    sizes: Sequence[Any], window: Sequence[Any], rows: Sequence[Sequence[Any]], pads: Sequence[Any]
) -> Sizes:
    window_sizes = []
    for k, (size, wide) in enumerate(zip(sizes, window, strict=True)):
        stride, apart, inner = (row[k] if row else 1 for row in rows)
        low, high = pads[2 * k : 2 * k + 2] or (0, 0)
        window_sizes.append(((size - 1) * apart + low + high - (wide - 1) * inner) // stride + 1)
    return tuple(window_sizes)


def _window_reduction_shapes(given: KnownOperands) -> list[Sizes]:
    """Return the number of window positions on each axis, once for each result."""
    numbers, names = given.operation.numbers, ("window_strides", "base_dilations", "window_dilations")
    # A custom call has five last operands: window sizes, strides, base dilations, window dilations and padding.
    if given.operation.name.endswith("custom_call"):
        window, *rows, pads = (given.numbers(k) for k in range(len(given.shapes) - 5, len(given.shapes)))
    else:
        window, rows, pads = (
            numbers("window_dimensions"),
            [numbers(name, default=[]) for name in names],
            numbers("padding", default=[]),
        )
    return [_window_counts(given.shapes[0], window, rows, pads)] * len(given.operation.types)


_WINDOWS = ("stride", "window_strides"), ("lhs_dilate", "lhs_dilation"), ("rhs_dilate", "rhs_dilation")


def _convolution_shapes(given: KnownOperands) -> list[Sizes]:
    """Return the shape of a convolution: the batch, the output features, and window positions on the other axes."""
    operation = given.operation
    match = re.search(r"\[([^\]]*)\]x\[([^\]]*)\]->\[([^\]]*)\]", operation.text)
    if match is None:
        raise LookupError("dim_numbers")
    image, kernel, result = (row.split(", ") for row in match.groups())
    places = [str(k) for k in range(len(result) - 2)]
    pads = given.numbers(2) if len(given.shapes) > 2 else operation.numbers("pad", "padding", default=[])
    rows = [operation.numbers(*names, default=[]) for names in _WINDOWS]
    sizes = dict(zip(image, given.shapes[0], strict=True))
    weights = dict(zip(kernel, given.shapes[1], strict=True))
    spread = _window_counts([sizes[k] for k in places], [weights[k] for k in places], rows, pads)
    groups = operation.numbers("batch_group_count", default=[1])[0]
    by_name = {"b": sizes["b"] // groups, "f": weights["o"], **dict(zip(places, spread, strict=True))}
    return [tuple(by_name[name] for name in result)]


_LIKE_OPERANDS = """
abs add and atan2 bitcast_convert cbrt ceil cholesky clamp compare complex convert cosine count_leading_zeros
divide dynamic_update_slice exponential exponential_minus_one fft floor imag is_finite log log_plus_one logistic
map maximum minimum multiply negate not optimization_barrier or popcnt power real reduce_precision remainder
reverse round_nearest_afz round_nearest_even rsqrt scatter select select_and_scatter shift_left
shift_right_arithmetic shift_right_logical sign sine sort sqrt subtract tan tanh
triangular_solve uniform_dequantize uniform_quantize xor
""".split()  # noqa: SIM905
RULES: Mapping[str, Rule] = {
    "dynamic_broadcast_in_dim": _shape_operand_rule(1),
    "dynamic_reshape": _shape_operand_rule(1),
    "dynamic_iota": _shape_operand_rule(0),
    "rng": _shape_operand_rule(2),
    "transpose": lambda given: [tuple(given.shapes[0][k] for k in given.operation.numbers("dims", "permutation"))],
    "concatenate": _concatenation_shapes,
    "dot_general": _dot_general_shapes,
    "dot": lambda given: [(*given.shapes[0][:-1], *given.shapes[1][1:])],
    "reduce": _reduction_shapes,
    "real_dynamic_slice": _slice_shapes,
    **dict.fromkeys(("gather", "dynamic_gather"), _gather_shapes),
    **dict.fromkeys(("pad", "dynamic_pad"), _pad_shapes),
    **dict.fromkeys(("reduce_window", "dynamic_reduce_window"), _window_reduction_shapes),
    **dict.fromkeys(("convolution", "dynamic_conv"), _convolution_shapes),
    "dynamic_rng_bit_generator": lambda given: [given.shapes[0], tuple(given.numbers(1))],
    "dynamic_top_k": lambda given: [(*given.shapes[0][:-1], *given.numbers(1))] * 2,
    **dict.fromkeys(_LIKE_OPERANDS, _operand_shapes),
}
"""Maps operators and custom call targets to their shape rules; CHLO's element-wise functions use `_operand_shapes`."""


def rule_of(kind: str) -> Rule | None:
    """Return the shape rule of an operator or custom call target, or None if it has no rule."""
    return RULES.get(kind, _operand_shapes if kind.startswith("chlo.") else None)
