"""What a Relax function allocates, and when it is used: the facts that a plan stands on. As in TVM 0.27.

Functions are read behind `CallTIRRewrite`, where each tensor is a `relax.builtin.alloc_tensor` that kernels write. The
rules are those of TVM's StaticPlanBlockMemory: a kernel, and a function of the runtime, keeps nothing of its arguments;
what anything else gets, and what is returned, is seen from outside and not planned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tvm import DataType, relax, sym, tirx
from tvm.ir import Call, GlobalVar, IRModule, Op, Range, Var

MOST_BYTES = 2**62
_ALLOCATES = Op.get("relax.builtin.alloc_tensor")
_DYNAMIC_CALL = Op.get("relax.vm.call_tir_dyn")
_VIEWS = {Op.get(f"relax.{name}") for name in ("reshape", "memory.view", "memory.ensure_zero_offset")}
_READERS = {Op.get(f"relax.{name}") for name in ("shape_of", "tensor_to_shape")} | {_DYNAMIC_CALL}
_RUNTIME_VIEWS = {"vm.builtin.reshape", "vm.builtin.ensure_zero_offset", "vm.builtin.copy"}

Value = frozenset[int] | tuple["Value", ...]
"""What an expression stands for: the tensors that it may be, by their numbers, or the entries of a tuple."""
_NOTHING: frozenset[int] = frozenset()


class UnreadableError(Exception):
    """A function has what is not known here; its plan is TVM's."""


@dataclass
class Tensor:
    """A tensor that a function allocates: the binding, the most bytes, the place, and the steps of its first and last use."""

    binding: Any
    size: int
    device: int
    scope: str
    start: int = -1
    end: int = -1
    escapes: bool = False
    symbols: bool = False
    """Its size depends on symbols."""

    def use(self, step: int) -> None:
        """Note a use at a step."""
        self.start = step if self.start < 0 else self.start
        self.end = step + 1


class Lifetimes:
    """The tensors of a function that can be planned, with the steps at which they are used: one for each binding.

    Branches come one behind the other, as neither runs with the other, and no step runs twice. Raises UnreadableError.
    """

    def __init__(self, module: IRModule, function: relax.Function) -> None:
        self.step = 0
        self.bounds = Bounds(function)
        self.tensors: list[Tensor] = []
        self._kernels = {name for name, each in module.functions_items() if isinstance(each, tirx.PrimFunc)}
        self._values: dict[Any, Value] = {}
        self._escape(self._body(function.body))

    def planned(self) -> list[Tensor]:
        """Return the tensors that kernels use and nobody else sees."""
        return [each for each in self.tensors if each.start >= 0 and not each.escapes]

    def _body(self, body: Any) -> Value:
        if not isinstance(body, relax.SeqExpr):
            return self._value(body)
        for block in body.blocks:
            for binding in block.bindings:
                self.step += 1
                self._values[binding.var] = self._value(binding.value, binding)
        return self._value(body.body)

    def _value(self, value: Any, binding: Any = None) -> Value:
        if isinstance(value, Var):
            return self._values.get(value, _NOTHING)
        if isinstance(value, Call):
            return self._call(value, binding)
        if isinstance(value, relax.Tuple):
            return tuple(map(self._value, value.fields))
        if isinstance(value, relax.TupleGetItem):
            whole = self._value(value.tuple_value)
            return whole[value.index] if isinstance(whole, tuple) else whole
        if isinstance(value, relax.If):
            self._use([self._value(value.cond)])
            branches = self._body(value.true_branch), self._body(value.false_branch)
            return branches[0] if branches[0] == branches[1] else frozenset(_leaves(branches))
        if isinstance(value, relax.Function):
            for variable in relax.analysis.free_vars(value):
                self._escape(self._value(variable))
        return _NOTHING

    def _call(self, call: Any, binding: Any) -> Value:
        callee = call.op
        if isinstance(callee, GlobalVar) and callee in self._kernels:
            self._use(map(self._value, call.args))
            return _NOTHING
        if isinstance(callee, Op):
            if callee == _ALLOCATES:
                return self._allocate(call, binding)
            if callee in _VIEWS:
                return self._value(call.args[0])
        arguments = tuple(map(self._value, call.args))
        if isinstance(callee, relax.ExternFunc):
            if callee.global_symbol in _RUNTIME_VIEWS:
                return arguments[0]
            self._use(arguments)
            return frozenset(_leaves(arguments)) if _has_tensor(call.ty) else _NOTHING
        if callee in _READERS:
            self._use(arguments)
        else:
            self._escape(arguments)
        return _NOTHING

    def _allocate(self, call: Any, binding: Any) -> Value:
        shape, dtype, device, scope = call.args
        if binding is None or not isinstance(shape, relax.ShapeExpr) or not isinstance(device, tirx.IntImm):
            return _NOTHING
        size = self.bounds.most_bytes(shape, dtype.value)
        if size is None:
            return _NOTHING
        symbols = any(not isinstance(length, tirx.IntImm) for length in shape.values)
        self.tensors.append(Tensor(binding, size, int(device), str(scope.value), symbols=symbols))
        return frozenset({len(self.tensors) - 1})

    def _use(self, values: Iterable[Value]) -> None:
        for value in values:
            for k in _leaves(value):
                self.tensors[k].use(self.step)

    def _escape(self, value: Value) -> None:
        for k in _leaves(value):
            self.tensors[k].escapes = True


class Bounds:
    """The bounds of the symbols in a function's signature, as its attributes give them."""

    def __init__(self, function: relax.Function) -> None:
        self.symbols = list(relax.analysis.defined_symbolic_vars(function))
        self.analyzer = sym.Analyzer()
        attributes = function.attrs or {}
        most, least = (dict(attributes.get(f"tir_var_{side}_bound") or {}) for side in ("upper", "lower"))
        self.limits = {
            each: (int(least.get(each.name, 0)), int(most[each.name])) for each in self.symbols if each.name in most
        }
        for symbol, (first, last) in self.limits.items():
            self.analyzer.bind(symbol, Range.from_min_extent(first, last - first + 1))

    def most_bytes(self, shape: Any, dtype: Any) -> int | None:
        """Return the most bytes of a tensor; None where there is no bound, or a symbol is none of the signature."""
        size = DataType(dtype).itemsize
        for length in shape.values:
            if isinstance(length, tirx.IntImm):
                size *= int(length)
                continue
            if any(each not in self.limits for each in tirx.analysis.undefined_vars(length)):
                return None
            size *= max(0, int(self.analyzer.const_int_bound(length).max_value))
        return size if 0 < size < MOST_BYTES else None


def _leaves(value: Value) -> Iterator[int]:
    if isinstance(value, tuple):
        for entry in value:
            yield from _leaves(entry)
    else:
        yield from value


def _has_tensor(type_: Any) -> bool:
    if isinstance(type_, relax.TupleType):
        return any(map(_has_tensor, type_.fields))
    return isinstance(type_, (relax.TensorType, relax.AnyType))
