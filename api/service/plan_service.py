"""Plans problems for every caller: from the cache, quickly in this process, or by the workers.

```
plan ──> cached? ──no──> does the same search run? ──no──> quick, in this process ──not proved──> queue ──> cluster
          │ yes               │ yes: join                          │                                           │
          └───────────────────┴──────── plan, verified, of the caller's own problem <──────────────────────────┘
```
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TypeVar
from weakref import WeakKeyDictionary

from anyio import CapacityLimiter, to_thread

from memplan.api.metrics import Metrics
from memplan.api.service.admission import AdmissionQueue
from memplan.api.service.cache.cached_plan import CachedPlan, nothing_known, result_of
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.cache.plan_cache import PlanCache
from memplan.api.service.plan_request import PlanRequest
from memplan.api.service.search_runner import SearchRunner, Solves
from memplan.api.service.single_flight import OnProgress, SharedSearch, SharedSearches
from memplan.planner.errors import OptionError
from memplan.planner.model.plan import Plan, StopReason
from memplan.planner.model.problem import Problem, Profile
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.portfolio.profiles import ProfileSearch, so_far, steps_of
from memplan.solvers.search.deadline import Deadline
from memplan.solvers.search.incumbent import Accept
from memplan.solvers.search.result import Progress, SolveResult

_MOSTLY = 0.9
"""A plan that was searched for this part of a caller's time is as good as one of a search of its own."""
_LEAST_S = 0.01
"""The least time that a search of several is given."""
T = TypeVar("T")


