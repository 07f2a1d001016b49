"""A second solve of a plan's problem with the recorded options, compared with the first answer."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field, ValidationError

from memplan.planner.errors import OptionError, PlanError, prefix_sentence, sentences
from memplan.planner.formats.memplan_json import write_plan
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.questions.plan.reason import add_reason
from memplan.questions.question import Answer, Control
from memplan.solvers.portfolio.options import MAX_TIME_LIMIT_S, SolveOptions
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Deadline

Same = Literal["bytes", "peak", "nothing"]
_WORDS = {"bytes": "the same bytes", "peak": "another plan of the same peak", "nothing": "another peak"}


class Again(Answer):
    """A second answer compared with the first."""

    same: Same
    """How far the two answers agree: in all `bytes`; in `peak`, status and cost; or in `nothing`."""
    reproducible: bool
    """True if the first answer claims that it can be made again."""
    disturbed_by: str | None
    """The event other than counted work that decided the first search, as in its plan; null if there was none."""
    peak_before: int | None
    """The peak of the first answer, in bytes; null if it has no plan."""
    peak: int | None
    """The peak of the second answer, in bytes; null if it has no plan."""
    status_before: str
    """The status of the first answer, such as `optimal`."""
    status: str
    """The status of the second answer."""
    stop_reason: str | None
    """Why the second search stopped, as in a plan."""
    version_before: str | None = Field(None, exclude_if=lambda version: version is None)
    """The version of memplan that made the first answer; left out if it is this one."""
    plan: Plan | None = Field(None, exclude_if=lambda plan: plan is None)
    """The second answer; left out unless the option `with_plans` is given."""


def solve_again(problem: Problem, plan: Plan, running: Control) -> Again | None:
    """Solve a plan's problem again, with its recorded options or the defaults; return the comparison of the answers.

    A deterministic solve has no time limit unless the call has a deadline; if that deadline ends the solve, the result
    is None. Raises OptionError for a plan that kept placements of another plan, and PlanError for invalid recorded
    options.
    """
    if plan.kept is not None:
        raise OptionError("again: must not be given for a plan that kept places of another plan")
    options = _recorded_options(plan)
    deadline = running.deadline
    if not options.deterministic:
        deadline = deadline.limit_to(options.time_limit_s)
    # A slower machine takes longer for the same counted work, so allow the maximum time.
    elif deadline.remaining_s > MAX_TIME_LIMIT_S:
        deadline = Deadline.from_limit(MAX_TIME_LIMIT_S)
    fields: dict[str, Any] = {name: getattr(options, name) for name in SolveOptions.model_fields}
    best_plan = solve(problem, **fields, control=Control(deadline, running.cancelled))
    if plan.explanation is not None and plan.explanation.kind is not None:
        counted_s = options.time_limit_s if options.deterministic else None
        best_plan = add_reason(problem, best_plan, replace(running, deadline=deadline, counted_s=counted_s))
    if running.cancelled.is_set() or (options.deterministic and best_plan.disturbed_by in ("time_limit", "cancelled")):
        return None
    before, now = _comparable_plan(plan), _comparable_plan(best_plan)
    same: Same = "bytes" if write_plan(now, problem) == write_plan(before, problem) else "nothing"
    if same != "bytes" and _compared_values(now) == _compared_values(before):
        same = "peak"
    return Again(
        same=same,
        reproducible=plan.reproducible is True,
        disturbed_by=plan.disturbed_by,
        peak_before=plan.peak,
        peak=best_plan.peak,
        status_before=plan.status,
        status=best_plan.status,
        stop_reason=best_plan.stop_reason,
        version_before=plan.version if plan.version != best_plan.version else None,
        plan=now,
    )


def _recorded_options(plan: Plan) -> SolveOptions:
    """Return the solve options recorded in a plan; raises PlanError if they are invalid."""
    try:
        return SolveOptions.model_validate(plan.options or {})
    except (ValidationError, OptionError) as error:
        said = error.said if isinstance(error, OptionError) else sentences(error)
        raise PlanError(*(prefix_sentence("plan.options.", sentence) for sentence in said)) from error


def _comparable_plan(plan: Plan) -> Plan:
    uncertified = {
        name: None if part is None else part.model_copy(update={"certificate": None})
        for name, part in (("proof", plan.proof), ("explanation", plan.explanation))
    }
    return plan.model_copy(
        update={"wall_time_s": None, "findings": (), "unknown": (), "read_with": None, **uncertified}
    )


def _compared_values(plan: Plan) -> tuple[Any, ...]:
    return plan.peak, plan.cost, plan.peak is None and plan.status


def lines_of_again(found: Again) -> Iterator[str]:
    """Yield the text lines of a comparison of two answers: what agrees, and what differs."""
    why = found.disturbed_by or "the search was not deterministic"
    yield _WORDS[found.same] + ("" if found.reproducible else f"; it was not said to be reproducible ({why})")
    if found.same == "nothing":
        yield f"peak {found.peak_before} ({found.status_before}) then, {found.peak} ({found.status}) now"
    if found.version_before is not None:
        yield f"memplan was {found.version_before} then"
