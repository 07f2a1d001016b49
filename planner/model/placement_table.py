"""The table that stores a plan's placements as columns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from pydantic import ConfigDict, TypeAdapter, WrapValidator
from pydantic_core import PydanticCustomError

from memplan.planner.errors import excerpt
from memplan.planner.model.buffer_table import I64, column
from memplan.planner.model.columns import Columns
from memplan.planner.model.parts import validate_in_parts
from memplan.planner.model.rows import Placement


@dataclass(frozen=True, eq=False)
class PlacementTable(Columns[Placement]):
    """Placements as columns: `pool[i]` is an index into `pool_names`; offsets count bytes from the pool's start.

    `start` and `end` are the times of the pieces of buffers that move, and None in other plans.
    """

    ids: tuple[int | str, ...]
    pool_names: tuple[str, ...]
    pool: I64
    offset: I64
    start: I64 | None = None
    end: I64 | None = None

    @classmethod
    def from_rows(cls, rows: Iterable[Placement]) -> "PlacementTable":
        """Return the table of these placements; pools are numbered in the order of their first occurrence."""
        names: dict[str, int] = {}
        rows = tuple(rows)
        pool = [names.setdefault(row.pool, len(names)) for row in rows]
        ids, offsets = tuple(row.id for row in rows), column([row.offset for row in rows])
        times = [(row.start, row.end) for row in rows if row.start is not None and row.end is not None]
        if not rows or len(times) < len(rows):
            return cls(ids, tuple(names), column(pool), offsets)
        starts, ends = zip(*times, strict=True)
        return cls(ids, tuple(names), column(pool), offsets, column(starts), column(ends))

    def __eq__(self, other: object) -> bool:
        """Return True for a table of equal placements in the same order."""
        return isinstance(other, PlacementTable) and len(self) == len(other) and self.rows() == other.rows()

    __hash__ = None  # type: ignore[assignment]

    def _row(self, i: int) -> Placement:
        name = self.pool_names[int(self.pool[i])]
        start, end = (None if times is None else int(times[i]) for times in (self.start, self.end))
        return Placement.model_construct(id=self.ids[i], pool=name, offset=int(self.offset[i]), start=start, end=end)

    @cached_property
    def row_of(self) -> Mapping[int | str, int]:
        """The row of each buffer's placement, by the buffer's id; the first row if a buffer is placed repeatedly."""
        return {name: row for row, name in reversed(list(enumerate(self.ids)))}

    def rows(self) -> list[dict[str, int | str]]:
        """Return the placements as JSON objects."""
        names = self.pool_names
        rows: list[dict[str, int | str]] = [
            {"id": buffer, "pool": names[pool], "offset": offset}
            for buffer, pool, offset in zip(self.ids, self.pool.tolist(), self.offset.tolist(), strict=True)
        ]
        if self.start is not None and self.end is not None:
            for row, start, end in zip(rows, self.start.tolist(), self.end.tolist(), strict=True):
                row.update(start=start, end=end)
        return rows


_PLACEMENTS: TypeAdapter[tuple[Placement, ...]] = TypeAdapter(
    Annotated[tuple[Placement, ...], WrapValidator(validate_in_parts)], config=ConfigDict(defer_build=True)
)


def parse_placements(value: object) -> PlacementTable:
    """Return the table of a list of objects or Placements; raises pydantic.ValidationError."""
    if isinstance(value, PlacementTable):
        return value
    if not isinstance(value, (list, tuple)):
        raise PydanticCustomError("rule", "must be a list, got {shown}", {"shown": excerpt(value)})
    return PlacementTable.from_rows(_PLACEMENTS.validate_python(value))
