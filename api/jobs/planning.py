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
from memplan.api.service.cache.records import known_of
from memplan.api.service.plan_service import reason_to_answer
from memplan.api.store.job import PackedPlan
from memplan.api.store.tables.plans import StoredPlan
from memplan.api.workers.task import TaskControl
from memplan.capabilities.plan.planning import REASON_S, with_reason
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Profile
from memplan.solvers.portfolio.one_search import Solve
from memplan.solvers.portfolio.profiles import so_far, solve_profile
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
    profile = options.profile_of(problem)
    is_usual = options.solver == "auto" and not options.deterministic and profile is None
    known = known_of(record) if record is not None and is_usual else None
    result = None if known is None else result_of(known, compiled)
    reason = None if known is None or result is None else reason_to_answer(known, result.plan, options, problem)
    if result is not None and reason is not None:
        return _job_plan(_answer(replace(result, stop_reason=reason), compiled, options, control), None)
    # What was found before depends on clocks, which a deterministic plan must not.
    before = None if start is None or options.deterministic else unpack_plan(start)
    if before is None and result is not None and result.plan.placements:
        before = result.plan
    result = _solved(control, compiled, options, profile, before)
    found = None
    if is_usual:
        searched_s = options.time_limit_s if result.stop_reason == "work_limit" else result.elapsed_s
        found = CachedPlan.of(compiled, result, searched_s)
    better = None if found is None else joined(compiled, found, False, record)
    return _job_plan(_answer(result, compiled, options, control), better)


def _solved(
    control: TaskControl, compiled: CompiledProblem, options: Options, profile: Profile | None, start: Plan | None
) -> SolveResult:
    def report(progress: Progress) -> None:
        control.report({**progress.facts(), "elapsed_s": progress.elapsed_s})

    def watch(best: Callable[[], SolveResult | None]) -> None:
        def packed() -> PackedPlan | None:
            found = best()
            if found is not None and profile is not None:
                found = so_far(problem, profile, found)
            return None if found is None else pack_plan(found.plan)

        control.watch(packed)

    problem, solving = compiled.problem, replace(control, report=report)
    if profile is not None:
        return solve_profile(problem, options, solving, profile, start, watch=watch)
    search = Solve(problem, options, solving, start=start, instance=compiled.instance)
    watch(search.so_far)
    return search.finish()


def _answer(result: SolveResult, compiled: CompiledProblem, options: Options, control: TaskControl) -> Plan:
    """Return the plan of a result, with what lint finds, and with the reason where nothing fits."""
    answer = result.answer(options.deterministic, control.deadline.passed_s)
    more = {"findings": compiled.findings, "options": options.recorded()}
    answer = answer.model_copy(update={name: value for name, value in more.items() if value})
    counted_s = REASON_S if options.deterministic else None
    return with_reason(compiled.problem, answer, replace(control, counted_s=counted_s))


def _job_plan(plan: Plan, record: StoredPlan | None) -> JobPlan:
    was_cancelled = plan.stop_reason == "cancelled"
    facts = None
    if plan.lower_bound is not None:
        facts = Progress(plan.wall_time_s or 0.0, plan.peak, plan.lower_bound, plan.solver or "").facts()
    return JobPlan(pack_plan(plan) if plan.placements or not was_cancelled else None, was_cancelled, facts, record)
