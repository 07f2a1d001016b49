"""Column types that both SQLite and PostgreSQL support."""

from __future__ import annotations

import json
import zlib
from typing import Any

from sqlalchemy import ColumnElement, Dialect, LargeBinary, Text, TypeDecorator, type_coerce

_LEVEL = 1
"""A low compression level, which saves nearly as much as a high one."""


class Json(TypeDecorator[Any]):
    """A column of JSON in ASCII: PostgreSQL's text allows no NUL, and numbers in its binary JSON are limited."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Return a value as JSON text for the database; None stays None."""
        return None if value is None else json.dumps(value, separators=(",", ":"), sort_keys=True)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Return the value of a JSON text from the database."""
        return None if value is None else json.loads(value)


class CompressedBytes(TypeDecorator[bytes]):
    """A column of bytes, which are stored compressed."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: bytes | None, dialect: Dialect) -> bytes | None:
        """Return the compressed bytes of a value for the database; None stays None."""
        return None if value is None else pack(value)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> bytes | None:
        """Return the value of compressed bytes from the database."""
        return None if value is None else zlib.decompress(value)


def pack(value: bytes) -> bytes:
    """Return a value compressed, before its transaction begins; `packed_value` stores the bytes."""
    return zlib.compress(value, _LEVEL)


def packed_value(packed: bytes) -> ColumnElement[bytes]:
    """Return compressed bytes as the value of a compressed column."""
    return type_coerce(packed, LargeBinary)
