"""StableHLO as text, as JAX's `export` prints it: every tensor one buffer, its lifetime by the order of the operations.

Calls are followed, so that each has buffers of its own. Numbers that follow from sizes alone are computed before the
program runs, and are no buffers; nor are constants, which lie apart. A reshape is a view. The state of a `while` lies
in its results, and each trip ends with copying the new state there; each branch of `case` and `if` writes their
results. The sizes `?` of arguments are symbols: with the names that JAX gives them, and the ranges and equalities that
its assertions say; else `arg0.1`. Buffers are aligned to 64 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from memplan.planner.errors import MAX_SHOWN, FormatError, OptionError, shown
from memplan.planner.symbols.space import SymbolRange
from memplan.systems.draft import Kind, OperationsDraft
from memplan.systems.imported import Imported, ModelOptions, element_count, sized
from memplan.systems.stablehlo.arguments import OpenSizes
from memplan.systems.stablehlo.shape_rules import KnownOperands, Sizes, UnknownNumber, by_jax, computed, rule_of
from memplan.systems.stablehlo.text import Array, HloFunction, HloOperation, HloType, constant, functions_of

ALIGNMENT = 64
_MOST_OPERATIONS, _DEEPEST = 200_000, 100
_VIEWS = ("reshape", "dynamic_reshape")
_ASSERTION = "shape_assertion"


def read(data: bytes, options: ModelOptions) -> Imported:
    """Read a program; raises FormatError, and OptionError for dimensions that it does not name."""
    functions = functions_of(data)
    opened = _open_sizes(functions)
    if unknown := [name for name in options.dims if name not in opened.symbols]:
        known = ", ".join([*opened.symbols][:MAX_SHOWN]) or "none"
        raise OptionError(f"dim: must be a dimension that the program names ({known}), got {shown(unknown[0])}")
    sizes = opened.sizes(options.dims)
    module = re.search(rb"module @([\w.$-]+)", data[: 1 << 16])
    name = module[1].decode() if module else None

    def drawn(results: Iterable[str]) -> tuple[OperationsDraft, list[str]]:
        draft = OperationsDraft(name, results, options, options.alignment or ALIGNMENT)
        return draft, _Program(functions, draft).run(sizes)

    _, results = drawn(())  # which buffers are results is known at the end
    return drawn(results)[0].imported()


def symbols(data: bytes) -> dict[str, SymbolRange]:
    """Return the symbols that the open sizes of a program's arguments are, with their ranges; raises FormatError."""
    return _open_sizes(functions_of(data)).symbols


@dataclass(frozen=True, eq=False)
class _Value:
    """A tensor: its sizes and type, its buffer, and its numbers where they are few and whole.

    Constants, and numbers that are computed before the program runs, have no buffer.
    """

    shape: Sizes
    kind: HloType
    buffer: str = ""
    numbers: Array | None = None


def _open_sizes(functions: dict[str, HloFunction]) -> OpenSizes:
    """Return the open sizes of the first function, with what it says of them before it computes anything else."""
    main = _main(functions)
    rows = ((name, k) for name, kind in main.arguments.items() for k, size in enumerate(kind.shape) if size is None)
    opened = OpenSizes([f"{name[1:]}.{k}" for name, k in rows])
    program = _Program(functions, OperationsDraft(None, (), ModelOptions(), ALIGNMENT))
    scope = program.arguments(main, {place: opened.numbers.symbol(place) for place in opened.places})
    made = {operation.results[0]: operation for operation in main.body if operation.results}
    for operation in main.body:
        given = [scope[name] for name in operation.operands]
        if operation.kind == _ASSERTION:
            compared = made[operation.operands[0]]
            left, right = (_number(scope[name]) for name in compared.operands)
            opened.asserted.append((compared.text.partition(",")[0], left, right))
        elif operation.kind == "call" and (callee := functions.get(operation.callee)) is not None:
            numbers = dict(zip(callee.arguments, map(_number, given), strict=True))
            opened.named |= {name: numbers[argument] for argument, name in callee.named.items()}
        if operation.kind != "get_dimension_size" and any(value.buffer for value in given):
            break
        scope.update(zip(operation.results, program.operation(operation, scope), strict=True))
    opened.learn()
    return opened


