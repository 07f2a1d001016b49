"""What `api/cluster/dask.py` assumes of Dask distributed, one test each: a new version that breaks one says which."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import metadata

import dask._task_spec
import dask.config
import pytest
from distributed import Client, Event, Security
from distributed.scheduler import DEFAULT_EXTENSIONS

from memplan.api.cluster import dask as adapter
from memplan.api.cluster.dask import TaskMessage


@asynccontextmanager
async def connected(threads: int = 1) -> AsyncIterator[Client]:
    """A client of a scheduler with one worker, all in this process."""
    adapter.set_up()
    async with (
        adapter.scheduler(None, protocol="inproc") as running,
        adapter.worker(running.address, threads),
        adapter.client(running.address) as client,
    ):
        yield client


def told(topic: str, key: str) -> bytes:
    tell = adapter.teller(topic, key)
    tell(b"")
    tell(b"progress")
    return b"done"


def waited(name: str) -> bytes:
    Event(name).wait(10)
    return b"done"


def test_the_version_is_one_that_the_cap_allows() -> None:
    assert int(metadata.version("distributed").split(".")[0]) < 2027


def test_all_settings_are_ones_that_dask_knows() -> None:
    def names(settings: dict[str, object], prefix: str) -> list[str]:
        return [
            name
            for key, value in settings.items()
            for name in (names(value, f"{prefix}.{key}") if isinstance(value, dict) else [f"{prefix}.{key}"])
        ]

    defaults = adapter._DEFAULTS
    unknown = [name for name in names(defaults, "distributed") if dask.config.get(name, "unknown") == "unknown"]
    assert unknown == []


def test_settings_of_the_environment_count_more() -> None:
    with dask.config.set({"distributed.scheduler.worker-ttl": 99}):
        adapter.set_up()
        assert dask.config.get("distributed.scheduler.worker-ttl") == 99


def test_the_loggers_are_those_of_dask() -> None:
    adapter.set_up()
    assert logging.getLogger("distributed").level == logging.CRITICAL
    assert logging.getLogger("distributed.client").getEffectiveLevel() == logging.CRITICAL


def test_the_extensions_that_are_left_out_are_there() -> None:
    assert set(adapter._WITHOUT) <= DEFAULT_EXTENSIONS.keys()


def test_a_producer_of_data_is_what_waits_at_the_scheduler() -> None:
    assert "_data_producer" in inspect.signature(dask._task_spec.Task).parameters

    async def day() -> None:
        async with connected() as client:
            first, second = (
                adapter.submit(client, waited, "go", key=f"memplan-{number}", priority=0) for number in range(2)
            )
            while not any((await client.processing()).values()):
                await asyncio.sleep(0.01)
            assert [len(keys) for keys in (await client.processing()).values()] == [1]
            await Event("go", client).set()  # without a client, one that the task may not have made yet
            assert (await first, await second) == (b"done", b"done")

    asyncio.run(day())


def test_what_a_task_tells_is_heard_in_order_with_its_worker() -> None:
    heard = list[TaskMessage]()

    async def hear(message: TaskMessage) -> None:
        heard.append(message)

    async def day() -> None:
        async with connected() as client:
            adapter.subscribe(client, "topic", hear)
            adapter.subscribe(client, "topic", hear)  # twice is once
            assert await adapter.submit(client, told, "topic", "name", key="memplan-1", priority=0) == b"done"
            while len(heard) < 2:
                await asyncio.sleep(0.01)
            (worker,) = await client.nthreads()
            assert heard == [TaskMessage(worker, "name", b""), TaskMessage(worker, "name", b"progress")]

    asyncio.run(day())


def test_threads_and_tasks_are_told_for_each_worker() -> None:
    async def day() -> None:
        async with connected(threads=3) as client:
            assert list((await client.nthreads()).values()) == [3]
            assert [set(keys) for keys in (await client.processing()).values()] == [set()]

    asyncio.run(day())


def test_a_temporary_certificate_is_text_that_another_process_can_be_given() -> None:
    mine = Security.temporary()
    theirs = Security(**adapter.worker_certificate(mine))
    for security in (mine, theirs):
        assert security.get_connection_args("worker")["ssl_context"] is not None
    assert all("-----BEGIN" in text for text in adapter.worker_certificate(mine).values() if text is not True)


def test_a_scheduler_that_is_gone_is_an_error_that_counts_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "_CONNECT_S", 0.2)

    async def day() -> None:
        with pytest.raises(adapter.LOST):
            await adapter.client("tcp://127.0.0.1:9")

    asyncio.run(day())
