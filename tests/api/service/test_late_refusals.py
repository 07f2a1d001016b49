"""Calls of other kinds whose time is over: refused, late, or without an answer of the worker."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from math import inf
from typing import Any

import pytest

from memplan.api.cluster.task import NoAnswerError, WorkAnswer, WorkTask
from memplan.api.metrics import Metrics
from memplan.api.refusals import NotInTimeError
from memplan.api.service.admission import AdmissionQueue
from memplan.api.service.work_service import OnWork, WorkRequest, WorkService
from memplan.api.settings import Settings
from memplan.solvers.search.deadline import Deadline
from tests.support.server import running


@pytest.mark.parametrize(("call", "status"), [("plan", 200), ("explain", 413)])
def test_what_comes_late_is_a_deadline_miss_and_a_refusal_too(call: str, status: int) -> None:
    rows = [{"id": k, "size": 1, "start": 0, "end": 1} for k in range(9)]
    problem = {"buffers": rows, "bank": [{"buffers": list(range(9))}], "pools": [{"name": "a", "bank_size": 8}]}
    body = json.dumps({"problem": problem, "options": {"time_limit_s": 0.05}}).encode()

    def slowly() -> Iterator[bytes]:
        yield body[:100]
        time.sleep(0.7)  # the time of a call begins with its first byte
        yield body[100:]

    with running(Settings(max_pairs=7)) as server:
        answer = server.client.post(f"/v1/{call}", content=slowly(), headers={"Content-Type": "application/json"})
        assert answer.status_code == status
        assert "memplan_deadline_misses_total 1.0" in server.client.get("/metrics").text


class SlowWorkers:
    """Workers of whom none has an answer in time."""

    async def work(
        self, task: WorkTask, *, priority: int = 0, on_progress: OnWork | None = None, cancelled: asyncio.Event
    ) -> WorkAnswer:
        raise NoAnswerError(f"{task.kind}: no answer came within its time limit")


def test_work_that_had_its_turn_and_took_too_long_is_no_matter_of_a_line() -> None:
    queue = AdmissionQueue(1, 0)
    lone = WorkRequest("order", "", b"", {}, 1.0, Deadline.after(1.0), may_be_refused=True)
    with pytest.raises(NotInTimeError, match="order: no answer came within its time limit") as refusal:
        asyncio.run(WorkService(SlowWorkers(), queue, Metrics()).work(lone, asyncio.Event()))
    assert (refusal.value.status, queue.busy) == (504, 0)


def test_a_job_without_an_answer_gets_more_patience_with_each_attempt() -> None:
    graces: list[float] = []

    class Noting(SlowWorkers):
        async def work(self, task: WorkTask, **others: Any) -> WorkAnswer:
            graces.append(task.grace_s)
            return await super().work(task, **others)

    for attempt in (1, 2, 3):
        job = WorkRequest("order", "", b"", {}, 1.0, Deadline.after(inf), attempt=attempt)
        with pytest.raises(NoAnswerError):
            asyncio.run(WorkService(Noting(), AdmissionQueue(1, 0), Metrics()).work(job, asyncio.Event()))
    assert graces == [3.0, 6.0, 12.0]
