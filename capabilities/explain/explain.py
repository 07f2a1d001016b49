"""The capability `explain`: the reason why a problem does not fit, with as few buffers and rules as the time allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field
from pydantic_core import to_jsonable_python

from memplan.capabilities.capability import Answer, Capability, Control, SearchOptions, Seconds
from memplan.capabilities.explain.reasons import explain as study
from memplan.capabilities.explain.reasons.options import EXPLAIN_S
from memplan.capabilities.explain.reasons.options import ExplainOptions as StudyOptions
from memplan.capabilities.explain.reasons.sentences import rule_text
from memplan.capabilities.explain.repairs.answer import PROBLEM_OR_GRAPH
from memplan.capabilities.inputs import EXAMPLE
from memplan.planner.errors import shown
from memplan.planner.model.plan import Explanation
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve


class ExplainOptions(SearchOptions):
    """Options of an explanation."""

    explain_s: Seconds = Field(EXPLAIN_S, description="Of these, the seconds for the reason.")


class Reason(Answer):
    """The reason why a problem does not fit; None where it fits."""

    status: Literal["fits", "infeasible", "unknown"]
    explanation: Explanation | None


def explain(problem: Problem, options: ExplainOptions = ExplainOptions(), control: Control = Control()) -> Reason:
    """Explain why a problem does not fit: few buffers and rules that cannot all be met, each of them needed.

    Whatever is found is reported in stages, the last of them with a reason from which nothing can be left out.
    """
    running = control.begun(options)
    reason_s = min(options.explain_s, running.left_s / 2)
    plan = solve(
        problem,
        time_limit_s=running.left_s - reason_s,
        accept="fit",
        deterministic=options.deterministic,
        control=running.searching(keeping_s=reason_s),
    )
    status: Any = "fits" if plan.status in ("optimal", "feasible") else plan.status

    def report(stage: str, found: Explanation) -> None:
        running.report({"stage": stage, "explanation": to_jsonable_python(found)})

    if status == "infeasible" and plan.explanation is not None:
        report("infeasible", plan.explanation)
    left_s = min(options.explain_s, running.left_s)
    chosen = StudyOptions(left_s, report, cancelled=running.cancelled, deterministic=options.deterministic)
    return Reason(status=status, explanation=study.explain(problem, plan=plan, options=chosen))


def lines(found: Reason) -> Iterator[str]:
    """Yield the rows of a table for people: the sentence, the members, and the size that would do."""
    reason = found.explanation
    yield f"{found.status}: {reason.message if reason else 'all buffers have a place'}"
    if reason is None or reason.kind is None:
        return
    known = "each of them is needed" if reason.irreducible else f"{reason.open_questions} of them may not be needed"
    yield f"kind         {reason.kind}, {known}"
    for name in reason.buffers:
        yield f"buffer       {shown(name)}"
    for rule in reason.rules:
        yield f"rule         {rule_text(rule)}"
    if reason.needed is not None and reason.capacity is not None:
        more = f"{reason.needed - reason.capacity:,} more than there are"
        yield f"needed       {reason.needed:>16,} bytes at least, {more}"
    if reason.would_do is not None:
        proof = "and no less" if reason.would_do.proved else "perhaps less"
        yield f"would do     {reason.would_do.size:>16,} bytes of pool {shown(reason.would_do.pool)}, {proof}"


def _progress(event: Mapping[str, Any]) -> str | None:
    stage = event["stage"]
    return f"{stage}: {event['explanation']['message']}" if stage in ("witness", "irreducible") else None


CAPABILITY = Capability(
    explain,
    inputs=(replace(PROBLEM_OR_GRAPH, required=True),),
    lines=lines,
    exit_status=lambda found: 0 if found.status == "fits" else 1,
    exits={0: "it fits", 1: "it does not, or that is not known in time"},
    progress=_progress,
    example={"problem": EXAMPLE | {"pools": [{"name": "sram", "size": 100}]}},
)
