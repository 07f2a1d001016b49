"""Answers to all requests on one event loop: from the plan cache, in this process, or in a child process.

```
run ──> plan in pools? ──> cached? ──no──> is it searched for? ──no──> quick, in this process ──> queue ──> child
         │ no               │ yes             │ yes: wait               │ proved                           │
         │                  └─────────────────┴───── plan, verified, of the caller's own problem <─────────┘
         └──> brief: in a thread; otherwise: queue ──> child
```
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

from memplan.api.metrics import LOOKUP, Lookup, Metrics
from memplan.api.options import Options
from memplan.api.refusals import FullError, NotInTimeError, NoTurnError, UnavailableError
from memplan.api.requests import ParsedRequest
from memplan.api.service.admission import AdmissionQueue, Seat, Sort, sort_of, wait_for_any
from memplan.api.service.cache.cached_plan import CachedPlan, empty_result, result_of
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.cache.plan_cache import PlanCache
from memplan.api.service.request_task import (
    RequestTask,
    is_cacheable,
    plan_answer,
    plan_options,
    reason_to_answer,
    run,
    time_searched,
)
from memplan.api.store.job import WorkAnswer
from memplan.api.store.stored_plan import StoredPlan, cache_name
from memplan.api.workers.task import LostWorkersError, Task, TaskControl, TooMuchMemoryError
from memplan.api.workers.workers import Workers
from memplan.planner.model.plan import StopReason
from memplan.questions.plan.reason import add_reason
from memplan.solvers.portfolio.one_search import OneSearch
from memplan.solvers.search.control import Control, Deadline
from memplan.solvers.search.result import SolveResult

MAX_LOST = 3
"""How many times a search is restarted from the best known plan after its child process died; other tasks: once."""
_QUICK_S, _FULL_S, _FULL_QUICK = 0.1, 0.025, 2
"""The seconds of a quick search in this process before a child process continues it, or before a refusal if the queue
is full; and the number of quick searches that may wait while it is."""
_LATE_S = 0.2
"""The seconds after which a request is not refused if a plan for it is known."""
_QUICK_BUFFERS = 20_000
"""The number of buffers above which no quick search runs in this process."""
_LEAST_S, _LEAST_ASKED_S, _GRACE_S = 0.02, 0.1, 0.3
"""The minimum seconds of a search and of another task, and those after a deadline in which an answer may arrive."""
_ROW_S = 2.5e-6
"""The minimum seconds for parsing and compiling one row (a buffer or a pair)."""
_SHORT_CELLS = 3_000
"""The product of rows and pools up to which parsing and compiling are faster than handing them to a thread."""
T = TypeVar("T")
RunWork = Callable[..., Awaitable[Any]]
"""The type of `Service.run_work`, which runs work in a thread if it is long."""


@dataclass(frozen=True, eq=False)
class CallerRequest:
    """A caller's request, parsed, until its answer.

    With an infinite deadline, it waits for a slot as long as necessary, and its time limit starts with the slot. Any
    other request gets a FullError if the admission queue is full or no slot becomes free in time.

    task, asked: the request as it was sent, and parsed; a large body's inputs are absent, as only child processes parse
    them.
    cancelled: an event that ends the work early, with the best answer so far.
    key_id, plan_key: the id of the caller's key, and the key whose known plans are used (None: plans of all keys).
    is_large: True if only child processes parse the body.
    """

    task: RequestTask
    asked: ParsedRequest
    deadline: Deadline
    cancelled: asyncio.Event
    key_id: str | None = None
    plan_key: str | None = None
    is_large: bool = False

    @property
    def is_plain_plan(self) -> bool:
        """True if one plan in pools is wanted, which the plan cache may know."""
        return self.task.read is not None if self.is_large else self.asked.is_plain_plan

    @property
    def sort(self) -> Sort:
        """The sort of the request, by its question and the size of its body."""
        return sort_of(self.task.kind, self.task.body)

    @property
    def options(self) -> Options:
        """The options of a request for a plan."""
        return plan_options(self.asked)


class Answering:
    """Answers a server's requests: `run` combines plan cache, searches in this process, slots and child processes."""

    def __init__(
        self,
        cache: PlanCache,
        workers: Workers,
        queue: AdmissionQueue,
        metrics: Metrics,
        run_work: RunWork,
        quick_places: int,
    ) -> None:
        """Use the server's cache, child processes, slots and metrics, and threads for `quick_places` quick searches."""
        self._cache, self._workers, self._queue, self._metrics = cache, workers, queue, metrics
        self._run_work, self._places = run_work, CapacityLimiter(quick_places)
        self._running: dict[Hashable, asyncio.Event] = {}
        """An event per running search that is set when the search ends."""
        self._shared: dict[Hashable, _SharedSearch] = {}

    async def run(self, call: CallerRequest) -> WorkAnswer:
        """Return the answer as `_answer` does; a refusal is recorded for later requests of the sort."""
        try:
            return await self._answer(call)
        except FullError:
            self._queue.note_refused(call.sort)
            raise

    async def _answer(self, call: CallerRequest) -> WorkAnswer:
        """Return the answer by the deadline: for a plan, the best verified one or an explanation of why there is none.

        When the call is cancelled, the best plan so far is returned. Raises the question's errors, FullError,
        UnavailableError, and NotInTimeError without an answer in time.
        """
        asked, n_bytes = call.asked, len(call.task.body)
        if call.task.read is not None:
            return await self._large_plan(call, cache_name(call.task.read.hash, call.plan_key))
        if call.is_plain_plan:
            return await self._plan(call)
        if not (asked.is_foreign or call.is_large) and asked.question.is_brief(asked.extent, asked.options):
            work = partial(run, TaskControl(call.deadline), call.task, asked)
            answer: WorkAnswer = await self._run_work(work, n_bytes, is_short=False, deadline=call.deadline)
            return answer
        deadline = call.deadline
        deadline = Deadline(deadline.began, max(deadline.at, deadline.began + _LEAST_ASKED_S))
        if deadline.remaining_s <= 0:
            raise NotInTimeError(f"{asked.kind}: must arrive completely within its time limit")
        can_end = asked.options.can_end
        place = Seat(call.key_id, deadline.at, call.sort, can_end=can_end, arrived=deadline.began)
        return await self._run_in_child(call, call.task, place)

    async def _plan(self, call: CallerRequest) -> WorkAnswer:
        """Return the plan of a problem that this process parses, from the cache or a search."""
        asked, extent = call.asked, call.asked.extent
        if extent.n_rows * _ROW_S > call.deadline.remaining_s:
            raise NotInTimeError(f"{extent.n_rows} buffers could not be read, compiled and planned")

        def compiled_problem() -> CompiledProblem:
            return CompiledProblem.from_problem(asked.input_values()["problem"], call.plan_key)

        is_short = extent.n_rows * extent.n_pools <= _SHORT_CELLS and not extent.n_expanded
        problem: CompiledProblem = await self._run_work(
            compiled_problem, len(call.task.body), is_short=is_short, deadline=call.deadline
        )
        LOOKUP.set("miss")
        call.options.check()
        if is_cacheable(problem.problem, call.options):
            return await self._cached_or_searched(call, problem)
        # A plan with a profile needs several searches or another instance, which a quick search does not support.
        has_profile = call.options.profile_of(problem.problem) is not None or problem.problem.equal_use
        return await self._full_search(call, problem, None, None if has_profile else self._quick_search(call, problem))

    async def _cached_or_searched(self, call: CallerRequest, problem: CompiledProblem) -> WorkAnswer:
        """Return the cached plan if it suffices, else search; equal simultaneous requests wait for one search."""
        options, quick = call.options, None
        key = problem.cache_name, options.time_limit_s, options.accept, options.seed
        if problem.is_small and key not in self._running and self._cache.is_new(problem):
            quick = self._quick_search(call, problem)
            result = None if quick is None else await self._add_quick_reason(call, problem, quick.begin())
            # A proved result cannot be improved, so skip the look-up in the store.
            if result is not None and _is_enough(result):
                self._queue.note_quick(call.sort)
                self._metrics.looked_up("miss")
                self._metrics.count_solve(result, options.solver, "server")
                return await self._keep_result(call, problem, result)
        cached, start = await self._find_cached(problem)
        while (reason := reason_to_answer(cached, start, options, problem.problem)) is None:
            if (ended := self._running.get(key)) is None:
                self._metrics.looked_up("miss" if start is None else "started_from")
                self._running[key] = asyncio.Event()
                try:
                    # A quick search would only repeat the one that found the cached plan.
                    quick = None if start is not None else quick or self._quick_search(call, problem)
                    return await self._full_search(call, problem, start, quick)
                finally:
                    self._running.pop(key).set()
            self._metrics.looked_up("joined")
            await wait_for_any(ended, call.cancelled, limit_s=max(0.0, call.deadline.remaining_s))
            if not ended.is_set():
                stop: StopReason = "cancelled" if call.cancelled.is_set() else "time_limit"
                result = empty_result(problem, stop) if start is None else replace(start, stop_reason=stop)
                return await self._plan_answer(call, problem, result)
            cached, start = await self._find_cached(problem)
        assert start is not None
        self._metrics.looked_up("hit")
        return await self._plan_answer(call, problem, replace(start, stop_reason=reason))

    def _quick_search(self, call: CallerRequest, problem: CompiledProblem) -> OneSearch | None:
        """Return a prepared quick search in this process; None for a large problem, which a child process plans."""
        if len(problem.problem.buffers) > _QUICK_BUFFERS:
            return None
        quick_s = _FULL_S if self._queue.is_full else _QUICK_S
        limit_s = min(call.options.time_limit_s, quick_s, max(_LEAST_S, call.deadline.remaining_s))
        control = Control(Deadline.from_limit(limit_s))
        begun = problem.start or problem.instance
        return OneSearch(problem.problem, call.options, control, is_quick=True, instance=begun)

    async def _full_search(
        self, call: CallerRequest, problem: CompiledProblem, start: SolveResult | None, quick: OneSearch | None
    ) -> WorkAnswer:
        """Search quickly, then in a child process from the best known plan; raises FullError if neither gets a slot."""
        best, began, tried_s = start, time.monotonic(), 0.0
        # Nobody is refused late: who has waited gets the plan of a quick search.
        is_late = call.deadline.passed_s > _LATE_S
        if not is_late and self._queue.is_full and self._places.statistics().tasks_waiting >= _FULL_QUICK:
            raise self._queue.full_error()
        if quick is not None:
            with anyio.move_on_after(max(0.0, call.deadline.remaining_s)):
                best = await to_thread.run_sync(quick.finish, limiter=self._places)
                best = await self._add_quick_reason(call, problem, best)
            tried_s = time.monotonic() - began
            if best is not None:
                self._metrics.count_solve(best, call.options.solver, "server")
                if _is_enough(best):
                    self._queue.note_quick(call.sort)
                    return await self._keep_result(call, problem, best)
        if best is not None and call.deadline.remaining_s < _LEAST_S:
            return await self._keep_result(call, problem, replace(best, stop_reason="time_limit"))
        has_plan, heard = best is not None and bool(best.plan.placements), list[WorkAnswer]()
        # If the search in this process found no plan, a child needs at least as much time.
        least_s = _LEAST_S + (0.0 if has_plan else tried_s)
        can_end = not call.options.deterministic
        place = Seat(call.key_id, call.deadline.at, least_s=least_s, can_end=can_end, has_answer=has_plan)
        record = await self._run_brief(problem, partial(_record_of, problem, best)) if best and has_plan else None
        try:
            answer = await self._run_in_child(call, replace(call.task, record=record), place, heard)
        except (FullError, UnavailableError, NotInTimeError, TooMuchMemoryError, LostWorkersError) as error:
            known = None if not heard or heard[-1].known is None else heard[-1].known
            best = best if known is None else result_of(known, problem) or best
            if best is not None and best.plan.status == "infeasible":
                return await self._keep_result(call, problem, best)  # This result explains why no plan fits.
            has_plan = best is not None and bool(best.plan.placements)
            is_late = isinstance(error, NoTurnError) or call.deadline.passed_s > _LATE_S
            if not has_plan and isinstance(error, FullError | TooMuchMemoryError | LostWorkersError):
                raise
            if isinstance(error, FullError) and not is_late and call.deadline.remaining_s > 0:
                raise
            # An unproved plan is more useful than an error, so return it.
            reason: StopReason = "cancelled" if call.cancelled.is_set() else "time_limit"
            found = replace(best or empty_result(problem), stop_reason=reason)
            return await self._keep_result(call, problem, found)
        if answer.known is None or (better := await self._keep_better(problem, answer.known)) is None:
            return answer
        return await self._plan_answer(call, problem, better)

    async def _add_quick_reason(
        self, call: CallerRequest, problem: CompiledProblem, found: SolveResult | None
    ) -> SolveResult | None:
        """Return the result. If a bound proves that no plan fits, a small problem's result gets an explanation."""
        lack = None if found is None or found.bound is None else found.bound.nothing_fits
        # Only child processes explain a bound that a search has proved, so return the result without an explanation.
        if found is None or lack is None or lack.by is not None:
            return found
        if not problem.is_small or call.options.deterministic:
            return found
        control = Control(call.deadline.limit_to(_QUICK_S))
        reason = partial(add_reason, problem.problem, found.plan, control, is_quick=True)
        return replace(found, plan=await to_thread.run_sync(reason, limiter=self._places))

    async def _large_plan(self, call: CallerRequest, name: str) -> WorkAnswer:
        """Return the plan of a large problem, searched in a child process, starting from the known plan.

        Equal simultaneous requests share one search and its answer.
        """
        key = call.task.head, call.task.body, name, call.task.plan_format, call.deadline.at == inf
        if is_new := (shared := self._shared.get(key)) is None:
            shared = self._shared[key] = _SharedSearch(
                lambda over: self._search_large(replace(call, cancelled=over), name)
            )
            shared.task.add_done_callback(lambda _: self._shared.pop(key))
        else:
            self._metrics.looked_up("joined")
        answer, lookup = await shared.answer(call.cancelled)
        self._metrics.looked_up(lookup if is_new else "hit")
        return answer

    async def _search_large(self, call: CallerRequest, name: str) -> tuple[WorkAnswer, Lookup]:
        record = await self._cache.read_stored(name)
        place, heard = Seat(call.key_id, call.deadline.at, can_end=False), list[WorkAnswer]()
        answer = await self._run_in_child(call, replace(call.task, record=record), place, heard)
        if answer.known is not None:
            await self._cache.replace(name, record, answer.known.compress(name))
        return answer, "hit" if answer.searched is None and not heard else "miss" if record is None else "started_from"

    async def _run_in_child(
        self, call: CallerRequest, request: RequestTask, place: Seat, heard: list[WorkAnswer] | None = None
    ) -> WorkAnswer:
        """Wait for a slot, and return the answer of a child process; if one is lost, the work is repeated.

        Interim answers are added to `heard`; a search is repeated from the last one. Other waiting requests may end the
        work early, with its best answer so far, if the place `can_end`.
        """
        kind, asked, n_bytes, heard = request.kind, call.asked, len(request.body), [] if heard is None else heard
        if not await self._queue.wait_for_slot(place, call.cancelled):
            raise UnavailableError(f"{kind}: the request was cancelled before its work started")
        is_plan = call.is_plain_plan
        task = Task(
            run,
            (replace(request, arrived=call.deadline, body=b""), asked)
            if request.read
            else (replace(request, arrived=call.deadline),),
            kind,
            Deadline(call.deadline.began, max(place.due, time.monotonic() + _LEAST_S)),
            limit_s=asked.options.time_limit_s if is_plan or place.due == inf else None,
            grace_s=_GRACE_S,
            is_search=is_plan and place.can_end,
            is_large=call.is_large,
            file_bytes=n_bytes if asked.is_foreign else None,
        )
        is_short, noted = place.is_short if place.can_end else None, partial(self._queue.note_first, place)

        def hear(_reports: list[Any], best: WorkAnswer | None) -> None:
            heard.extend([] if best is None else [best])

        try:
            for left in reversed(range(1 + (MAX_LOST if task.is_search else 1))):
                try:
                    answer: WorkAnswer = await self._workers.run(task, call.cancelled, is_short, hear, noted)
                    break
                except NotInTimeError:
                    # The best plan so far is an answer; `_full_search` knows better bounds for one that is cached.
                    if not heard or heard[-1].status != "feasible" or (heard[-1].known and not call.is_large):
                        raise
                    answer = heard[-1]
                    break
                except LostWorkersError:
                    if not left:
                        raise
                if heard and heard[-1].known is not None:
                    request, *rest = task.arguments
                    request = replace(request, record=heard[-1].known.compress(""))
                    task = replace(task, arguments=(request, *rest))
        finally:
            self._queue.release_slot(place, is_measured=not call.cancelled.is_set())
        if answer.searched is not None:
            self._metrics.count_solve(answer.searched, call.options.solver, "worker")
        return answer

    async def _keep_result(self, call: CallerRequest, problem: CompiledProblem, found: SolveResult) -> WorkAnswer:
        if is_cacheable(problem.problem, call.options):
            searched_s = time_searched(found, call.options)
            cached = await self._run_brief(problem, partial(CachedPlan.from_result, problem, found, searched_s))
            found = found if cached is None else await self._keep_better(problem, cached) or found
        return await self._plan_answer(call, problem, found)

    async def _keep_better(self, problem: CompiledProblem, found: CachedPlan) -> SolveResult | None:
        known = self._cache.keep(problem, found)
        if known.bound <= found.bound:
            return None
        again = await self._run_brief(problem, partial(result_of, known, problem))
        return again and replace(again, stop_reason="proved" if again.plan.status == "optimal" else "time_limit")

    async def _plan_answer(self, call: CallerRequest, problem: CompiledProblem, found: SolveResult) -> WorkAnswer:
        write = partial(plan_answer, call.asked, problem, found, call.task.plan_format, call.deadline)
        return await self._run_brief(problem, write)

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


