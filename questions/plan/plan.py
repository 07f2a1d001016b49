"""The question `plan`: a pool and an offset for every buffer, with a proof of optimality or a gap."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, Literal, overload

from pydantic import Field, field_validator

from memplan.planner.errors import OptionError, excerpt
from memplan.planner.extensions import Hook
from memplan.planner.model.moving import refuse_moves
from memplan.planner.model.objects import ObjectsProblem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.sizes import Size, gap_text, rule_error
from memplan.questions.inputs import PLAN, read_plan_field
from memplan.questions.plan.answers import PLAN_EXITS, answer_lines, plan_status, refutation, write_answer
from memplan.questions.plan.objects import PROBLEM_OR_OBJECTS, ObjectsAnswer, share_objects
from memplan.questions.plan.reason import REASON_S, add_reason, refuse_own_planner
from memplan.questions.question import Control, Question, SearchOptions
from memplan.solvers.portfolio.options import MAX_TIME_LIMIT_S, SolveOptions
from memplan.solvers.portfolio.solve import search_plan
from memplan.solvers.search.control import ignore_report

_plan_in_heaps: Hook[[Problem, int, Control], Plan] = Hook("plan-in-heaps")
_HEAPS = "heaps:"


class PlanOptions(SearchOptions, SolveOptions):
    """Options of `plan` and of its solve; with an old plan, `accept` is how far the peak may exceed the best one."""

    needs = MappingProxyType({"least": ("keep",)})

    heaps: Annotated[Size, Field(ge=1)] | None = Field(
        None,
        description="Plan one pool as heaps of at most this size each: as few heaps as possible, and then as few "
        "bytes. The lower bound holds for this number of heaps.",
    )
    least: Literal["buffers", "bytes"] = Field(
        "buffers", description="With keep, whether few buffers move or few bytes."
    )
    explain_s: Annotated[float, Field(ge=0, le=MAX_TIME_LIMIT_S)] = Field(
        REASON_S, description="Spend at most this part of the time limit on the reason, if nothing fits."
    )

    @field_validator("profile", mode="before")
    @classmethod
    def _refuse_heaps(cls, value: object) -> object:
        """Raise an error for a profile that is written `heaps:SIZE`, because heaps are a separate option."""
        if isinstance(value, str) and value.startswith(_HEAPS):
            raise rule_error(f"must not be heaps; give them as a separate option: heaps=128MiB, got {excerpt(value)}")
        return value

    @property
    def is_of_one_plan(self) -> bool:
        """True if the answer is one plan in pools that a single solve makes."""
        return self.heaps is None and self.explain_s == REASON_S


@overload
def plan(
    problem: Problem,
    start: Plan | None = None,
    keep: Plan | None = None,
    options: PlanOptions = PlanOptions.model_construct(),
    control: Control = Control(),
) -> Plan: ...


@overload
def plan(
    problem: ObjectsProblem, *, options: PlanOptions = PlanOptions.model_construct(), control: Control = Control()
) -> ObjectsAnswer: ...


def plan(
    problem: Problem | ObjectsProblem,
    start: Plan | None = None,
    keep: Plan | None = None,
    options: PlanOptions = PlanOptions.model_construct(),
    control: Control = Control(),
) -> Plan | ObjectsAnswer:
    """Plan a problem: give every buffer a pool and an offset, and prove that the plan is the best or report the gap.

    Every plan is verified. If nothing fits, the answer says so and gives the reason. With an old plan to `keep`, of
    this problem or of a similar one, as many buffers as possible stay where that plan has them, at a peak near the best
    one. A problem of shared objects is answered with objects.
    """
    if not control.is_local:
        refuse_own_planner(options.solver)
    running = control.begin(options)
    if isinstance(problem, ObjectsProblem):
        _refuse_for_objects(keep, start, options)
        return share_objects(problem, running)
    for name, is_given in (("keep", keep), ("heaps", options.heaps)):
        if is_given:
            refuse_moves(problem, f"for a plan with {name}")
    if options.heaps is not None:
        for name in _given_names(keep, start, options, PlanOptions.model_fields.keys() - {*_OF_OBJECTS, "heaps"}):
            raise OptionError.from_rule(name, "must be left out with heaps, whose search does not use it")
        return _plan_in_heaps(problem, options.heaps, running)
    if keep is not None:
        return _plan_again(problem, keep, options, running)
    report = None if running.report is ignore_report else lambda progress: running.report(progress.facts())
    searching = running.solve_control(report=report)
    answer = search_plan(problem, options, time_limit_s=running.remaining_s, start=start, control=searching)
    return add_reason(problem, answer, running, options.explain_s)


def _plan_again(problem: Problem, old: Plan, options: PlanOptions, running: Control) -> Plan:
    """Re-plan with few moves; if the old plan has no placements, the problem's hints serve as old places."""
    from memplan.planner.instance.audit import refuse_other_plan
    from memplan.questions.plan.replanning.replan import DEFAULT_EPS, replan

    options.check()
    refuse_other_plan(problem, old)
    # Accept any plan that fits only if the options say so; otherwise search for the best plan.
    best = {"accept": "fit" if options.accept == "fit" else None}
    return replan(
        problem,
        old if len(old.placements) else None,
        eps=DEFAULT_EPS if options.accept in (None, "fit") else f"{str(options.accept).removesuffix('%')}%",
        least=options.least,
        options=SolveOptions.model_construct(**{**options.fields(*SolveOptions.model_fields), **best}),
        control=replace(running.solve_control(), note=running.note),
    )


