"""Writer of TFLite Micro's offline plan, which stores an offset for each tensor in the metadata of the model.

Source: tensorflow/lite/micro 90b983c2b, micro_allocation_info.cc and micro_allocator.cc. The runtime adds offsets to
the start of its arena, which is aligned to 16 bytes, and checks only how many there are. They are listed for the
tensors of one subgraph after the other. Whether a variable tensor is in the tail, however, is read at its number inside
its subgraph.

A file with another metadata entry keeps all old bytes, after a new root with new lists of buffers and metadata; all
entries except the new ones refer to old bytes.
"""

import struct
from collections.abc import Mapping, Sequence

from memplan.planner.errors import FormatError, Option, excerpt
from memplan.planner.foreign.arena import scratch_flags
from memplan.planner.foreign.layout import VerifiedLayout
from memplan.runtimes.flatbuffer import (
    Content,
    Field,
    NewTable,
    OldReference,
    Scalar,
    Table,
    Tables,
    prepend_root,
    text,
)
from memplan.runtimes.tflite.model import OFFLINE_PLAN, Model, TfliteTensor, read_model
from memplan.runtimes.tflite.system import IDENTIFIER, is_tflite
from memplan.runtimes.tflite.tflm_arena import ALIGNMENT, KERNELS, arena_head, model_for_options, rounded_bytes

_AT_RUN_TIME = -1
_VERSION, _SUBGRAPHS = 0, 1


def write_tflm(layout: VerifiedLayout, stem: str) -> Mapping[str, bytes]:
    """Return the model with its plan: an offset for each tensor, -1 for constants and tensors outside the plan.

    Raises FormatError for a file that is not a TensorFlow Lite model, and for offsets that TFLite Micro cannot use.
    """
    if layout.model is None or not is_tflite(layout.model):
        way = "give the .tflite file for which the plan was made"
        raise FormatError("problem: must be the model (a .tflite file) if the target is tflite", way=way)
    model = model_for_options(read_model(layout.model), layout.options)
    for graph in model.subgraphs[1:]:
        if variable := next((tensor for tensor in graph.tensors if tensor.is_variable), None):
            rule = "must have no variable tensors after the first subgraph, because TFLite Micro misreads their offsets"
            found = f"{graph.path}: {rule}, got {excerpt(variable.id)}; try "
            raise FormatError((found, Option("to", "c"), " or ", Option("to", "ld")))
    places = _planned_offsets(layout)
    offsets = [_AT_RUN_TIME if tensor.is_constant else _offset_in_plan(tensor, places) for tensor in model.tensors]
    harmless = ("target", "kernels", "dims", "scratch", "capacity")
    _refuse_a_larger_arena(model, offsets, [name for name in layout.problem.read_with or () if name not in harmless])
    content = struct.pack(f"<{3 + len(offsets)}i", _VERSION, _SUBGRAPHS, len(offsets), *offsets)
    return {"": set_metadata(layout.model, OFFLINE_PLAN, content)}


def _refuse_a_larger_arena(model: Model, offsets: Sequence[int], read: Sequence[str]) -> None:
    """Raise FormatError if a plan with these offsets may need a larger arena than TFLite Micro's own plan.

    The need is unknown with scratch of unknown size, because the runtime places such scratch around the plan.
    """
    ours, own = arena_head(model, offsets), arena_head(model)
    if ours.unknown:
        way = scratch_flags(ours.unknown, "0")
        raise FormatError(
            f"model: must have kernels whose scratch is known ({KERNELS}), got {', '.join(ours.unknown)}; "
            f"if they need none, use `memplan convert {way}`; else replace 0 by their bytes"
        )
    moved = [
        tensor for tensor, offset in zip(model.tensors, offsets, strict=True) if tensor.is_variable and offset >= 0
    ]
    least = own.size + sum(rounded_bytes(tensor) for tensor in moved)
    if ours.size > least:
        rule = f"plan: must not take a larger arena than TFLite Micro's own planner ({least} bytes with scratch)"
        ways = [part for name in read for part in (" without ", Option(name, ""))] or [" with more time"]
        raise FormatError((f"{rule}, got {ours.size}; keep the model as it is, or plan it", *ways))


def _planned_offsets(layout: VerifiedLayout) -> dict[int | str, int]:
    """Return the offset of each buffer by id; raises FormatError if TFLite Micro cannot use one."""
    layout.single_pool("tflite")
    for buffer in layout.buffers:
        # TFLite Micro reads offsets as signed 32-bit numbers, so refuse larger offsets.
        if buffer.offset % ALIGNMENT or buffer.offset >= 2**31:
            raise FormatError(
                f"buffer {excerpt(buffer.id)}: must have an offset below 2^31 that {ALIGNMENT} divides, for TFLite "
                f"Micro, got {buffer.offset}"
            )
    return {buffer.id: buffer.offset for buffer in layout.buffers}


def _offset_in_plan(tensor: TfliteTensor, places: Mapping[int | str, int]) -> int:
    return places.get(f"main/{tensor.id}", _AT_RUN_TIME)


# A Model table with more fields than these has a newer schema, whose new fields are unknown.
_KNOWN_FIELDS = 10
_BUFFERS, _METADATA = 4, 6


def set_metadata(data: bytes, name: str, content: bytes) -> bytes:
    """Return a model file in which the metadata entry `name` has the given content, whether it existed or not.

    Raises FormatError for a broken file, and for a file with absolute positions, which would change.
    """
    root = Table.root(data, "model")
    n_fields = _count_fields(root)
    _refuse_trailing_bytes(root)
    fields: dict[int, Field] = {0: Scalar(root.integer(0, "version", "I"), "I")}
    for field in range(1, n_fields):
        table = root.table(field, f"field {field}")
        if field not in (_BUFFERS, _METADATA) and table is not None:
            root.file.check(table.at, 4, table.path)
            fields[field] = OldReference(table.at)
    buffers = [OldReference(buffer.at) for buffer in root.tables(_BUFFERS, "buffers")]
    entries = [OldReference(entry.at) for entry in root.tables(_METADATA, "metadata") if entry.text(0, "name") != name]
    entry = NewTable({0: text(name), 1: Scalar(len(buffers), "I")})
    fields[_BUFFERS] = Tables([*buffers, NewTable({0: Content(content)})])
    fields[_METADATA] = Tables([*entries, entry])
    return prepend_root(NewTable(fields), IDENTIFIER, data)


def _count_fields(root: Table) -> int:
    """Return the number of fields of the file's root table. Raises FormatError for unknown fields of a newer schema."""
    index = root.at - root.file.number(root.at, "i", root.path)
    count = (root.file.number(index, "H", root.path) - 4) // 2
    if count > _KNOWN_FIELDS:
        raise FormatError(
            f"model: must have at most {_KNOWN_FIELDS} fields, because a newer schema defines the others, got {count}"
        )
    return count


def _refuse_trailing_bytes(root: Table) -> None:
    """Raise FormatError if a file stores data after the FlatBuffer, as files larger than 2 GB do."""
    for buffer in root.tables(_BUFFERS, "buffers"):
        if buffer.integer(1, "offset", "Q") > 1:
            raise FormatError(
                f"{buffer.path}.offset: must not be given, got {excerpt(buffer.integer(1, 'offset', 'Q'))}"
            )
    for graph in root.tables(2, "subgraphs"):
        for operator in graph.tables(3, "operators"):
            at = operator.integer(9, "large_custom_options_offset", "Q")
            if at > 1:
                raise FormatError(f"{operator.path}.large_custom_options_offset: must not be given, got {excerpt(at)}")
