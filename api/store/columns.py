"""JSON as both databases take it."""

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
