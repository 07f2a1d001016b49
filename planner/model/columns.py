"""The base of the tables behind buffers and placements: columns that nothing writes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from memplan.planner.model.rows import brief


class Columns:
    """A frozen dataclass of columns. A deep copy is the table itself; a pickle restores arrays and mappings frozen."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        columns = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        plain = {name: dict(value) if isinstance(value, Mapping) else value for name, value in columns.items()}
        return _restored, (type(self), plain)

    def __repr__(self) -> str:
        return brief(self)


def _restored(kind: type[Columns], columns: dict[str, Any]) -> Columns:
    for name, value in columns.items():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        elif isinstance(value, dict):
            columns[name] = MappingProxyType(value)
    return kind(**columns)
