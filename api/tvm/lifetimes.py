"""The tensors that a Relax function allocates, and when they are used: the facts that a plan stands on.

Functions are read behind `CallTIRRewrite`, where each tensor is a `relax.builtin.alloc_tensor` that kernels write. The
rules are those of TVM's StaticPlanBlockMemory: kernels, and functions of the runtime, keep nothing of their arguments;
what anything else gets, and what is returned, is seen from outside and stays apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import tvm_ffi
from tvm import DataType, relax, sym, tirx
from tvm.ir import Call, GlobalVar, IRModule, Op, Range, Var

from memplan.api.tvm.nests import Nest, nests_of

MOST_BYTES = 2**62
_ITEM, _SIZE = (tvm_ffi.get_global_func(f"ffi.Array{name}") for name in ("GetItem", "Size"))
ALLOCATES = Op.get("relax.builtin.alloc_tensor")
VIEWS = {Op.get(f"relax.{name}").__chandle__() for name in ("reshape", "memory.view", "memory.ensure_zero_offset")}
_READERS = {Op.get(f"relax.{name}") for name in ("shape_of", "tensor_to_shape", "vm.call_tir_dyn")}
_RUNTIME_VIEWS = {"vm.builtin.reshape", "vm.builtin.ensure_zero_offset", "vm.builtin.copy"}

Value = frozenset[int] | tuple["Value", ...]
"""The tensors that an expression may be, by their numbers, or the entries of a tuple."""
_NOTHING: frozenset[int] = frozenset()


@dataclass
class AllocatedTensor:
    """A tensor that a function allocates, and the steps from its first use to its last.

    `place` is the device, by its index, and the scope; `size` is the most bytes that it has,
    None where its symbols have no bound.
    """

    variable: Any
    shape: Any
    dtype: Any
    place: tuple[int, str]
    size: int | None
    has_symbols: bool
    start: int = -1
    end: int = -1
    escapes: bool = False

    @property
    def bytes(self) -> Any:
        """Return its bytes as an expression of its symbols, or as a number where it has none."""
        return bytes_of(self.shape, self.dtype) if self.has_symbols else self.size

    def use(self, step: int) -> None:
        """Note a use."""
        self.start = step if self.start < 0 else self.start
        self.end = step + 1


class Bounds:
    """The symbols of a function's signature, and their least and largest values where its attributes give them."""

    def __init__(self, function: relax.Function) -> None:
        self.symbols = list(relax.analysis.defined_symbolic_vars(function))
        self.limits: dict[Any, tuple[int, int | None]] = {}
        self._analyzer = sym.Analyzer()
        if not self.symbols:
            return
        attributes = function.attrs or {}
        most, least = (dict(attributes.get(f"tir_var_{side}_bound") or {}) for side in ("upper", "lower"))
        for symbol in self.symbols:
            first, last = int(least.get(symbol.name, 0)), most.get(symbol.name)
            self.limits[symbol] = first, None if last is None else int(last)
            if last is not None:
                self._analyzer.bind(symbol, Range.from_min_extent(first, int(last) - first + 1))

    def most_bytes(self, shape: Any, dtype: Any) -> int | None:
        """Return the most bytes of a tensor; None where there is no bound."""
        size = DataType(dtype).itemsize
        for length in items(shape.values):
            most = length.value if type(length) is tirx.IntImm else self._analyzer.const_int_bound(length).max_value
            size *= max(0, int(most))
        return size if size < MOST_BYTES else None


def items(array: Any) -> list[Any]:
    """Return what is in an array of TVM, several times as fast as by iteration."""
    return [_ITEM(array, k) for k in range(_SIZE(array))]


def bindings_of(body: Any) -> Iterator[Any]:
    """Yield the bindings of a body, and those of its branches."""
    for block in items(body.blocks) if type(body) is relax.SeqExpr else ():
        for binding in items(block.bindings):
            yield binding
            if type(binding.value) is relax.If:
                yield from bindings_of(binding.value.true_branch)
                yield from bindings_of(binding.value.false_branch)


def bytes_of(shape: Any, dtype: Any) -> Any:
    """Return the bytes of a tensor as an expression."""
    size = tirx.const(DataType(dtype).itemsize, "int64")
    for length in shape.values:
        size = size * length
    return size


