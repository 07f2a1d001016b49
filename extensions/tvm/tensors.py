"""Reads the tensors that a Relax function allocates, and their lifetimes, which are the input of a plan.

Functions are read after `CallTIRRewrite`, which creates each tensor with `relax.builtin.alloc_tensor` and passes it to
kernels that write it. Lifetimes follow the rules of TVM's StaticPlanBlockMemory: kernels and runtime functions keep no
references to their arguments. Returned tensors, and arguments of other calls, get their own storages.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import repeat
from math import prod
from typing import Any

import tvm_ffi
from tvm import DataType, relax, sym, tirx
from tvm.ir import Call, GlobalVar, IRModule, Op, Range

from memplan.extensions.tvm.nests import Nest, nests_of

MOST_BYTES = 2**62
_ITEM, _SIZE = (tvm_ffi.get_global_func(f"ffi.Array{name}") for name in ("GetItem", "Size"))


def _operator_handles(*names: str) -> dict[int, str]:
    return {Op.get(f"relax.{name}").__chandle__(): name for name in names}


ALLOCATES = Op.get("relax.builtin.alloc_tensor").__chandle__()
VIEWS = _operator_handles("reshape", "memory.view", "memory.ensure_zero_offset")
_READERS = _operator_handles("shape_of", "tensor_to_shape", "vm.call_tir_dyn")
_EARLIER = _operator_handles("call_tir", "call_tir_inplace", "call_dps_packed")
_RUNTIME_VIEWS = {"vm.builtin.reshape", "vm.builtin.ensure_zero_offset", "vm.builtin.copy"}

Value = frozenset[int] | tuple["Value", ...]
"""The set of the indices of the tensors that an expression may hold or, for a tuple, one such value per entry."""
NOTHING: frozenset[int] = frozenset()
itemsize = cache(lambda dtype: DataType(dtype).itemsize)


def array_items(array: Any) -> list[Any]:
    """Return a TVM array as a list; this is several times as fast as an iteration over the array."""
    return list(map(_ITEM, repeat(array), range(_SIZE(array))))


@dataclass(slots=True)
class AllocatedTensor:
    """A tensor that a function allocates: its first step, and the step after its last step.

    `bindings[index]` is the binding that allocates it in a block. `lengths` has the lengths of its shape, as numbers or
    expressions. `place` has the device index and the scope. `size` is its maximum size in bytes, None without a bound.
    """

    bindings: list[Any]
    index: int
    lengths: tuple[Any, ...]
    dtype: str
    place: tuple[int, str]
    size: int | None
    has_symbols: bool
    start: int = -1
    end: int = -1
    escapes: bool = False

    @property
    def is_planned(self) -> bool:
        """True if the tensor is planned: it is used, is invisible outside the function, and has at least one byte."""
        return self.start >= 0 and not self.escapes and self.size != 0

    @property
    def variable(self) -> Any:
        """The variable to which the tensor is bound when it is allocated."""
        return self.bindings[self.index].var

    @property
    def bytes(self) -> Any:
        """The size of the tensor in bytes, as a number or an expression of symbols."""
        return bytes_of(self.lengths, self.dtype) if self.has_symbols else self.size


class Bounds:
    """The symbols in a function's signature, and the minimum and maximum values stated in its attributes."""

    def __init__(self, function: relax.Function) -> None:
        """Store the function whose symbols are bounded."""
        self._function, self._analyzer = function, sym.Analyzer()

    @cached_property
    def limits(self) -> dict[Any, tuple[int, int | None]]:
        """Maps each symbol to its minimum and maximum value; the maximum is None if it is not stated."""
        attributes = self._function.attrs or {}
        most, least = (dict(attributes.get(f"tir_var_{side}_bound") or {}) for side in ("upper", "lower"))
        limits: dict[Any, tuple[int, int | None]] = {}
        for symbol in relax.analysis.defined_symbolic_vars(self._function):
            first, last = int(least.get(symbol.name, 0)), most.get(symbol.name)
            limits[symbol] = first, None if last is None else int(last)
            if last is not None:
                self._analyzer.bind(symbol, Range.from_min_extent(first, int(last) - first + 1))
        return limits

    def has_only_bounded_symbols(self, length: Any) -> bool:
        """Return True if all symbols of a length are in the function's signature."""
        return all(each in self.limits for each in tirx.analysis.undefined_vars(length))

    def max_bytes(self, lengths: Sequence[Any], dtype: str) -> int | None:
        """Return the maximum size of a tensor in bytes, or None if a length has no bound."""
        size = prod(
            [each if type(each) is int else self._length_upper_bound(each) for each in lengths], start=itemsize(dtype)
        )
        return size if size < MOST_BYTES else None

    def _length_upper_bound(self, length: Any) -> int:
        return max(0, int(self._analyzer.const_int_bound(length).max_value)) if self.limits else MOST_BYTES


