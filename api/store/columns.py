"""Column types that both databases support."""

from __future__ import annotations

import json
import zlib
from typing import Any

from sqlalchemy import ColumnElement, Dialect, LargeBinary, Text, TypeDecorator, type_coerce

_LEVEL = 1
"""A low compression level, which already saves most."""


class Json(TypeDecorator[Any]):
    """A JSON value in ASCII: PostgreSQL's text takes no NUL, and its numbers in binary columns end at 2^63."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Write a value; None stays None."""
        return None if value is None else json.dumps(value, separators=(",", ":"), sort_keys=True)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Read a value."""
        return None if value is None else json.loads(value)


class CompressedBytes(TypeDecorator[bytes]):
    """Bytes, compressed."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: bytes | None, dialect: Dialect) -> bytes | None:
        """Compress a value; None stays None."""
        return None if value is None else pack(value)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> bytes | None:
        """Read a value."""
        return None if value is None else zlib.decompress(value)


def pack(value: bytes) -> bytes:
    """Compress a value before its transaction, which stores the bytes by `packed_value`."""
    return zlib.compress(value, _LEVEL)


def packed_value(packed: bytes) -> ColumnElement[bytes]:
    """Return compressed bytes as the value of a compressed column."""
    return type_coerce(packed, LargeBinary)
