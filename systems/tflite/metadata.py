"""A `.tflite` file with one metadata entry more: all that is in it stays, byte for byte, behind a new root.

The new root has new lists of buffers and of metadata, whose entries but for the new ones point into the old file.
Source: Model, Buffer and Metadata in TFLite's schema.fbs.
"""

from __future__ import annotations

from memplan.planner.errors import FormatError, shown
from memplan.systems.flatbuffer import Table
from memplan.systems.flatbuffer_front import (
    Content,
    Field,
    NewTable,
    Old,
    Scalar,
    Tables,
    text,
    with_front,
)
from memplan.systems.tflite.system import IDENTIFIER

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
    fields: dict[int, Field] = {0: Scalar(root.integer(0, "version", "I"), "I")}
    for field in range(1, n_fields):
        table = root.table(field, f"field {field}")
        if field not in (_BUFFERS, _METADATA) and table is not None:
            root.file.check(table.at, 4, table.path)
            fields[field] = Old(table.at)
    buffers = [Old(buffer.at) for buffer in root.tables(_BUFFERS, "buffers")]
    entries = [Old(entry.at) for entry in root.tables(_METADATA, "metadata") if entry.text(0, "name") != name]
    entry = NewTable({0: text(name), 1: Scalar(len(buffers), "I")})
    fields[_BUFFERS] = Tables([*buffers, NewTable({0: Content(content)})])
    fields[_METADATA] = Tables([*entries, entry])
    return with_front(NewTable(fields), IDENTIFIER, data)


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
