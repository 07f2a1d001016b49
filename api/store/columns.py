"""Column types that work alike in SQLite and PostgreSQL."""

import json
import zlib
from typing import Any

from sqlalchemy import ColumnElement, Dialect, LargeBinary, Text, TypeDecorator, type_coerce

_LEVEL = 1
"""A low compression level: it saves nearly as many bytes as a high one, in less time."""


class Json(TypeDecorator[Any]):
    """A column of JSON as ASCII text, since PostgreSQL forbids NUL in text and limits numbers in binary JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Return a value as JSON text for the database; None becomes NULL."""
        return None if value is None else json.dumps(value, separators=(",", ":"), sort_keys=True)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Return the value that a JSON text from the database represents; NULL becomes None."""
        return None if value is None else json.loads(value)


class CompressedBytes(TypeDecorator[bytes]):
    """A column of bytes that the database stores compressed."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: bytes | None, dialect: Dialect) -> bytes | None:
        """Return the compressed bytes of a value for the database; None becomes NULL."""
        return None if value is None else pack(value)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> bytes | None:
        """Return the decompressed bytes of a value from the database; NULL becomes None."""
        return None if value is None else zlib.decompress(value)


def pack(value: bytes) -> bytes:
    """Return bytes compressed for `packed_value`; done before the transaction begins, so that it stays short."""
    return zlib.compress(value, _LEVEL)


def packed_value(packed: bytes) -> ColumnElement[bytes]:
    """Return an expression that stores already compressed bytes in a column of CompressedBytes."""
    return type_coerce(packed, LargeBinary)
