"""The answer of a job, made in a child process, from the cached plan and from the job's best so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic_core import from_json

from memplan.api.options import Options
from memplan.api.refusals import UnavailableError
from memplan.api.requests import parse_request
from memplan.api.service.answering import answered_apart
from memplan.api.service.cache.cached_plan import CachedPlan, result_of
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.cache.plan_cache import joined
from memplan.api.service.plan_service import answer_of, reason_to_answer, time_searched
from memplan.api.store.job import Job, WorkAnswer
from memplan.api.store.stored_plan import StoredPlan
from memplan.api.workers.plan_search import search
from memplan.api.workers.task import TaskControl
from memplan.planner.model.plan import Plan
from memplan.questions.plan.answers import write_plan
from memplan.solvers.search.result import Progress, SolveResult


def do_job(control: TaskControl, job: Job, record: StoredPlan | None) -> WorkAnswer:
    """Answer the request of a job, in a child; `record` is the cached plan. Raises MemplanError."""
    request = parse_request(job.kind, job.head, job.body)
    if not request.is_plain_plan:
        return answered_apart(request, control, len(job.body))
    compiled, options = CompiledProblem.of(request.input_values()["problem"]), request.options
    assert isinstance(options, Options)
    is_usual = options.is_usual and options.profile_of(compiled.problem) is None
    cached = CachedPlan.read(record) if is_usual else None
    result = None if cached is None else result_of(cached, compiled)
    if (reason := reason_to_answer(cached, result, options, compiled.problem)) is not None and result is not None:
        return _answer(replace(result, stop_reason=reason), compiled, options, control)
    start = result.plan if result is not None and result.plan.placements else None
    if job.answer is not None:
        start = Plan.model_validate(from_json(job.answer))
    # What was found before depends on clocks, which a deterministic plan must not.
    start = None if options.deterministic else start
    result = search(_reporting(control), compiled.problem, options, start, compiled.instance)
    to_cache = CachedPlan.of(compiled, result, time_searched(result, options)) if is_usual else None
    answer = _answer(result, compiled, options, control)
    return answer if to_cache is None else replace(answer, known=joined(compiled, to_cache, False, record))


def _reporting(control: TaskControl) -> TaskControl:
    """Return a search's control that reports progress and best results as those of a job."""

    def report(said: Any) -> None:
        control.report(said.facts() | {"elapsed_s": said.elapsed_s} if isinstance(said, Progress) else said)

    def watch(best: Callable[[], SolveResult | None]) -> None:
        control.watch(lambda: None if (best_now := best()) is None else _written(best_now.plan))

    return replace(control, report=report, watch=watch)


def _answer(result: SolveResult, compiled: CompiledProblem, options: Options, control: TaskControl) -> WorkAnswer:
    """Return the plan of a result with lint findings; raises UnavailableError if it was cancelled without one."""
    answer = answer_of(result, compiled, options, control.deadline)
    if answer.stop_reason == "cancelled" and not answer.placements:
        raise UnavailableError("plan: was cancelled before there was an answer")
    return _written(answer)


def _written(plan: Plan) -> WorkAnswer:
    facts = None
    if plan.lower_bound is not None:
        facts = Progress(0.0, plan.peak, plan.lower_bound, plan.solver or "").facts()
    return WorkAnswer(write_plan(plan), plan.status, is_plan=True, facts=facts)
