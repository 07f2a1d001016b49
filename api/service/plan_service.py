"""Planning for every caller: from the cache, by a quick search in this process, or in a child process.

```
plan ──> cached? ──no──> is it searched for? ──no──> quick, in this process ──not proved──> queue ──> child
         │ yes               │ yes: wait              │                                               │
         └───────────────────┴──── plan, verified, of the caller's own problem <──────────────────────┘
```
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Protocol, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

from memplan.api.metrics import Metrics
from memplan.api.options import Options
from memplan.api.refusals import FullError, NoTurnError, UnavailableError
from memplan.api.service.admission import AdmissionQueue, Seat
from memplan.api.service.cache.cached_plan import CachedPlan, empty_result, result_of
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.cache.plan_cache import PlanCache
from memplan.api.workers.plan_search import PlanSearch
from memplan.planner.model.plan import Plan, StopReason
from memplan.planner.model.problem import Problem
from memplan.questions.plan.plan import QUESTION as PLAN
from memplan.questions.plan.reason import add_reason
from memplan.solvers.portfolio.one_search import OneSearch
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.search.control import Control, Deadline
from memplan.solvers.search.incumbent import Accept
from memplan.solvers.search.result import SolveResult

_SEARCHED_SHARE = 0.9
"""A cached plan suffices if its search took at least this fraction of the caller's time limit."""
_QUICK_S = 0.1
"""The seconds of a quick search in this process before a child process continues it."""
_QUICK_BUFFERS = 20_000
"""The number of buffers above which a quick search runs only if a child process would have too little time."""
_CARRIED_S = 1e-5
"""The seconds per buffer for sending a problem to a child, verifying the plan there, and returning it."""
_CHILD_SEED = 2**62
"""The offset added to a child's seed: where one seed has failed, another often succeeds sooner."""
_LEAST_S = 0.02
"""The minimum seconds of a search; a child with less time achieves nothing."""
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class PlanRequest:
    """A caller's request for a plan: the problem, the options, the deadline of the answer, and the id of the key.

    With an infinite deadline, the request waits for a slot as long as necessary, and its time limit starts with the
    slot. Any other request gets a FullError if the admission queue is full or no slot becomes free in time.
    """

    problem: CompiledProblem
    options: Options
    deadline: Deadline
    key_id: str | None = None


class Searches(Protocol):
    """The interface of searches in child processes; `memplan.api.workers.workers.Workers` implements it."""

    async def solve(self, asked: PlanSearch, cancelled: asyncio.Event, is_short: threading.Event) -> SolveResult:
        """Return the result of a search, at the latest shortly after its deadline."""


