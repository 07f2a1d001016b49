"""Calls of other kinds whose time is over: refused, late, or without an answer of the worker."""

from __future__ import annotations

import asyncio

import pytest

from memplan.api.cluster.task import NoAnswerError, WorkAnswer, WorkTask
from memplan.api.metrics import Metrics
from memplan.api.refusals import FullError, NotInTimeError
from memplan.api.service.admission import AdmissionQueue
from memplan.api.service.work_service import OnWork, WorkRequest, WorkService
from memplan.solvers.search.deadline import Deadline


class NoWorkers:
    """Workers that nothing may be sent to."""

    async def work(
        self, task: WorkTask, *, priority: int = 0, on_progress: OnWork | None = None, cancelled: asyncio.Event
    ) -> WorkAnswer:
        raise AssertionError(task.kind)


def test_a_refusal_after_the_deadline_is_a_deadline_miss() -> None:
    metrics, queue = Metrics(), AdmissionQueue(1, 0)
    late = WorkRequest("order", "", b"", {}, 1.0, Deadline.after(-2.0), may_be_refused=True)

    async def day() -> None:
        await queue.take(0.0)
        with pytest.raises(FullError):
            await WorkService(NoWorkers(), queue, metrics).work(late, asyncio.Event())

    asyncio.run(day())
    assert b"memplan_deadline_misses_total 1.0" in metrics.rendered({}, {})


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
    assert (refusal.value.status, queue.busy) == (422, 0)