class PlanService:
    """Plans problems for all calls of a server. For one event loop."""

    def __init__(
        self, cache: PlanCache, workers: Solves, queue: AdmissionQueue, metrics: Metrics, quick_places: int
    ) -> None:
        self._cache, self._metrics = cache, metrics
        self._runner = SearchRunner(workers, queue, metrics, quick_places)
        self._searches = SharedSearches()
        self._threads = CapacityLimiter(quick_places)
        self._results: WeakKeyDictionary[CompiledProblem, tuple[CachedPlan, SolveResult]] = WeakKeyDictionary()

    async def plan(self, request: PlanRequest, cancelled: asyncio.Event, on_progress: OnProgress | None = None) -> Plan:
        """Return the best plan by the deadline, verified, or an explanation of there being none.

        When `cancelled` is set, the best so far is returned. `on_progress` is told of better results. Raises
        OptionError, and FullError for a request that may be refused.
        """
        problem, options = request.problem, request.options
        options.check()
        profile = options.profile_of(problem.problem)
        try:
            if profile is None:
                result = await self._found(request, cancelled, on_progress)
            else:
                result = await self._profiled(request, profile, cancelled, on_progress)
        finally:  # a refusal may come late, too
            if not request.may_be_refused:  # else whoever answers the call counts it
                self._metrics.answered_by(request.deadline)
        answer = (result or nothing_known(problem)).answer(options.deterministic, request.deadline.passed_s)
        more = {"findings": problem.findings, "options": options.recorded()}
        return answer.model_copy(update={name: value for name, value in more.items() if value})

    async def _found(
        self, request: PlanRequest, cancelled: asyncio.Event, on_progress: OnProgress | None
    ) -> SolveResult | None:
        """Return what is cached or found for the objective of the problem itself."""
        if request.options.solver != "auto" or request.options.deterministic:
            return await self._anew(request, cancelled, on_progress)
        if request.start is not None:
            await self._take_in(request.problem, request.start)
        return await self._joined(request, cancelled, on_progress)

    async def _profiled(
        self, request: PlanRequest, profile: Profile, cancelled: asyncio.Event, on_progress: OnProgress | None
    ) -> SolveResult:
        """Plan as a profile of several pools asks: search after search, each of which may be cached, or shared."""
        steps = steps_of(request.problem.problem, request.options, profile, request.start)

        def heard(progress: Progress) -> None:
            found = None if progress.found is None else so_far(request.problem.problem, profile, progress.found)
            if on_progress is not None:
                on_progress(replace(progress, found=found))

        left_s = request.options.time_limit_s
        told: Callable[[], ProfileSearch] = partial(next, steps)
        while not isinstance(step := await self._soon(request.problem, partial(_next_step, told)), SolveResult):
            problem = await self._soon(request.problem, partial(CompiledProblem.of, step.problem))
            options = request.options.model_copy(update=step.options.model_dump())
            if not options.deterministic:
                options = options.model_copy(update={"time_limit_s": max(_LEAST_S, step.share * left_s)})
            deadline = request.deadline.within(max(0.0, step.share * request.deadline.left_s))
            asked = replace(request, problem=problem, options=options, start=step.start, deadline=deadline)
            try:
                listener = None if on_progress is None else heard
                found = await self._found(asked, cancelled, listener) or nothing_known(problem)
            except OptionError as error:
                told = partial(steps.throw, error)
            else:
                left_s -= found.elapsed_s
                told = partial(steps.send, found)
        return step

    def answered_again(self, problem_hash: str) -> None:
        """Note that a caller was answered as before, by what was written then."""
        self._metrics.looked_up("hit")
        self._cache.note_use(problem_hash)

    @property
    def waiting(self) -> int:
        """The number of callers that wait for searches that they may share."""
        return self._searches.waiting

    async def _anew(
        self, request: PlanRequest, cancelled: asyncio.Event, on_progress: OnProgress | None
    ) -> SolveResult | None:
        """Search as if nothing were cached: for one solver's own plan, or the same plan on every machine."""
        known = None if request.start is None else await self._sound(request.problem, request.start)
        start = None if known is None else await self._soon(request.problem, partial(result_of, known, request.problem))
        search = SharedSearch(request.problem)
        search.start(partial(self._runner.search, request, start=start))
        result = await search.wait(request.problem, cancelled, on_progress)
        if result is not None:
            await self._keep_own(request.problem, result)
        return result

    async def _joined(
        self, request: PlanRequest, cancelled: asyncio.Event, on_progress: OnProgress | None
    ) -> SolveResult | None:
        """Answer from the cache where that is enough; else search, together with all requests for the same."""
        problem, options = request.problem, request.options
        key = (problem.hash, options.time_limit_s, options.accept, options.seed, request.may_be_refused)
        if problem.is_small and key not in self._searches.running and self._cache.is_new(problem):
            trial = self._runner.at_once(request)
            result = trial.result() if trial.done() else None
            if result is not None and result.stop_reason != "time_limit":
                self._metrics.looked_up("miss")
                known = CachedPlan.of(problem, result, result.elapsed_s)
                if known is not None:
                    self._keep(problem, known, result)
                return result
            search = self._searches.start(key, problem, partial(self._go_on, request, trial))
        else:
            known, result = await self._cached(problem)
            if (answer := _answer(known, result, request)) is not None:
                self._metrics.looked_up("hit")
                return answer
            joined = self._searches.find(key)
            self._metrics.looked_up("joined" if joined else "miss" if result is None else "started_from")
            search = joined or self._searches.start(key, problem, partial(self._search, request, known, result, None))
        return await search.wait(problem, cancelled, on_progress)

    async def _go_on(
        self, request: PlanRequest, trial: Future[SolveResult], search: SharedSearch
    ) -> SolveResult | None:
        """Look up, in the store, what took more than a moment; go on with the trial where nothing is cached there."""
        known, result = await self._cached(request.problem)
        answer = _answer(known, result, request)
        self._metrics.looked_up("hit" if answer else "miss" if result is None else "started_from")
        return answer or await self._search(request, known, result, trial if result is None else None, search)

    def _keep(self, problem: CompiledProblem, known: CachedPlan, result: SolveResult) -> CachedPlan:
        """Keep a result in both forms; return the best that is cached now."""
        best = self._cache.keep(problem, known)
        if best is known:
            self._results[problem] = known, result
        return best

    async def _search(
        self,
        request: PlanRequest,
        known: CachedPlan | None,
        start: SolveResult | None,
        trial: Future[SolveResult] | None,
        search: SharedSearch,
    ) -> SolveResult | None:
        """Search on from what is cached, and keep the result; if others found better meanwhile, return that."""
        problem, began = request.problem, Deadline.after(request.options.time_limit_s)
        found = await self._runner.search(
            request,
            search,
            start=start if start is not None and start.plan.placements else None,
            trial=trial,
            was_tried=known is not None and known.searched_s > 0,
        )
        if found is None:
            return None
        searched_s = min(began.passed_s, found.elapsed_s)  # without the time in the queue
        if found.stop_reason == "work_limit":  # more time would have made no difference
            searched_s = request.options.time_limit_s
        mine = await self._soon(problem, partial(CachedPlan.of, problem, found, searched_s))
        if mine is None:
            return found
        best = self._keep(problem, mine, found)
        if best is mine or found.plan.status == "optimal":
            return found
        better = await self._soon(problem, partial(result_of, best, problem))
        return found if better is None else replace(better, stop_reason=found.stop_reason)

    async def _keep_own(self, problem: CompiledProblem, result: SolveResult) -> None:
        """Keep what a search of one's own found, which says nothing of how long others would search."""
        known = (
            await self._soon(problem, partial(CachedPlan.of, problem, result, 0.0)) if result.plan.placements else None
        )
        if known is not None:
            self._cache.keep(problem, known)

    async def _take_in(self, problem: CompiledProblem, plan: Plan) -> None:
        """Keep a plan of a caller, if it is right, which says nothing of how long was searched."""
        known = await self._sound(problem, plan)
        if known is not None:
            self._cache.keep(problem, known)

    async def _sound(self, problem: CompiledProblem, plan: Plan) -> CachedPlan | None:
        """Return a plan from elsewhere in canonical form, without its claims, if there is one and it is right."""
        return await self._soon(problem, partial(_sound, problem, plan)) if plan.placements else None

    async def _cached(self, problem: CompiledProblem) -> tuple[CachedPlan | None, SolveResult | None]:
        """Return what is cached, also as a result: verified once, where one and the same problem comes again."""
        known = await self._cache.find(problem)
        if known is None:
            return None, None
        before = self._results.get(problem)
        if before is not None and before[0] is known:
            return before
        result = await self._soon(problem, partial(result_of, known, problem))
        if result is None:
            self._cache.forget(problem)
            return None, None
        self._results[problem] = known, result
        return known, result

    async def _soon(self, problem: CompiledProblem, work: Callable[[], T]) -> T:
        """Do work that is no search: at once where that is quick, else in a thread."""
        return work() if problem.is_small else await to_thread.run_sync(work, limiter=self._threads)


