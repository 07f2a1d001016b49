"""The function of the question `explain`: the reason why a problem does not fit, repairs, and what-if studies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field
from pydantic_core import to_jsonable_python

from memplan.planner.errors import InputError, OptionError, excerpt
from memplan.planner.extensions import Hook, extensions
from memplan.planner.model.moving import as_pieces
from memplan.planner.model.plan import Explanation, Plan, StopReason
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import MAX_BYTES
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.places import lowest_places
from memplan.questions.explain.departures import Departure, departures_of, lines_of_departures
from memplan.questions.explain.lines import lines_of_reason, lines_of_repairs, lines_of_worth
from memplan.questions.explain.reasons.reasoning import reason_of
from memplan.questions.explain.repairs.repair import repairs_of
from memplan.questions.explain.values import KINDS_OF_MODELS, ExplainOptions, OrderRepairs, Repairs, WhatIf
from memplan.questions.explain.what_if import change_worths
from memplan.questions.inputs import EXAMPLE
from memplan.questions.inputs.values import Input
from memplan.questions.question import AnswerOfFile, Control, PlanLink, Question, ignore_report
from memplan.questions.verify.peaks import PoolPeak, pool_peaks
from memplan.solvers.portfolio.solve import solve

_repairs_of_graph: Hook[..., OrderRepairs] = Hook("repairs-of-graph")
_problem_of_graph: Hook[[OperationGraph], Problem] = Hook("problem-of-graph")
_INPUTS = extensions("inputs")
if TYPE_CHECKING:
    OperationGraph = Any
else:
    OperationGraph = _INPUTS["graph"].wire  # Type Any would accept arguments that are not graphs.
_NO_SIZE = "no pool has a size, so all fits: --capacity SIZE"


class ExplainAnswer(AnswerOfFile):
    """The reason why a problem does not fit or, if it fits, the reason for the peak of each pool in its best plan."""

    status: Literal["fits", "infeasible", "unknown"]
    """`fits`, `infeasible` (proved that nothing fits), or `unknown` (not known in time)."""
    stop_reason: StopReason | None = None
    """Why the search for the best plan ended, as in a plan."""
    explanation: Explanation | None
    """Why the problem does not fit; null if it fits, or if no reason is known."""
    pools: tuple[PoolPeak, ...] = ()
    """The peak of each pool in the best plan; empty unless the problem fits."""
    departures: tuple[Departure, ...] = Field((), exclude_if=lambda found: not found)
    """Why buffers leave faster pools in the best plan, if buffers may move: at most 1,000 departures, the largest
    buffers first."""
    note: str | None = Field(None, exclude_if=lambda found: found is None)
    """A hint that every problem fits, because no pool has a size; left out if one has."""
    repairs: Repairs | None = Field(None, exclude_if=lambda found: found is None)
    """The smallest sets of changes with which the problem fits; left out unless the option `repairs` is given."""
    what_if: WhatIf | None = Field(None, exclude_if=lambda found: found is None)
    """The bytes that single changes save at the peak; left out unless the option `what_if` is given."""


def explain(
    problem: Problem | None = None,
    graph: OperationGraph | None = None,
    capacity: int | None = None,
    options: ExplainOptions = ExplainOptions(),
    control: Control = Control(),
) -> ExplainAnswer:
    """Explain why a problem does not fit: name a few buffers and rules that cannot all be met, each of which is
    needed.

    If the problem fits, the answer names the reason for the peak of each pool, and why buffers that move leave fast
    pools. Reasons are reported in stages, and
    each member of the last one is needed. For a model or a graph of operations with a capacity, repairs also include
    other orders, operations that run again, and cascades.
    """
    running = control.begin(options)
    asked = _problem_to_fit(problem, graph, capacity)
    for name, value in (("repairs", options.repairs), ("what_if", options.what_if)):
        if asked.equal_use and value:
            raise OptionError(f"{name}: must not be given if pools have equal use, got {excerpt(value)}")
    if asked.moves:
        return _explain_moves(asked, options, running)
    parts = 2 + (bool(options.repairs) and (1 if graph is None else 2)) + options.what_if
    reason_s, study_s = (min(limit_s, running.remaining_s / parts) for limit_s in (options.explain_s, options.study_s))
    kept_s = reason_s + (parts - 2) * study_s
    plan = _timed_plan(asked, options, running, kept_s, accept="fit")
    note = running.note or ignore_report
    note(answer := _answer_from_plan(asked, plan, plan.explanation))
    if plan.status not in ("optimal", "feasible"):
        answer = _answer_from_plan(asked, plan, _reported_reason(asked, plan, running.limit_to(reason_s)))
    elif not running.is_over:  # A peak needs no search for a reason, so improve the plan.
        plan = _timed_plan(asked, options, running, kept_s - reason_s, start=plan)
        answer = _answer_from_plan(asked, plan, None)
    if not (options.repairs or options.what_if):
        return answer
    note(answer)
    repairs = _requested_repairs(asked, graph, plan, options, running, study_s) if options.repairs else None
    note(answer := answer.model_copy(update={"repairs": repairs}))
    study = change_worths(asked, plan, options, running.limit_to(study_s)) if options.what_if else None
    return answer.model_copy(update={"what_if": study})


def _explain_moves(problem: Problem, options: ExplainOptions, running: Control) -> ExplainAnswer:
    for name, value in (("repairs", options.repairs), ("what_if", options.what_if)):
        if value:
            raise OptionError.from_rule(name, f"must be left out for a problem with moves, got {excerpt(value)}")
    plan = _timed_plan(problem, options, running, 0.0)
    if len(plan.placements) == 0:
        return _answer_from_plan(problem, plan, plan.explanation)
    found = _answer_from_plan(*as_pieces(problem, plan), None)
    return found.model_copy(update={"departures": departures_of(problem, plan)})


def _answer_from_plan(problem: Problem, plan: Plan, explanation: Explanation | None) -> ExplainAnswer:
    is_placed = plan.status in ("optimal", "feasible")
    return ExplainAnswer(
        status="fits" if is_placed else "infeasible" if plan.status == "infeasible" else "unknown",
        stop_reason=plan.stop_reason,
        explanation=None if is_placed else explanation,
        pools=_pool_peaks(problem, plan) if is_placed else (),
        note=_NO_SIZE if is_placed and all(pool.size is None for pool in problem.pools) else None,
    )


def _timed_plan(problem: Problem, options: ExplainOptions, running: Control, kept_s: float, **more: Any) -> Plan:
    limit_s, control = max(0.02, running.remaining_s - kept_s), running.solve_control(keeping_s=kept_s)
    return solve(problem, time_limit_s=limit_s, deterministic=options.deterministic, control=control, **more)


def _reported_reason(problem: Problem, plan: Plan, control: Control) -> Explanation | None:
    if plan.status == "infeasible" and plan.explanation is not None:
        control.report({"stage": "infeasible", "explanation": to_jsonable_python(plan.explanation)})
    return reason_of(problem, plan, control)


def _pool_peaks(problem: Problem, plan: Plan) -> tuple[PoolPeak, ...]:
    placed = PlacedBuffers.from_placements(problem, plan.placements)
    bounds = {use.name: (use.lower_bound, None) for use in plan.pools}
    return tuple(pool_peaks(problem, plan, placed, lowest_places(problem, placed), bounds))


def _requested_repairs(
    problem: Problem,
    graph: OperationGraph | None,
    plan: Plan,
    options: ExplainOptions,
    running: Control,
    limit_s: float,
) -> Repairs:
    """Return the repairs of a problem; for a graph that does not fit, also repairs of its operations."""
    if graph is None:
        return repairs_of(problem, plan, options, running.limit_to(limit_s))
    own = options if options.kinds else options.model_copy(update={"kinds": KINDS_OF_MODELS})
    repairs = repairs_of(problem, plan, own, running.limit_to(limit_s))
    if repairs.status == "fits":
        return repairs
    of_operations = _repairs_of_graph(
        graph, problem, options, running.limit_to(limit_s), never_as_given=plan.status == "infeasible"
    )
    return repairs.model_copy(update={"of_operations": of_operations})


def _problem_to_fit(problem: Problem | None, graph: OperationGraph | None, capacity: int | None) -> Problem:
    """Return the given problem, or a graph's problem with one pool of `capacity` bytes.

    Raises InputError if neither is given, if a problem has a capacity, or if a graph has none.
    """
    if problem is not None:
        if capacity is not None:
            rule = f"applies only with a graph, because a problem contains the sizes of its pools, got {capacity}"
            raise InputError(f"capacity: {rule}: write problem.with_capacity({capacity})")
        return problem
    if graph is None:
        raise InputError("problem or graph: one of them is required, got neither")
    if not isinstance(capacity, int) or isinstance(capacity, bool) or not 0 < capacity <= MAX_BYTES:
        rule = f"must be a number of bytes from 1 to {MAX_BYTES}, got {excerpt(capacity)}"
        raise InputError(f"capacity: {rule}")
    return _problem_of_graph(graph).with_capacity(capacity)


def explanation_lines(found: ExplainAnswer) -> Iterator[str]:
    """Yield the text lines of the answer: the reason, its buffers and rules, a sufficient size, and all studies."""
    reason = found.explanation
    yield f"{found.status}: {reason.message if reason else found.note or 'all buffers have a place'}"
    if found.stop_reason not in ("proved", None):
        yield f"stopped      {found.stop_reason}, with no proof: a longer --time-limit may tell more"
    if reason is not None and reason.kind is not None:
        yield from lines_of_reason(reason)
    for pool in found.pools:
        yield f"{pool.name if pool.name.isprintable() else excerpt(pool.name)}: {pool.sentence}"
    yield from lines_of_departures(found.departures)
    if found.repairs is not None:
        yield from lines_of_repairs(found.repairs)
    if found.what_if is not None:
        yield from lines_of_worth(found.what_if)


def _progress_line(event: Mapping[str, Any]) -> str | None:
    """Return a progress line for a reported reason; None for an event of any other kind."""
    stage = event.get("stage")
    return f"{stage}: {event['explanation']['message']}" if stage in ("witness", "irreducible") else None


_POOLS = [{"name": "sram", "size": 100}, {"name": "dram", "cost": 1.0}]


def _is_repaired(found: ExplainAnswer) -> bool:
    repairs = found.repairs
    return repairs is not None and bool(repairs.repairs or (repairs.of_operations and repairs.of_operations.repairs))


QUESTION = Question(
    explain,
    inputs=(
        _INPUTS["problem-or-graph"],
        _INPUTS["graph-inside"],
        Input(
            "capacity",
            int,
            lambda value: value,
            lambda value: value,
            "The capacity of a graph's only pool, in bytes.",
            required=False,
        ),
    ),
    any_of=("problem", "graph"),
    lines=explanation_lines,
    exit_status=lambda found: 0 if found.status == "fits" or _is_repaired(found) else 1,
    exits={0: "it fits, or repairs were found", 1: "it does not, or that is not known in time"},
    progress=_progress_line,
    example={
        "problem": {"buffers": [row | {"pools": ["sram"]} for row in EXAMPLE["buffers"]], "pools": _POOLS},
        "options": {"repairs": 2, "what_if": True},
    },
    takes_moves=True,
    link=PlanLink("explanation", ("infeasible",), "What would make it fit?", {"repairs": 3, "with_plans": True}),
)
