"""A `.tflite` file with one metadata entry more: all that is in it stays, byte for byte, behind a new root.

What a FlatBuffer's table points at lies behind it, at a distance. So a new root goes to the front of the file, with new
lists of buffers and of metadata, whose entries but for the new ones point into the old file.
Source: the binary format, https://flatbuffers.dev/internals/; Model, Buffer and Metadata in TFLite's schema.fbs.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from memplan.planner.errors import FormatError, shown
from memplan.systems.flatbuffer import Table
from memplan.systems.recognition import TFLITE_IDENTIFIER

_BLOCK = 64
"""By how many bytes the old file may move: all alignments in it must divide them."""
_ALIGNMENT = 16
"""That of a buffer's bytes."""
# Fields of the schema's Model: a file with more of them is from a newer one, and moving it might break these.
_KNOWN_FIELDS = 10
_BUFFERS, _METADATA = 4, 6


def with_metadata(data: bytes, name: str, content: bytes) -> bytes:
    """Return the file with the metadata `name`, in place of what it had of that name.

    Raises FormatError for a file that is broken, or whose tables know where in the file others lie.
    """
    root = Table.root(data, "model")
    n_fields = _count_fields(root)
    _nothing_lies_at_a_fixed_place(root)
    lists = {
        _BUFFERS: [buffer.at for buffer in root.tables(_BUFFERS, "buffers")],
        _METADATA: [entry.at for entry in root.tables(_METADATA, "metadata") if entry.text(0, "name") != name],
    }
    kept = {}
    for field in range(1, n_fields):
        table = root.table(field, f"field {field}")
        if field not in lists and table is not None:
            root.file.check(table.at, 4, table.path)
            kept[field] = table.at
    version = root.integer(0, "version", "I")

    def front(shift: int) -> bytes:
        return _front(version, kept, lists[_BUFFERS], lists[_METADATA], name.encode(), content, shift)

    return front(len(front(0))) + data


def _count_fields(root: Table) -> int:
    index = root.at - root.file.number(root.at, "i", root.path)
    count = (root.file.number(index, "H", root.path) - 4) // 2
    if count > _KNOWN_FIELDS:
        raise FormatError(f"model: must have at most {_KNOWN_FIELDS} fields, whose kinds are known, got {count}")
    return count


def _nothing_lies_at_a_fixed_place(root: Table) -> None:
    """Raise FormatError for bytes behind the model, as those above 2 GB have them."""
    for buffer in root.tables(_BUFFERS, "buffers"):
        if buffer.integer(1, "offset", "Q") > 1:
            raise FormatError(f"{buffer.path}.offset: must not be given, got {shown(buffer.integer(1, 'offset', 'Q'))}")
    for graph in root.tables(2, "subgraphs"):
        for operator in graph.tables(3, "operators"):
            at = operator.integer(9, "large_custom_options_offset", "Q")
            if at > 1:
                raise FormatError(f"{operator.path}.large_custom_options_offset: must not be given, got {shown(at)}")


def _front(
    version: int,
    kept: dict[int, int],
    buffers: Sequence[int],
    metadata: Sequence[int],
    name: bytes,
    content: bytes,
    shift: int,
) -> bytes:
    """Return what goes before the old file, which begins at `shift` then; `kept` are the places of the other fields."""
    fields = [0, *sorted({*kept, _BUFFERS, _METADATA})]
    out = bytearray(4) + TFLITE_IDENTIFIER
    # 1. The root: where each field is, then the fields, in their order.
    n_slots = fields[-1] + 1
    slots = [4 + 4 * fields.index(field) if field in fields else 0 for field in range(n_slots)]
    at = _table(out, slots, 4 + 4 * len(fields))
    struct.pack_into("<I", out, 0, at)
    struct.pack_into("<I", out, at + slots[0], version)
    for field, target in kept.items():
        _point(out, at + slots[field], target + shift)
    # 2. The lists, the new entry last in each.
    new_buffer = _list(out, at + slots[_BUFFERS], buffers, shift)
    new_entry = _list(out, at + slots[_METADATA], metadata, shift)
    # 3. The entry: its name, and the number of the new buffer.
    entry = _table(out, [4, 8], 12)
    _point(out, new_entry, entry)
    struct.pack_into("<I", out, entry + 8, len(buffers))
    _bytes(out, entry + 4, name + b"\0", len(name), 4)
    # 4. The buffer.
    buffer = _table(out, [4], 8)
    _point(out, new_buffer, buffer)
    _bytes(out, buffer + 4, content, len(content), _ALIGNMENT)
    _pad(out, _BLOCK)
    return bytes(out)


def _table(out: bytearray, slots: Sequence[int], size: int) -> int:
    """Append a table of `size` bytes, and before it where its fields are; return where it is."""
    _pad(out, 4)
    index = len(out)
    out += struct.pack(f"<HH{len(slots)}H", 4 + 2 * len(slots), size, *slots)
    _pad(out, 4)
    at = len(out)
    out += struct.pack("<i", at - index) + bytes(size - 4)
    return at


def _list(out: bytearray, pointer: int, targets: Sequence[int], shift: int) -> int:
    """Append a list of tables in the old file, with room for one more; return where that one is to be pointed at."""
    _pad(out, 4)
    _point(out, pointer, len(out))
    out += struct.pack("<I", len(targets) + 1)
    for target in targets:
        out += bytes(4)
        _point(out, len(out) - 4, target + shift)
    out += bytes(4)
    return len(out) - 4


def _bytes(out: bytearray, pointer: int, content: bytes, length: int, alignment: int) -> None:
    """Append bytes, of which `length` are counted, so that they are aligned behind their length."""
    _pad(out, 4)
    while (len(out) + 4) % alignment:
        out += bytes(4)
    _point(out, pointer, len(out))
    out += struct.pack("<I", length) + content


def _point(out: bytearray, at: int, target: int) -> None:
    # While the length of the front is not known yet, what lies behind it seems to lie before it.
    struct.pack_into("<I", out, at, max(target - at, 0))


def _pad(out: bytearray, alignment: int) -> None:
    out += bytes(-len(out) % alignment)