def lengths_of(shape: Any) -> list[Any]:
    """Return a shape's lengths as a list; constant lengths become Python integers."""
    return [each.value if type(each) is tirx.IntImm else each for each in array_items(shape.values)]


def bytes_of(lengths: Sequence[Any], dtype: str) -> Any:
    """Return a tensor's size in bytes: a number if all lengths are constant, else an expression."""
    return prod(lengths, start=itemsize(dtype))


class Values:
    """A map from each variable of a function to the tensors that the variable may hold."""

    def __init__(self) -> None:
        """Start without variables."""
        self._known: dict[int, Value] = {}  # `==` of TVM variables returns an expression, so the keys are handles.

    def bind(self, variable: Any, value: Value) -> None:
        """Record which tensors a variable may hold."""
        self._known[variable.__chandle__()] = value

    def value_of(self, value: Any) -> Value:
        """Return the tensors that an expression (a variable, a tuple or an entry of a tuple) may hold."""
        if (known := self._known.get(value.__chandle__())) is not None:
            return known
        kind = type(value)
        if kind is relax.Tuple:
            return tuple(map(self.value_of, array_items(value.fields)))
        if kind is relax.TupleGetItem:
            whole = self.value_of(value.tuple_value)
            return whole[value.index] if isinstance(whole, tuple) else whole
        return NOTHING


