"""The page document: what the page shows, as a header of JSON and typed columns behind it.

Bytes, compressed by zlib as a whole: the magic line, the length of the header as four bytes (little endian), the
header, and the columns, each from a multiple of eight bytes on. The header is `{"title", "views", "columns"}`; where a
value of a view is `{"column": k}`, column k stands there. A column is `[kind, length, is_delta]`: `kind` is one of
KINDS, or `json` for `length` bytes of JSON. `static/document.js` reads it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

MAGIC = b"memplan-page/1\n\n"
KINDS: dict[str, type[np.generic]] = {
    "u1": np.uint8,
    "u2": np.uint16,
    "u4": np.uint32,
    "i4": np.int32,
    "f8": np.float64,
    "i8": np.int64,
}
_EXACT = 2**53
_LEVEL = 6


class PageDocument:
    """A page document in the making: views are added, and refer to columns that are packed before."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.views: list[Mapping[str, Any]] = []
        self._columns: list[tuple[str, int, bool]] = []
        self._parts: list[bytes] = []

    def add(self, view: Mapping[str, Any]) -> None:
        """Add a view: its `kind`, its `title`, and what the kind asks for."""
        self.views.append(view)

    def column(self, values: npt.ArrayLike, is_sorted: bool = False) -> dict[str, int]:
        """Pack integers in as few bytes as hold them, sorted ones as differences; return the reference to them."""
        numbers = np.asarray(values)
        if numbers.dtype.kind not in "iu":
            numbers = numbers.astype(np.int64)
        is_delta = is_sorted and len(numbers) > 0 and int(numbers[0]) >= 0 and int(numbers[-1]) <= _EXACT
        if is_delta:
            numbers = np.diff(numbers, prepend=numbers.dtype.type(0))
        kind = _kind(numbers)
        return self._pack(kind, len(numbers), is_delta, numbers.astype(KINDS[kind]).tobytes())

    def texts(self, values: Sequence[int | str]) -> dict[str, int]:
        """Pack a list of texts and numbers; return the reference to it."""
        data = json.dumps(list(values), separators=(",", ":")).encode()
        return self._pack("json", len(data), False, data)

    def _pack(self, kind: str, length: int, is_delta: bool, data: bytes) -> dict[str, int]:
        self._columns.append((kind, length, is_delta))
        self._parts.append(data + b"\0" * (-len(data) % 8))
        return {"column": len(self._columns) - 1}

    def packed(self) -> bytes:
        """Return the document as bytes, compressed."""
        header = {"title": self.title, "views": self.views, "columns": self._columns}
        text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
        head = MAGIC + len(text).to_bytes(4, "little") + text
        packer = zlib.compressobj(_LEVEL)
        parts = [packer.compress(part) for part in (head + b"\0" * (-len(head) % 8), *self._parts)]
        return b"".join([*parts, packer.flush()])


def _kind(numbers: npt.NDArray[Any]) -> str:
    least, most = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
    for kind, low, high in (("u1", 0, 2**8), ("u2", 0, 2**16), ("u4", 0, 2**32), ("i4", -(2**31), 2**31)):
        if low <= least and most < high:
            return kind
    return "f8" if (least >= -_EXACT and most <= _EXACT) or most >= 2**63 else "i8"
