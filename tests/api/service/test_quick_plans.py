"""What is quick is solved where it came in; what proves to be hard goes on from there."""

from __future__ import annotations

import asyncio
import random
from contextlib import closing
from pathlib import Path

import pytest

from memplan.api.options import Options
from memplan.api.refusals import FullError
from memplan.api.service.cache.cached_plan import CachedPlan
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.plan_request import PlanRequest
from memplan.api.store.store import Store
from memplan.planner.model.problem import Problem
from memplan.solvers.search.deadline import Deadline
from memplan.solvers.search.result import SolveResult
from tests.support.hard_requests import hard_request
from tests.support.plan_services import HARD, LONG, QUICK, SMALL, Room, cache_over, in_a_room
from tests.support.renaming import respelled, spelled
from tests.support.workers import packed


def test_what_is_quick_goes_to_no_worker_and_is_known_then() -> None:
    async def day(room: Room) -> None:
        first = await room.ask(QUICK)
        again = await room.ask(Problem.model_validate(respelled(spelled(QUICK), random.Random(1), 3)))
        assert (first.status, again.status, again.stop_reason) == ("optimal", "optimal", "proved")
        assert (first.peak, again.peak) == (12, 36)
        assert room.workers.tasks == []
        assert room.lookups() == {"miss": 1, "hit": 1}

    in_a_room(day)


def test_quick_problems_do_not_wait_for_long_searches() -> None:
    async def day(room: Room) -> None:
        others = asyncio.create_task(room.ask(SMALL))
        await asyncio.sleep(0)
        plan = await room.ask(QUICK)
        assert (plan.status, others.done()) == ("optimal", False)
        room.workers.may_answer.set()
        await others

    in_a_room(day)


@pytest.mark.parametrize("problem", [HARD, SMALL], ids=["large", "small"])
def test_what_is_hard_goes_on_at_a_worker_from_the_quick_plan(problem: Problem) -> None:
    async def day(room: Room) -> None:
        room.workers.may_answer.set()
        plan = await room.ask(problem)
        (task,) = room.workers.tasks
        assert task.start is not None
        assert (plan.peak, plan.stop_reason) == (task.start.peak, "time_limit")
        assert 30 < task.deadline.left_s < 60
        assert task.options.seed != LONG.seed

    in_a_room(day)


def test_what_a_worker_would_get_too_late_is_tried_where_it_came_in() -> None:
    async def day(room: Room) -> None:
        room.workers.may_answer.set()
        rows = [{"id": k, "size": 1 + k % 9, "start": k, "end": k + 3} for k in range(20_001)]
        plan = await room.ask(Problem.model_validate({"buffers": rows}), Options(time_limit_s=0.2))
        assert plan.status != "infeasible"
        assert room.workers.tasks == []

    in_a_room(day)


def test_what_must_be_the_same_everywhere_is_begun_anew_with_its_own_seed() -> None:
    async def day(room: Room) -> None:
        room.workers.may_answer.set()
        options = Options(time_limit_s=60.0, deterministic=True, seed=5)
        await room.ask(SMALL, options)
        assert [(task.start, task.options) for task in room.workers.tasks] == [(None, options)]

    in_a_room(day)


def test_what_an_earlier_server_searched_is_not_searched_again(tmp_path: Path) -> None:
    with closing(Store.open(None, tmp_path)) as store:

        async def day(room: Room) -> None:
            compiled = CompiledProblem.of(SMALL)
            known = CachedPlan.of(compiled, SolveResult(packed(SMALL)), searched_s=60.0)
            assert known is not None
            earlier = cache_over(store)
            earlier.keep(compiled, known)
            await earlier.write()
            room.workers.may_answer.set()
            again = await room.ask(SMALL)
            assert (again.status, again.stop_reason, room.workers.tasks) == ("feasible", "time_limit", [])
            assert room.lookups() == {"hit": 1}

        in_a_room(day, store)


def test_a_request_that_finds_no_quick_place_in_its_time_is_turned_away() -> None:
    async def day(room: Room) -> None:
        others = [Problem.model_validate(hard_request(seed)["problem"]) for seed in range(40, 52)]
        asking = [asyncio.create_task(room.ask(problem)) for problem in others]
        await asyncio.sleep(0)
        hard, options = CompiledProblem.of(HARD), Options(time_limit_s=0.3)
        request = PlanRequest(hard, options, Deadline.after(0.3), may_be_refused=True)
        with pytest.raises(FullError, match="all 1 places for what is quick stayed taken for the whole time limit"):
            await room.solving.plan(request, asyncio.Event())
        room.workers.may_answer.set()
        await asyncio.gather(*asking)

    in_a_room(day)
