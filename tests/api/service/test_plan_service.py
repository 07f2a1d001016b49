"""How a plan request is served: from the cache, by a quick search, by a shared search, or by a worker."""

import asyncio
import random
from contextlib import closing
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from memplan.api.options import Options
from memplan.api.service.cache.cached_plan import CachedPlan
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.store.store import Store
from memplan.planner.errors import OptionError
from memplan.planner.model.problem import Problem
from tests.support.hard_requests import hard_request
from tests.support.plan_services import (
    HARD,
    HARD_TOO,
    LONG,
    QUICK,
    SMALL,
    SMALL_TOO,
    Room,
    cache_over,
    run_in_room,
    run_with_room,
)
from tests.support.renaming import problem_data, respell
from tests.support.values import require_value
from tests.support.workers import greedy_plan, searched_result


def cache_plan(problem: Problem, searched_s: float) -> tuple[CompiledProblem, CachedPlan]:
    compiled = CompiledProblem.from_problem(problem)
    known = require_value(CachedPlan.from_result(compiled, searched_result(compiled, greedy_plan(problem)), searched_s))
    return compiled, known


@pytest.mark.parametrize(
    ("problem", "searched_s", "options", "reason"),
    [
        (HARD, 60.0, LONG, "time_limit"),
        (HARD, 0.1, Options(time_limit_s=60.0, accept="fit"), "accepted"),
        (HARD, 0.1, Options(time_limit_s=60.0, accept="900%"), "accepted"),
        (HARD, 60.0, Options(time_limit_s=600.0), None),
    ],
)
@run_with_room
async def test_a_cached_plan_answers_a_request_or_warm_starts_its_search(
    room: Room, problem: Problem, searched_s: float, options: Options, reason: str | None
) -> None:
    room.cache.keep(*cache_plan(problem, searched_s))
    room.workers.may_answer.set()
    plan = await room.plan_problem(HARD_TOO, options)
    starts = [task.start is not None and task.start.peak == plan.peak for task in room.workers.tasks]
    assert (plan.stop_reason, starts) == (reason or "time_limit", [] if reason else [True])
    assert room.lookups() == {"hit" if reason else "started_from": 1}


def test_a_stored_plan_of_an_earlier_server_answers_without_a_new_search(tmp_path: Path) -> None:
    with closing(Store.open(None, tmp_path)) as store:

        async def day(room: Room) -> None:
            earlier = cache_over(store)
            earlier.keep(*cache_plan(SMALL, 60.0))
            await earlier.write()
            again = await room.plan_problem(SMALL)
            assert (again.status, again.stop_reason, room.workers.tasks) == ("feasible", "time_limit", [])
            assert room.lookups() == {"hit": 1}

        run_in_room(day, store)


@pytest.mark.parametrize(("one", "other"), [(HARD, HARD_TOO), (SMALL, SMALL_TOO)], ids=["large", "small"])
@run_with_room
async def test_equal_simultaneous_requests_share_one_search(room: Room, one: Problem, other: Problem) -> None:
    options = Options(time_limit_s=60.0, accept="fit" if one is HARD else None)
    askers = [asyncio.create_task(room.plan_problem(problem, LONG)) for problem in (one, other)]
    await room.workers.is_asked.wait()
    cancelled = asyncio.Event()
    leaves = asyncio.create_task(room.plan_problem(other, LONG, cancelled))
    await asyncio.sleep(0.05)
    cancelled.set()
    assert (await leaves).stop_reason == "cancelled"
    assert not any(asker.done() for asker in askers)
    room.workers.may_answer.set()
    first, second = await asyncio.gather(*askers)
    assert second.peak == 2 * require_value(first.peak)
    assert room.lookups()["joined"] == 2
    assert (await room.plan_problem(other, options)).peak == second.peak


@pytest.mark.parametrize("waits", [False, True], ids=["at a worker", "in the queue"])
@run_with_room
async def test_a_cancelled_request_gets_the_best_plan_so_far(room: Room, waits: bool) -> None:
    first, cancelled = asyncio.Event(), asyncio.Event()
    others = [asyncio.create_task(room.plan_problem(HARD, cancelled=first))] if waits else []
    if waits:
        await room.workers.is_asked.wait()
    mine = asyncio.create_task(
        room.plan_problem(Problem.model_validate(hard_request(8)["problem"]), cancelled=cancelled)
    )
    await asyncio.sleep(0.5)
    cancelled.set()
    plan = await mine
    assert (plan.status, plan.stop_reason, len(room.workers.tasks)) == ("feasible", "cancelled", 1)
    first.set()
    await asyncio.gather(*others)


@pytest.mark.slow
@run_with_room
async def test_a_search_ended_early_for_a_waiting_request_reports_time_limit(room: Room) -> None:
    first = asyncio.create_task(room.plan_problem(HARD))
    await room.workers.is_asked.wait()
    second = asyncio.create_task(room.plan_problem(SMALL, Options(time_limit_s=5.0)))
    assert (await first).stop_reason == "time_limit"
    room.workers.may_answer.set()
    await second


