"""Simultaneous equal requests for large plans share one search, which runs while any caller waits."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from memplan.api.metrics import LOOKUP, Metrics
from memplan.api.request_bodies import JSON
from memplan.api.requests import head_of, parse_request
from memplan.api.service.admission import AdmissionQueue
from memplan.api.service.answering import CallerRequest
from memplan.api.service.cache.plan_cache import PlanCache
from memplan.api.service.request_task import ReadProblem, RequestTask, parse_for_child, run
from memplan.api.store.job import WorkAnswer
from memplan.api.workers.task import TaskControl
from memplan.planner.model.plan import Plan
from memplan.solvers.search.control import Deadline
from memplan.solvers.search.result import SolveResult
from tests.support.plan_services import service_of

SEARCHED = SolveResult(Plan(status="feasible"))


class WaitingWorkers:
    """Fake workers whose tasks end when the test sets `may_end`, or when they are cancelled."""

    def __init__(self) -> None:
        self.may_end, self.tasks, self.cancelled = asyncio.Event(), 0, 0
        self.deadlines: list[Deadline] = []

    async def run(self, task: Any, cancelled: asyncio.Event, *_: Any, **__: Any) -> WorkAnswer:
        self.tasks += 1
        self.deadlines.append(task.deadline)
        ends = [asyncio.ensure_future(event.wait()) for event in (self.may_end, cancelled)]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        self.cancelled += cancelled.is_set()
        for each in ends:
            each.cancel()
        return WorkAnswer(b"%d" % self.tasks, "feasible", searched=SEARCHED)


def run_in_service(day: Callable[[WaitingWorkers, Callable[..., Awaitable[Any]]], Awaitable[None]]) -> Metrics:
    metrics = Metrics()

    async def serve() -> None:
        workers = WaitingWorkers()
        service = service_of(PlanCache(None), workers, AdmissionQueue(2, 4), metrics)
        asked = parse_request("plan", head_of(JSON, ""), b'{"buffers":[]}').drop_inputs()

        async def ask(body: bytes, cancelled: asyncio.Event | None = None) -> tuple[bytes, str]:
            deadline, over = Deadline.from_limit(60.0), cancelled or asyncio.Event()
            task = RequestTask("plan", "", body, read=ReadProblem("sha256:1", b"", 0.0))
            answer = await service.run(CallerRequest(task, asked, deadline, over, is_large=True))
            return answer.content, LOOKUP.get()

        async with asyncio.timeout(60):
            await day(workers, ask)

    asyncio.run(serve())
    return metrics


def metric_value(metrics: Metrics, name: str) -> float:
    return float(metrics._registry.get_sample_value(name, {"status": "feasible"}) or 0)


async def wait_until_begun(count: Callable[[], int], most: int) -> None:
    while count() < most:
        await asyncio.sleep(0.001)


def test_equal_simultaneous_large_requests_are_searched_once() -> None:
    async def day(workers: WaitingWorkers, ask: Callable[..., Awaitable[Any]]) -> None:
        calls = [asyncio.ensure_future(ask(body)) for body in (b"a", b"a", b"b", b"a")]
        await wait_until_begun(lambda: workers.tasks, 2)
        workers.may_end.set()
        answers = await asyncio.gather(*calls)
        assert workers.tasks == 2
        assert answers[0][0] == answers[1][0] == answers[3][0]
        assert [lookup for _, lookup in answers] == ["miss", "hit", "miss", "hit"]
        await ask(b"a")
        assert workers.tasks == 3, "what is over is asked anew"

    assert metric_value(run_in_service(day), "memplan_plans_total") == 3


@pytest.mark.parametrize("leaving", [1, 2])
def test_the_shared_search_for_a_large_plan_continues_while_any_caller_waits(leaving: int) -> None:
    async def day(workers: WaitingWorkers, ask: Callable[..., Awaitable[Any]]) -> None:
        events = [asyncio.Event() for _ in range(2)]
        calls = [asyncio.ensure_future(ask(b"a", event)) for event in events]
        await wait_until_begun(lambda: workers.tasks, 1)
        for event in events[:leaving]:
            event.set()
        await asyncio.sleep(0.05)
        assert workers.cancelled == (leaving == 2)
        workers.may_end.set()
        assert {content for content, _ in await asyncio.gather(*calls)} == {b"1"}

    run_in_service(day)


def test_the_time_that_is_held_back_for_writing_does_not_grow_with_a_body_that_is_read_in_no_time() -> None:
    async def day(workers: WaitingWorkers, ask: Callable[..., Awaitable[Any]]) -> None:
        workers.may_end.set()
        await ask(b"x" * 60_000_000)
        assert workers.deadlines[0].remaining_s > 55

    run_in_service(day)


@pytest.mark.parametrize(("count", "left_s"), [(1, -1.0), (30_000, -1.0), (30_000, 0.2)])
def test_a_stack_of_buffers_has_a_plan_even_if_reading_it_took_all_of_the_time(count: int, left_s: float) -> None:
    buffers = [
        {"id": "x" * (1 << 20 if count == 1 else 1) + str(k), "size": 9, "start": 0, "end": 1} for k in range(count)
    ]
    body = json.dumps({"problem": {"buffers": buffers}}).encode()
    control = TaskControl(Deadline.from_parts(1.0, left_s))
    assert run(control, RequestTask("plan", head_of(JSON, ""), body)).status == "optimal"


def test_the_plan_of_a_large_problem_needs_no_second_reading_of_its_body() -> None:
    body = json.dumps({"problem": {"buffers": [{"id": "a", "size": 9, "start": 0, "end": 1}]}}).encode()
    asked, read = parse_for_child(body, "plan", head_of(JSON, ""))
    task = RequestTask("plan", head_of(JSON, ""), b"", read=read)
    assert run(TaskControl(Deadline.from_limit(9.0)), task, asked).status == "optimal"
