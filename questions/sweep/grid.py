"""Changes to a problem that a sweep makes."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from memplan.planner.errors import OptionError, excerpt, sentences
from memplan.planner.formats import memplan_json
from memplan.planner.model.entries import entries_among
from memplan.planner.model.problem import Problem, replace_fields
from memplan.planner.model.rows import Buffer, Id, Name, WireValue, tuple_from_list
from memplan.questions.inputs.extent import Extent
from memplan.questions.inputs.values import Input

MOST_SIZES = 1000
"""The maximum number of combinations of sizes in a sweep."""
MOST_COMBINATIONS = 10_000
"""The maximum number of combinations in a sweep, which also limits the number of changes."""


class Change(WireValue):
    """A change of a sweep to a buffer or a pool."""

    buffer: Id | None = Field(None, exclude_if=lambda name: name is None)
    """The name of the changed buffer; left out if a pool changes."""
    pool: Name | None = Field(None, exclude_if=lambda name: name is None)
    """The name of the changed pool; left out if a buffer changes."""
    fields: dict[str, Any] | None = Field(None, exclude_if=lambda fields: fields is None)
    """The new values by field, such as {"size": 32}; without it, the buffer is dropped."""

    @property
    def text(self) -> str:
        """The change as a phrase, such as `conv1.size=32` or `without conv1`."""
        name = self.pool if self.buffer is None else self.buffer
        if self.fields is None:
            return f"without {name}"
        return " ".join(f"{name}.{field}={value}" for field, value in self.fields.items())


Axis = Annotated[tuple[Change, ...], Field(min_length=1), BeforeValidator(tuple_from_list)]
Grid = Annotated[tuple[Axis, ...], BeforeValidator(tuple_from_list)]
_GRID: TypeAdapter[tuple[tuple[Change, ...], ...]] = TypeAdapter(Grid)


def apply_changes(problem: Problem, changes: Sequence[Change]) -> Problem:
    """Return the problem after some changes; entries that name dropped buffers are restricted to the others.

    Raises OptionError for a change to an unknown buffer or pool, and ProblemError if the result is invalid.
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
    buffers = [Buffer.model_validate(row) for name, row in rows.items() if name not in gone]
    return replace_fields(
        problem, buffers=buffers, pools=[*pools.values()], **entries_among(problem, rows.keys() - gone)
    )


def refuse_unknown(problem: Problem, changes: Sequence[Change]) -> None:
    """Raise OptionError for a change to a buffer or pool that does not exist in the problem."""
    for change in changes:
        if (change.buffer is None) == (change.pool is None):
            raise OptionError("change: must name a buffer or a pool")
        if change.buffer is not None and change.buffer not in problem.index:
            raise OptionError(f"change: must name a buffer of the problem, got {excerpt(change.buffer)}")
        if change.pool is not None and change.pool not in problem.pool_index:
            raise OptionError(f"change: must name a pool of the problem, got {excerpt(change.pool)}")


def refuse_unknown_pools(problem: Problem, names: Iterable[str]) -> None:
    """Raise OptionError for sizes of a pool that does not exist in the problem."""
    for name in names:
        if name not in problem.pool_index:
            rule = f"must name a pool of the problem ({', '.join(problem.pool_index)}), got {excerpt(name)}"
            raise OptionError.from_rule("sizes", rule)


def _changes_field(value: object) -> tuple[tuple[Change, ...], ...]:
    """Return the lists of changes in a field of a body; raises OptionError."""
    try:
        return _GRID.validate_python(value)
    except ValidationError as error:
        raise OptionError(*sentences(error, ("changes",))) from error


def _changes_extent(value: object) -> Extent:
    """Return the extent of the changes in a body; raises OptionError for more than MOST_COMBINATIONS changes."""
    count = sum(len(axis) for axis in value if isinstance(axis, list)) if isinstance(value, list) else 0
    if count > MOST_COMBINATIONS:
        raise OptionError(f"changes: must have at most {MOST_COMBINATIONS} entries, got {count}")
    return Extent(count)


CHANGES = Input(
    "changes",
    Grid,
    _changes_field,
    lambda grid: _GRID.dump_python(grid, mode="json"),
    "A JSON file with lists of changes. Each combination makes one change of every list.",
    from_file=lambda _reader, data, _name, _question: _changes_field(memplan_json.parse(data)),
    extent=_changes_extent,
    about="Lists of changes. Each combination makes one change of every list.",
    required=False,
    named_by_flag=True,
)
