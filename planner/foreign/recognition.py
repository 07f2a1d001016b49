"""The beginnings of files that several systems share."""

from __future__ import annotations

NEAR = 1 << 16
"""The bytes of a compiler's warnings that may come before its dump."""
JSON = rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:%s)"\s*:'
"""A pattern of an object in JSON whose first key is one of some."""
_MLIR = (b"//", b"#", b"module", b"builtin.module", b'"builtin.module"', b"func.func", b'"func.func"', b"util.", b"!")


def begins_as_mlir(data: bytes) -> bool:
    """Return True if the bytes begin as MLIR does."""
    return data[:100].lstrip().startswith(_MLIR)
