"""Reader of Relax programs in TVMScript, which is parsed and never run; each tensor is a buffer.

Lifetimes follow the order of the statements. A program may be from any stage of compilation. Either its tensors are
values (`lv: R.Tensor(…) = R.nn.relu(x)`), or they are allocated and passed to calls that fill them, or TVM has already
planned storages for them; these are read as TVM's own plan. A reshape is a view. Parameters after the first `num_input`
are weights, which are not planned. The options give the sizes of named dimensions. Buffers are aligned to 64 bytes.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from memplan.planner.errors import FormatError, excerpt
from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.model.finding import Finding
from memplan.programs.operations.graph_facts import TensorFacts
from memplan.programs.readers.draft import Kind, OperationsDraft, Uses
from memplan.programs.symbols.space import SymbolRange
from memplan.runtimes.tvm.relax_facts import call_facts
from memplan.runtimes.tvm.relax_text import (
    Dims,
    RelaxTensor,
    argument,
    dotted_name,
    function_of,
    line,
    number_of_inputs,
    stated_type,
    tensors_of,
)

ALIGNMENT = 64
_VIEWS = {"R.reshape", "R.squeeze", "R.expand_dims", "R.flatten", "R.memory.view", "R.ensure_zero_offset"}
_VIEWS |= {"vm.builtin.reshape", "vm.builtin.ensure_zero_offset"}
_SILENT = {"R.func_attr", "R.output", "R.memory.kill_tensor", "R.memory.kill_storage", "R.memory.kill_object"}
_ALLOCATED = {"R.builtin.alloc_tensor": 0, "R.memory.alloc_tensor": 2, "R.vm.alloc_tensor": 2}
"""Maps each call that allocates a tensor to the position of its shape argument; the next argument is the type."""
_NO_TENSORS = {"R.shape_of", "R.size", "R.print", "R.assert_op", "R.memory.kill_tensor"}
_STORAGES = {"R.memory.alloc_storage", "R.vm.alloc_storage"}

_WORKSPACE = re.compile(rb"\bT\.(?:sblock_)?alloc_buffer\((?![^\n]*scope=)")
_INSTEAD = {
    "If": "must be a binding, a call or the return; branches cannot be read (plan each branch as a function)",
    "FunctionDef": "must be a binding, a call or the return (relax.transform.LambdaLift moves inner functions out)",
}
"""Maps each kind of statement that cannot be read to the rule that its error message states."""

Value = tuple[str | None, ...]
"""The value of a name: a tuple of buffer names (one for a tensor), with None for an entry that is not a tensor."""


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Read a Relax program. Raises FormatError, and OptionError for a dimension that the program does not use."""
    dims = Dims(options.sizes)
    function = function_of(data)
    program = _Program(dims, options.alignment or ALIGNMENT)
    program.add_params(function)
    program.follow(function.body)
    if not any(isinstance(row, ast.Return) for row in ast.walk(function)):
        raise FormatError(f"{function.name}: must end with a return, got none: is the file cut off?")
    dims.refuse_unknown()
    draft = OperationsDraft(function.name, program.results, options, options.alignment or ALIGNMENT)
    program.draw(draft)
    return draft.make_program(_omission_findings(data), program.storage_peak(), program.storage_offsets())


def _omission_findings(data: bytes) -> Iterator[Finding]:
    if count := len(_WORKSPACE.findall(data)):
        yield Finding("unknown-workspaces", f"kernels allocate {count} buffers whose bytes only TVM can compute")
    if count := data.count(b"R.call_tir_inplace("):
        yield Finding("in-place-unused", f"{count} calls compute in place, but are planned with separate results")


def symbols(data: bytes) -> dict[str, SymbolRange]:
    """Map each named dimension of a program to the range of all values from 1. Raises FormatError for other files."""
    dims = Dims(_AnySize())
    function = function_of(data)
    program = _Program(dims, ALIGNMENT)
    program.add_params(function)
    program.follow(function.body)
    return {name: SymbolRange() for name in sorted(dims.named)}


