"""Changes of a problem: fields of buffers and pools get other values, or buffers go; and the input that says them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from memplan.capabilities.extent import Extent
from memplan.capabilities.question import Input
from memplan.planner.errors import OptionError, sentences, shown
from memplan.planner.formats import memplan_json
from memplan.planner.model.entries import entries_among
from memplan.planner.model.problem import Problem, with_fields
from memplan.planner.model.rows import Buffer, Id, Name, WireValue, as_tuple

MOST_COMBINATIONS = 10_000
"""The most combinations of a sweep, and so the most changes."""


class Change(WireValue):
    """One change: `fields` of a buffer or of a pool get other values; a buffer without `fields` is dropped."""

    buffer: Id | None = Field(None, exclude_if=lambda name: name is None)
    pool: Name | None = Field(None, exclude_if=lambda name: name is None)
    fields: dict[str, Any] | None = Field(None, exclude_if=lambda fields: fields is None)

    @property
    def text(self) -> str:
        """The change in some words."""
        name = self.pool if self.buffer is None else self.buffer
        if self.fields is None:
            return f"without {name}"
        return " ".join(f"{name}.{field}={value}" for field, value in self.fields.items())


Axis = Annotated[tuple[Change, ...], BeforeValidator(as_tuple), Field(min_length=1)]
Grid = Annotated[tuple[Axis, ...], BeforeValidator(as_tuple)]
_GRID: TypeAdapter[tuple[tuple[Change, ...], ...]] = TypeAdapter(Grid)


def with_changes(problem: Problem, changes: Sequence[Change]) -> Problem:
    """Return the problem with some changes; pairs and entries of dropped buffers go with them.

    Raises OptionError for changes of what does not exist, and ProblemError where one makes the problem wrong.
    """
    if not changes:
        return problem
    refuse_unknown(problem, changes)
    rows = {row.id: dict(row) for row in problem.buffers}
    pools = {row.name: dict(row) for row in problem.pools}
    gone: set[int | str] = set()
    for change in changes:
        if change.pool is not None:
            pools[change.pool] |= change.fields or {}
        elif change.buffer is not None and change.fields is None:
            gone.add(change.buffer)
        elif change.buffer is not None:
            rows[change.buffer] |= change.fields or {}
    kept = [Buffer.model_validate(row) for name, row in rows.items() if name not in gone]
    return with_fields(problem, buffers=kept, pools=[*pools.values()], **entries_among(problem, rows.keys() - gone))


def refuse_unknown(problem: Problem, changes: Sequence[Change]) -> None:
    """Raise OptionError for changes of what the problem has not."""
    for change in changes:
        if (change.buffer is None) == (change.pool is None):
            raise OptionError("change: must name a buffer or a pool")
        if change.buffer is not None and change.buffer not in problem.index:
            raise OptionError(f"change: must name a buffer of the problem, got {shown(change.buffer)}")
        if change.pool is not None and change.pool not in problem.pool_index:
            raise OptionError(f"change: must name a pool of the problem, got {shown(change.pool)}")


def _changes_field(value: object) -> tuple[tuple[Change, ...], ...]:
    try:
        return _GRID.validate_python(value)
    except ValidationError as error:
        raise OptionError(*sentences(error, ("changes",))) from error


def _extent(value: object) -> Extent:
    """Return the extent of changes; raises OptionError for more of them than combinations can have."""
    count = sum(len(axis) for axis in value if isinstance(axis, list)) if isinstance(value, list) else 0
    if count > MOST_COMBINATIONS:
        raise OptionError(f"changes: must be at most {MOST_COMBINATIONS}, got {count}")
    return Extent(count)


CHANGES = Input(
    "changes",
    Grid,
    _changes_field,
    lambda grid: _GRID.dump_python(grid, mode="json"),
    "Changes to combine, JSON: lists of changes, of each of which one is made.",
    from_file=lambda _reader, data, _name, _question: _changes_field(memplan_json.parse(data)),
    extent=_extent,
    required=False,
    named_by_flag=True,
)