@run_with_room
async def test_options_are_checked_even_if_the_plan_is_cached(room: Room) -> None:
    await room.plan_problem(QUICK)
    with pytest.raises(OptionError, match="accept: must be fit or a percentage"):
        await room.plan_problem(QUICK, Options(accept="soon"))


@pytest.mark.parametrize("options", [Options(deterministic=True), Options(solver="greedy")])
@run_with_room
async def test_requests_that_name_a_solver_or_are_deterministic_bypass_the_plan_cache(
    room: Room, options: Options
) -> None:
    await room.plan_problem(QUICK)
    before = room.lookups()
    first, second = await room.plan_problem(QUICK, options), await room.plan_problem(QUICK, options)
    assert (first.solver or "").startswith("greedy")
    assert first.model_copy(update={"wall_time_s": None}) == second.model_copy(update={"wall_time_s": None})
    assert (first.wall_time_s is None) == options.deterministic
    assert room.lookups() == before


@run_with_room
async def test_an_invalid_cached_plan_is_replaced(room: Room, caplog: pytest.LogCaptureFixture) -> None:
    compiled, known = cache_plan(QUICK, 1.0)
    room.cache.keep(compiled, replace(known, status="optimal", offset=require_value(known.offset) * 0))
    assert (await room.plan_problem(QUICK)).status == "optimal"
    assert "did not pass the verifier" in caplog.text
    assert (await room.plan_problem(QUICK)).status == "optimal"
    assert room.lookups() == {"miss": 1, "hit": 1}


@run_with_room
async def test_time_in_the_queue_does_not_count_without_a_deadline(room: Room) -> None:
    others = asyncio.create_task(room.plan_problem(HARD))
    await room.workers.is_asked.wait()
    mine = asyncio.create_task(room.plan_problem(Problem.model_validate(hard_request(9)["problem"]), limit_s=inf))
    await asyncio.sleep(0.5)  # time in the queue does not count against the limit
    assert len(room.workers.tasks) == 1
    room.workers.may_answer.set()
    await asyncio.gather(others, mine)
    sent = room.workers.tasks[1].deadline
    assert sent.at - sent.began == LONG.time_limit_s


@run_with_room
async def test_a_quick_request_is_solved_without_a_worker_and_cached(room: Room) -> None:
    others = asyncio.create_task(room.plan_problem(SMALL))
    await asyncio.sleep(0)
    first = await room.plan_problem(QUICK)
    again = await room.plan_problem(Problem.model_validate(respell(problem_data(QUICK), random.Random(1), 3)))
    assert (first.status, again.status, again.stop_reason) == ("optimal", "optimal", "proved")
    assert (first.peak, again.peak, others.done()) == (12, 36, False)
    room.workers.may_answer.set()
    await others


@pytest.mark.parametrize("problem", [HARD, SMALL], ids=["large", "small"])
@run_with_room
async def test_a_hard_request_is_continued_by_a_worker_from_the_quick_plan(room: Room, problem: Problem) -> None:
    room.workers.may_answer.set()
    plan = await room.plan_problem(problem)
    (task,) = room.workers.tasks
    assert (plan.peak, plan.stop_reason) == (require_value(task.start).peak, "time_limit")
    assert 30 < task.deadline.remaining_s < 60
    assert require_value(task.options).seed != LONG.seed


@pytest.mark.parametrize(
    "problem",
    [
        {"buffers": [{"id": "a", "size": 64, "start": 0, "end": 2}], "pools": [{"name": "sram", "size": 48}]},
        {"buffers": [{"id": k, "size": 32, "start": 0, "end": 2} for k in "ab"], "pools": [{"name": "a", "size": 48}]},
        {"buffers": [{"id": "a", "size": 8, "start": 0, "end": 2, "offset": 44}], "pools": [{"name": "a", "size": 48}]},
    ],
    ids=["a buffer above its pool", "a live set", "a pin"],
)
@run_with_room
async def test_a_problem_proved_infeasible_by_a_bound_is_not_sent_to_a_worker(
    room: Room, problem: dict[str, Any]
) -> None:
    asked = Problem.model_validate(problem)
    for _ in range(2):
        plan = await room.plan_problem(asked)
        why = require_value(plan.explanation)
        assert (plan.status, why.irreducible, require_value(why.would_do).proved) == ("infeasible", True, True)
    assert room.workers.tasks == []


@run_with_room
async def test_a_deterministic_search_has_no_warm_start_and_keeps_its_seed(room: Room) -> None:
    room.workers.may_answer.set()
    options = Options(time_limit_s=60.0, deterministic=True, seed=5)
    await room.plan_problem(SMALL, options)
    assert [(task.start, task.options) for task in room.workers.tasks] == [(None, options)]
