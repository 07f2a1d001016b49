"""The one room for all searches: what is known, what is shared, and what goes to the workers."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from math import inf
from typing import Any

import pytest

from memplan.api.metrics import Metrics
from memplan.api.options import Options
from memplan.api.service.admission import AdmissionQueue
from memplan.api.service.cache.cached_plan import CachedPlan
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.plan_request import PlanRequest
from memplan.api.service.plan_service import PlanService
from memplan.api.workers.workers import PlanSearch
from memplan.planner import audit
from memplan.planner.errors import OptionError
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.search.deadline import Deadline
from memplan.solvers.search.result import Progress, SolveResult
from tests.support.hard_requests import hard_request
from tests.support.plan_services import HARD, HARD_TOO, LONG, QUICK, SMALL, SMALL_TOO, Room, cache_over, in_a_room
from tests.support.workers import PatientWorkers, packed


def test_a_repeated_request_is_answered_at_once_and_continues_from_the_best_with_more_time() -> None:
    async def day(room: Room) -> None:
        compiled = CompiledProblem.of(HARD)
        known = CachedPlan.of(compiled, SolveResult(packed(HARD)), searched_s=60.0)
        assert known is not None
        room.cache.keep(compiled, known)
        again = await room.ask(HARD_TOO)
        assert (again.status, again.stop_reason, room.workers.tasks) == ("feasible", "time_limit", [])
        room.workers.may_answer.set()
        longer = await room.ask(HARD_TOO, Options(time_limit_s=600.0))
        (task,) = room.workers.tasks
        assert task.start is not None
        assert longer.peak == task.start.peak == again.peak
        assert room.lookups() == {"hit": 1, "started_from": 1}

    in_a_room(day)


@pytest.mark.parametrize(("one", "other"), [(HARD, HARD_TOO), (SMALL, SMALL_TOO)], ids=["large", "small"])
def test_equal_requests_at_once_cost_one_search(one: Problem, other: Problem) -> None:
    async def day(room: Room) -> None:
        askers = [asyncio.create_task(room.ask(problem)) for problem in (one, other)]
        await room.workers.is_asked.wait()
        room.workers.may_answer.set()
        first, second = await asyncio.gather(*askers)
        assert len(room.workers.tasks) == 1
        assert first.peak is not None
        assert second.peak == 2 * first.peak
        assert room.lookups() == {"miss": 1, "joined": 1}

    in_a_room(day)


def test_a_caller_that_leaves_a_shared_search_has_the_best_so_far() -> None:
    async def day(room: Room) -> None:
        told: list[Progress] = []
        stays = asyncio.create_task(room.ask(HARD))
        await room.workers.is_asked.wait()
        cancelled = asyncio.Event()
        leaves = asyncio.create_task(room.ask(HARD_TOO, cancelled=cancelled, on_progress=told.append))
        while room.solving.waiting < 2:
            await asyncio.sleep(0)
        assert room.workers.tell is not None
        better = packed(HARD)
        room.workers.tell(Progress(1.0, better.peak, better.lower_bound or 0, "here", SolveResult(better)))
        cancelled.set()
        left = await leaves
        assert better.peak is not None
        assert (left.peak, left.stop_reason) == (2 * better.peak, "cancelled")
        assert [(one.peak, one.lower_bound) for one in told] == [(2 * better.peak, 2 * (better.lower_bound or 0))]
        assert told[0].found is not None
        assert verify(HARD_TOO, told[0].found.plan) == ()
        assert (room.workers.cancelled, stays.done()) == (0, False)
        room.workers.may_answer.set()
        assert (await stays).stop_reason == "time_limit"

    in_a_room(day)


def test_the_last_caller_to_leave_ends_the_search_and_has_what_it_found() -> None:
    async def day(room: Room) -> None:
        cancelled = asyncio.Event()
        asker = asyncio.create_task(room.ask(HARD, cancelled=cancelled))
        await room.workers.is_asked.wait()
        cancelled.set()
        plan = await asker
        assert (plan.status, plan.stop_reason, room.workers.cancelled) == ("feasible", "cancelled", 1)

    in_a_room(day)


def test_a_request_that_is_cancelled_in_the_queue_has_the_quick_plan() -> None:
    async def day(room: Room) -> None:
        first = asyncio.create_task(room.ask(HARD))
        await room.workers.is_asked.wait()
        cancelled = asyncio.Event()
        other = Problem.model_validate(hard_request(8)["problem"])
        second = asyncio.create_task(room.ask(other, cancelled=cancelled))
        while room.solving.waiting < 2:
            await asyncio.sleep(0)
        cancelled.set()
        plan = await second
        assert (plan.status, plan.stop_reason, len(room.workers.tasks)) == ("feasible", "cancelled", 1)
        room.workers.may_answer.set()
        await first

    in_a_room(day)


@pytest.mark.parametrize("accept", ["fit", "900%", 900.0])
def test_a_known_plan_that_is_good_enough_answers(accept: str | float) -> None:
    async def day(room: Room) -> None:
        compiled = CompiledProblem.of(HARD)
        known = CachedPlan.of(compiled, SolveResult(packed(HARD)), searched_s=0.1)
        assert known is not None
        room.cache.keep(compiled, known)
        plan = await room.ask(HARD, Options(time_limit_s=60.0, accept=accept))
        assert (plan.stop_reason, room.workers.tasks) == ("accepted", [])

    in_a_room(day)


def test_options_are_checked_though_the_plan_is_known() -> None:
    async def day(room: Room) -> None:
        await room.ask(QUICK)
        with pytest.raises(OptionError, match="accept: must be fit or a percentage"):
            await room.ask(QUICK, Options(accept="soon"))

    in_a_room(day)


@pytest.mark.parametrize("options", [Options(deterministic=True), Options(solver="greedy")])
def test_named_solvers_and_deterministic_requests_are_not_answered_from_other_searches(options: Options) -> None:
    async def day(room: Room) -> None:
        compiled = CompiledProblem.of(QUICK)
        known = CachedPlan.of(compiled, SolveResult(await room.ask(QUICK)), 1.0)
        assert known is not None
        before = room.lookups()
        first, second = await room.ask(QUICK, options), await room.ask(QUICK, options)
        assert first.solver is not None
        assert first.solver.startswith("greedy")
        assert first.model_copy(update={"wall_time_s": None}) == second.model_copy(update={"wall_time_s": None})
        assert (first.wall_time_s is None) == options.deterministic
        assert room.lookups() == before

    in_a_room(day)


def test_a_search_starts_from_the_plan_of_the_request() -> None:
    async def day(room: Room) -> None:
        room.workers.may_answer.set()
        brought = packed(HARD)
        plan = await room.ask(HARD, start=brought)
        assert plan.peak is not None
        assert brought.peak is not None
        assert plan.peak <= brought.peak

    in_a_room(day)


def test_a_known_plan_that_turns_out_wrong_is_replaced(caplog: pytest.LogCaptureFixture) -> None:
    async def day(room: Room) -> None:
        compiled = CompiledProblem.of(QUICK)
        known = CachedPlan.of(compiled, SolveResult(packed(QUICK)), 1.0)
        assert known is not None
        assert known.offset is not None
        room.cache.keep(compiled, replace(known, status="optimal", offset=known.offset * 0))
        assert (await room.ask(QUICK)).status == "optimal"
        assert "did not pass the verifier" in caplog.text
        assert (await room.ask(QUICK)).status == "optimal"
        assert room.lookups() == {"miss": 1, "hit": 1}

    in_a_room(day)


def test_time_in_the_queue_does_not_count_for_jobs() -> None:
    async def day(room: Room) -> None:
        others = asyncio.create_task(room.ask(HARD))
        while not room.workers.tasks:
            await asyncio.sleep(0.01)
        harder, cancelled = hard_request()["problem"], asyncio.Event()
        harder["buffers"][0]["size"] += 1
        problem = Problem.model_validate(harder)
        request = PlanRequest(CompiledProblem.of(problem), LONG, Deadline.after(inf))
        mine = asyncio.create_task(room.solving.plan(request, cancelled))
        await asyncio.sleep(0.3)  # which is spent in line, and not of the limit
        assert len(room.workers.tasks) == 1
        room.workers.may_answer.set()
        await asyncio.gather(others, mine)
        sent = room.workers.tasks[1]
        assert (sent.deadline.at, sent.limit_s) == (inf, LONG.time_limit_s)

    in_a_room(day)


def test_better_plans_of_several_pools_are_plans_of_the_problem_that_was_given() -> None:
    two = HARD.model_dump(mode="json")
    two["pools"] = [{"name": "fast", "size": packed(HARD).peak, "cost": 1.0}, {"name": "slow", "cost": 2.0}]
    problem, heard = Problem.model_validate(two), list[Progress]()

    class TellingWorkers(PatientWorkers):
        async def solve(self, asked: PlanSearch, **others: Any) -> SolveResult:
            self.tasks.append(asked)
            found = SolveResult(packed(asked.problem), stop_reason="time_limit")
            others["on_progress"](Progress(0.0, found.plan.peak, 0, "greedy", found))
            return found

    async def day() -> None:
        cache, workers, metrics = cache_over(None), TellingWorkers(), Metrics()
        room = Room(PlanService(cache, workers, AdmissionQueue(1, 0), metrics, 1), cache, workers, metrics)
        await room.ask(problem, Options(time_limit_s=1.0, profile="balanced"), on_progress=heard.append)

    asyncio.run(day())
    plans = [progress.found.plan for progress in heard if progress.found is not None]
    assert len(plans) >= 2
    assert [audit.verify(problem, plan) for plan in plans] == [()] * len(plans)
