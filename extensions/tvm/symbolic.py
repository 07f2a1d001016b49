"""Offsets as expressions of a function's symbols: one plan holds for all symbol values, and each call evaluates it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from tvm import sym, tirx
from tvm.ir import Range, Var

from memplan.extensions.shapes.search.search import search_programs
from memplan.extensions.shapes.shapes import ShapesOptions
from memplan.extensions.tvm.places import ALIGNMENT, StoragePlaces, check_places
from memplan.extensions.tvm.tensors import AllocatedTensor, Bounds
from memplan.planner.errors import InputError
from memplan.programs.symbols.comparing import samples
from memplan.programs.symbols.problem import SymbolicBuffer, SymbolicProblem
from memplan.programs.symbols.space import SymbolRange
from memplan.questions.question import Control

MOST_PARTS = 2000
"""The maximum number of terms of an offset after all references to other offsets are expanded."""
SAMPLES = 8
OPEN = 128
"""The value of a symbol without a bound at which bytes are reported."""
_OPTIONS = ShapesOptions(time_limit_s=2)
_INFIX = {tirx.Add: "+", tirx.Sub: "-", tirx.Mul: "*", tirx.FloorDiv: "//", tirx.FloorMod: "%"}
_CALLED = {tirx.Min: "min", tirx.Max: "max"}


class UnreadableError(Exception):
    """memplan cannot express a size of the function, or an offset is too long, so TVM's plan is kept."""


class Symbols:
    """The symbols of a function, each with a unique name; expressions of symbols can be evaluated and printed."""

    def __init__(self, bounds: Bounds) -> None:
        """Name the symbols s0, s1 and so on, and set their ranges, which start at 1 or above."""
        self._names = {symbol: f"s{k}" for k, symbol in enumerate(bounds.limits)}
        self.simplify = _analyzer({symbol: Range.from_min_extent(0, 2**40) for symbol in bounds.limits}).simplify
        spans = {name: bounds.limits[symbol] for symbol, name in self._names.items()}
        self.ranges = {name: SymbolRange(min=max(1, least), max=most) for name, (least, most) in spans.items()}
        """Maps each symbol to its range, which starts at 1 because a tensor of length 0 needs no bytes."""
        self.reported = {name: most or OPEN for name, (_, most) in spans.items()}
        """Maps each symbol to the value at which bytes are reported: its bound, or `OPEN` if it has none."""

    def points(self) -> list[dict[str, int]]:
        """Return the points (values of all symbols) at which plans are compared; the first point is `reported`."""
        parts = (1, 2, 3, 7, 16)
        return [{name: max(1, each // part) for name, each in self.reported.items()} for part in parts]

    def evaluator(self, values: Mapping[str, int]) -> Callable[[Any], int]:
        """Return a function that evaluates an expression at the symbol values `values`."""
        simplify = _analyzer({each: tirx.const(values[name], "int64") for each, name in self._names.items()}).simplify
        return lambda size: int(size if isinstance(size, (int, tirx.IntImm)) else simplify(size))

    def text(self, size: Any) -> str:
        """Return a size as text in memplan's syntax. Raises UnreadableError unless it is a polynomial of symbols."""
        if isinstance(size, tirx.IntImm):
            return str(int(size))
        if isinstance(size, Var) and size in self._names:
            return self._names[size]
        if type(size) in _INFIX:
            return f"({self.text(size.a)} {_INFIX[type(size)]} {self.text(size.b)})"
        if type(size) in _CALLED:
            return f"{_CALLED[type(size)]}({self.text(size.a)}, {self.text(size.b)})"
        raise UnreadableError(f"the size {size} is not a polynomial of its symbols")


def place_for_all(tensors: Sequence[AllocatedTensor], bounds: Bounds) -> StoragePlaces:
    """Return one storage's offsets for all symbol values. Raises UnreadableError if they would be too long."""
    symbols = Symbols(bounds)
    sizes = [symbols.simplify(tirx.const(1, "int64") * each.bytes) for each in tensors]
    rows = [
        SymbolicBuffer(id=k, size=symbols.text(size), start=each.start, end=each.end)
        for k, (each, size) in enumerate(zip(tensors, sizes, strict=True))
    ]
    try:
        problem = SymbolicProblem(symbols=symbols.ranges, buffers=tuple(rows), alignment=ALIGNMENT)
        found = search_programs(problem, 1, Control().begin(_OPTIONS))
    except InputError as error:
        raise UnreadableError(str(error)) from None
    program = found.programs.programs[0]
    if max(program.counts()) > MOST_PARTS:
        raise UnreadableError(f"an offset would have more than {MOST_PARTS} terms")
    padded = {
        form: tirx.floordiv(size + (ALIGNMENT - 1), ALIGNMENT) * ALIGNMENT
        for form, size in zip(found.sized.form_of.tolist(), sizes, strict=True)
    }

    def max_expression(ends: list[Any]) -> Any:
        return symbols.simplify(reduce(tirx.max, ends or [tirx.const(0, "int64")]))

    offsets, ends = program.expressions(padded, max_expression)
    storage = max_expression(ends)
    bound = max(found.sized.space.values(found.loads, symbols.reported))
    for point in samples(found.sized.space, SAMPLES):  # TVM computes the sizes, so verify the plan at sample points.
        at = symbols.evaluator(point)
        here = [replace(each, size=at(size)) for each, size in zip(tensors, sizes, strict=True)]
        check_places(here, StoragePlaces(("storage",), (at(storage),), tuple((0, at(each)) for each in offsets), 0))
    return StoragePlaces(("storage",), (storage,), tuple((0, each) for each in offsets), bound)


def _analyzer(bound: Mapping[Any, Any]) -> Any:
    analyzer = sym.Analyzer()
    for symbol, what in bound.items():
        analyzer.bind(symbol, what)
    return analyzer
