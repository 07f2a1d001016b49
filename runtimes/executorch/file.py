"""The contents of a `.pte` file that determine memory: tensors, instructions, delegates and the memory plan.

Source: pytorch/executorch v1.5.1, schema/program.fbs and scalar_type.fbs. A field's number is its position there.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from memplan.planner.errors import CUT_OFF, OTHER_KIND, FormatError, excerpt
from memplan.planner.foreign.imported import element_count
from memplan.runtimes.executorch.system import is_executorch
from memplan.runtimes.flatbuffer import Table

Kind = Literal["kernel", "delegate", "move", "jump", "free"]
# Kinds of instructions, keyed by number in the union InstructionArguments of ExecuTorch's program.fbs
_KINDS: Mapping[int, Kind] = {1: "kernel", 2: "delegate", 3: "move", 4: "jump", 5: "free"}
_TENSOR, _BOOL, _LISTS = 5, 3, (10, 11)
"""The numbers of value kinds in the union KernelTypes: tensor, Boolean, and the two kinds of tensor lists."""
_BITS = {0: 8, 1: 8, 2: 16, 3: 32, 4: 64, 5: 16, 6: 32, 7: 64, 8: 32, 9: 64, 10: 128, 11: 8, 12: 8, 13: 8, 14: 32}
_BITS |= {15: 16, 16: 4, 17: 2, 22: 16, 23: 8, 24: 8, 25: 8, 26: 8, 27: 16, 28: 32, 29: 64}
"""The bits of one tensor element, keyed by the number of its scalar type."""
HEADER = b"eh00"
"""The first bytes of the extended header, which states the program's size and where its segments start."""
_VELA, _BLOCK = b"vela_bin_stream", 16
"""The first bytes of Vela's output, and its padding: each block has a name, a data length and data, padded to 16 bytes.
"""
_SCRATCH = b"scratch_size"
FIRST = "forward"
"""The name of the method to read if a program has several methods."""


@dataclass(frozen=True)
class PteTensor:
    """A tensor of a program, with its number of elements and the bits of each element.

    `place` is the (memory, offset) in the file's memory plan, or None for a tensor outside the plan. `has_content` is
    true for constants and initialized state, whose bytes are in this file or another one.
    """

    path: str
    elements: int
    bits: int
    place: tuple[int, int] | None
    has_content: bool


@dataclass(frozen=True)
class Instruction:
    """An instruction of a method, with the indices of the values that it uses.

    `arguments` are the values of a kernel or delegate, the source and target of a move, the condition of a jump, or the
    freed value. `destination` is the index of the instruction at which execution continues after a jump.
    """

    path: str
    kind: Kind
    name: str
    arguments: tuple[int, ...]
    destination: int = -1


@dataclass(frozen=True)
class Delegate:
    """A backend that runs a part of the program; `scratch` is its working bytes per call, or None if unknown."""

    name: str
    scratch: int | None


@dataclass(frozen=True)
class Method:
    """A method of a program: its values by index, and its chains (lists) of instructions.

    `false` contains the indices of the Boolean values that are False. `memories` lists the bytes of each memory.
    `delegates` lists the delegates that the instructions call.
    """

    name: str
    path: str
    tensors: Mapping[int, PteTensor]
    lists: Mapping[int, tuple[int, ...]]
    false: frozenset[int]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    chains: tuple[tuple[Instruction, ...], ...]
    memories: tuple[int, ...]
    delegates: tuple[Delegate, ...]

    def tensors_of(self, values: tuple[int, ...]) -> tuple[int, ...]:
        """Return the indices of the tensors among the given values; a list counts as its elements."""
        flat = (inner for value in values for inner in self.lists.get(value, (value,)))
        return tuple(value for value in flat if value in self.tensors)


def read_methods(data: bytes) -> tuple[Method, ...]:
    """Return all methods of a program. Raises FormatError if the file is not an ExecuTorch program or is broken."""
    if not is_executorch(data):
        raise FormatError(
            f"program: must have an identifier such as ET12 at byte 4, got {excerpt(data[4:8])}", way=OTHER_KIND
        )
    program, plans = Table.root(data, "program"), tables_of_methods(data)
    if not plans:
        raise FormatError("program.execution_plan: must not be empty", way=CUT_OFF)
    return tuple(
        _read_method(plan, [_read_delegate(row, program) for row in plan.tables(7, "delegates")]) for plan in plans
    )


def tables_of_methods(data: bytes) -> list[Table]:
    """Return the FlatBuffer table of each method in a program file."""
    return list(Table.root(data, "program").tables(1, "execution_plan"))


def _read_method(plan: Table, delegates: Sequence[Delegate]) -> Method:
    """Return the method that a FlatBuffer table describes, with only those delegates that its instructions call."""
    values = [(row.integer(0, "val_type", "B"), row.table(1, "val")) for row in plan.tables(2, "values")]
    tensors = {k: _read_tensor(row) for k, (kind, row) in enumerate(values) if kind == _TENSOR and row is not None}
    lists = {
        k: row.integers(0, "items", "i") for k, (kind, row) in enumerate(values) if kind in _LISTS and row is not None
    }
    false = (
        k for k, (kind, row) in enumerate(values) if kind == _BOOL and not (row and row.integer(0, "bool_val", "B"))
    )
    names = [row.text(0, "name") for row in plan.tables(6, "operators")]
    chains = tuple(
        tuple(_read_instruction(row, names, delegates, len(values)) for row in chain.tables(2, "instructions"))
        for chain in plan.tables(5, "chains")
    )
    called = {step.name for chain in chains for step in chain}
    return Method(
        plan.text(0, "name"),
        plan.path,
        tensors,
        lists,
        frozenset(false),
        plan.integers(3, "inputs", "i"),
        plan.integers(4, "outputs", "i"),
        chains,
        plan.integers(8, "non_const_buffer_sizes", "q"),
        tuple(dict.fromkeys(row for row in delegates if row.name in called)),
    )


