"""Baselines of checks: an earlier plan, with its problem if known."""

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from memplan.planner import formats
from memplan.planner.errors import InputError, PlanError, excerpt
from memplan.planner.errors.did_you_mean import word_table
from memplan.planner.foreign import reading as importers
from memplan.planner.formats import memplan_json
from memplan.planner.formats.memplan_json import refuse_unless_plan
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.peak_growth import Occupancy, occupancies
from memplan.planner.verify.verifier import verify
from memplan.questions.inputs import (
    PROBLEM,
    plan_json,
    problem_json,
    read_plan_field,
    read_problem_field,
    require_object,
)
from memplan.questions.inputs.values import Input
from memplan.questions.reading import Reader, ReadOptions
from memplan.questions.reading.plan_files import remove_pins


@dataclass(frozen=True)
class Baseline:
    """An earlier plan to compare with; if its `problem` is None, sizes and lifetimes are unknown."""

    plan: Plan
    problem: Problem | None

    def to_json(self) -> dict[str, Any]:
        """Return the plan, and its problem if known, as a JSON value for a request body."""
        its = {} if self.problem is None else {"problem": problem_json(self.problem)}
        return its | {"plan": plan_json(self.plan)}

    @cached_property
    def occupancies(self) -> dict[str, Occupancy] | None:
        """Each pool's contents by the pool's name; None if the problem is unknown or the plan is invalid for it."""
        if self.problem is None or len(self.plan.placements) < len(self.problem.buffers):
            return None
        if verify(self.problem, self.plan):
            return None
        return occupancies(self.problem, self.plan)

    @cached_property
    def used(self) -> dict[str, int]:
        """The bytes used by pool: computed from the placements if possible, else as claimed by the plan."""
        if self.occupancies is not None:
            return {name: pool.used for name, pool in self.occupancies.items()}
        return {pool.name: pool.used for pool in self.plan.pools if pool.used is not None}


def baseline_of(plan: Plan | Baseline, problem: Problem | None) -> Baseline:
    """Return the plan as a baseline; a given problem replaces the baseline's own problem."""
    its = plan if isinstance(plan, Baseline) else Baseline(plan, None)
    return its if problem is None else Baseline(its.plan, problem)


def read_baseline_parts(data: bytes, name: str | None, problem: Problem | None = None) -> Baseline:
    """Return the baseline in a file: a plan, with its problem if the file has one (as tables do); raises InputError."""
    if (kind := importers.detect(data, name)) is not None:
        way = "`memplan check FILE --save-baseline baseline.json` writes a baseline from it"
        raise PlanError(f"must be a plan, alone or with its problem, got a model or dump ({kind}); {way}")
    if formats.detect(data, name) == "json":
        return _baseline_from_json(memplan_json.parse(data), problem)
    its = problem
    if its is None:
        with suppress(InputError):  # A table with offsets only has no problem, so ignore the error.
            its = remove_pins(formats.read_problem(data, name))
    plan = formats.read_plan(data, Problem(buffers=()) if its is None else its, name)
    return Baseline(plan, its)


def baseline_in_json(data: bytes) -> Baseline | None:
    """Return the plan in a JSON file, alone or with its problem; None for any other file."""
    if not memplan_json.recognises(data) or not (b'"placements"' in data or b'"plan"' in data):
        return None
    value = memplan_json.parse(data)
    if not isinstance(value, dict) or "buffers" in value or not value.keys() & {"placements", "plan"}:
        return None
    return _baseline_from_json(value, None)


def read_baseline_field(value: object, name: str) -> Baseline:
    """Return the baseline in a field of a body: a plan, or an object with plan and problem; raises InputError."""
    content = require_object(value, name)
    if not content.keys() & {"problem", "plan"}:
        return Baseline(read_plan_field(content, name), None)
    try:
        if "plan" not in content:
            raise InputError("plan: is required", way=word_table("required")["plan"])
        if unknown := [key for key in content if key not in ("problem", "plan")]:
            raise InputError(f"{excerpt(unknown[0])}: is not a known field")
        problem = None if "problem" not in content else read_problem_field(content["problem"])
        return Baseline(read_plan_field(content["plan"]), problem)
    except InputError as error:
        raise error.prefix_place(f"{name}.") from error


def baseline_problem(name: str, plan: str) -> Input[Problem]:
    """Return the optional input with the problem of a plan whose file lacks it; `plan` names the plan in the help."""
    return replace(
        PROBLEM,
        name=name,
        help=f"The problem of {plan} that is only a plan.",
        about="",
        from_file=lambda reader, data, file, _: Reader(ReadOptions(inclusive=reader.options.inclusive)).problem(
            data, file
        ),
        subject=None,
        reading=None,
        required=False,
        named_by_flag=True,
    )


def checked_baseline(found: Baseline, now: Problem) -> Baseline:
    """Return the valid baseline; a plan without a problem gets the problem `now` if the plan was made for it.

    A plan was made for a problem if it has the problem's hash and is valid for it. Raises PlanError if the plan is
    invalid for the problem of the baseline, or if the bytes that it uses in each pool are unknown.
    """
    if found.problem is None and found.plan.problem_hash == problem_hash(now) and not verify(now, found.plan):
        return Baseline(found.plan, now)
    if found.problem is None and not found.used:
        raise PlanError("baseline: must contain the bytes used in each pool, or be given with its problem, got neither")
    if found.problem is not None and (violations := verify(found.problem, found.plan)):
        raise PlanError(f"baseline: must be valid for its problem, got {violations[0].rule}: {violations[0].message}")
    return found


def write_baseline(problem: Problem, plan: Plan) -> bytes:
    """Return a problem and its plan as one JSON object, to serve as the baseline of later checks."""
    parts = (memplan_json.write_problem(problem).strip(), memplan_json.write_plan(plan, problem).strip())
    return b'{"problem": %s,\n"plan": %s}\n' % parts


def _baseline_from_json(value: Any, problem: Problem | None) -> Baseline:
    """Return the baseline in a JSON object, a plan alone or with its problem; raises InputError."""
    if not isinstance(value, dict):
        raise PlanError(f"baseline: must be an object, got {excerpt(value)}")
    if "problem" not in value:
        refuse_unless_plan(value)
        return Baseline(Plan.model_validate(value), problem)
    if value.keys() != {"problem", "plan"}:
        raise InputError(f"baseline: must have exactly the fields problem and plan, got {excerpt(sorted(value))}")
    return Baseline(Plan.model_validate(value["plan"]), problem or Problem.model_validate(value["problem"]))
