"""The one room where problems are solved, whoever asks: known already, quickly at hand, or by the workers.

```
plan ──> known? ──no──> the same runs already? ──no──> quick, in this process ──not proved──> line ──> cluster
          │ yes             │ yes: join                       │                                         │
          └─────────────────┴────────────── plan, verified, in the asker's own spelling <───────────────┘
```
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from math import inf
from typing import TypeVar
from weakref import WeakKeyDictionary

from anyio import CapacityLimiter, to_thread

from memplan.api.logs import PROBLEMS
from memplan.api.metrics import Metrics
from memplan.api.options import Options
from memplan.api.service.admission import AdmissionQueue
from memplan.api.service.cache.cached_plan import CachedPlan, nothing_known, plan_of
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.cache.plan_cache import PlanCache
from memplan.api.service.search_runner import PlanRequest, SearchRunner, Workers
from memplan.api.service.single_flight import OnNews, SharedSearch, SharedSearches
from memplan.planner.errors import shown
from memplan.planner.model.plan import Plan, StopReason
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.solve import read_target
from memplan.solvers.search.incumbent import Accept

_AT_HAND_BUFFERS = 500
"""Up to so many buffers, what takes no search takes less time than handing it to a thread under load."""
_MOSTLY = 0.9
"""A plan that was searched for this part of a caller's time is what a search of his own would find."""
_LATE_S = 0.5
"""How long after its deadline an answer is still as promised."""
T = TypeVar("T")


