"""Reader of StableHLO text as JAX's `export` prints it: each tensor is a buffer, alive in the order of operations.

Calls are inlined, so each call gets its own buffers. Numbers that depend only on sizes are computed before the program
runs, and constants are stored elsewhere, so neither are buffers. A reshape is a view. The state of a `while` loop is
stored in its results, and each iteration ends by copying the new state there. Each branch of `case` and `if` writes the
results. The sizes `?` of arguments are symbols, whose names, ranges and equalities come from JAX's assertions. A symbol
without a name is called after its place, like `arg0.1`. Buffers are aligned to 64 bytes.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from memplan.planner.errors import MAX_SHOWN, FormatError, OptionError, excerpt
from memplan.planner.foreign.imported import (
    ImportedProblem,
    OpenSizesError,
    constants_finding,
    element_count,
    packed_bytes,
)
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.model.finding import Finding
from memplan.programs.operations.graph_facts import OperationFacts, TensorFacts
from memplan.programs.readers.draft import Kind, OperationsDraft
from memplan.programs.readers.vocabulary import HLO_KINDS, kind_of
from memplan.programs.symbols.space import SymbolRange
from memplan.runtimes.stablehlo.arguments import OpenSizes
from memplan.runtimes.stablehlo.shape_rules import KnownOperands, Sizes, UnknownNumber, compute, compute_as_jax, rule_of
from memplan.runtimes.stablehlo.text import (
    Array,
    HloFunction,
    HloModule,
    HloOperation,
    HloType,
    constant_integers,
    module_of,
)

S = TypeVar("S")
T = TypeVar("T")
ALIGNMENT = 64
_MOST_OPERATIONS, _DEEPEST = 200_000, 100
_VIEWS = ("reshape", "dynamic_reshape")
_ASSERTION = "shape_assertion"
_IMPURE = re.compile(r"rng|infeed|recv|send|all_|reduce_scatter|collective_|(?:partition|replica)_id|.*\.|call$")
"""Matches operators whose results depend on more than their operands, so they are never evaluated in advance."""
_ELEMENTWISE = re.compile("(all_|collective_)?reduce|reduce_(scatter|window)|sort|scatter|select_and_scatter|map")
"""Matches operators whose regions compute on single elements, so the regions need no buffers."""
_COUNTS: Mapping[str, tuple[int | None, int | None]] = {
    "constant": (0, 1),
    "tuple": (None, 1),
    "get_tuple_element": (1, 1),
    "get_dimension_size": (1, 1),
    "reshape": (1, 1),
    "dynamic_reshape": (2, 1),
    "case": (1, None),
    "if": (1, None),
}
"""Maps operators to their required numbers of (operands, results); None allows any number."""


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Read a program. Raises FormatError, and OptionError for a dimension that the program does not have."""
    module = module_of(data)
    opened = _open_sizes(module)
    main = module.functions[module.main]
    values = [name[1:] for name, kind in main.arguments.items() if not kind.shape and kind.has_few_numbers]
    if unknown := [name for name in options.dims if name not in opened.symbols and name not in values]:
        names = ", ".join([*opened.symbols, *values][:MAX_SHOWN]) or "none"
        rule = f"must be a dimension that the program names ({names}), got {excerpt(unknown[0])}"
        raise OptionError.from_rule("dims", rule, way=None if opened.symbols or values else "leave it out")
    sizes = opened.sizes(options.sizes) | {name: options.sizes[name] for name in values if name in options.dims}
    unknown_values = dict.fromkeys((name for name in values if name not in options.dims), 1)

    def draw_program(results: Iterable[str]) -> tuple[_Program, list[str]]:
        draft = OperationsDraft(module.name, results, options, options.alignment or ALIGNMENT)
        program = _Program(module, draft, unknown_values)
        return program, program.run(sizes)

    # The buffers of a program's results are known only after converting the program, so convert it twice.
    _, results = draw_program(())
    program, _ = draw_program(results)
    once = constants_finding(
        program.computed,
        "XLA folds or fuses them",
        "a runtime that does neither computes them in every run",
        is_all=not program.main.arguments,
    )
    return program.draft.make_program([*_unplanned_functions(module), *_donations(main), *once])


