"""What a Relax function allocates, and when it is used: the facts that a plan stands on.

Functions are read behind `CallTIRRewrite`, where each tensor is a `relax.builtin.alloc_tensor` that kernels write. The
rules are those of TVM's StaticPlanBlockMemory: kernels, and functions of the runtime, keep nothing of their arguments;
what anything else gets, and what is returned, is seen from outside and stays apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tvm import DataType, relax, sym, tirx
from tvm.ir import Call, GlobalVar, IRModule, Op, Range, Var

from memplan.api.tvm.nests import Nest, nests_of

MOST_BYTES = 2**62
_ALLOCATES = Op.get("relax.builtin.alloc_tensor")
VIEWS = {Op.get(f"relax.{name}") for name in ("reshape", "memory.view", "memory.ensure_zero_offset")}
_READERS = {Op.get(f"relax.{name}") for name in ("shape_of", "tensor_to_shape", "vm.call_tir_dyn")}
_RUNTIME_VIEWS = {"vm.builtin.reshape", "vm.builtin.ensure_zero_offset", "vm.builtin.copy"}

Value = frozenset[int] | tuple["Value", ...]
"""What an expression stands for: the tensors that it may be, by their numbers, or the entries of a tuple."""
_NOTHING: frozenset[int] = frozenset()


@dataclass
class Tensor:
    """A tensor that a function allocates, and the steps from its first use to its last.

    `size` is the most bytes that it has; None where its symbols have no bound.
    """

    variable: Any
    call: Any
    size: int | None
    has_symbols: bool
    start: int = -1
    end: int = -1
    escapes: bool = False

    @property
    def place(self) -> tuple[int, str]:
        """Return the device, by its index, and the scope."""
        return int(self.call.args[2]), str(self.call.args[3].value)

    @property
    def bytes(self) -> Any:
        """Return its bytes as an expression of its symbols."""
        return bytes_of(self.call.args[0], self.call.args[1].value)

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
        for length in shape.values:
            most = length if isinstance(length, tirx.IntImm) else self._analyzer.const_int_bound(length).max_value
            size *= max(0, int(most))
        return size if size < MOST_BYTES else None


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
    """

    def __init__(self, module: IRModule, function: relax.Function, *, nests: bool = False) -> None:
        self.bounds = Bounds(function)
        self.tensors: list[Tensor] = []
        self.calls: list[frozenset[int]] = []
        self._written_over: list[tuple[int, int, int]] = []
        self._module, self._nests = module, nests
        self._kernels: dict[Any, tuple[Nest, ...]] = {}
        self._values: dict[Any, Value] = {}
        self._step = 0
        for name, each in module.functions_items():
            if isinstance(each, tirx.PrimFunc):
                self._kernels[name] = ()
        self._escape(self._body(function.body))

    def planned(self) -> list[int]:
        """Return the numbers of tensors that something uses, and that nobody else sees."""
        return [k for k, each in enumerate(self.tensors) if each.start >= 0 and not each.escapes]

    def in_place(self) -> list[tuple[int, int]]:
        """Return pairs of tensors of which the second may be written over the first."""
        pairs = dict.fromkeys((i, j) for i, j, step in self._written_over if self._ends(i, j, step))
        return list(pairs)

    def _ends(self, i: int, j: int, step: int) -> bool:
        return i != j and self.tensors[i].end == step + 1 and self.tensors[j].start == step

    def _body(self, body: Any) -> Value:
        if not isinstance(body, relax.SeqExpr):
            return self._value(body)
        for block in body.blocks:
            for binding in block.bindings:
                self._step += 1
                self._values[binding.var] = self._value(binding.value, binding.var)
        return self._value(body.body)

    def _value(self, value: Any, variable: Any = None) -> Value:
        if isinstance(value, Var):
            return self._values.get(value, _NOTHING)
        if isinstance(value, Call):
            return self._call(value, variable)
        if isinstance(value, relax.Tuple):
            return tuple(map(self._value, value.fields))
        if isinstance(value, relax.TupleGetItem):
            whole = self._value(value.tuple_value)
            return whole[value.index] if isinstance(whole, tuple) else whole
        if isinstance(value, relax.If):
            self._use([self._value(value.cond)])
            branches = self._body(value.true_branch), self._body(value.false_branch)
            return branches[0] if branches[0] == branches[1] else frozenset(leaves_of(branches))
        if isinstance(value, relax.Function):
            for inner in relax.analysis.free_vars(value):
                self._escape(self._value(inner))
        return _NOTHING

    def _call(self, call: Any, variable: Any) -> Value:
        callee = call.op
        if isinstance(callee, GlobalVar) and callee in self._kernels:
            arguments = tuple(map(self._value, call.args))
            if self._nests:
                self._use_in_nests(callee, arguments)
            else:
                self._use(arguments)
            return _NOTHING
        if isinstance(callee, Op):
            if callee == _ALLOCATES:
                return self._allocate(call, variable)
            if callee in VIEWS:
                return self._value(call.args[0])
        arguments = tuple(map(self._value, call.args))
        if isinstance(callee, relax.ExternFunc):
            if callee.global_symbol in _RUNTIME_VIEWS:
                return arguments[0]
            self._use(arguments)
            return frozenset(leaves_of(arguments)) if _has_tensor(call.ty) else _NOTHING
        if callee in _READERS:
            self._use(arguments)
        else:
            self._escape(arguments)
        return _NOTHING

    def _allocate(self, call: Any, variable: Any) -> Value:
        shape, dtype, device, _ = call.args
        if variable is None or not isinstance(shape, relax.ShapeExpr) or not isinstance(device, tirx.IntImm):
            return _NOTHING
        symbols = [each for length in shape.values for each in _symbols(length)]
        if any(each not in self.bounds.limits for each in symbols):
            return _NOTHING
        size = self.bounds.most_bytes(shape, dtype.value)
        if size == 0:
            return _NOTHING
        self.tensors.append(Tensor(variable, call, size, bool(symbols)))
        return frozenset({len(self.tensors) - 1})

    def _use_in_nests(self, kernel: Any, arguments: tuple[Value, ...]) -> None:
        self._kernels[kernel] = self._kernels[kernel] or nests_of(self._module[kernel])
        self.calls.append(frozenset(leaves_of(arguments)))
        for nest in self._kernels[kernel]:
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
    return [] if isinstance(length, tirx.IntImm) else list(tirx.analysis.undefined_vars(length))


def _has_tensor(type_: Any) -> bool:
    if isinstance(type_, relax.TupleType):
        return any(map(_has_tensor, type_.fields))
    return isinstance(type_, (relax.TensorType, relax.AnyType))
