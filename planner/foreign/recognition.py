"""Patterns for the beginnings of files of several systems."""

from __future__ import annotations

NEAR = 1 << 16
"""The most bytes of a compiler's warnings that may come before its dump."""
JSON = rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:%s)"\s*:'
"""A pattern for a JSON object whose first key is one of the alternatives that replace `%s`."""
_MLIR = (b"//", b"#", b"module", b"builtin.module", b'"builtin.module"', b"func.func", b'"func.func"', b"util.", b"!")


def begins_as_mlir(data: bytes) -> bool:
    """Return True if the bytes begin as MLIR in text form does."""
    return data[:100].lstrip().startswith(_MLIR)