def symbols(data: bytes) -> dict[str, SymbolRange]:
    """Map each symbol for open sizes of arguments to its range. Raises FormatError for a broken program."""
    return _open_sizes(module_of(data)).symbols


def _unplanned_functions(module: HloModule) -> list[Finding]:
    others = module.unreached_functions
    if not others:
        return []
    listed = ", ".join(f"@{name}" for name in others[:MAX_SHOWN]) + (", ..." if len(others) > MAX_SHOWN else "")
    sentence = f"the plan covers only @{module.main}, which does not call {listed}: plan each from a separate file"
    return [Finding("other-functions", sentence, ())]


def _donations(main: HloFunction) -> list[Finding]:
    if not (donated := main.donations):
        return []
    rows = [f"{name} ({attribute})" for name, attribute in donated.items()]
    listed = ", ".join(rows[:MAX_SHOWN]) + (", ..." if len(rows) > MAX_SHOWN else "")
    sentence = f"donated are {listed}: their bytes are free after the last read, as those of all arguments are here"
    return [Finding("unused-donation", f"{sentence}, and results need not reuse them", tuple(n[1:] for n in donated))]


@dataclass(frozen=True, eq=False)
class _Value:
    """A tensor: its shape and type, its buffer, and its elements if they are a few known integers.

    Constants and numbers that are computed before the program runs have no buffer.
    """

    shape: Sizes
    kind: HloType
    buffer: str = ""
    numbers: Array | None = None
    parts: "tuple[_Value, ...] | None" = None


def _open_sizes(module: HloModule) -> OpenSizes:
    """Return the main function's open (unknown) argument sizes, with the assertions at the function's start."""
    main = module.functions[module.main]
    rows = ((name, k) for name, kind in main.arguments.items() for k, size in enumerate(kind.shape) if size is None)
    opened = OpenSizes([f"{name[1:]}.{k}" for name, k in rows])
    program = _Program(module, OperationsDraft(None, (), ModelOptions(), ALIGNMENT), {})
    scope = program.arguments(main, {place: opened.numbers.symbol(place) for place in opened.places})
    made = {operation.results[0]: operation for operation in main.body if operation.results}
    for operation in main.body if opened.places else ():
        operands = _operands(operation, scope)
        if operation.kind == _ASSERTION:
            compared = made.get(operation.operands[0], operation)
            if compared.direction and len(compared.operands) == 2:
                left, right = (_single_number(value) for value in _operands(compared, scope))
                opened.asserted.append((compared.direction, left, right))
        elif operation.kind == "call" and (callee := module.functions.get(operation.callee)) is not None:
            numbers = dict(_paired_values(operation, [*callee.arguments], [*map(_single_number, operands)]))
            opened.named |= {name: numbers[argument] for argument, name in callee.named_sizes.items()}
        if operation.kind != "get_dimension_size" and any(value.buffer for value in operands):
            break
        scope.update(_paired_values(operation, operation.results, program.operation(operation, scope)))
    opened.name_symbols()
    return opened


def _single_number(value: _Value) -> Any:
    """Return the number in a tensor with a single known element, or None for any other tensor."""
    return value.numbers.item() if value.numbers is not None and value.numbers.size == 1 else None


def _operands(operation: HloOperation, scope: Mapping[str, _Value]) -> list[_Value]:
    """Return the values of an operation's operands. Raises FormatError for an undefined operand."""
    if unmade := [name for name in operation.operands if name not in scope]:
        raise FormatError(f"{operation}: must use only values defined before it, got {excerpt(unmade[0])}")
    return [scope[name] for name in operation.operands]


def _paired_values(operation: HloOperation, names: Sequence[S], values: Sequence[T]) -> list[tuple[S, T]]:
    """Return the pairs of names and values. Raises FormatError that names the operation if their numbers differ."""
    if len(names) != len(values):
        raise FormatError(f"{operation}: must pass {len(names)} values, got {len(values)}")
    return list(zip(names, values, strict=True))


