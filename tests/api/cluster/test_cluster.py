"""Solving on a cluster whose workers are threads of the tests."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from math import inf

import pytest

from memplan.planner.errors import OptionError
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.deadline import Deadline
from memplan.solvers.search.result import Progress
from tests.support.clusters import HARD, SMALL, is_no_worse, opened, scheduled, solved, soon, task


def test_a_worker_answers_with_a_verified_plan() -> None:
    async def day() -> None:
        async with opened(workers=0, solves=2) as cluster:
            await soon(lambda: cluster.places == 2)
            plan = await solved(cluster, task(SMALL))
            assert (plan.status, plan.peak) == ("optimal", solve(SMALL).peak)
            assert verify(SMALL, plan) == ()

    asyncio.run(day())


def test_a_cancelled_task_is_answered_with_the_best_plan_so_far() -> None:
    async def day() -> None:
        async with opened(workers=0, solves=1) as cluster:
            cancelled, heard = asyncio.Event(), list[Progress]()

            def hear(told: Progress) -> None:
                heard.append(told)
                if told.found is not None:
                    cancelled.set()

            plan = await solved(cluster, task(HARD, wants_plans=True), cancelled, on_progress=hear)
            assert (plan.status, plan.stop_reason) == ("feasible", "cancelled")
            assert verify(HARD, plan) == ()
            best = [told.found.plan for told in heard if told.found is not None][-1]
            assert verify(HARD, best) == ()
            assert is_no_worse(plan.peak, best.peak)
            assert is_no_worse(best.peak, heard[0].peak)

    asyncio.run(day())


def test_a_task_that_no_worker_was_free_for_is_answered_on_time_with_what_is_known() -> None:
    async def day() -> None:
        async with opened(workers=0, solves=1) as cluster:
            over = asyncio.Event()
            long = asyncio.create_task(solved(cluster, task(HARD), over))
            await soon(lambda: (cluster.places, cluster.under_way) == (1, 1))
            nothing = await solved(cluster, task(HARD, 0.5))
            assert (nothing.status, nothing.stop_reason) == ("unknown", "time_limit")
            known = solve(HARD, solver="greedy", time_limit_s=1.0)
            plan = await solved(cluster, task(HARD, 0.5, start=known))
            assert (plan.status, plan.stop_reason, plan.peak) == ("feasible", "time_limit", known.peak)
            over.set()
            await long

    asyncio.run(day())


def test_what_is_more_urgent_goes_first() -> None:
    async def day() -> list[str]:
        async with opened(workers=0, solves=1) as cluster:
            over, done = asyncio.Event(), list[str]()

            async def ask(name: str, priority: int) -> None:
                await solved(cluster, task(SMALL), priority=priority)
                done.append(name)

            long = asyncio.create_task(solved(cluster, task(HARD), over))
            await soon(lambda: (cluster.places, cluster.under_way) == (1, 1))
            asked = [
                asyncio.create_task(ask(name, priority)) for name, priority in (("low", -1), ("high", 5), ("mid", 0))
            ]
            await soon(lambda: scheduled() == 4)
            over.set()
            await asyncio.gather(long, *asked)
            return done

    assert asyncio.run(day()) == ["high", "mid", "low"]


def test_what_a_solver_refuses_is_told_as_if_it_were_here() -> None:
    two = Problem.model_validate({"buffers": [{"id": 1, "size": 1, "start": 0, "end": 1}], "pools": [{"name": "a"}]})
    asked = task(two, solver="tvm-usmp-greedy", accept="much")

    async def day() -> None:
        async with opened(workers=0, solves=1) as cluster:
            with pytest.raises(OptionError) as caught:
                await solved(cluster, asked)
            assert caught.value.sentences == ('accept: must be fit or a percentage such as 5%, got "much"',)

    asyncio.run(day())


def test_the_time_of_a_job_counts_from_when_a_worker_begins_with_its_problem() -> None:
    async def day() -> None:
        async with opened(workers=0, solves=1) as cluster:
            long = asyncio.create_task(solved(cluster, task(HARD, 1.0)))
            await soon(lambda: (cluster.places, cluster.under_way) == (1, 1))
            job = replace(task(HARD), deadline=Deadline.after(inf), limit_s=0.3)
            result = await cluster.solve(job, cancelled=asyncio.Event())
            assert (result.plan.status, result.stop_reason, long.done()) == ("feasible", "time_limit", True)

    asyncio.run(day())