class Lifetimes(Values):
    """The tensors of a function and their lifetimes, in which each binding is a time step.

    Branches are numbered one after another, although only one of them runs. No step runs twice. With `nests`, each loop
    nest of a kernel is a time step. `leaves_some` is True if `tensors` lacks some allocations. `earlier` is the name of
    an operator from an earlier stage of compilation, or empty. `blocks` maps the handle of each body to its blocks and
    their bindings.
    """

    def __init__(
        self, module: IRModule, function: relax.Function, kernels: Collection[GlobalVar], *, nests: bool = False
    ) -> None:
        """Read the bindings of a function, and record its tensors and their lifetimes; `kernels` names all kernels."""
        super().__init__()
        self.function, self.bounds = function, Bounds(function)
        self.tensors: list[AllocatedTensor] = []
        self.blocks: dict[int, list[tuple[Any, list[Any]]]] = {}
        self.has_branches = self.leaves_some = False
        self.earlier = ""
        self._module, self.nests = module, nests
        self._kernels = {each.__chandle__() for each in kernels}
        self._nests_of: dict[GlobalVar, tuple[Nest, ...]] = {}
        self._written_over: list[tuple[int, int, int]] = []
        self._step = 0
        self._mark_escaped(self._read_body(function.body))

    @property
    def has_symbols(self) -> bool:
        """True if the length of some tensor contains a symbol."""
        return any(each.has_symbols for each in self.tensors)

    def planned_groups(self) -> dict[tuple[int, str], list[int]]:
        """Map each memory (device, scope) to the indices of the planned tensors in it."""
        groups: dict[tuple[int, str], list[int]] = {}
        for k, each in enumerate(self.tensors):
            if each.is_planned:
                groups.setdefault(each.place, []).append(k)
        return groups

    def overwrite_pairs(self, group: Sequence[int]) -> list[tuple[int, int]]:
        """Return pairs of positions in `group` (tensor indices) whose second tensor may overwrite the first tensor."""
        turn, tensors = {k: place for place, k in enumerate(group)}, self.tensors
        pairs = {(i, j) for i, j, at in self._written_over if tensors[j].start == at and tensors[i].end == at + 1}
        return sorted((turn[i], turn[j]) for i, j in pairs if i != j and i in turn and j in turn)

    def _read_body(self, body: Any) -> Value:
        """Read the bindings of a body as time steps, and return the tensors that its result may hold."""
        if type(body) is not relax.SeqExpr:
            return self.value_of(body)
        blocks = [(block, array_items(block.bindings)) for block in array_items(body.blocks)]
        self.blocks[body.__chandle__()] = blocks
        for _, bindings in blocks:
            for index, binding in enumerate(bindings):
                self._step += 1
                value = binding.value
                if type(value) is not Call:
                    made = self._known.get(value.__chandle__()) or self._value_without_call(value)
                elif (callee := value.op.__chandle__()) == ALLOCATES:
                    made = self._allocate(array_items(value.args), bindings, index)
                else:
                    made = self._read_call(value, callee)
                if made:
                    self._known[binding.var.__chandle__()] = made
        return self.value_of(body.body)

    def _value_without_call(self, value: Any) -> Value:
        if type(value) is relax.If:
            self.has_branches = True
            self._extend_lifetimes([self.value_of(value.cond)])
            branches = self._read_body(value.true_branch), self._read_body(value.false_branch)
            return branches[0] if branches[0] == branches[1] else frozenset(leaves_of(branches))
        if type(value) is relax.Function:
            self._mark_escaped(tuple(map(self.value_of, relax.analysis.free_vars(value))))
        return self.value_of(value)

    def _read_call(self, call: Any, callee: int) -> Value:
        """Record the uses of a call's arguments, and return the tensors that its result may hold."""
        values = [*map(self.value_of, array_items(call.args))]
        if callee in self._kernels:
            if self.nests:
                self._extend_by_nests(call.op, values)
            else:
                self._extend_lifetimes(values)
        elif callee in VIEWS:
            return values[0]
        elif type(call.op) is relax.ExternFunc:
            if call.op.global_symbol in _RUNTIME_VIEWS:
                return values[0]
            self._extend_lifetimes(values)
            return frozenset(leaves_of(tuple(values))) if _has_tensor(call.ty) else NOTHING
        elif callee in _READERS:
            self._extend_lifetimes(values)
        else:
            self.earlier = _EARLIER.get(callee, self.earlier)
            self._mark_escaped(tuple(values))
        return NOTHING

    def _allocate(self, arguments: list[Any], bindings: list[Any], index: int) -> Value:
        """Add the tensor that a binding allocates, and return it, or NOTHING for an unsupported size or memory."""
        shape, dtype, device, scope = arguments
        memory = scope.value
        is_known = type(shape) is relax.ShapeExpr and type(device) is tirx.IntImm and memory == "global"
        lengths = lengths_of(shape) if is_known else []
        symbolic = [each for each in lengths if type(each) is not int]
        if not is_known or (symbolic and not all(map(self.bounds.has_only_bounded_symbols, symbolic))):
            self.leaves_some = True
            return NOTHING
        kind = dtype.value
        size = self.bounds.max_bytes(lengths, kind)
        about = tuple(lengths), kind, (device.value, memory), size, bool(symbolic)
        self.tensors.append(AllocatedTensor(bindings, index, *about))
        return frozenset((len(self.tensors) - 1,))

    def _extend_by_nests(self, kernel: Any, arguments: Sequence[Value]) -> None:
        """Advance one step for each loop nest of a kernel, and extend the lifetimes of the nest's arguments."""
        if kernel not in self._nests_of:
            self._nests_of[kernel] = nests_of(self._module[kernel])
        for nest in self._nests_of[kernel]:
            self._extend_lifetimes(arguments[k] for k in nest.uses)
            for i, j in nest.in_place:
                read, written = [*leaves_of(arguments[i])], [*leaves_of(arguments[j])]
                if len(read) == len(written) == 1:
                    self._written_over.append((read[0], written[0], self._step))
            self._step += 1

    def _extend_lifetimes(self, values: Iterable[Value]) -> None:
        for value in values:
            for k in value if type(value) is frozenset else leaves_of(value):
                tensor = self.tensors[k]
                tensor.start = self._step if tensor.start < 0 else tensor.start
                tensor.end = self._step + 1

    def _mark_escaped(self, value: Value) -> None:
        for k in leaves_of(value):
            self.tensors[k].escapes = True


def leaves_of(value: Value) -> Iterator[int]:
    """Yield the indices of the tensors that a value may hold, including the tensors in tuples."""
    if isinstance(value, tuple):
        for entry in value:
            yield from leaves_of(entry)
    else:
        yield from value


def _has_tensor(type_: Any) -> bool:
    if isinstance(type_, relax.TupleType):
        return any(map(_has_tensor, type_.fields))
    return isinstance(type_, (relax.TensorType, relax.AnyType))