class _Program:
    """Converts a program to operations and buffers, with all calls inlined."""

    def __init__(self, module: HloModule, draft: OperationsDraft, unknown: Mapping[str, int]) -> None:
        """Store the functions and the unknown values, and start with no operations."""
        self.functions, self.draft, self.unknown = module.functions, draft, unknown
        self.main = module.functions[module.main]
        self.count, self.depth, self.serial = 0, 0, 0
        self.computed: list[int] = []

    def run(self, sizes: dict[str, int]) -> list[str]:
        """Convert the program for the given argument sizes, and return the names of the buffers of its results."""
        results = self._convert_block(self.main.body, self.arguments(self.main, sizes))
        leaves = [value for value in _flatten(results) if value.kind.element != "token"]
        return list(dict.fromkeys(value.buffer or self._copy_value(value).buffer for value in leaves))

    def arguments(self, main: HloFunction, sizes: dict[str, int]) -> dict[str, _Value]:
        """Declare the main function's arguments, and return their values.

        `sizes` maps open sizes, and arguments that are numbers, to integers.
        """
        scope = {}
        for name, kind in main.arguments.items():
            rows = enumerate(kind.shape)
            shape = tuple(sizes[f"{name[1:]}.{k}"] if size is None else size for k, size in rows)
            if kind.parts is not None and not all(part.is_static for part in kind.parts):
                raise FormatError(f"{name}: must be separate tensors, not a tuple, if sizes are open")
            value = self._declare(name[1:], shape, kind, "param")
            numbers = np.array(sizes[name[1:]], object) if name[1:] in sizes else value.numbers
            scope[name] = replace(value, numbers=numbers)
        return scope

    def operation(self, operation: HloOperation, scope: dict[str, _Value]) -> list[_Value]:
        """Convert an operation, and return the values of its results."""
        kind, types, operands = operation.kind, operation.types, _operands(operation, scope)
        counts, got = _COUNTS.get(kind, (None, None)), (len(operands), len(types))
        if any(count not in (None, has) for count, has in zip(counts, got, strict=True)):
            wanted = " and ".join("any" if count is None else str(count) for count in counts)
            raise FormatError(f"{operation}: must have {wanted} operands and results, got {got[0]} and {got[1]}")
        if kind == "while":
            return self._add_while(operation, operands, scope)
        if kind in ("case", "if"):
            return self._add_branches(operation, operands[0], scope)
        if kind in ("call", "composite") and not self._calls_external_function(operation):
            return self._call_function(operation, operands)
        if kind == _ASSERTION:
            return []
        if kind == "tuple":
            return [_Value((), types[0], parts=tuple(operands))]
        try:
            if kind == "get_tuple_element" and (place := re.search(r"\[(\d+)\]|index = (\d+)", operation.text)):
                return [(operands[0].parts or ())[int(place[1] or place[2])]]
            if kind == "get_dimension_size":
                size = operands[0].shape[operation.numbers("dim", "dimension")[0]]
                return [_Value((), types[0], numbers=np.array(size, object))]
            numbers = constant_integers(operation) if kind == "constant" else self._known_result(operation, operands)
        except (LookupError, ValueError, TypeError):
            raise FormatError(
                f"{operation}: must have integer attributes, and operands that match each other and the result type"
            ) from None
        if kind == "constant" or self._is_constant(operation, operands):
            if kind != "constant":
                self.computed += [element_count(each.sizes) * each.bits // 8 for each in types]
            return [_Value(each.sizes, each, numbers=numbers) for each in types]
        return self._draw_operation(operation, operands, numbers)

    def _known_result(self, operation: HloOperation, given: Sequence[_Value]) -> Array | None:
        """Return an operation's result if all its operands are known and the operation is supported, or else None."""
        numbers = [value.numbers for value in given if value.numbers is not None]
        is_followed = numbers and len(numbers) == len(given) and operation.types
        if not is_followed or not all(each.has_few_numbers for each in operation.types):
            return None
        return compute(operation, numbers, operation.types[0].sizes)

    def _is_constant(self, operation: HloOperation, given: Sequence[_Value]) -> bool:
        """Return True if a result depends only on constants and sizes, so that compilers evaluate it in advance.

        In a program without arguments, all values would be constant, so only small values count as constant.
        """
        kinds = [*operation.types, *(value.kind for value in given)]
        is_plain = all(each.is_static and each.element != "token" for each in kinds)
        is_pure = operation.name != "stablehlo.custom_call" and not _IMPURE.match(operation.kind)
        known_before = bool(self.main.arguments) or all(each.has_few_numbers for each in kinds)
        return bool(given) and not _buffer_names(given) and is_plain and is_pure and known_before

    def _draw_operation(self, operation: HloOperation, given: Sequence[_Value], numbers: Array | None) -> list[_Value]:
        """Add an operation or a view to the program, with buffers for its results, and return the results' values."""
        if (
            operation.regions
            and not _ELEMENTWISE.fullmatch(operation.kind)
            and not operation.name.endswith("custom_call")
        ):
            rule = "must not contain operations, as it is unknown how often and on which device they run"
            raise FormatError(f"{operation}: {rule}")
        shapes = self._result_shapes(operation, given)
        values = [
            self._declare(operation.kind, shape, kind) for shape, kind in zip(shapes, operation.types, strict=True)
        ]
        if operation.kind in _VIEWS and given[0].buffer:
            self.draft.view(operation.kind, given[0].buffer, values[0].buffer)
        else:
            with self.draft.drawing(OperationFacts(None, kind_of(operation.kind, HLO_KINDS))):
                self.draft.operation(operation.kind, _buffer_names(given), _buffer_names(values))
        return values if numbers is None else [replace(values[0], numbers=numbers)]

    def _result_shapes(self, operation: HloOperation, given: Sequence[_Value]) -> list[Sizes]:
        """Return the shapes of the results, which the result types state or, if not, the operator's rule computes."""
        types = operation.types
        if all(each.is_static for each in types):
            return [each.sizes for each in types]
        numbers = [None if value.numbers is None else list(value.numbers.ravel()) for value in given]
        rule = rule_of(operation.kind)
        if rule is None:
            raise FormatError(
                f"{operation}: must be an operator with a rule for open result sizes; export the"
                " program with these sizes fixed"
            )
        try:
            rows = rule(KnownOperands(operation, [value.shape for value in given], numbers))
            shapes = [
                tuple(size if each is None else each for size, each in zip(row, kind.shape, strict=True))
                for row, kind in zip(rows, types, strict=True)
            ]
        # A shape rule also fails if an operand's shape is unknown, so report unknown operands before any cause.
        except (LookupError, ValueError, TypeError, StopIteration):
            shapes = []
        if not shapes or any(isinstance(size, UnknownNumber) for shape in shapes for size in shape):
            rule_broken = f"{operation}: must have sizes that follow from the sizes of arguments"
            if self.unknown:
                raise OpenSizesError(f"{rule_broken}, got {', '.join(self.unknown)} unknown", self.unknown)
            raise FormatError(
                f"{rule_broken}, by one formula for all values; narrower ranges or divisors of symbols may help"
            )
        return shapes

    def _convert_block(self, body: Iterable[HloOperation], scope: dict[str, _Value]) -> list[_Value]:
        for operation in body:
            if operation.kind == "return":
                return _operands(operation, scope)
            self.count += 1
            if self.count > _MOST_OPERATIONS:
                raise FormatError(f"operations: must be at most {_MOST_OPERATIONS} with calls inlined, got more")
            scope.update(_paired_values(operation, operation.results, self.operation(operation, scope)))
        return []

    def _calls_external_function(self, operation: HloOperation) -> bool:
        function = self.functions.get(operation.callee)
        return function is not None and not function.has_body

    def _call_function(self, operation: HloOperation, given: Sequence[_Value]) -> list[_Value]:
        """Convert the body of a called function in place of the call, and return the values of its results."""
        function = self.functions.get(operation.callee)
        if function is None or self.depth == _DEEPEST:
            rule = f"must call a function of the module, at most {_DEEPEST} deep"
            raise FormatError(f"{operation}: {rule}, got {excerpt(operation.callee)}")
        if (quotient := compute_as_jax(operation.callee, [value.numbers for value in given])) is not None:
            return [_Value((), operation.types[0], numbers=quotient)]
        self.depth += 1
        results = self._convert_block(function.body, dict(_paired_values(operation, [*function.arguments], given)))
        self.depth -= 1
        return results

    def _add_branches(self, operation: HloOperation, condition: _Value, scope: dict[str, _Value]) -> list[_Value]:
        """Add the branches of a `case` or `if`, and return the results; every branch writes the same results."""
        targets, blocks = list[_Value](), []
        for region in operation.regions:
            self.draft.begin_block()
            results = self._convert_block(region.body, dict(scope))
            targets = targets or [self._declare_like(each, "case", "chosen") for each in results]
            for source, target in _paired_values(operation, _flatten(results), _flatten(targets)):
                if source.buffer:
                    self.draft.hand_out("case", source.buffer, target.buffer)
                elif target.buffer:
                    self.draft.operation("copy", (), _buffer_names([target]))
            blocks.append(self.draft.end_block())
        self.draft.branches(_buffer_names([condition]), blocks)
        return targets

    def _add_while(self, operation: HloOperation, given: Sequence[_Value], scope: dict[str, _Value]) -> list[_Value]:
        """Add a loop whose state is stored in its results and copied there after each iteration; return the results."""
        if len(operation.regions) != 2 or not operation.regions[1].body:
            raise FormatError(f"{operation}: must have a condition and a body, got {len(operation.regions)} regions")
        condition, body = operation.regions
        after = body.body[-1].operands
        is_same = [name == other for name, other in _paired_values(operation, body.arguments, after)]
        rows = _paired_values(operation, given, is_same)
        state = [each if is_kept else self._declare_like(each, "while", "carried") for each, is_kept in rows]
        carried = [pair for pair in zip(_flatten(given), _flatten(state), strict=True) if pair[0] is not pair[1]]
        self.draft.operation(
            "while", _buffer_names(first for first, _ in carried), _buffer_names(each for _, each in carried)
        )
        self.draft.begin_block()
        self._convert_block(condition.body, scope | dict(_paired_values(operation, condition.arguments, state)))
        results = self._convert_block(body.body, scope | dict(_paired_values(operation, body.arguments, state)))
        both = _paired_values(operation, _flatten(results), _flatten(state))
        moves = [(source, target) for source, target in both if source is not target]
        # A state value that moves to another state value could be overwritten before the move, so move a copy.
        moves = [(self._copy_value(source) if source in state else source, target) for source, target in moves]
        self.draft.operation(
            "next", _buffer_names(source for source, _ in moves), _buffer_names(target for _, target in moves)
        )
        self.draft.loop(self.draft.end_block(), None)
        return state

    def _copy_value(self, value: _Value) -> _Value:
        copy = self._declare("copy", value.shape, value.kind)
        self.draft.operation("copy", _buffer_names([value]), _buffer_names([copy]))
        return copy

    def _declare_like(self, value: _Value, what: str, role: Kind) -> _Value:
        if value.parts is None:
            return self._declare(what, value.shape, value.kind, role)
        return replace(value, parts=tuple(self._declare_like(each, what, role) for each in value.parts))

    def _declare(self, what: str, shape: Sizes, kind: HloType, role: Kind = "plain") -> _Value:
        """Declare a buffer with a shape and a type, or one buffer for each element of a tuple, and return the value."""
        if kind.parts is not None:
            rows = [(f"{what}.{k}" if role == "param" else what, part) for k, part in enumerate(kind.parts)]
            return _Value((), kind, parts=tuple(self._declare(name, part.sizes, part, role) for name, part in rows))
        if kind.element == "token":
            return _Value((), kind)
        name = what if role == "param" else f"{what}.{self.serial}"
        self.serial += 1
        self.draft.declare(name, packed_bytes(what, element_count(shape), kind.bits, self.draft.alignment), role)
        known = tuple(shape) if all(type(size) is int for size in shape) else None
        self.draft.describe(name, TensorFacts(name=name, shape=known, dtype=kind.dtype))
        unknown = np.frompyfunc(lambda _: UnknownNumber(), 1, 1)
        numbers = np.asarray(unknown(np.zeros(kind.sizes)), object) if kind.has_few_numbers else None
        return _Value(shape, kind, name, numbers)


def _flatten(values: Iterable[_Value]) -> list[_Value]:
    return [leaf for value in values for leaf in ([value] if value.parts is None else _flatten(value.parts))]


def _buffer_names(values: Iterable[_Value]) -> list[str]:
    return list(dict.fromkeys(value.buffer for value in _flatten(values) if value.buffer))
