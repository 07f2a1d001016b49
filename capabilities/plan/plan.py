"""The capability `plan`: a pool and an offset for every buffer, with a proof or an honest gap."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, overload

from pydantic import Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from memplan.capabilities.capability import Capability, Control, SearchOptions
from memplan.capabilities.inputs import PLAN, read_plan_field
from memplan.capabilities.plan.answers import PLAN_EXITS, lines, plan_status, refuted, write
from memplan.capabilities.plan.objects import PROBLEM_OR_OBJECTS, ObjectsAnswer, share_objects
from memplan.capabilities.plan.planning import planned
from memplan.capabilities.sizes import parse_size
from memplan.capabilities.texts import gap_text
from memplan.planner.errors import OptionError, shown
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.objects import ObjectsProblem
from memplan.solvers.portfolio.options import PROFILE_SCHEMAS, ProfileChoice, SolveOptions, profile_or_none
from memplan.solvers.search.control import silent

_HEAPS = "heaps:"
_PLANS = r"^([1-9][0-9]{0,2}|1000)(@([1-9][0-9]{0,5}|1000000))?$"


def _plan_profile(value: object) -> ProfileChoice | None:
    """Return what several pools are for, or the heaps to plan in, whose limit becomes a number of bytes."""
    if not (isinstance(value, str) and value.startswith(_HEAPS)):
        try:
            return profile_or_none(value)
        except PydanticCustomError as error:
            rule = f"{error.message()}; of one pool, heaps:128MiB"
            raise PydanticCustomError("rule", "{rule}", {"rule": rule}) from None
    try:
        limit = parse_size(value.removeprefix(_HEAPS))
    except ValueError as error:
        raise PydanticCustomError("rule", "of heaps {rule}", {"rule": str(error)}) from None
    if limit == 0:
        raise PydanticCustomError("rule", "of heaps must be at least 1 byte, got 0", {})
    return f"{_HEAPS}{limit}"


def _plans(value: object) -> str:
    """Return a number of plans, alone or with a distance, as its text."""
    text = value if isinstance(value, str) else str(value) if type(value) is int else ""
    if not re.fullmatch(_PLANS, text):
        rule = "must be a number of plans from 1 to 1000, or with the pairs in which they differ, 5@2; got {shown}"
        raise PydanticCustomError("rule", rule, {"shown": shown(value)})
    return text


PlanProfile = Annotated[
    ProfileChoice | None,
    PlainValidator(_plan_profile),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": f"^{_HEAPS}"}, *PROFILE_SCHEMAS]}),
]
Plans = Annotated[
    str,
    PlainValidator(_plans),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 1000}, {"type": "string", "pattern": _PLANS}]}
    ),
]


class PlanOptions(SearchOptions, SolveOptions):
    """Options of a plan: those of the solve; with an old plan, `accept` is how far above the best peak it may be."""

    profile: PlanProfile = Field(
        None,
        description=f"{SolveOptions.model_fields['profile'].description} Of one pool, heaps:128MiB plans heaps of at"
        " most so many bytes each: the fewest, then few bytes in all.",
    )
    least: Literal["buffers", "bytes"] = Field("buffers", description="With keep, what is to be small of what moves.")
    plans: Plans = Field(
        "1",
        description="So many plans, where pairs of buffers cost something: the cheapest that differ; 5@2, each in at"
        " least so many pairs that pay from all before it.",
    )

    @property
    def heap_limit(self) -> int | None:
        """The most bytes of a heap, where heaps are planned."""
        is_of_heaps = isinstance(self.profile, str) and self.profile.startswith(_HEAPS)
        return int(str(self.profile).removeprefix(_HEAPS)) if is_of_heaps else None

    @property
    def several(self) -> tuple[int, int]:
        """The number of plans, and in how many pairs that pay they differ."""
        count, _, distance = self.plans.partition("@")
        return int(count), int(distance or 1)


@overload
def plan(
    problem: Problem,
    start: Plan | None = None,
    keep: Plan | None = None,
    options: PlanOptions = PlanOptions(),
    control: Control = Control(),
) -> Plan: ...


@overload
def plan(
    problem: ObjectsProblem, *, options: PlanOptions = PlanOptions(), control: Control = Control()
) -> ObjectsAnswer: ...


def plan(
    problem: Problem | ObjectsProblem,
    start: Plan | None = None,
    keep: Plan | None = None,
    options: PlanOptions = PlanOptions(),
    control: Control = Control(),
) -> Plan | ObjectsAnswer:
    """Plan a problem: a pool and an offset for every buffer, the best found in time, with a proof or an honest gap.

    The plan is verified. That nothing fits is an answer, too, with the reason. With an old plan to `keep`, of this
    problem or of a similar one, as many buffers as can be stay where it has them, at a peak near the best one.
    A problem of shared objects is answered with objects. Of several plans, the others are in `others`.
    """
    count, distance = options.several
    if count > 1:
        _refuse_several(problem, keep, options)
    running = control.begun(options)
    if isinstance(problem, ObjectsProblem):
        return share_objects(problem, running)
    if options.heap_limit is not None:
        # Imported here, and below: most problems are of pools, and new.
        from memplan.capabilities.plan.heap_search import plan_in_heaps

        return plan_in_heaps(problem, options.heap_limit, running)
    if keep is not None:
        return _kept(problem, keep, options, control)

    report = None if running.report is silent else lambda progress: running.report(progress.facts())
    if count == 1:
        return planned(problem, options, running, start=start, report=report)
    from memplan.capabilities.plan.differing import FIRST_SHARE, refuse_unless_priced, with_others

    refuse_unless_priced(problem)
    first = planned(problem, options, running, share=FIRST_SHARE, start=start, report=report)
    if not first.placements:
        return first
    return with_others(problem, first, count, distance, running)


def _kept(problem: Problem, old: Plan, options: PlanOptions, control: Control) -> Plan:
    """Plan again with few moves; of an old plan without placements, hints count as places."""
    from memplan.capabilities.plan.replanning.replan import DEFAULT_EPS, replan
    from memplan.planner.audit import refuse_other_plan

    options.check()
    refuse_other_plan(problem, old)
    running = control.begun(options)
    # The best plan is searched for, unless any that fits is good.
    best = {"accept": "fit" if options.accept == "fit" else None}
    return replan(
        problem,
        old if len(old.placements) else None,
        eps=DEFAULT_EPS if options.accept in (None, "fit") else f"{str(options.accept).removesuffix('%')}%",
        least=options.least,
        options=SolveOptions.model_construct(**{**options.fields(*SolveOptions.model_fields), **best}),
        control=running.searching(),
    )


def _refuse_several(problem: Problem | ObjectsProblem, keep: Plan | None, options: PlanOptions) -> None:
    """Raise OptionError where several plans are asked for beside what has one."""
    others = {"keep": keep, "profile": options.profile}
    given = [name for name, value in others.items() if value is not None]
    given += ["shared objects"] if isinstance(problem, ObjectsProblem) else []
    if given:
        raise OptionError(f"plans: must be 1 with {given[0]}, got {options.plans}")


def progress(event: Mapping[str, Any]) -> str:
    """Return best peak, bound and gap, for people; or the reason that nothing fits, as far as it is known."""
    if "stage" in event:
        message: str = event["explanation"]["message"]
        return message
    peak = "none yet" if event["peak"] is None else f"{event['peak']:,}"
    gap = "" if event["gap"] is None else f"  gap {gap_text(event['gap'])}"
    return f"best peak {peak}  bound {event['lower_bound']:,}{gap}  {event['solver']}"


def read_kept(data: bytes, name: str) -> Plan:
    """Return the plan in a file, alone or with its problem; raises InputError."""
    from memplan.capabilities.plan.baseline import read_baseline_parts

    return read_baseline_parts(data, name).plan


KEEP = replace(
    PLAN,
    name="keep",
    help="An old plan, JSON or CSV, or a baseline that holds problem and plan: move as few buffers as can be,"
    " at a peak of at most --accept above the best one, 2% by default.",
    from_file=lambda _reader, data, name, _question: read_kept(data, name),
    from_json=lambda value: read_plan_field(value, "keep"),
    required=False,
    metavar="PLAN",
    named_by_flag=True,
)


_BUFFERS = [
    {"id": "conv1", "size": 401408, "start": 0, "end": 3},
    {"id": "conv2", "size": 200704, "start": 2, "end": 5},
]
CAPABILITY: Capability[Any] = Capability(
    plan,
    inputs=(PROBLEM_OR_OBJECTS, KEEP),
    lines=lines,
    exit_status=plan_status,
    exits=PLAN_EXITS,
    check=lambda _question, options: options.check(),
    progress=progress,
    refutes=refuted,
    write=write,
    example={"problem": {"buffers": _BUFFERS}},
)