class _AnySize(dict[str, int]):
    """A mapping from every dimension to the same arbitrary size, for programs that are read without sizes."""

    def __contains__(self, name: object) -> bool:
        """Return True, because any dimension has a size."""
        return True

    def __missing__(self, name: str) -> int:
        """Return the arbitrary size that every dimension has."""
        return 1 << 10


@dataclass(frozen=True)
class _Step:
    """An operation `op` that reads the values `inputs` and writes `outputs`; a view has exactly one of each."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    is_view: bool = False
    call: ast.Call | None = None


@dataclass
class _Program:
    """A function under conversion: the bytes of each buffer, the buffers of each name, and the operations so far."""

    dims: Dims
    alignment: int
    values: dict[str, int] = field(default_factory=dict)
    tensors: dict[str, RelaxTensor] = field(default_factory=dict)
    params: set[str] = field(default_factory=set)
    weights: set[str] = field(default_factory=set)
    steps: list[_Step] = field(default_factory=list)
    results: tuple[str, ...] = ()
    _names: dict[str, Value] = field(default_factory=dict)
    _unwritten: set[str] = field(default_factory=set)
    _storages: dict[str, int] = field(default_factory=dict)
    _in_storage: set[str] = field(default_factory=set)
    _homes: dict[str, tuple[str, int]] = field(default_factory=dict)
    _memory: tuple[object, ...] | None = None
    _unstated: dict[str, str] = field(default_factory=dict)
    _uses: Uses = field(default_factory=Uses)

    def add_params(self, function: ast.FunctionDef) -> None:
        """Add buffers for the function's parameters; those after the first `num_input` are weights."""
        inputs = number_of_inputs(function)
        for k, param in enumerate(function.args.args):
            tensors = tensors_of(param.annotation, self.dims)
            ids = self._add_value(param.arg, tensors, param)
            (self.weights if inputs is not None and k >= inputs else self.params).update(ids)

    def follow(self, body: Sequence[ast.stmt]) -> None:
        """Read the statements of the function up to its return."""
        for statement in body:
            if isinstance(statement, ast.With):
                self.follow(statement.body)
            elif isinstance(statement, ast.Return):
                self._add_results(statement)
            elif isinstance(statement, ast.Expr):
                self._bind_value(None, None, statement.value)
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
                self._bind_value(statement.target.id, statement.annotation, statement.value)
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                self._bind_value(statement.targets[0].id, None, statement.value)
            else:
                kind = type(statement).__name__
                rule = _INSTEAD.get(kind, "must be a binding, a call or the return")
                raise FormatError(f"{line(statement)}: {rule}, got {excerpt(kind)}")

    def draw(self, draft: OperationsDraft) -> None:
        """Add the program's buffers and operations to a draft (a program under construction)."""
        for name, size in self.values.items():
            kind: Kind = "param" if name in self.params else "constant" if name in self.weights else "plain"
            draft.declare(name, size, kind)
            tensor = self.tensors.get(name)
            if tensor is not None:
                draft.describe(name, TensorFacts(name=name, shape=tensor.shape, dtype=tensor.dtype))
        for k, step in enumerate(self.steps):
            with draft.drawing(call_facts(step.op, step.call, k)):
                if step.is_view:
                    draft.view(step.op, step.inputs[0], step.outputs[0])
                else:
                    draft.operation(step.op, step.inputs, step.outputs)

    def storage_peak(self) -> int | None:
        """Return the bytes of TVM's storages and of all values outside of them; None if the program has no storages."""
        if not self._storages:
            return None
        return sum(self._storages.values()) + sum(self.values[name] for name in self._unstored_values())

    def storage_offsets(self) -> dict[str, int] | None:
        """Map each value to its offset: storages, then other values, one after another; None if no storage exists."""
        if not self._storages:
            return None
        base = dict(zip(self._storages, accumulate(self._storages.values(), initial=0), strict=False))
        offsets = {name: base[storage] + offset for name, (storage, offset) in self._homes.items()}
        end = sum(self._storages.values())
        for name in self._unstored_values():
            offsets[name] = end
            end += self.values[name]
        for step in self.steps:
            if step.is_view and step.inputs[0] in offsets:
                offsets.setdefault(step.outputs[0], offsets[step.inputs[0]])
        return offsets

    def _unstored_values(self) -> list[str]:
        inside = self.weights | self._in_storage | {step.outputs[0] for step in self.steps if step.is_view}
        return [name for name in self.values if name not in inside]

    def _bind_value(self, name: str | None, annotation: ast.expr | None, value: ast.expr) -> None:
        """Bind `name` to existing values, a new storage or tensor, or a call's result; if None, only add the call."""
        called = _called_name(value) if isinstance(value, ast.Call) else ""
        if isinstance(value, ast.Name | ast.Tuple | ast.Subscript):
            if name is not None:
                self._names[name] = self._value_of_expression(value)
        elif called in _SILENT or not isinstance(value, ast.Call):
            return
        elif called in _STORAGES and name is not None:
            self._refuse_other_memory(
                value, argument(value, 1, "virtual_device_index"), argument(value, 2, "storage_scope")
            )
            self._storages[name] = RelaxTensor.from_call(value, 0, "uint8", self.dims).size(self.alignment)
        elif called in _ALLOCATED and name is not None:
            self._allocate(name, value, _ALLOCATED[called])
        else:
            self._add_call(name, annotation, called, value)

    def _allocate(self, name: str, call: ast.Call, place: int) -> None:
        """Add the tensor that a call allocates, with its storage and offset; argument number `place` is the shape."""
        if not place:
            self._refuse_other_memory(
                call, argument(call, 2, "runtime_device_index"), argument(call, 3, "storage_scope")
            )
        (value,) = self._add_value(name, [RelaxTensor.from_call(call, place, None, self.dims)], call)
        self._unwritten.add(value)
        if place and call.args and isinstance(call.args[0], ast.Name) and call.args[0].id in self._storages:
            self._in_storage.add(value)
            self._homes[value] = (call.args[0].id, _first_integer(call.args[1]))

    def _refuse_other_memory(self, call: ast.Call, device: ast.expr | None, scope: ast.expr | None) -> None:
        """Raise FormatError if a tensor's memory (device, scope) differs from that of earlier tensors.

        The default memory is device 0 and the scope `global`.
        """
        is_scope = scope is not None and not (isinstance(scope, ast.Call) and _called_name(scope) == "R.dtype")
        words = [part.value for part in ast.walk(scope) if isinstance(part, ast.Constant)] if is_scope and scope else []
        memory = (0 if device is None else _first_integer(device), words[0] if words else "global")
        if self._memory not in (None, memory):
            raise FormatError(f"{line(call)}: must be in the memory {excerpt(self._memory)}, got {excerpt(memory)}")
        self._memory = memory

    def _add_call(self, name: str | None, annotation: ast.expr | None, called: str, call: ast.Call) -> None:
        """Add a call as an operation, and bind its result to `name` unless `name` is None."""
        used = dict.fromkeys(self._used_buffers(call))
        stated = annotation or stated_type(call)
        if (
            stated is None
            and name is not None
            and used
            and called not in _NO_TENSORS
            and self._unwritten.isdisjoint(used)
        ):
            self._unstated[name] = f"{line(call)}: must have its result type, as mod.script() prints it"
        made = self._add_value(name, tensors_of(stated, self.dims), call) if name is not None else ()
        if called in _VIEWS and len(used) == len(made) == 1:
            self.steps.append(_Step(called, tuple(used), made, is_view=True))
            return
        # A call writes its allocated arguments that no earlier call has written, and reads all others.
        written = tuple(buffer for buffer in used if buffer in self._unwritten)
        self._unwritten.difference_update(written)
        inputs = tuple(buffer for buffer in used if buffer not in written)
        if used or made:
            self.steps.append(_Step(called or "call", inputs, (*written, *made), call=call))

    def _add_results(self, statement: ast.Return) -> None:
        """Record the tensors that the function returns; add a copy of each returned weight."""
        names = () if statement.value is None else self._value_of_expression(statement.value)
        results = []
        for name in dict.fromkeys(_buffer_names(names)):
            if name in self.weights:
                copy = f"#copy of {name}"
                self.values[copy] = self.values[name]
                self.steps.append(_Step("copy", (name,), (copy,)))
                results.append(copy)
            else:
                results.append(name)
        self.results = tuple(results)

    def _add_value(
        self, name: str, tensors: Sequence[RelaxTensor | None], where: ast.expr | ast.arg
    ) -> tuple[str, ...]:
        """Bind a name to new buffers, one for each tensor, and return the names of these buffers."""
        if name in self._names and name != "_":
            raise FormatError(f"{line(where)}: must bind each name once, got {excerpt(name)} again")
        # The name "_" stands for every unread value, so replace "_" by "#" and a number; no name can contain "#".
        base = f"#{len(self.values)}" if name == "_" else name
        entries = [base] if len(tensors) == 1 else [f"{base}:{k}" for k in range(len(tensors))]
        value = tuple(entry if tensor else None for entry, tensor in zip(entries, tensors, strict=True))
        for entry, tensor in zip(entries, tensors, strict=True):
            if tensor is not None:
                self.values[entry], self.tensors[entry] = tensor.size(self.alignment), tensor
        self._names[name] = value
        return _buffer_names(value)

    def _value_of_expression(self, value: ast.expr) -> Value:
        """Return the value of an expression: a name, a tuple of names, or an entry of a tuple."""
        if isinstance(value, ast.Tuple):
            entries = [self._value_of_expression(entry) or (None,) for entry in value.elts]
            if any(len(entry) > 1 for entry in entries):
                raise FormatError(f"{line(value)}: must be a tuple of tensors, got a tuple inside")
            return tuple(entry[0] for entry in entries)
        if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
            whole = self._value_of_name(value.value.id)
            index = value.slice.value if isinstance(value.slice, ast.Constant) else None
            if not isinstance(index, int) or not whole:
                return whole
            if not 0 <= index < len(whole):
                raise FormatError(f"{line(value)}: must be one of {len(whole)} entries, got {excerpt(index)}")
            return (whole[index],)
        return self._value_of_name(value.id) if isinstance(value, ast.Name) else ()

    def _used_buffers(self, call: ast.Call) -> Iterator[str]:
        for part in ast.walk(call):
            if isinstance(part, ast.Name):
                value = self._value_of_name(part.id)
                self._uses.add(len(value))
                yield from _buffer_names(value)

    def _value_of_name(self, name: str) -> Value:
        """Return the value of a name. Raises FormatError if the program does not state the value's type."""
        if name in self._unstated:
            raise FormatError(f"{self._unstated[name]}, got none for {excerpt(name)}")
        return self._names.get(name, ())


def _first_integer(value: ast.expr) -> int:
    numbers = (part.value for part in ast.walk(value) if isinstance(part, ast.Constant) and type(part.value) is int)
    return next(numbers, 0)


def _called_name(call: ast.Call) -> str:
    name = dotted_name(call.func)
    packed = call.args[0] if name == "R.call_packed" and call.args else None
    return packed.value if isinstance(packed, ast.Constant) and isinstance(packed.value, str) else name


def _buffer_names(value: Value) -> tuple[str, ...]:
    """Return the names of a value's buffers, without the entries of None, which are not tensors."""
    return tuple(entry for entry in value if entry is not None)
