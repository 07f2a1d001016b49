"""Workers and schedulers that die, stop or hang while they are needed."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys

import pytest
from distributed import Security

from memplan.api.cluster import dask
from memplan.api.cluster.local_cluster import local_cluster
from memplan.api.settings import Settings
from memplan.planner.model.plan import Plan
from memplan.planner.verify.verifier import verify
from memplan.solvers.search.result import Progress
from tests.support.clusters import HARD, NOWHERE, is_no_worse, opened, solved, soon, task
from tests.support.processes import ENGINE, ROOT, WORKER, below, command, kill, runs, workers


def test_a_task_whose_worker_is_killed_goes_on_from_the_best_plan_known() -> None:
    heard = list[Progress]()

    async def day() -> Plan:
        async with opened(workers=1) as cluster:
            over = asyncio.Event()
            asked = asyncio.create_task(solved(cluster, task(HARD, wants_plans=True), over, on_progress=heard.append))
            await soon(lambda: any(told.found for told in heard))
            (worker,) = workers()
            kill(worker)
            best = [told.found.plan for told in heard if told.found][-1]
            before = len(heard)
            await soon(lambda: len(heard) > before)
            assert is_no_worse(heard[before].peak, best.peak)
            assert worker not in workers()
            over.set()
            return await asked

    plan = asyncio.run(day())
    assert verify(HARD, plan) == ()


def test_engines_die_with_their_worker() -> None:
    async def day() -> None:
        async with opened(workers=1) as cluster:
            asked = asyncio.create_task(solved(cluster, task(HARD, solver="cp-sat")))
            await soon(lambda: any(below(worker.pid, ENGINE) for worker in workers()))
            (worker,) = workers()
            (engine,) = below(worker.pid, ENGINE)
            kill(worker)
            await soon(lambda: not runs(engine, ENGINE))
            asked.cancel()

    asyncio.run(day())


def test_a_worker_that_stands_still_makes_no_solve_late() -> None:
    async def day() -> Plan:
        async with opened(workers=1) as cluster:
            heard = list[Progress]()
            await soon(lambda: cluster.places == 1)
            asked = asyncio.create_task(solved(cluster, task(HARD, 4.0, wants_plans=True), on_progress=heard.append))
            await soon(lambda: any(told.found for told in heard))
            (worker,) = workers()
            worker.send_signal(signal.SIGSTOP)
            return await asked

    plan = asyncio.run(day())
    assert (plan.status, plan.stop_reason) == ("feasible", "time_limit")
    assert verify(HARD, plan) == ()


def test_a_process_that_overruns_is_ended_by_the_system() -> None:
    script = """
from memplan.api.cluster.serialization import pack
from memplan.api.cluster import worker_task as work
from tests.support.clusters import SMALL, task

work.own_this_process()
work.ALARM_S = 0.1
work.Solve = lambda *_, **__: sum(range(10**12))  # which lets no other thread run
work.dask.teller = lambda *_: lambda content: None
work.perform("name", "topic", pack(task(SMALL, 0.1)))
"""
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == -signal.SIGALRM


def test_workers_end_with_the_process_that_started_them() -> None:
    async def day() -> None:
        with command("worker", NOWHERE, "--workers", "2") as process:
            await soon(lambda: len(below(process.pid, WORKER)) == 2)
            children = below(process.pid, WORKER)
            process.kill()
            await soon(lambda: not any(runs(child, WORKER) for child in children))

    asyncio.run(day())


def test_no_other_user_reaches_the_workers_of_a_server() -> None:
    async def day() -> None:
        async with local_cluster(Settings(workers=1)) as (address, security):
            assert address.startswith("tls://127.0.0.1:")
            async with dask.client(address, security) as client:
                assert client.status == "running"
            with pytest.raises(OSError, match="certificate"):
                await dask.client(address, Security.temporary())
            with pytest.raises(OSError, match=address.rpartition(":")[2]):
                await dask.client(address.replace("tls", "tcp"))

    asyncio.run(day())
