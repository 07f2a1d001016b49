"""The kind `explain`: a problem in, the reason why it does not fit out, told in stages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic_core import to_json, to_jsonable_python

from memplan.api.cluster.task import WorkAnswer, WorkControl
from memplan.api.service.kinds.bodies import problem_of, problem_subject
from memplan.api.service.kinds.kind import JobKind, KindOptions
from memplan.planner.model.plan import Explanation
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import SolveControl
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.studies.explanation.explain import explain
from memplan.solvers.studies.explanation.options import EXPLAIN_S, ExplainOptions


class ReasonOptions(KindOptions):
    """Options of an explanation: the seconds in all, and those of them that are kept for the reason."""

    explain_s: Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)] = EXPLAIN_S
    deterministic: bool = False


class ExplainAnswer(BaseModel):
    """The reason why a problem does not fit; None where it fits."""

    model_config = ConfigDict(frozen=True)

    status: Literal["fits", "infeasible", "unknown"]
    explanation: Explanation | None


def _read(content: Mapping[str, Any]) -> Problem:
    return problem_of(content)


def _run(problem: Problem, options: ReasonOptions, control: WorkControl) -> WorkAnswer:
    reason_s = min(options.explain_s, control.deadline.left_s / 2)
    deadline = control.deadline.earlier(max(0.0, reason_s))
    plan = solve(
        problem,
        time_limit_s=max(0.01, deadline.left_s),
        accept="fit",
        deterministic=options.deterministic,
        control=SolveControl(None if options.deterministic else deadline, control.cancelled),
    )
    status = "fits" if plan.status in ("optimal", "feasible") else plan.status

    def tell(stage: str, found: Explanation) -> None:
        control.tell({"stage": stage, "explanation": to_jsonable_python(found)})

    if status == "infeasible" and plan.explanation is not None:
        tell("infeasible", plan.explanation)
    left_s = options.explain_s if options.deterministic else max(0.01, min(options.explain_s, control.deadline.left_s))
    chosen = ExplainOptions(left_s, tell, control.cancelled, options.deterministic)
    found = explain(problem, plan=plan, options=chosen)
    return WorkAnswer(to_json({"status": status, "explanation": found}) + b"\n", status)


KIND = JobKind(
    name="explain",
    summary="Explain why a problem does not fit",
    description="Answer with few buffers and rules that cannot all be met, or with the fact that the problem fits.",
    fields=("problem",),
    read=_read,
    about=problem_subject,
    run=_run,
    options=ReasonOptions,
    request=create_model("ExplainRequest", problem=Problem, options=(ReasonOptions, ReasonOptions())),
    answer=ExplainAnswer,
    example={
        "problem": {
            "buffers": [
                {"id": "conv1", "size": 64, "start": 0, "end": 3},
                {"id": "conv2", "size": 48, "start": 2, "end": 5},
            ],
            "pools": [{"name": "sram", "size": 100}],
        }
    },
)
