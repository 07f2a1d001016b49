"""Small handwritten TFLite files for cases that converters do not write."""

import struct
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Fields: TypeAlias = Mapping[int, Any]
"""From a field's number to (format, number), a text or bytes, fields (a table), a list of fields, or of numbers."""
FLOAT32, INT8, STRING, INT4, RESOURCE, INT32, FLOAT16, UINT8, INT16 = 0, 9, 5, 17, 13, 2, 1, 3, 7
CODES = {
    "ADD": 0, "RESHAPE": 22, "RELU": 19, "CUSTOM": 32, "MEAN": 40, "IF": 118, "WHILE": 119, "CALL_ONCE": 129,
    "CASE": 209, "VAR_HANDLE": 142, "READ_VARIABLE": 143, "ASSIGN_VARIABLE": 144, "PAD": 34, "DEQUANTIZE": 6,
    "CONV_2D": 3, "ethos-u": 32, "my_op": 32, "NEG": 59, "CONCATENATION": 2, "FULLY_CONNECTED": 9,
    "STRIDED_SLICE": 45, "SHAPE": 77, "TILE": 69, "SOFTMAX": 25, "PACK": 83, "STABLEHLO_COMPOSITE": 206,
    "TRANSPOSE_CONV": 67, "SPLIT": 49, "EMBEDDING_LOOKUP": 7, "EXP": 47, "FILL": 94, "MIRROR_PAD": 100,
    "QUANTIZE": 114, "BROADCAST_TO": 130,
}  # fmt: skip
"""Operators by number; those of 32 but the first are custom ones of that name."""


def flatbuffer(root: Fields, identifier: bytes = b"TFL3") -> bytes:
    out = bytearray(struct.pack("<I", 0) + identifier)
    struct.pack_into("<I", out, 0, _put(out, root))
    return bytes(out)


def _put(out: bytearray, value: Any) -> int:
    """Append a table, a list or a text, then the parts that it points at; return its position."""
    if isinstance(value, Mapping):
        n_fields = max(value, default=-1) + 1
        index = len(out)
        at = index + 4 + 2 * n_fields
        places = {field: 4 + 8 * k for k, field in enumerate(value)}
        slots = [places.get(field, 0) for field in range(n_fields)]
        out += struct.pack(f"<HH{n_fields}H", 4 + 2 * n_fields, 4 + 8 * len(value), *slots)
        out += struct.pack("<i", at - index) + bytes(8 * len(value))
        for field, found in value.items():
            if isinstance(found, tuple):
                struct.pack_into(f"<{found[0]}", out, at + places[field], found[1])
            else:
                struct.pack_into("<I", out, at + places[field], _put(out, found) - at - places[field])
        return at
    at = len(out)
    content = value.encode() if isinstance(value, str) else value
    out += struct.pack("<I", len(content))
    if isinstance(content, bytes | array):
        out += bytes(content)
    elif content and isinstance(content[0], Mapping):
        out += bytes(4 * len(content))
        for k, found in enumerate(content):
            struct.pack_into("<I", out, at + 4 + 4 * k, _put(out, found) - at - 4 - 4 * k)
    else:
        out += struct.pack(f"<{len(content)}i", *content)
    return at


def tensor(name: str, shape: Sequence[int], kind: int = FLOAT32, **more: Any) -> Fields:
    """Return a tensor: `constant` ones have the bytes of buffer 1, or of that one, `signature` may leave sizes open."""
    fields: dict[int, Any] = {0: list(shape), 1: ("b", kind), 2: ("I", int(more.get("constant", False))), 3: name}
    if more.get("variable"):
        fields[5] = ("B", 1)
    if "signature" in more:
        fields[7] = more["signature"]
    return fields


def operator(name: str, inputs: Sequence[int], outputs: Sequence[int], *subgraphs: int) -> Fields:
    """Return an operator, with the subgraphs that it runs."""
    fields = {0: ("I", list(CODES).index(name)), 1: list(inputs), 2: list(outputs)}
    return fields | ({4: {k: ("i", index) for k, index in enumerate(subgraphs)}} if subgraphs else {})


def subgraph(
    tensors: Sequence[Fields], inputs: Sequence[int], outputs: Sequence[int], operators: Sequence[Fields]
) -> Fields:
    return {0: list(tensors), 1: list(inputs), 2: list(outputs), 3: list(operators)}


def model(*subgraphs: Fields, offline_plan: Sequence[int] | None = None, contents: Sequence[bytes] = ()) -> bytes:
    """Return the bytes of a model; buffer 0 is empty, buffer 1 has some bytes, and those from 2 on these contents."""
    buffers: list[Fields] = [{}, {0: b"some"}, *({0: content} for content in contents)]
    codes: list[dict[int, Any]] = [{0: ("b", min(code, 127)), 3: ("i", code)} for code in CODES.values()]
    for code, name in zip(codes, CODES, strict=True):
        code.update({1: name} if name.islower() else {})
    root: dict[int, Any] = {0: ("I", 3), 1: codes}
    if offline_plan is not None:
        buffers.append({0: struct.pack(f"<{len(offline_plan)}i", *offline_plan)})
        root[6] = [{0: "OfflineMemoryAllocation", 1: ("I", len(buffers) - 1)}]
    return flatbuffer(root | {2: list(subgraphs), 4: buffers})


def two_halves() -> bytes:
    names = {"x": 64, "a": 4096, "b": 4096, "c": 16, "d": 16, "y": 16}
    rows = [("RELU", [0], [1]), ("RELU", [0], [2]), ("RELU", [1], [3]), ("RELU", [2], [4]), ("ADD", [3, 4], [5])]
    tensors = [tensor(name, (size,), INT8) for name, size in names.items()]
    return model(subgraph(tensors, [0], [5], [operator(*row) for row in rows]))
