"""The kind `replan`: a changed problem and an old plan in, a plan with few moves out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from memplan.api.cluster.task import WorkAnswer, WorkControl
from memplan.api.service.kinds.bodies import plan_of, problem_of, problem_subject
from memplan.api.service.kinds.kind import JobKind, KindOptions, Subject
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import Accepted, SolveControl, SolveOptions, SolverName
from memplan.solvers.studies.replanning.questions import read_eps
from memplan.solvers.studies.replanning.replan import DEFAULT_EPS, replan

Asked = tuple[Problem, Plan]


class ReplanOptions(KindOptions):
    """Options of a re-plan: its peaks are at most (1 + `eps`) times the best, and the `least` of what moves counts.

    The others are those of the solve for the best peak; where `accept` is `fit`, pools may be filled to their ends.
    """

    eps: float | str = DEFAULT_EPS
    least: Literal["buffers", "bytes"] = "buffers"
    solver: SolverName = "auto"
    accept: Accepted = None
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    deterministic: bool = False

    @property
    def of_solve(self) -> SolveOptions:
        """The options of the solve; raises OptionError."""
        names = ("time_limit_s", "solver", "accept", "seed", "deterministic")
        options = SolveOptions.model_construct(**{name: getattr(self, name) for name in names})
        options.target()
        return options


def _check(options: ReplanOptions) -> None:
    read_eps(options.eps)
    _ = options.of_solve


def _read(content: Mapping[str, Any]) -> Asked:
    return problem_of(content), plan_of(content)


def _about(asked: Asked) -> Subject:
    return problem_subject(asked[0])


def _run(asked: Asked, options: ReplanOptions, control: WorkControl) -> WorkAnswer:
    plan = replan(
        *asked,
        eps=options.eps,
        least=options.least,
        options=options.of_solve,
        control=SolveControl(control.deadline, control.cancelled),
    )
    return WorkAnswer(plan.model_dump_json().encode() + b"\n", plan.status, is_plan=True)


_OLD = {"placements": [{"id": "conv1", "pool": "default", "offset": 0}]}
KIND = JobKind(
    name="replan",
    summary="Plan again with few moves",
    description="Answer with a plan for a changed problem that keeps as many places of an old plan as can be.",
    fields=("problem", "plan"),
    needed=("problem", "plan"),
    read=_read,
    about=_about,
    run=_run,
    options=ReplanOptions,
    check=_check,
    request=create_model("ReplanRequest", problem=Problem, plan=Plan, options=(ReplanOptions, ReplanOptions())),
    answer=Plan,
    example={"problem": {"buffers": [{"id": "conv1", "size": 64, "start": 0, "end": 3}]}, "plan": _OLD},
)
