"""Work of other kinds at workers: on time, whatever its function does, and with all of its own time."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from dataclasses import replace
from math import inf
from typing import Any

import pytest

from memplan.api.cluster import worker_task
from memplan.api.cluster.task import NoAnswerError, TooMuchMemoryError, WorkAnswer, WorkTask
from memplan.api.refusals import UnavailableError
from memplan.solvers.search.deadline import Deadline
from tests.support import works
from tests.support.clusters import opened, soon
from tests.support.processes import ROOT


def work(run: Any, seconds: float = inf, grace_s: float = 0.4, limit_s: float | None = None) -> WorkTask:
    return WorkTask(run, "order", "application/json", b"", {}, Deadline.after(seconds), grace_s, limit_s)


def test_a_function_that_looks_at_no_clock_frees_its_worker() -> None:
    async def day() -> WorkAnswer:
        async with opened(workers=0, solves=1) as cluster:
            with pytest.raises(NoAnswerError):
                await cluster.work(work(works.for_ever, 0.1), cancelled=asyncio.Event())
            return await cluster.work(work(works.told_left, 60.0), cancelled=asyncio.Event())

    assert float(asyncio.run(day()).content) > 0


def test_what_was_noted_is_the_answer_of_work_that_is_ended() -> None:
    async def day() -> WorkAnswer:
        async with opened(workers=0, solves=1) as cluster:
            return await cluster.work(work(works.noted_for_ever, 0.1), cancelled=asyncio.Event())

    assert asyncio.run(day()).content == b"noted"


def test_the_time_of_a_job_counts_from_when_a_worker_begins() -> None:
    async def day() -> list[WorkAnswer]:
        async with opened(workers=0, solves=1) as cluster:
            asked = (work(works.for_a_while, limit_s=30.0), work(works.told_left, grace_s=3.0, limit_s=0.3))
            return await asyncio.gather(*(cluster.work(each, cancelled=asyncio.Event()) for each in asked))

    first, second = asyncio.run(day())
    assert first.content == b"done"
    assert 0 < float(second.content) <= 0.3


def test_a_call_waits_for_its_worker_until_its_limit_however_long_its_body_takes_to_bring() -> None:
    async def day() -> WorkAnswer:
        async with opened(workers=0, solves=1) as cluster:
            first = asyncio.create_task(cluster.work(work(works.for_a_while, 60.0), cancelled=asyncio.Event()))
            await soon(lambda: any(sent.worker for sent in cluster._sent.values()))
            large = replace(work(works.told_left, 3.0), body=bytes(25_000_000))  # 2.5 s to bring
            return (await asyncio.gather(first, cluster.work(large, cancelled=asyncio.Event())))[1]

    assert asyncio.run(day()).content


def test_only_what_was_cancelled_is_said_to_be_where_a_worker_ends_without_an_answer() -> None:
    async def day() -> None:
        async with opened(workers=0, solves=1) as cluster:
            cancelled = asyncio.Event()
            with pytest.raises(NoAnswerError, match="order: no answer came within its time limit"):
                await cluster.work(work(works.nothing_when_told_to_end, 0.1), cancelled=cancelled)
            asked = asyncio.create_task(cluster.work(work(works.nothing_when_told_to_end), cancelled=cancelled))
            await soon(lambda: any(sent.worker for sent in cluster._sent.values()))
            cancelled.set()
            with pytest.raises(UnavailableError, match="order: was cancelled before there was an answer"):
                await asked

    asyncio.run(day())


def test_what_takes_more_memory_than_there_is_is_told_so() -> None:
    async def day() -> None:
        async with opened(workers=0, solves=1) as cluster:
            with pytest.raises(TooMuchMemoryError, match="must be answered with the memory of one worker"):
                await cluster.work(work(works.too_much, 60.0), cancelled=asyncio.Event())

    asyncio.run(day())


def test_what_has_ended_a_worker_by_its_memory_is_sent_to_no_other_one() -> None:
    async def day() -> None:
        async with opened(workers=0, solves=1) as cluster:
            asked = asyncio.create_task(cluster.work(work(works.for_a_while), cancelled=asyncio.Event()))
            await soon(lambda: any(sent.worker for sent in cluster._sent.values()))
            (sent,) = cluster._sent.values()
            worker_task.tell_too_heavy()
            await soon(lambda: sent.pending.is_too_heavy)
            await sent.future.cancel()  # as the end of the worker does
            with pytest.raises(TooMuchMemoryError):
                await asked
            assert not cluster._sent

    asyncio.run(day())


def test_a_compiled_loop_that_hears_no_end_is_ended_with_its_process_by_its_own_time() -> None:
    script = """
from memplan.api.cluster import worker_task
from memplan.api.cluster.serialization import pack
from tests.api.cluster.test_work import work
from tests.support import works

worker_task.own_this_process()
worker_task.dask.teller = lambda *_: lambda content: None
worker_task.perform("name", "topic", pack(work(works.in_one_step, 0.1)))
"""
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False)
    assert ended.returncode == -signal.SIGPROF
