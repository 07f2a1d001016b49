"""The capability `replan`: a plan for a changed problem that moves few buffers of an old plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from pydantic import Field

from memplan.capabilities.capability import Capability, Control, SearchOptions
from memplan.capabilities.inputs import PLAN, PROBLEM
from memplan.capabilities.plan.baseline import read_baseline_parts
from memplan.capabilities.plan.planning import PLAN_EXITS, plan_lines, plan_refuted, plan_status, write_plan
from memplan.capabilities.plan.replanning import replan as study
from memplan.capabilities.plan.replanning.questions import read_eps
from memplan.capabilities.plan.replanning.replan import DEFAULT_EPS
from memplan.capabilities.question import Question
from memplan.planner.audit import refuse_other_plan
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import SolveOptions


class ReplanOptions(SearchOptions, SolveOptions):
    """Options of a re-plan: those of the solve for the best peak, and how near that the peaks are to be."""

    eps: float | str = Field(DEFAULT_EPS, description="How far above the best peak the plan may be: 2%, or 0.02.")
    least: Literal["buffers", "bytes"] = Field("buffers", description="What is to be small of what moves.")


def replan(
    problem: Problem, plan: Plan | None, options: ReplanOptions = ReplanOptions(), control: Control = Control()
) -> Plan:
    """Plan again with few moves: as many buffers as can be stay where an old plan of a similar problem has them.

    The peak of each pool is at most so far above the best one. Where any plan that fits is accepted, pools may be
    filled to their ends.
    """
    check_options({}, options)
    if plan is not None:
        refuse_other_plan(problem, plan)
    running = control.begun(options)
    return study.replan(
        problem,
        plan,
        **options.fields("eps", "least"),
        options=SolveOptions.model_construct(**options.fields(*SolveOptions.model_fields)),
        control=running.searching(),
    )


def check_options(_question: Question, options: ReplanOptions) -> None:
    """Raise OptionError for options that are wrong in ways that their types do not tell."""
    read_eps(options.eps)
    options.check()


_OLD = {"placements": [{"id": "conv1", "pool": "default", "offset": 0}]}
CAPABILITY = Capability(
    replan,
    inputs=(
        PROBLEM,
        replace(
            PLAN,
            help="The old plan, JSON or CSV, or a baseline that holds problem and plan; or -.",
            from_file=lambda _reader, data, name, _question: read_baseline_parts(data, name).plan,
            metavar="OLD_PLAN",
        ),
    ),
    lines=plan_lines,
    exit_status=plan_status,
    exits=PLAN_EXITS,
    check=check_options,
    refutes=plan_refuted,
    write=write_plan,
    example={"problem": {"buffers": [{"id": "conv1", "size": 64, "start": 0, "end": 3}]}, "plan": _OLD},
)