class PlanService:
    """Plans problems for all calls of a server. For one event loop."""

    def __init__(
        self, cache: PlanCache, workers: Workers, line: AdmissionQueue, metrics: Metrics, quick_places: int
    ) -> None:
        self._cache, self._metrics = cache, metrics
        self._searching = SearchRunner(workers, line, metrics, quick_places)
        self._flights = SharedSearches()
        self._threads = CapacityLimiter(quick_places)
        self._spellings: WeakKeyDictionary[CompiledProblem, tuple[CachedPlan, Plan]] = WeakKeyDictionary()

    async def plan(
        self,
        problem: Problem | CompiledProblem,
        options: Options,
        *,
        deadline: float,
        cancelled: asyncio.Event,
        priority: int = 0,
        on_news: OnNews | None = None,
        start: Plan | None = None,
        may_be_refused: bool = False,
    ) -> Plan:
        """Return the best plan by `deadline` (time.monotonic()), verified, or what is known of there being none.

        When `cancelled` is set, what was best then is returned. `start` is a plan that is known already; `on_news` is
        told of better ones, with the plans. Who may be refused gets FullError where all workers are busy and the line
        is full, or stays so for the whole time; for others the time limit counts from when a worker is free, and
        `deadline` may be infinite. Raises OptionError.
        """
        began = time.monotonic()
        target = read_target(options.time_limit_s, options.accept, options.seed)
        posed = (
            problem
            if isinstance(problem, CompiledProblem)
            else await self._soon(problem, partial(CompiledProblem.of, problem))
        )
        if PROBLEMS.isEnabledFor(logging.INFO):
            name, count = shown(posed.problem.name), len(posed.problem.buffers)
            PROBLEMS.info("problem %s of %d buffers, %s", name, count, posed.hash)
        asked = PlanRequest(posed, options, target, deadline, priority, may_be_refused)
        if options.solver != "auto" or options.deterministic:
            plan = await self._anew(asked, cancelled, start, on_news)
        else:
            await self._take_in(posed, start)
            plan = await self._shared(asked, cancelled, on_news)
        if plan is None:
            plan = nothing_known(posed, "cancelled")
        if asked.left_s < -_LATE_S:
            self._metrics.missed_deadline()
        took_s = None if options.deterministic else round(time.monotonic() - began, 6)
        return plan.model_copy(update={"wall_time_s": took_s})

    @property
    def riders(self) -> int:
        """How many callers wait for searches that they may share."""
        return self._flights.riders

    async def _anew(
        self, asked: PlanRequest, cancelled: asyncio.Event, start: Plan | None, on_news: OnNews | None
    ) -> Plan | None:
        """Search as if nothing were known: for one solver's own plan, or the same plan on every machine."""
        plan = await self._searching.search(
            asked, cancelled=cancelled, start=start, on_news=on_news, wants_plans=on_news is not None
        )
        await self._take_in(asked.posed, plan)
        return plan

    async def _shared(self, asked: PlanRequest, cancelled: asyncio.Event, on_news: OnNews | None) -> Plan | None:
        """Answer with what is known where that is enough; else search, together with whoever asks the same."""
        posed, options = asked.posed, asked.options
        key = (posed.hash, options.time_limit_s, options.accept, options.seed, asked.may_be_refused)
        flight = self._flights.find(key)
        if flight is None and _is_small(posed.problem) and self._cache.is_new(posed):
            trial = self._searching.at_once(asked)
            if (plan := self._ended(asked, trial)) is not None:
                self._metrics.looked_up("miss")
                return plan
            flight = self._flights.start(key, posed, partial(self._go_on, asked, trial))
        else:
            known, plan = await self._known(posed)
            if (answer := _answer(known, plan, asked)) is not None:
                self._metrics.looked_up("hit")
                return answer
            flight = self._flights.find(key)
            self._metrics.looked_up("joined" if flight else "miss" if plan is None else "started_from")
            if flight is None:
                flight = self._flights.start(key, posed, partial(self._search, asked, known, plan, None))
        return await flight.ride(posed, cancelled, on_news)

    def _ended(self, asked: PlanRequest, trial: Future[Plan]) -> Plan | None:
        """Return what came of a trial, and keep it; None where there is more to be done."""
        plan = trial.result() if trial.done() else None
        if plan is None or plan.stop_reason == "time_limit":
            return None
        known = CachedPlan.of(asked.posed, plan, plan.wall_time_s or 0.0)
        if known is not None:
            self._keep(asked.posed, known, plan)
        return plan

    async def _go_on(self, asked: PlanRequest, trial: Future[Plan], flight: SharedSearch) -> Plan | None:
        """Look up, in the store, what took more than a moment; go on with the trial where nothing is known there."""
        known, plan = await self._known(asked.posed)
        answer = _answer(known, plan, asked)
        self._metrics.looked_up("hit" if answer else "miss" if plan is None else "started_from")
        return answer or await self._search(asked, known, plan, trial if plan is None else None, flight)

    def _keep(self, posed: CompiledProblem, known: CachedPlan, plan: Plan) -> CachedPlan:
        """Keep what was found, and how it is told to who asked; return the best that is known now."""
        best = self._cache.keep(posed, known)
        if best is known:
            self._spellings[posed] = known, plan
        return best

    async def _search(
        self,
        asked: PlanRequest,
        known: CachedPlan | None,
        start: Plan | None,
        trial: Future[Plan] | None,
        flight: SharedSearch,
    ) -> Plan | None:
        """Search on from what is known, and keep what was found; if others found better meanwhile, return that."""
        began = time.monotonic()
        found = await self._searching.search(
            asked,
            cancelled=flight.cancelled,
            start=start if start is not None and start.placements else None,
            trial=trial,
            was_tried=known is not None and known.searched_s > 0,
            on_news=flight.tell,
            wants_plans=flight.wants_plans,
        )
        if found is None:
            return None
        searched_s = min(time.monotonic() - began, found.wall_time_s or inf)  # without the time in line
        if found.stop_reason == "work_limit":  # more time would have made no difference
            searched_s = asked.options.time_limit_s
        mine = await self._soon(asked.posed.problem, partial(CachedPlan.of, asked.posed, found, searched_s))
        if mine is None:
            return found
        best = self._keep(asked.posed, mine, found)
        if best is mine or found.status == "optimal":
            return found
        return await self._spelled(best, asked.posed, found.stop_reason) or found

    async def _take_in(self, posed: CompiledProblem, plan: Plan | None) -> None:
        """Keep a plan that somebody has, if it is right, which says nothing of how long was searched."""
        if plan is not None and plan.placements:
            known = await self._soon(posed.problem, partial(_sound, posed, plan))
            if known is not None:
                self._cache.keep(posed, known)

    async def _known(self, posed: CompiledProblem) -> tuple[CachedPlan | None, Plan | None]:
        """Return what is known, also as a plan: verified once, where one and the same problem comes again."""
        known = await self._cache.find(posed)
        if known is None:
            return None, None
        before = self._spellings.get(posed)
        if before is not None and before[0] is known:
            return before
        plan = await self._spelled(known, posed, None)
        if plan is None:
            self._cache.forget(posed)
            return None, None
        self._spellings[posed] = known, plan
        return known, plan

    async def _spelled(self, known: CachedPlan, posed: CompiledProblem, reason: StopReason | None) -> Plan | None:
        return await self._soon(posed.problem, partial(plan_of, known, posed, reason))

    async def _soon(self, problem: Problem, work: Callable[[], T]) -> T:
        """Do work that is no search: at once where that is quick, else in a thread."""
        if _is_small(problem):
            return work()
        return await to_thread.run_sync(work, limiter=self._threads)


def _is_small(problem: Problem) -> bool:
    return len(problem.buffers) <= _AT_HAND_BUFFERS


def _sound(posed: CompiledProblem, plan: Plan) -> CachedPlan | None:
    return None if verify(posed.problem, plan) else CachedPlan.of(posed, plan, 0.0)


def _answer(known: CachedPlan | None, plan: Plan | None, asked: PlanRequest) -> Plan | None:
    """Return the answer to a caller that a known plan is, if it is one."""
    reason = None if known is None or plan is None else _enough(known, plan, asked)
    return None if plan is None or reason is None else plan.model_copy(update={"stop_reason": reason})


def _enough(known: CachedPlan, plan: Plan, asked: PlanRequest) -> StopReason | None:
    """Say why a known plan answers a caller, if it does."""
    if known.is_final:
        return "proved"
    if plan.placements and _is_accepted(plan, asked):
        return "accepted"
    return "time_limit" if known.searched_s >= _MOSTLY * asked.options.time_limit_s else None


def _is_accepted(plan: Plan, asked: PlanRequest) -> bool:
    target = Accept() if asked.target is None and asked.posed.problem.objective == "fit" else asked.target
    if target is None:
        return False
    return target.gap is None or (plan.gap is not None and plan.gap <= target.gap)
