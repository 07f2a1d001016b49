"""Values that databases differ about, each written as text that both take."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Dialect, Text, TypeDecorator


class Json(TypeDecorator[Any]):
    """A JSON value in ASCII: PostgreSQL's text takes no NUL, and its numbers in binary columns end at 2^63."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Write a value; None stays none."""
        return None if value is None else json.dumps(value, separators=(",", ":"), sort_keys=True)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Read a value."""
        return None if value is None else json.loads(value)


class Count(TypeDecorator[int]):
    """A number of bytes, which may be a sum over pools and then passes 2^63."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> str | None:
        """Write a number; None stays none."""
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> int | None:
        """Read a number."""
        return None if value is None else int(value)
