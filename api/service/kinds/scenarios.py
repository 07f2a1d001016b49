"""The kind `scenarios`: a problem and a grid of changes in, the peak of each combination out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from math import prod
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic_core import to_json

from memplan.api.cluster.task import WorkAnswer, WorkControl
from memplan.api.service.kinds.bodies import problem_of, problem_subject
from memplan.api.service.kinds.kind import JobKind, KindOptions, Subject
from memplan.planner.errors import OptionError, sentences
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Id, Name, WireValue, as_tuple
from memplan.solvers.portfolio.options import SolveControl
from memplan.solvers.studies.what_if.scenarios import MOST_SCENARIOS, Change, Scenario, scenarios, with_changes

_TELL_AT_ONCE = 20


class ChangeRow(WireValue):
    """One change: `fields` of a buffer or of a pool get other values; a buffer without `fields` is dropped."""

    buffer: Id | None = None
    pool: Name | None = None
    fields: dict[str, Any] | None = None

    def change(self) -> Change:
        """Return the change as the study takes it."""
        return Change(self.buffer, self.pool, None if self.fields is None else tuple(self.fields.items()))


Axis = Annotated[tuple[ChangeRow, ...], BeforeValidator(as_tuple), Field(min_length=1)]
Grid = Annotated[tuple[Axis, ...], BeforeValidator(as_tuple)]
_GRID: TypeAdapter[tuple[tuple[ChangeRow, ...], ...]] = TypeAdapter(Grid)
Asked = tuple[Problem, tuple[tuple[ChangeRow, ...], ...]]


class ScenarioOptions(KindOptions):
    """Options of scenarios: the seconds in all, those for each plan, and how often each is planned with other seeds."""

    each_s: Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)] = 1.0
    repetitions: Annotated[int, Field(ge=1, le=100)] = 1


class ScenarioRow(BaseModel):
    """The changes of a combination, and how its best plan is."""

    model_config = ConfigDict(frozen=True)

    changes: list[dict[str, Any]]
    status: str
    peak: int | None
    lower_bound: int | None
    cost: float | None


class ScenariosAnswer(BaseModel):
    """The number of combinations, and those that were planned in time, the last list of the grid going fastest."""

    model_config = ConfigDict(frozen=True)

    combinations: int
    scenarios: list[ScenarioRow]


def _read(content: Mapping[str, Any]) -> Asked:
    problem = problem_of(content)
    try:
        grid = _GRID.validate_python(content["grid"])
    except ValidationError as error:
        raise OptionError(*sentences(error, ("grid",))) from error
    changes = [[row.change() for row in axis] for axis in grid]
    scenarios(problem, changes)  # which refuses too many of them, and unknown names
    with_changes(problem, [axis[0] for axis in changes])  # the first combination is refused before any is planned
    return problem, grid


def _about(asked: Asked) -> Subject:
    return problem_subject(asked[0])


def _run(asked: Asked, options: ScenarioOptions, control: WorkControl) -> WorkAnswer:
    problem, grid = asked
    count, rows = prod(len(axis) for axis in grid), []
    changes = [[row.change() for row in axis] for axis in grid]
    searches = SolveControl(control.deadline, control.cancelled)
    each_s = min(options.each_s, options.time_limit_s)
    found = scenarios(problem, changes, repetitions=options.repetitions, time_limit_s=each_s, control=searches)
    for scenario in found:
        rows.append(_row(scenario))
        if len(rows) % _TELL_AT_ONCE == 0:
            control.tell({"done": len(rows), "combinations": count})
        if control.deadline.left_s <= 0:
            break
    return WorkAnswer(to_json(ScenariosAnswer(combinations=count, scenarios=rows)) + b"\n", "done")


def _row(scenario: Scenario) -> ScenarioRow:
    plan = scenario.plan
    told = [{name: value for name, value in asdict(change).items() if value is not None} for change in scenario.changes]
    for change in told:
        if "fields" in change:
            change["fields"] = dict(change["fields"])
    return ScenarioRow(changes=told, status=plan.status, peak=plan.peak, lower_bound=plan.lower_bound, cost=plan.cost)


KIND = JobKind(
    name="scenarios",
    summary="Plan a grid of changes",
    description=f"Answer with the peak of each combination of changes planned in time, {MOST_SCENARIOS} at most.",
    fields=("problem", "grid"),
    needed=("problem", "grid"),
    read=_read,
    about=_about,
    run=_run,
    options=ScenarioOptions,
    request=create_model("ScenariosRequest", problem=Problem, grid=Grid, options=(ScenarioOptions, ScenarioOptions())),
    answer=ScenariosAnswer,
    example={
        "problem": {"buffers": [{"id": "conv1", "size": 64, "start": 0, "end": 3}]},
        "grid": [[{"buffer": "conv1", "fields": {"size": 32}}, {"buffer": "conv1", "fields": {"size": 96}}]],
    },
)
