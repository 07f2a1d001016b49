"""Writer that replaces the memory plan of an ExecuTorch program and preserves all other bytes of the file.

FlatBuffers omit fields with value 0, so an offset of 0 cannot be overwritten in place: planned tensors get new tables
after the program. The segments (weights), which follow, move by a multiple of their alignment.

Source: pytorch/executorch v1.5.1, schema/program.fbs, schema/extended_header.h; https://flatbuffers.dev/internals/.
"""

import struct
from collections.abc import Mapping
from dataclasses import replace

from memplan.planner.errors import FormatError, InvalidPlanError, Option, excerpt
from memplan.planner.foreign.layout import VerifiedLayout
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.instance.canonical import problem_hash
from memplan.runtimes.executorch.file import FIRST, HEADER, Method, read_methods
from memplan.runtimes.executorch.reader import read
from memplan.runtimes.executorch.system import is_executorch
from memplan.runtimes.flatbuffer import Table

# Numbers of the fields `values` and `non_const_buffer_sizes` of ExecutionPlan, and `allocation_info` of Tensor
_VALUES, _MEMORIES, _PLACE = 2, 8, 6
_LARGEST_ALIGNMENT = 4096
_ROW = struct.Struct("<iIII")
"""The layout of a placement's table: the offset to its field layout, the memory, and an offset in two halves."""
_FIELDS = struct.pack("<HHHHHxx", 10, _ROW.size, 4, 8, 12)


def write_pte(layout: VerifiedLayout, stem: str) -> Mapping[str, bytes]:
    """Return the program file after writing the plan into the method `forward`, or into the first method without it.

    Pool k of the plan becomes memory k + 1 of the program. Raises FormatError if the file is not an ExecuTorch program,
    or if the plan has more pools than the program has memories.
    """
    data = layout.model
    if data is None or not is_executorch(data):
        way = "give the .pte file for which the plan was computed"
        raise FormatError("problem: must be an ExecuTorch program (a .pte file) if the target is pte", way=way)
    methods = read_methods(data)
    number = next((k for k, method in enumerate(methods) if method.name == FIRST), 0)
    method = methods[number]
    if len(layout.pools) >= len(method.memories):
        raise FormatError(
            f"problem.pools: must not exceed the memories of the program ({len(method.memories) - 1}) for the target "
            f"pte, got {len(layout.pools)}"
        )
    places = {str(row.id): (row.pool + 1, row.offset) for row in layout.buffers}
    planned = {k: places[name] for k in method.tensors if (name := f"main/#{k}") in places}
    written = _write_places(data, number, planned, _memory_sizes(layout, method, planned))
    _verify_written_program(data, written, number, planned)
    return {"": written}


def _memory_sizes(layout: VerifiedLayout, method: Method, planned: Mapping[int, tuple[int, int]]) -> list[int]:
    sizes = [0, *(pool.extent for pool in layout.pools)]
    sizes += [0] * (len(method.memories) - len(sizes))
    for k, tensor in method.tensors.items():
        if tensor.place is not None and k not in planned:
            memory, offset = tensor.place
            sizes[memory] = max(sizes[memory], offset + -(-tensor.elements * tensor.bits // 8))
    return sizes


def _write_places(data: bytes, number: int, planned: Mapping[int, tuple[int, int]], memories: list[int]) -> bytes:
    """Return the file with a new placement table for each planned tensor and with the new sizes of the memories."""
    out = bytearray(data)
    plan = list(Table.root(data, "program").tables(1, "execution_plan"))[number]
    values = list(plan.tables(_VALUES, "values"))
    sizes_at, _ = plan.list_range(_MEMORIES, "non_const_buffer_sizes", 8)
    struct.pack_into(f"<{len(memories)}q", out, sizes_at, *memories)
    has_header = data[8:12] == HEADER
    end, base = struct.unpack_from("<QQ", data, 16) if has_header else (len(data), 0)
    block = bytearray(-end % 4) + _FIELDS
    fields_at = end + -end % 4
    for k, (memory, offset) in planned.items():
        tensor = values[k].table(1, "val")
        pointer = None if tensor is None else tensor.field_offset(_PLACE, "allocation_info")
        if pointer is None:
            raise FormatError(f"{values[k].path}: must have an offset in the file, which the plan replaces")
        at = end + len(block)
        struct.pack_into("<I", out, pointer, at - pointer)
        block += _ROW.pack(at - fields_at, memory, offset & 0xFFFFFFFF, offset >> 32)
    if has_header:
        alignment = min(_LARGEST_ALIGNMENT, base & -base) or 16
        struct.pack_into("<Q", out, 16, end + len(block))
        block += bytes(-len(block) % alignment)
        if base:
            struct.pack_into("<Q", out, 24, base + len(block))
    return bytes(out[:end] + block + out[end:])


def _verify_written_program(data: bytes, written: bytes, number: int, planned: Mapping[int, tuple[int, int]]) -> None:
    """Raise InvalidPlanError or FormatError unless the written file has the planned offsets and the same problem."""
    before, after = read_methods(data), read_methods(written)
    moved = {k: replace(row, place=planned.get(k, row.place), path="") for k, row in before[number].tensors.items()}
    if moved != {k: replace(row, path="") for k, row in after[number].tensors.items()}:
        raise InvalidPlanError(f"{before[number].path}: must have the plan's offsets when the written file is read")
    problems = [read(content, ModelOptions()).problem for content in (data, written)]
    if problem_hash(problems[0]) != problem_hash(problems[1]):
        rule = "plan: must place each view on the tensor that it views: read the program with "
        raise FormatError((rule, Option("views", "alias"), f", got {excerpt(problems[1].name)}"))
