"""The plan of a job, made in a child process: from what is known of its problem, and from its best plan so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from memplan.api.jobs.serialization import pack_plan, unpack_plan, unpack_problem
from memplan.api.options import Options
from memplan.api.service.cache.cached_plan import CachedPlan, result_of
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.cache.plan_cache import joined
from memplan.api.service.plan_service import reason_to_answer
from memplan.api.store.job import PackedPlan
from memplan.api.store.tables.plans import StoredPlan
from memplan.api.workers.plan_search import search
from memplan.api.workers.task import TaskControl
from memplan.planner.model.plan import Plan
from memplan.solvers.search.result import Progress, SolveResult


@dataclass(frozen=True)
class JobPlan:
    """The plan that a job came to.

    answer: the plan, packed; None where it was cancelled before there was one.
    was_cancelled: the search ended early for that.
    facts: the peak, the bound, the gap and the solver; None where there are none.
    record: what is known of the problem from now on, where that is new.
    """

    answer: PackedPlan | None
    was_cancelled: bool
    facts: Mapping[str, Any] | None
    record: StoredPlan | None


def plan_job(
    control: TaskControl, packed: bytes, given: Mapping[str, Any], record: StoredPlan | None, start: bytes | None
) -> JobPlan:
    """Plan the problem of a job; `record` is what is known of it, `start` its best plan so far. For a child."""
    compiled = CompiledProblem.of(unpack_problem(packed))
    problem, options = compiled.problem, Options.model_validate(dict(given))
    options.check()
    is_usual = options.is_usual and options.profile_of(problem) is None
    known = CachedPlan.read(record) if is_usual else None
    result = None if known is None else result_of(known, compiled)
    reason = reason_to_answer(known, result, options, problem)
    if result is not None and reason is not None:
        return _job_plan(replace(result, stop_reason=reason), compiled, options, control, None)
    # What was found before depends on clocks, which a deterministic plan must not.
    before = None if start is None or options.deterministic else unpack_plan(start)
    if before is None and result is not None and result.plan.placements:
        before = result.plan
    result = search(_told(control), problem, options, before, compiled.instance)
    searched_s = options.time_limit_s if result.stop_reason == "work_limit" else result.elapsed_s
    found = CachedPlan.of(compiled, result, searched_s) if is_usual else None
    better = None if found is None else joined(compiled, found, False, record)
    return _job_plan(result, compiled, options, control, better)


def _told(control: TaskControl) -> TaskControl:
    """Return the control of a search, whose progress and best results are told as those of a job."""

    def report(said: Any) -> None:
        facts = said.facts() | {"elapsed_s": said.elapsed_s} if isinstance(said, Progress) else said
        control.report(facts)

    def watch(best: Callable[[], SolveResult | None]) -> None:
        control.watch(lambda: None if (found := best()) is None else pack_plan(found.plan))

    return replace(control, report=report, watch=watch)


def _job_plan(
    result: SolveResult,
    compiled: CompiledProblem,
    options: Options,
    control: TaskControl,
    record: StoredPlan | None,
) -> JobPlan:
    """Return the plan of a result, with what lint finds."""
    answer = result.answer(options.deterministic, control.deadline.passed_s)
    more = {"findings": compiled.findings, "options": options.recorded()}
    plan: Plan = answer.model_copy(update={name: value for name, value in more.items() if value})
    was_cancelled, facts = plan.stop_reason == "cancelled", None
    if plan.lower_bound is not None:
        facts = Progress(plan.wall_time_s or 0.0, plan.peak, plan.lower_bound, plan.solver or "").facts()
    return JobPlan(pack_plan(plan) if plan.placements or not was_cancelled else None, was_cancelled, facts, record)