_OF_OBJECTS = {"time_limit_s", "deterministic"}
"""The options allowed for shared objects, whose search leaves nothing to chance and always has a plan."""
_OBJECT_FACTS = {"seed": "whose search leaves nothing to chance", "explain_s": "which always have a plan"}
"""Why an option would have no effect on shared objects, if not for want of pools and offsets."""


def _refuse_for_objects(keep: Plan | None, start: Plan | None, options: PlanOptions) -> None:
    """Raise OptionError for inputs and options that apply only to plans with pools."""
    for name in _given_names(keep, start, options, type(options).model_fields.keys() - _OF_OBJECTS):
        fact = _OBJECT_FACTS.get(name, "which have no pools and offsets")
        raise OptionError.from_rule(name, f"must be left out for shared objects, {fact}")


def _given_names(keep: Plan | None, start: Plan | None, options: PlanOptions, names: set[str]) -> list[str]:
    said = [name for name, value in (("keep", keep), ("start", start)) if value is not None]
    return said + list(options.model_dump(exclude_defaults=True, include=names) if options.model_fields_set else ())


def progress_line(event: Mapping[str, Any]) -> str:
    """Return a progress line for people: the best peak, lower bound and gap, or why nothing seems to fit."""
    if "stage" in event:
        message: str = event["explanation"]["message"]
        return message
    peak = "none yet" if event["peak"] is None else f"{event['peak']:,}"
    gap = "" if event["gap"] is None else f"  gap {gap_text(event['gap'])}"
    return f"best peak {peak}  bound {event['lower_bound']:,}{gap}  {event['solver']}"


KEEP = replace(
    PLAN,
    name="keep",
    help="Move as few buffers as possible away from this old plan. The peak may exceed the best one by "
    "--accept, 2% by default. The plan may have any form that `verify` takes.",
    about="Move as few buffers as possible away from this old plan.",
    from_json=lambda value: read_plan_field(value, "keep"),
    required=False,
    metavar="PLAN",
    named_by_flag=True,
)


_BUFFERS = [
    {"id": "conv1", "size": 401408, "start": 0, "end": 3},
    {"id": "conv2", "size": 200704, "start": 2, "end": 5},
]
QUESTION: Question[Any] = Question(
    plan,
    inputs=(PROBLEM_OR_OBJECTS, KEEP),
    lines=answer_lines,
    exit_status=plan_status,
    exits=PLAN_EXITS,
    check=lambda _question, options: options.check(),
    progress=progress_line,
    refutes=refutation,
    write=write_answer,
    takes_moves=True,
    example={"problem": {"buffers": _BUFFERS}},
)
