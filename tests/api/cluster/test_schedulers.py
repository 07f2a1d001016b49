"""Servers that use the workers of a scheduler somewhere else."""

from __future__ import annotations

import asyncio
import signal

from memplan.planner.model.plan import Plan
from memplan.solvers.search.result import Progress
from tests.support.clusters import HARD, SMALL, opened, solved, soon, task
from tests.support.ports import free_port
from tests.support.processes import command


def test_a_scheduler_that_comes_late_and_comes_again_is_used() -> None:
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    heard = list[Progress]()

    async def day() -> Plan:
        async with opened(scheduler=address) as cluster:
            assert cluster.places == 0
            over = asyncio.Event()
            asked = asyncio.create_task(solved(cluster, task(HARD, wants_plans=True), over, on_progress=heard.append))
            with command("scheduler", "--port", str(port)):
                await soon(lambda: any(told.found for told in heard))
            await soon(lambda: cluster.places == 0)
            heard.clear()
            with command("scheduler", "--port", str(port)):
                await soon(lambda: any(told.found for told in heard))
                over.set()
                return await asked

    with command("worker", address, "--workers", "1"):
        plan = asyncio.run(day())
    assert (plan.status, plan.stop_reason) == ("feasible", "cancelled")


def test_two_servers_share_the_workers_of_one_scheduler() -> None:
    address = f"tcp://127.0.0.1:{free_port()}"

    async def day() -> None:
        async with opened(scheduler=address) as one, opened(scheduler=address) as other:
            await soon(lambda: (one.places, other.places) == (2, 2))
            over = asyncio.Event()
            asked = asyncio.create_task(solved(one, task(HARD), over))
            await soon(lambda: (one.places, other.places) == (2, 1))
            assert (await solved(other, task(SMALL))).status == "optimal"
            over.set()
            await asked

    with command("scheduler", "--port", address.rpartition(":")[2]), command("worker", address, "--workers", "2"):
        asyncio.run(day())


def test_a_scheduler_that_stands_still_makes_no_solve_late() -> None:
    port = free_port()
    heard = list[Progress]()

    async def day() -> None:
        async with opened(scheduler=f"tcp://127.0.0.1:{port}") as cluster:
            with command("scheduler", "--port", str(port)) as process:
                await soon(lambda: cluster.places == 1)
                asked = asyncio.create_task(
                    solved(cluster, task(HARD, 4.0, wants_plans=True), on_progress=heard.append)
                )
                await soon(lambda: any(told.found for told in heard))
                process.send_signal(signal.SIGSTOP)
                plan = await asked
                assert (plan.status, plan.stop_reason) == ("feasible", "time_limit")
                process.send_signal(signal.SIGCONT)
                assert (await solved(cluster, task(SMALL))).status == "optimal"

    with command("worker", f"tcp://127.0.0.1:{port}", "--workers", "1"):
        asyncio.run(day())