def _read_delegate(row: Table, program: Table) -> Delegate:
    """Return the delegate that a FlatBuffer table describes; its scratch is known only if Vela compiled it."""
    name, processed = row.text(0, "id") or "delegate", row.table(1, "processed")
    if processed is None:
        return Delegate(name, None)
    is_segment, index = processed.integer(0, "location", "b") != 0, processed.integer(1, "index", "I")
    listed = [*(program.tables(4, "segments") if is_segment else program.tables(3, "backend_delegate_data"))]
    if index >= len(listed):
        raise FormatError(f"{processed.path}.index: must be the index of one of {len(listed)} data blocks, got {index}")
    data, where = program.file.data, listed[index]
    if is_segment:
        base = struct.unpack_from("<Q", data, 24)[0] if data[8:12] == HEADER and len(data) >= 32 else 0
        start = base + where.integer(0, "offset", "Q")
        size = where.integer(1, "size", "Q")
    else:
        start, size = where.list_range(0, "data", 1)
    where.file.check(start, size, where.path)
    is_of_vela = data.startswith(_VELA, start, start + size)
    return Delegate(name, _vela_scratch_bytes(data[start : start + size]) if is_of_vela else None)


def _vela_scratch_bytes(stream: bytes) -> int | None:
    """Return the scratch size in bytes that Vela's output `stream` states, or None if `stream` has no scratch block."""
    at = 0
    while at + 2 * _BLOCK <= len(stream):
        name = stream[at : at + _BLOCK].rstrip(b"\0")
        length = int.from_bytes(stream[at + _BLOCK : at + _BLOCK + 4], "little")
        at += 2 * _BLOCK
        if name == _SCRATCH and length >= 4 and at + 4 <= len(stream):
            return int.from_bytes(stream[at : at + 4], "little")
        at += -(-length // _BLOCK) * _BLOCK
    return None


def _read_tensor(row: Table) -> PteTensor:
    """Return the tensor that a table describes. Raises FormatError for a negative size or an unknown type."""
    sizes = row.integers(2, "sizes", "i")
    if any(size < 0 for size in sizes):
        raise FormatError(f"{row.path}.sizes: must be at least 0, got {excerpt(list(sizes))}")
    kind = row.integer(0, "scalar_type", "b")
    if kind not in _BITS:
        raise FormatError(f"{row.path}.scalar_type: must be a type of known size, got {kind}")
    place = row.table(6, "allocation_info")
    extra = row.table(9, "extra_tensor_info")
    is_elsewhere = extra is not None and extra.integer(2, "location", "b") != 0
    return PteTensor(
        row.path,
        element_count(sizes),
        _BITS[kind],
        None if place is None else _memory_and_offset(place),
        is_elsewhere or row.integer(5, "data_buffer_idx", "I") > 0,
    )


def _memory_and_offset(row: Table) -> tuple[int, int]:
    low, high = row.integer(1, "memory_offset_low", "I"), row.integer(2, "memory_offset_high", "I")
    return row.integer(0, "memory_id", "I"), low + (high << 32)


def _read_instruction(row: Table, operators: list[str], delegates: Sequence[Delegate], n_values: int) -> Instruction:
    """Return the instruction that a table describes; raises FormatError for arguments of `n_values` or more."""
    number = row.integer(0, "instr_args_type", "B")
    inner = row.table(1, "instr_args")
    if number not in _KINDS or inner is None:
        raise FormatError(f"{row.path}.instr_args: must be a call, a move, a jump or a free, got type {number}")
    kind, destination = _KINDS[number], -1
    name: str = kind
    if kind == "kernel":
        index = inner.integer(0, "op_index", "i")
        if not 0 <= index < len(operators):
            raise FormatError(
                f"{inner.path}.op_index: must be the index of one of {len(operators)} operators, got {index}"
            )
        name = operators[index] or kind
    elif kind == "delegate" and (index := inner.integer(0, "delegate_index", "i")) in range(len(delegates)):
        name = delegates[index].name
    if kind in ("kernel", "delegate"):
        arguments = inner.integers(1, "args", "i")
    elif kind == "move":
        arguments = (inner.integer(0, "move_from", "i"), inner.integer(1, "move_to", "i"))
    elif kind == "jump":
        arguments = (inner.integer(0, "cond_value_index", "i"),)
        destination = inner.integer(1, "destination_instruction", "i")
    else:
        arguments = (inner.integer(0, "value_index", "i"),)
    for value in arguments:
        if not 0 <= value < n_values:
            raise FormatError(f"{inner.path}: must refer to values by an index below {n_values}, got {value}")
    return Instruction(row.path, kind, name, arguments, destination)
