"""The kind `certificate`: a problem in, what proves its plan out, to be checked without memplan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from memplan.api.cluster.task import WorkAnswer, WorkControl
from memplan.api.service.kinds.bodies import plan_of, problem_of, problem_subject
from memplan.api.service.kinds.kind import JobKind, KindOptions, Subject
from memplan.planner.audit import verify
from memplan.planner.errors import PlanError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Id
from memplan.solvers.certificates.certify import TIME_LIMIT_S, certify
from memplan.solvers.portfolio.options import SolveControl
from memplan.solvers.portfolio.solve import solve

Asked = tuple[Problem, Plan | None]


class ProofOptions(KindOptions):
    """Options of a certificate: the seconds in all, and those of them that are kept for the proof."""

    proof_s: Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)] = TIME_LIMIT_S


class CertificateAnswer(BaseModel):
    """The certificate of a plan, and the plan; `text` is what `checkers/check.py` reads, empty with a `reason`."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["live-set", "lemmas", "multipliers", "none"]
    text: str
    lemmas: int
    buffers: tuple[Id, ...]
    reason: str | None
    sha256: str | None
    plan: Plan


def _read(content: Mapping[str, Any]) -> Asked:
    problem = problem_of(content)
    return problem, plan_of(content) if "plan" in content else None


def _about(asked: Asked) -> Subject:
    return problem_subject(asked[0])


def _run(asked: Asked, options: ProofOptions, control: WorkControl) -> WorkAnswer:
    problem, plan = asked
    if plan is not None and (violations := verify(problem, plan)):
        raise PlanError(*(f"plan: {violation.message}" for violation in violations[:10]))
    proof_s = min(options.proof_s, control.deadline.left_s / 2)
    if plan is None:
        searches = SolveControl(control.deadline.earlier(max(0.0, proof_s)), control.cancelled)
        plan = solve(problem, time_limit_s=max(0.01, control.deadline.left_s - proof_s), control=searches)
    left_s = max(0.01, min(options.proof_s, control.deadline.left_s))
    found = certify(problem, plan, time_limit_s=left_s, cancelled=control.cancelled)
    answer = CertificateAnswer.model_construct(
        kind=found.kind,
        text=found.text,
        lemmas=found.lemmas,
        buffers=found.buffers,
        reason=found.reason,
        sha256=found.facts().sha256,
        plan=plan,
    )
    return WorkAnswer(answer.model_dump_json().encode() + b"\n", found.kind)


KIND = JobKind(
    name="certificate",
    summary="Certify a plan",
    description="Answer with what proves that a plan is the best, or that nothing fits, to be checked without memplan.",
    fields=("problem", "plan"),
    needed=("problem",),
    read=_read,
    about=_about,
    run=_run,
    options=ProofOptions,
    request=create_model(
        "CertificateRequest", problem=Problem, plan=(Plan | None, None), options=(ProofOptions, ProofOptions())
    ),
    answer=CertificateAnswer,
    example={"problem": {"buffers": [{"id": "conv1", "size": 64, "start": 0, "end": 3}]}},
)