class Lifetimes:
    """The tensors of a function, with the steps at which they are used: one for each binding.

    Branches come one behind the other, as neither runs with the other, and no step runs twice. With `nests`, each loop
    nest of a kernel is a step, and `calls` has the tensors of each call of one.
    `leaves_some` is set where there are allocations beside `tensors`.
    """

    def __init__(
        self, module: IRModule, function: relax.Function, kernels: Collection[GlobalVar], *, nests: bool = False
    ) -> None:
        self.function = function
        self.bounds = Bounds(function)
        self.tensors: list[AllocatedTensor] = []
        self.calls: list[frozenset[int]] = []
        self.has_branches = self.leaves_some = False
        self._module, self._nests = module, nests
        self._kernels = {each.__chandle__() for each in kernels}
        self._nests_of: dict[GlobalVar, tuple[Nest, ...]] = {}
        self._written_over: list[tuple[int, int, int]] = []
        self._values: dict[int, Value] = {}  # by handles, as variables compare to expressions
        self._step = 0
        self._escape(self._body(function.body))

    def planned(self) -> list[int]:
        """Return the numbers of tensors that something uses, and that nobody else sees."""
        return [k for k, each in enumerate(self.tensors) if each.start >= 0 and not each.escapes and each.size != 0]

    def in_place(self) -> list[tuple[int, int]]:
        """Return pairs of tensors of which the second may be written over the first."""
        pairs = dict.fromkeys((i, j) for i, j, step in self._written_over if self._ends(i, j, step))
        return list(pairs)

    def _ends(self, i: int, j: int, step: int) -> bool:
        return i != j and self.tensors[i].end == step + 1 and self.tensors[j].start == step

    def _body(self, body: Any) -> Value:
        if type(body) is not relax.SeqExpr:
            return self._value(body)
        for block in items(body.blocks):
            for binding in items(block.bindings):
                self._step += 1
                self._values[binding.var.__chandle__()] = self._value(binding.value, binding.var)
        return self._value(body.body)

    def _value(self, value: Any, variable: Any = None) -> Value:
        kind = type(value)
        if kind is Call:
            return self._call(value, variable)
        if kind is Var or kind is relax.DataflowVar:
            return self._values.get(value.__chandle__(), _NOTHING)
        if kind is relax.Tuple:
            return tuple(map(self._value, items(value.fields)))
        if kind is relax.TupleGetItem:
            whole = self._value(value.tuple_value)
            return whole[value.index] if isinstance(whole, tuple) else whole
        if kind is relax.If:
            self.has_branches = True
            self._use([self._value(value.cond)])
            branches = self._body(value.true_branch), self._body(value.false_branch)
            return branches[0] if branches[0] == branches[1] else frozenset(leaves_of(branches))
        if kind is relax.Function:
            for inner in relax.analysis.free_vars(value):
                self._escape(self._value(inner))
        return _NOTHING

    def _call(self, call: Any, variable: Any) -> Value:
        callee, arguments = call.op, items(call.args)
        kind = type(callee)
        if kind is Op and callee.same_as(ALLOCATES):
            return self._allocate(arguments, variable)
        if kind is Op and callee.__chandle__() in VIEWS:
            return self._value(arguments[0])
        values = tuple(map(self._value, arguments))
        if kind is GlobalVar and callee.__chandle__() in self._kernels:
            if self._nests:
                self._use_in_nests(callee, values)
            else:
                self._use(values)
        elif kind is relax.ExternFunc:
            if callee.global_symbol in _RUNTIME_VIEWS:
                return values[0]
            self._use(values)
            return frozenset(leaves_of(values)) if _has_tensor(call.ty) else _NOTHING
        elif kind is Op and callee in _READERS:
            self._use(values)
        else:
            self._escape(values)
        return _NOTHING

    def _allocate(self, arguments: list[Any], variable: Any) -> Value:
        shape, dtype, device, scope = arguments
        is_known = type(shape) is relax.ShapeExpr and type(device) is tirx.IntImm and scope.value == "global"
        symbols = [each for length in items(shape.values) for each in _symbols(length)] if is_known else []
        if variable is None or not is_known or any(each not in self.bounds.limits for each in symbols):
            self.leaves_some = True
            return _NOTHING
        dtype = dtype.value
        size = self.bounds.most_bytes(shape, dtype)
        self.tensors.append(AllocatedTensor(variable, shape, dtype, (device.value, scope.value), size, bool(symbols)))
        return frozenset({len(self.tensors) - 1})

    def _use_in_nests(self, kernel: Any, arguments: tuple[Value, ...]) -> None:
        if kernel not in self._nests_of:
            self._nests_of[kernel] = nests_of(self._module[kernel])
        self.calls.append(frozenset(leaves_of(arguments)))
        for nest in self._nests_of[kernel]:
            self._use(arguments[k] for k in nest.uses)
            for i, j in nest.in_place:
                read, written = [*leaves_of(arguments[i])], [*leaves_of(arguments[j])]
                if len(read) == len(written) == 1:
                    self._written_over.append((read[0], written[0], self._step))
            self._step += 1

    def _use(self, values: Iterable[Value]) -> None:
        for value in values:
            for k in leaves_of(value):
                self.tensors[k].use(self._step)

    def _escape(self, value: Value) -> None:
        for k in leaves_of(value):
            self.tensors[k].escapes = True


def leaves_of(value: Value) -> Iterator[int]:
    """Yield the tensors that a value may be, or has in it."""
    if isinstance(value, tuple):
        for entry in value:
            yield from leaves_of(entry)
    else:
        yield from value


def _symbols(length: Any) -> list[Any]:
    return [] if type(length) is tirx.IntImm else list(tirx.analysis.undefined_vars(length))


def _has_tensor(type_: Any) -> bool:
    if isinstance(type_, relax.TupleType):
        return any(map(_has_tensor, type_.fields))
    return isinstance(type_, (relax.TensorType, relax.AnyType))