def _number(value: _Value) -> Any:
    """Return the number of a tensor that has one; None for others."""
    return value.numbers.item() if value.numbers is not None and value.numbers.size == 1 else None


def _main(functions: dict[str, HloFunction]) -> HloFunction:
    return functions.get("main") or next(iter(functions.values()))


class _Program:
    """Follows a program, and draws what it computes."""

    def __init__(self, functions: dict[str, HloFunction], draft: OperationsDraft) -> None:
        self.functions, self.draft = functions, draft
        self.count, self.depth, self.serial = 0, 0, 0

    def run(self, sizes: dict[str, int]) -> list[str]:
        """Draw the program for sizes of its arguments; return the buffers that are its results."""
        main = _main(self.functions)
        found = self._block(main.body, self.arguments(main, sizes))
        return [value.buffer or self._copied(value).buffer for value in found]

    def arguments(self, main: HloFunction, sizes: dict[str, int]) -> dict[str, _Value]:
        """Declare the arguments of the first function."""
        scope = {}
        for name, kind in main.arguments.items():
            rows = enumerate(kind.shape)
            shape = tuple(sizes[f"{name[1:]}.{k}"] if size is None else size for k, size in rows)
            scope[name] = self._declared(name[1:], shape, kind, "param")
        return scope

    def operation(self, operation: HloOperation, scope: dict[str, _Value]) -> list[_Value]:
        """Follow an operation, and return its results."""
        kind = operation.kind
        if kind == "while":
            return self._while(operation, scope)
        given = [scope[name] for name in operation.operands]
        if kind in ("call", "composite"):
            return self._called(operation, given)
        if kind in ("case", "if"):
            return self._branches(operation, given[0], scope)
        if kind == _ASSERTION:
            return []
        types = operation.types
        if kind == "constant":
            return [_Value(types[0].sizes, types[0], numbers=constant(operation))]
        if kind == "get_dimension_size":
            size = given[0].shape[operation.numbers("dim", "dimension")[0]]
            return [_Value((), types[0], numbers=np.array(size, object))]
        known = [value.numbers for value in given if value.numbers is not None]
        is_followed = bool(known) and len(known) == len(given) and all(each.has_few_numbers for each in types)
        numbers = computed(operation, known, types[0].sizes) if is_followed else None
        # What has no buffer is a constant, or computed of sizes.
        kinds = [*types, *(value.kind for value in given)]
        if given and not _buffers(given) and all(each.is_static for each in kinds):
            return [_Value(each.sizes, each, numbers=numbers) for each in types]
        return self._drawn(operation, given, numbers)

    def _drawn(self, operation: HloOperation, given: Sequence[_Value], numbers: Array | None) -> list[_Value]:
        shapes = self._shapes(operation, given)
        found = [
            self._declared(operation.kind, shape, kind) for shape, kind in zip(shapes, operation.types, strict=True)
        ]
        if operation.kind in _VIEWS and given[0].buffer:
            self.draft.view(operation.kind, given[0].buffer, found[0].buffer)
        else:
            self.draft.operation(operation.kind, _buffers(given), _buffers(found))
        return found if numbers is None else [replace(found[0], numbers=numbers)]

    def _shapes(self, operation: HloOperation, given: Sequence[_Value]) -> list[Sizes]:
        """Return the shapes of results: sizes of their types, and of open ones those that a rule gives."""
        types = operation.types
        if all(each.is_static for each in types):
            return [each.sizes for each in types]
        known = [None if value.numbers is None else list(value.numbers.ravel()) for value in given]
        rule = rule_of(operation.kind)
        if rule is None:
            raise FormatError(
                f"{operation}: must be an operator whose results' sizes are known here, as some are open; export the"
                " program with these sizes fixed"
            )
        try:
            rows = rule(KnownOperands(operation, [value.shape for value in given], known))
            shapes = [
                tuple(size if each is None else each for size, each in zip(row, kind.shape, strict=True))
                for row, kind in zip(rows, types, strict=True)
            ]
        except (LookupError, ValueError, TypeError, StopIteration) as error:
            raise FormatError(f"{operation}: must have operands of which its sizes follow ({error!r})") from None
        if any(isinstance(size, UnknownNumber) for shape in shapes for size in shape):
            raise FormatError(
                f"{operation}: must have sizes that follow from those of arguments, by one form for all values;"
                " narrower ranges or divisors of symbols may help"
            )
        return shapes

    def _block(self, body: Iterable[HloOperation], scope: dict[str, _Value]) -> list[_Value]:
        """Follow operations up to the return, and return what it returns."""
        for operation in body:
            if operation.kind == "return":
                return [scope[name] for name in operation.operands]
            self.count += 1
            if self.count > _MOST_OPERATIONS:
                raise FormatError(f"operations: must be at most {_MOST_OPERATIONS}, calls followed, got more")
            scope.update(zip(operation.results, self.operation(operation, scope), strict=True))
        return []

    def _called(self, operation: HloOperation, given: Sequence[_Value]) -> list[_Value]:
        function = self.functions.get(operation.callee)
        if function is None or self.depth == _DEEPEST:
            rule = f"must call a function of the module, at most {_DEEPEST} deep"
            raise FormatError(f"{operation}: {rule}, got {shown(operation.callee)}")
        if (quotient := by_jax(operation.callee, [value.numbers for value in given])) is not None:
            return [_Value((), operation.types[0], numbers=quotient)]
        self.depth += 1
        found = self._block(function.body, dict(zip(function.arguments, given, strict=True)))
        self.depth -= 1
        return found

    def _branches(self, operation: HloOperation, condition: _Value, scope: dict[str, _Value]) -> list[_Value]:
        targets, blocks = list[_Value](), []
        for region in operation.regions:
            self.draft.begin_block()
            found = self._block(region, dict(scope))
            targets = targets or [self._declared("case", each.shape, each.kind, "chosen") for each in found]
            for source, target in zip(found, targets, strict=True):
                if source.buffer:
                    self.draft.hand_out("case", source.buffer, target.buffer)
                else:
                    self.draft.operation("copy", (), _buffers([target]))
            blocks.append(self.draft.end_block())
        self.draft.branches(_buffers([condition]), blocks)
        return targets

    def _while(self, operation: HloOperation, scope: dict[str, _Value]) -> list[_Value]:
        names, given = operation.operands[::2], [scope[name] for name in operation.operands[1::2]]
        kept = [name == after for name, after in zip(names, operation.regions[1][-1].operands, strict=True)]
        state = [
            each if is_kept else self._declared("while", each.shape, each.kind, "carried")
            for each, is_kept in zip(given, kept, strict=True)
        ]
        carried = [(first, each) for first, each in zip(given, state, strict=True) if first is not each]
        self.draft.operation("while", _buffers(first for first, _ in carried), _buffers(each for _, each in carried))
        self.draft.begin_block()
        inside = scope | dict(zip(names, state, strict=True))
        self._block(operation.regions[0], dict(inside))
        found = self._block(operation.regions[1], inside)
        moves = [(source, target) for source, target in zip(found, state, strict=True) if source is not target]
        # What is state itself must not be overwritten before it is copied.
        moves = [(self._copied(source) if source in state else source, target) for source, target in moves]
        self.draft.operation("next", _buffers(source for source, _ in moves), _buffers(target for _, target in moves))
        self.draft.loop(self.draft.end_block(), None)
        return state

    def _copied(self, value: _Value) -> _Value:
        copy = self._declared("copy", value.shape, value.kind)
        self.draft.operation("copy", _buffers([value]), _buffers([copy]))
        return copy

    def _declared(self, what: str, shape: Sizes, kind: HloType, role: Kind = "plain") -> _Value:
        name = what if role == "param" else f"{what}.{self.serial}"
        self.serial += 1
        self.draft.declare(name, sized(what, element_count(shape), kind.bits, self.draft.alignment), role)
        unknown = np.frompyfunc(lambda _: UnknownNumber(), 1, 1)
        numbers = np.asarray(unknown(np.zeros(kind.sizes)), object) if kind.has_few_numbers else None
        return _Value(shape, kind, name, numbers)


def _buffers(values: Iterable[_Value]) -> list[str]:
    return list(dict.fromkeys(value.buffer for value in values if value.buffer))
