"""Patterns for the first bytes of files of several systems."""

NEAR = 1 << 16
"""The maximum number of bytes of compiler warnings before a dump."""
JSON = rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:%s)"\s*:'
"""The pattern of a JSON object whose first key is one of the alternatives put in place of `%s`."""
_MLIR = (b"//", b"#", b"module", b"builtin.module", b'"builtin.module"', b"func.func", b'"func.func"', b"util.", b"!")


def begins_as_mlir(data: bytes) -> bool:
    """Return True if the bytes start like MLIR in text form."""
    return data[:100].lstrip().startswith(_MLIR)