class PlanService:
    """The planner of a server for all calls on one event loop; it combines plan cache, searches and slots."""

    def __init__(
        self, cache: PlanCache, workers: Searches, queue: AdmissionQueue, metrics: Metrics, quick_places: int
    ) -> None:
        """Use the server's cache, child processes, slots and metrics, and threads for `quick_places` quick searches."""
        self._cache, self._workers, self._queue, self._metrics = cache, workers, queue, metrics
        self._places = CapacityLimiter(quick_places)
        self._running: dict[Hashable, asyncio.Event] = {}
        """An event per running search that is set when the search ends."""

    async def plan(self, request: PlanRequest, cancelled: asyncio.Event) -> Plan:
        """Return the best verified plan by the deadline, or an explanation of why there is none.

        When `cancelled` is set, the best plan so far is returned. Raises OptionError, FullError and UnavailableError.
        """
        problem, options = request.problem, request.options
        options.check()
        # A plan with a profile needs several searches or another instance, which the cache does not support.
        has_profile = options.profile_of(problem.problem) is not None or problem.problem.equal_use
        if options.is_usual and not has_profile:
            result = await self._cached_or_searched(request, cancelled)
        else:
            result = await self._full_search(
                request, cancelled, None, None if has_profile else self._quick_search(request)
            )
        return await self._run_brief(problem, partial(answer_of, result, problem, options, request.deadline))

    async def _cached_or_searched(self, request: PlanRequest, cancelled: asyncio.Event) -> SolveResult:
        """Return the cached plan if it suffices, else search; equal simultaneous requests wait for one search."""
        problem, options, quick = request.problem, request.options, None
        key = problem.cache_name, options.time_limit_s, options.accept, options.seed
        if problem.is_small and key not in self._running and self._cache.is_new(problem):
            quick = self._quick_search(request)
            result = None if quick is None else await self._add_quick_reason(request, quick.begin())
            # A proved result cannot be improved, so skip the look-up in the store.
            if result is not None and _is_enough(result):
                self._metrics.looked_up("miss")
                self._metrics.count_solve(result, options.solver, "server")
                return await self._keep_better(request, result)
        cached, start = await self._find_cached(problem)
        while (reason := reason_to_answer(cached, start, options, problem.problem)) is None:
            if (ended := self._running.get(key)) is None:
                return await self._search_for_all(request, cancelled, key, start, quick)
            self._metrics.looked_up("joined")
            if (stop := await _wait_for_search(ended, cancelled, request.deadline)) is not None:
                return empty_result(problem, stop) if start is None else replace(start, stop_reason=stop)
            cached, start = await self._find_cached(problem)
        assert start is not None
        self._metrics.looked_up("hit")
        return replace(start, stop_reason=reason)

    async def _search_for_all(
        self,
        request: PlanRequest,
        cancelled: asyncio.Event,
        key: Hashable,
        start: SolveResult | None,
        quick: OneSearch | None,
    ) -> SolveResult:
        """Search from the cached plan `start`, for all waiting requests with this `key`, and cache the result."""
        self._metrics.looked_up("miss" if start is None else "started_from")
        self._running[key] = asyncio.Event()
        try:
            if start is not None:
                quick = None  # A quick search would only repeat the one that found the cached plan.
            elif quick is None:
                quick = self._quick_search(request)
            return await self._keep_better(request, await self._full_search(request, cancelled, start, quick))
        finally:
            self._running.pop(key).set()

    def _quick_search(self, request: PlanRequest) -> OneSearch | None:
        """Return a prepared quick search in this process; None for a large problem, which a child process plans.

        A large problem is also searched here if the time left is too short for a child process.
        """
        left_s, problem = request.deadline.remaining_s, request.problem
        is_large = len(problem.problem.buffers) > _QUICK_BUFFERS
        if is_large and left_s >= _min_child_s(problem):
            return None
        limit_s = min(request.options.time_limit_s, inf if is_large else _QUICK_S, max(_LEAST_S, left_s))
        control = Control(Deadline.from_limit(limit_s))
        begun = problem.start or problem.instance
        return OneSearch(problem.problem, request.options, control, is_quick=True, instance=begun)

    async def _full_search(
        self, request: PlanRequest, cancelled: asyncio.Event, start: SolveResult | None, quick: OneSearch | None
    ) -> SolveResult:
        """Search quickly, then in a child process from the best known plan; raises FullError if neither gets a slot."""
        best, began, tried_s = start, time.monotonic(), 0.0
        if quick is not None:
            with anyio.move_on_after(max(0.0, request.deadline.remaining_s)):
                best = await to_thread.run_sync(quick.finish, limiter=self._places)
                best = await self._add_quick_reason(request, best)
            tried_s = time.monotonic() - began
            if best is not None:
                self._metrics.count_solve(best, request.options.solver, "server")
                if _is_enough(best):
                    return best
        if best is not None and request.deadline.remaining_s < _min_child_s(request.problem):
            return replace(best, stop_reason="time_limit")
        try:
            return await self._search_in_child(request, cancelled, best, tried_s)
        except (FullError, UnavailableError) as error:
            if best is not None and best.plan.status == "infeasible":
                return best  # This result explains why no plan fits, so return the result despite the error.
            is_busy = isinstance(error, NoTurnError) or request.deadline.remaining_s <= 0
            if best is None or not best.plan.placements or not is_busy:
                raise
            # An unproved plan is more useful than an error, so return it.
            return replace(best, stop_reason="time_limit")

    async def _add_quick_reason(self, request: PlanRequest, found: SolveResult | None) -> SolveResult | None:
        """Return the result. If a bound proves that no plan fits, a small problem's result gets an explanation."""
        problem, lack = request.problem, None if found is None or found.bound is None else found.bound.nothing_fits
        # Only child processes explain a bound that a search has proved, so return the result without an explanation.
        if found is None or lack is None or lack.by is not None:
            return found
        if not problem.is_small or request.options.deterministic:
            return found
        control = Control(request.deadline.limit_to(_QUICK_S))
        reason = partial(add_reason, problem.problem, found.plan, control, is_quick=True)
        return replace(found, plan=await to_thread.run_sync(reason, limiter=self._places))

    async def _search_in_child(
        self, request: PlanRequest, cancelled: asyncio.Event, best: SolveResult | None, tried_s: float
    ) -> SolveResult:
        """Wait for a slot, and search in a child process; if cancelled while waiting, return the best result so far.

        `tried_s`: the seconds of the search in this process. If it found no plan, a child needs at least as much time.
        """
        options, deadline = request.options, request.deadline
        has_answer = best is not None and bool(best.plan.placements)
        least_s = _min_child_s(request.problem) + (0.0 if has_answer else tried_s)
        can_end = not options.deterministic
        place = Seat(request.key_id, deadline.at, least_s=least_s, can_end=can_end, has_answer=has_answer)
        if not await self._queue.wait_for_slot(place, cancelled):
            return replace(best or empty_result(request.problem), stop_reason="cancelled")
        taken = Deadline.from_limit(options.time_limit_s)
        due = taken if deadline.at == inf else Deadline(deadline.began, max(deadline.at, taken.began + _LEAST_S))
        start = None if best is None or options.deterministic or not has_answer else best.plan
        if start is not None:
            options = options.model_copy(update={"seed": options.seed ^ _CHILD_SEED})
        try:
            search = PlanSearch(request.problem.problem, options, due, start)
            child_result = await self._workers.solve(search, cancelled, place.is_short)
        finally:
            self._queue.release_slot(place)
        result = replace(child_result, elapsed_s=taken.passed_s)
        # The caller did not cancel: the service ended the search to free its slot, so report a time limit.
        if result.stop_reason == "cancelled" and not cancelled.is_set():
            result = replace(result, stop_reason="time_limit")
        self._metrics.count_solve(result, options.solver, "worker")
        return result

    async def _keep_better(self, request: PlanRequest, found: SolveResult) -> SolveResult:
        """Keep a result in the cache if it is better than the known one, and return the better of both."""
        problem, searched_s = request.problem, time_searched(found, request.options)
        if (
            cached := await self._run_brief(problem, partial(CachedPlan.from_result, problem, found, searched_s))
        ) is None:
            return found
        known = self._cache.keep(problem, cached)
        if (
            known.bound <= cached.bound
            or (again := await self._run_brief(problem, partial(result_of, known, problem))) is None
        ):
            return found
        return replace(found, plan=again.plan, assignment=again.assignment, bound=again.bound)

    async def _find_cached(self, problem: CompiledProblem) -> tuple[CachedPlan | None, SolveResult | None]:
        """Return a problem's cached plan and this plan as a verified result; (None, None) without a valid plan."""
        if (cached := await self._cache.find(problem)) is None:
            return None, None
        if (result := await self._run_brief(problem, partial(result_of, cached, problem))) is None:
            self._cache.forget(problem)
            return None, None
        return cached, result

    async def _run_brief(self, problem: CompiledProblem, work: Callable[[], T]) -> T:
        return work() if problem.is_small else await to_thread.run_sync(work)