def _next_step(told: Callable[[], ProfileSearch]) -> ProfileSearch | SolveResult:
    """Return the next search of a profile, to which the last one's result was told; or the result of the profile."""
    try:
        return told()
    except StopIteration as end:
        result: SolveResult = end.value
        return result


def _sound(problem: CompiledProblem, plan: Plan) -> CachedPlan | None:
    known = None if verify(problem.problem, plan) else CachedPlan.of(problem, SolveResult(plan), 0.0)
    return None if known is None else known.without_claims


def _answer(known: CachedPlan | None, result: SolveResult | None, request: PlanRequest) -> SolveResult | None:
    """Return the answer to a caller that a cached result is, if it is one."""
    if known is None or result is None:
        return None
    reason = reason_to_answer(known, result.plan, request.options, request.problem.problem)
    return None if reason is None else replace(result, stop_reason=reason)


def reason_to_answer(known: CachedPlan, plan: Plan, options: SolveOptions, problem: Problem) -> StopReason | None:
    """Return the reason why a cached plan answers a caller, if it does."""
    if plan.status in ("optimal", "infeasible"):
        return "proved"
    if known.is_final:
        return None
    if plan.placements and _is_accepted(plan, options, problem):
        return "accepted"
    return "time_limit" if known.searched_s >= _MOSTLY * options.time_limit_s else None


def _is_accepted(plan: Plan, options: SolveOptions, problem: Problem) -> bool:
    target = options.target()
    if target is None and problem.objective == "fit":
        target = Accept()
    return target is not None and (target.gap is None or (plan.gap is not None and plan.gap <= target.gap))
