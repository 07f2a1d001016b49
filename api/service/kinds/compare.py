"""The kind `compare`: two plans with their problems in, what moved and what made the peaks grow out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, create_model
from pydantic_core import to_json

from memplan.api.cluster.task import WorkAnswer, WorkControl
from memplan.api.reports.page.comparison import PlanOf, comparison_facts
from memplan.api.service.kinds.bodies import plan_of, problem_of, problem_subject
from memplan.api.service.kinds.kind import JobKind, KindOptions, Subject
from memplan.planner.audit import verify
from memplan.planner.errors import InputError, PlanError, shown
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import WireValue

Asked = tuple[PlanOf, PlanOf]
_TOLD = 10


class PlannedProblem(WireValue):
    """A problem and a plan of it."""

    problem: Problem
    plan: Plan


class CompareAnswer(BaseModel):
    """What came, went, changed and moved, as `memplan diff` has it; `growth` has the causes for each pool."""

    model_config = ConfigDict(frozen=True, extra="allow")

    stayed: int
    peak_before: int | None
    peak: int | None
    moved: list[dict[str, Any]]
    growth: dict[str, dict[str, Any]]


def _read(content: Mapping[str, Any]) -> Asked:
    before, after = (_planned(content, name) for name in ("old", "new"))
    return before, after


def _planned(content: Mapping[str, Any], name: str) -> PlanOf:
    value = content[name]
    if not isinstance(value, dict):
        raise InputError(f"{name}: must be an object, got {shown(value)}")
    if lacking := [key for key in ("problem", "plan") if key not in value]:
        raise InputError(*(f"{name}.{key}: is required" for key in lacking))
    try:
        return PlanOf(problem_of(value), plan_of(value), name)
    except InputError as error:
        raise type(error)(*(f"{name}.{sentence}" for sentence in error.sentences)) from error


def _about(asked: Asked) -> Subject:
    return problem_subject(asked[1].problem)


def _run(asked: Asked, _options: KindOptions, _control: WorkControl) -> WorkAnswer:
    for one in asked:
        if violations := verify(one.problem, one.plan):
            raise PlanError(*(f"{one.name}.plan: {violation.message}" for violation in violations[:_TOLD]))
    return WorkAnswer(to_json(comparison_facts(*asked)) + b"\n")


_BUFFER = {"id": "conv1", "size": 64, "start": 0, "end": 3}
_OLD = {
    "problem": {"buffers": [_BUFFER]},
    "plan": {"placements": [{"id": "conv1", "pool": "default", "offset": 64}]},
}
_NEW = {**_OLD, "plan": {"placements": [{"id": "conv1", "pool": "default", "offset": 0}]}}
KIND = JobKind(
    name="compare",
    summary="Compare two plans",
    description="Answer with what came, went, changed and moved between two plans, and why the peaks grew.",
    fields=("old", "new"),
    needed=("old", "new"),
    read=_read,
    about=_about,
    run=_run,
    request=create_model(
        "CompareRequest", old=PlannedProblem, new=PlannedProblem, options=(KindOptions, KindOptions())
    ),
    answer=CompareAnswer,
    example={"old": _OLD, "new": _NEW},
)