def _min_child_s(problem: CompiledProblem) -> float:
    n_buffers = len(problem.problem.buffers)
    return _LEAST_S + (_CARRIED_S * n_buffers if n_buffers > _QUICK_BUFFERS else 0.0)


def _is_enough(found: SolveResult) -> bool:
    """Return True if a child process could not improve the result.

    An infeasible result is enough only if its explanation is irreducible and its sufficient pool size proved minimal.
    """
    if found.plan.status != "infeasible":
        return found.stop_reason != "time_limit"
    why = found.plan.explanation
    return why is not None and bool(why.irreducible) and why.would_do is not None and why.would_do.proved


async def _wait_for_search(ended: asyncio.Event, cancelled: asyncio.Event, deadline: Deadline) -> StopReason | None:
    """Wait for another request's search; return None when it ends, else `cancelled` or `time_limit`."""
    waiting = {asyncio.create_task(event.wait()) for event in (ended, cancelled)}
    left_s = None if deadline.at == inf else max(0.0, deadline.remaining_s)
    try:
        await asyncio.wait(waiting, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
    return None if ended.is_set() else "cancelled" if cancelled.is_set() else "time_limit"


def answer_of(result: SolveResult, problem: CompiledProblem, options: Options, deadline: Deadline) -> Plan:
    """Return the verified plan of a result, with lint findings and the options that change the problem."""
    facts: dict[str, object] = {"findings": problem.findings} if problem.findings else {}
    if options.deterministic and (recorded := options.recorded_options()):
        facts["options"] = recorded
    plan_answer = result.answer(options.deterministic, deadline.passed_s, facts)
    answer: Plan = PLAN.require_valid({"problem": problem.problem}, options, plan_answer)
    return answer


def time_searched(result: SolveResult, options: SolveOptions) -> float:
    """Return how many seconds were searched for a result; the whole time limit if the work limit was reached."""
    return options.time_limit_s if result.stop_reason == "work_limit" else result.elapsed_s


def reason_to_answer(
    known: CachedPlan | None, result: SolveResult | None, options: SolveOptions, problem: Problem
) -> StopReason | None:
    """Return the reason why a cached result answers a caller without a search; None if a search is needed."""
    if known is None or result is None:
        return None
    plan = result.plan
    if plan.status == "optimal":
        return "proved"
    if known.is_final:  # Another process proved the result, so this process must repeat the proof.
        return None
    if plan.placements and _is_accepted(plan, options, problem):
        return "accepted"
    return "time_limit" if known.searched_s >= _SEARCHED_SHARE * options.time_limit_s else None


def _is_accepted(plan: Plan, options: SolveOptions, problem: Problem) -> bool:
    target = options.target()
    if target is None and problem.objective == "fit":
        target = Accept()
    return target is not None and (target.gap is None or (plan.gap is not None and plan.gap <= target.gap))
