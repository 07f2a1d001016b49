"""The kind `audit`: a problem and any plan of it in, what is wrong with it and how far it is from the best out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, create_model
from pydantic_core import to_json

from memplan.api.cluster.task import WorkAnswer, WorkControl
from memplan.api.reports.audits import facts
from memplan.api.service.kinds.bodies import plan_of, problem_of, problem_subject
from memplan.api.service.kinds.kind import JobKind, KindOptions, Subject
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import SolveControl
from memplan.solvers.studies.audit.audit import audit

Asked = tuple[Problem, Plan]


class AuditOptions(KindOptions):
    """Options of an audit: the seconds in all; `with_better` asks for the plan that the fewest moves lead to."""

    with_better: bool = False


class AuditAnswer(BaseModel):
    """An audit as `memplan audit --format json` tells it, bytes; `better` is there where it was asked for."""

    model_config = ConfigDict(frozen=True, extra="allow")

    valid: bool
    violations: list[dict[str, Any]]
    peak: int | None
    best: int | None
    lower_bound: int | None
    gap: float | None
    too_much_bytes: int | None
    status: str
    pools: list[dict[str, Any]]
    fewest_moves: dict[str, Any] | None


def _read(content: Mapping[str, Any]) -> Asked:
    return problem_of(content), plan_of(content)


def _about(asked: Asked) -> Subject:
    return problem_subject(asked[0])


def _run(asked: Asked, options: AuditOptions, control: WorkControl) -> WorkAnswer:
    found = audit(
        *asked,
        time_limit_s=max(0.01, min(options.time_limit_s, control.deadline.left_s)),
        control=SolveControl(control.deadline, control.cancelled),
    )
    told = facts(found)["audit"]
    if options.with_better:
        told["better"] = None if found.better is None else found.better.model_dump(mode="json")
    return WorkAnswer(to_json(told) + b"\n", found.status)


_BUFFERS = [{"id": "conv1", "size": 64, "start": 0, "end": 3}, {"id": "conv2", "size": 48, "start": 2, "end": 5}]
_PLACEMENTS = [{"id": "conv1", "pool": "default", "offset": 0}, {"id": "conv2", "pool": "default", "offset": 128}]
KIND = JobKind(
    name="audit",
    summary="Audit a plan",
    description="Answer with what is wrong with a plan of any origin, its bytes too much, and the fewest moves to the "
    "best peak.",
    fields=("problem", "plan"),
    needed=("problem", "plan"),
    read=_read,
    about=_about,
    run=_run,
    options=AuditOptions,
    request=create_model("AuditRequest", problem=Problem, plan=Plan, options=(AuditOptions, AuditOptions())),
    answer=AuditAnswer,
    example={"problem": {"buffers": _BUFFERS}, "plan": {"placements": _PLACEMENTS}},
)