class _SharedSearch:
    """The running search for a large problem's plan, shared by equal requests; it ends early once all are cancelled."""

    def __init__(self, work: Callable[[asyncio.Event], Coroutine[Any, Any, tuple[WorkAnswer, Lookup]]]) -> None:
        """Start `work` as a task; it gets an event that is set once no caller is left."""
        self._over, self._has_ended, self._callers = asyncio.Event(), asyncio.Event(), 0
        self.task = asyncio.create_task(work(self._over))
        self.task.add_done_callback(lambda _: self._has_ended.set())

    async def answer(self, cancelled: asyncio.Event) -> tuple[WorkAnswer, Lookup]:
        """Return the search's answer; once all callers have cancelled, it is the best plan so far."""
        self._callers += 1
        try:
            await wait_for_any(self._has_ended, cancelled)
        finally:
            self._callers -= 1
            if not self._callers:
                self._over.set()
        return await asyncio.shield(self.task)


def _record_of(problem: CompiledProblem, result: SolveResult) -> StoredPlan | None:
    known = CachedPlan.from_result(problem, result, 0.0)
    return None if known is None else known.compress(problem.cache_name)


def _is_enough(found: SolveResult) -> bool:
    """Return True if a child process could not improve the result.

    An infeasible result is enough only if its explanation is irreducible and its sufficient pool size proved minimal.
    """
    if found.plan.status != "infeasible":
        return found.stop_reason != "time_limit"
    why = found.plan.explanation
    return why is not None and bool(why.irreducible) and why.would_do is not None and why.would_do.proved
