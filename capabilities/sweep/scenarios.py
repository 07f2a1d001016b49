"""The capability `scenarios`: a problem with each combination of some changes, and the peak of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from math import prod
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from memplan.capabilities.capability import Answer, Capability, Control, SearchOptions, Seconds
from memplan.capabilities.extent import Extent
from memplan.capabilities.inputs import PROBLEM
from memplan.capabilities.question import Input, Question
from memplan.capabilities.sweep import scenario_runs as study
from memplan.planner.errors import OptionError, sentences
from memplan.planner.formats import memplan_json
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Id, Name, WireValue, as_tuple

_REPORT_AFTER = 20
"""The combinations between two reports of progress: a small plan takes less time than its report."""


class Change(WireValue):
    """One change: `fields` of a buffer or of a pool get other values; a buffer without `fields` is dropped."""

    buffer: Id | None = None
    pool: Name | None = None
    fields: dict[str, Any] | None = None

    def of_study(self) -> study.Change:
        """Return the change as the study takes it."""
        return study.Change(self.buffer, self.pool, None if self.fields is None else tuple(self.fields.items()))


Axis = Annotated[tuple[Change, ...], BeforeValidator(as_tuple), Field(min_length=1)]
Grid = Annotated[tuple[Axis, ...], BeforeValidator(as_tuple)]
_GRID: TypeAdapter[tuple[tuple[Change, ...], ...]] = TypeAdapter(Grid)


class ScenariosOptions(SearchOptions):
    """Options of scenarios."""

    each_s: Seconds = Field(1.0, description="Of these, the seconds for each plan.")
    repetitions: Annotated[int, Field(ge=1, le=100)] = Field(
        1, description="Plan each so often, with other seeds, unless a plan is proved to be the best."
    )


class Scenario(Answer):
    """The changes of a combination, and how its best plan is; sizes are in bytes."""

    changes: tuple[dict[str, Any], ...]
    status: str
    peak: int | None
    lower_bound: int | None
    cost: float | None


class Scenarios(Answer):
    """The number of combinations, and those that were planned in time, the last list of the grid going fastest."""

    combinations: int
    scenarios: tuple[Scenario, ...]


def scenarios(
    problem: Problem,
    grid: tuple[tuple[Change, ...], ...],
    options: ScenariosOptions = ScenariosOptions(),
    control: Control = Control(),
) -> Scenarios:
    """Plan a grid of changes: the peak of each combination of one change from each list, as far as the time goes.

    A grid is a list of lists of changes, such as [[{"buffer": "a", "fields": {"size": 32}}, {"buffer": "a"}]], of which
    the second drops the buffer. There may be 10,000 combinations.
    """
    running = control.begun(options)
    count, rows = prod(len(axis) for axis in grid), []
    found = study.scenarios(
        problem,
        _of_study(grid),
        repetitions=options.repetitions,
        time_limit_s=min(options.each_s, options.time_limit_s),
        deterministic=options.deterministic,
        control=running.searching(),
    )
    for scenario in found:
        rows.append(_row(scenario))
        if len(rows) % _REPORT_AFTER == 0:
            running.report({"done": len(rows), "combinations": count})
        if running.is_over:
            break
    return Scenarios(combinations=count, scenarios=tuple(rows))


def _of_study(grid: tuple[tuple[Change, ...], ...]) -> list[list[study.Change]]:
    return [[row.of_study() for row in axis] for axis in grid]


def _row(scenario: study.Scenario) -> Scenario:
    plan = scenario.plan
    changes = [{name: value for name, value in asdict(each).items() if value is not None} for each in scenario.changes]
    for change in changes:
        if "fields" in change:
            change["fields"] = dict(change["fields"])
    found = {name: getattr(plan, name) for name in ("status", "peak", "lower_bound", "cost")}
    return Scenario(changes=tuple(changes), **found)


def lines(found: Scenarios) -> Iterator[str]:
    """Yield the rows of a table for people, one a combination."""
    yield f"{len(found.scenarios):,} of {found.combinations:,} combinations"
    for row in found.scenarios:
        peak = "-" if row.peak is None else f"{row.peak:,}"
        bound = "-" if row.lower_bound is None else f"{row.lower_bound:,}"
        yield f"{row.status:<12}{peak:>16}{bound:>16}  {', '.join(map(_change_text, row.changes))}"


def _change_text(change: Mapping[str, Any]) -> str:
    name = change.get("buffer", change.get("pool"))
    fields = change.get("fields")
    return f"without {name}" if fields is None else " ".join(f"{name}.{field}={fields[field]}" for field in fields)


def _grid(value: object) -> tuple[tuple[Change, ...], ...]:
    try:
        return _GRID.validate_python(value)
    except ValidationError as error:
        raise OptionError(*sentences(error, ("grid",))) from error


def _grid_extent(value: object) -> Extent:
    """Return the extent of a grid; raises OptionError for more changes than its combinations can have."""
    count = sum(len(axis) for axis in value if isinstance(axis, list)) if isinstance(value, list) else 0
    if count > study.MOST_SCENARIOS:
        raise OptionError(f"grid: must have at most {study.MOST_SCENARIOS} changes, got {count}")
    return Extent(count)


def _check(question: Question, options: ScenariosOptions) -> None:
    """Refuse too many combinations, unknown names, and a first combination that is no problem; raises InputError."""
    changes = _of_study(question["grid"])
    study.scenarios(question["problem"], changes)
    study.with_changes(question["problem"], [axis[0] for axis in changes])


GRID = Input(
    "grid",
    Grid,
    _grid,
    lambda grid: _GRID.dump_python(grid, mode="json", exclude_none=True),
    "A file, JSON: a list of lists of changes; or -.",
    from_file=lambda _reader, data, _name, _question: _grid(memplan_json.parse(data)),
    extent=_grid_extent,
)
CAPABILITY = Capability(
    scenarios,
    inputs=(PROBLEM, GRID),
    lines=lines,
    status=lambda _: "done",
    check=_check,
    example={
        "problem": {"buffers": [{"id": "conv1", "size": 64, "start": 0, "end": 3}]},
        "grid": [[{"buffer": "conv1", "fields": {"size": 32}}, {"buffer": "conv1", "fields": {"size": 96}}]],
    },
)
