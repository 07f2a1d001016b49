"""Solving, waiting, being turned away and hanging up, over real connections."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest

from memplan.api.http.openapi import PROBLEM_EXAMPLE
from memplan.api.refusals import FullError
from memplan.api.service.admission import AdmissionQueue
from memplan.api.settings import Settings
from tests.support.hard_requests import AS_HARD, HARD_TOO, asking, hard_request, soon
from tests.support.server import Running, running


@pytest.fixture
def narrow() -> Iterator[Running]:
    """A server that solves one problem at a time, and lets one caller wait."""
    with running(Settings(solves=1, waiting=1)) as found:
        yield found


def test_a_client_that_hangs_up_stops_its_solve(narrow: Running) -> None:
    with asking(narrow):
        assert soon(lambda: narrow.service.queue.busy == 1)
    assert soon(lambda: narrow.service.queue.busy == 0)


def test_a_client_that_hangs_up_leaves_the_line(narrow: Running) -> None:
    with asking(narrow):
        assert soon(lambda: narrow.service.queue.busy == 1)
        with asking(narrow, HARD_TOO):
            assert soon(lambda: narrow.service.queue.waiting == 1)
        assert soon(lambda: narrow.service.queue.waiting == 0)
        assert narrow.service.queue.busy == 1


def test_a_request_to_a_full_queue_is_turned_away(narrow: Running) -> None:
    with asking(narrow):
        assert soon(lambda: narrow.service.queue.busy == 1)
        with asking(narrow, HARD_TOO):
            assert soon(lambda: narrow.service.queue.waiting == 1)
            answer = narrow.client.post("/v1/plan", content=AS_HARD)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"] == "memplan: all 1 places are taken and 1 callers wait already"


def test_quick_requests_do_not_wait_in_the_queue(narrow: Running) -> None:
    with asking(narrow):
        assert soon(lambda: narrow.service.queue.busy == 1)
        with asking(narrow, HARD_TOO):
            assert soon(lambda: narrow.service.queue.waiting == 1)
            assert narrow.client.post("/v1/plan", json=PROBLEM_EXAMPLE).json()["status"] == "optimal"


def test_a_request_whose_time_ends_in_the_queue_gets_the_quick_plan(narrow: Running) -> None:
    asked = hard_request(8) | {"options": {"time_limit_s": 1.0}}
    with asking(narrow):
        assert soon(lambda: narrow.service.queue.busy == 1)
        found = narrow.client.post("/v1/plan", json=asked).json()
    assert (found["status"], found["stop_reason"], len(found["placements"])) == ("feasible", "time_limit", 3000)


def test_a_request_whose_time_ends_in_the_queue_without_a_plan_is_turned_away(narrow: Running) -> None:
    asked = hard_request(8)["problem"]
    bound = narrow.client.post("/v1/plan", json=asked, params={"accept": "fit"}).json()["lower_bound"]
    with asking(narrow):
        assert soon(lambda: narrow.service.queue.busy == 1)
        params: dict[str, str | float] = {"time_limit_s": 0.5, "capacity": str(bound)}
        answer = narrow.client.post("/v1/plan", json=asked, params=params)
    assert answer.status_code == 429
    assert answer.json()["detail"] == "memplan: all 1 places stayed taken for the whole time limit"


def test_equal_requests_take_one_place_until_the_last_hangs_up(narrow: Running) -> None:
    with asking(narrow):
        assert soon(lambda: narrow.service.queue.busy == 1)
        with asking(narrow):
            assert soon(lambda: narrow.service.solving.waiting == 2)
            assert (narrow.service.queue.busy, narrow.service.queue.waiting) == (1, 0)
        assert soon(lambda: narrow.service.solving.waiting == 1)
        assert narrow.service.queue.busy == 1
    assert soon(lambda: narrow.service.queue.busy == 0)


def test_other_calls_are_answered_while_it_solves(narrow: Running) -> None:
    with asking(narrow):
        assert soon(lambda: narrow.service.queue.busy == 1)
        for path in ("/healthz", "/readyz", "/v1/solvers"):
            assert narrow.client.get(path).status_code == 200
        asked = {"problem": PROBLEM_EXAMPLE, "plan": {}}
        assert narrow.client.post("/v1/verify", json=asked).status_code == 200
        assert narrow.service.queue.busy == 1


def test_a_client_that_hangs_up_in_its_body_disturbs_no_other(narrow: Running) -> None:
    with socket.create_connection(("127.0.0.1", narrow.port)) as connection:
        connection.sendall(b'POST /v1/plan HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\n{"buffers": [')
    assert narrow.client.post("/v1/plan", json=PROBLEM_EXAMPLE).status_code == 200
    assert narrow.service.queue.busy == 0


def test_many_callers_at_once_each_get_their_own_plan() -> None:
    def ask(size: int) -> int:
        row = {"id": "a", "size": size, "start": 0, "end": 1}
        peak: int = server.client.post("/v1/plan", json={"buffers": [row]}).json()["peak"]
        return peak

    with running(Settings(solves=2, waiting=64)) as server, ThreadPoolExecutor(16) as callers:
        assert list(callers.map(ask, range(1, 65))) == list(range(1, 65))


def test_the_queue_admits_in_the_order_of_arrival() -> None:
    turns: list[int] = []

    async def caller(line: AdmissionQueue, number: int) -> None:
        async with line.turn(60.0):
            turns.append(number)
            await anyio.sleep(0)

    async def day() -> None:
        line = AdmissionQueue(places=1, length=5)
        async with anyio.create_task_group() as callers:
            for number in range(6):
                callers.start_soon(caller, line, number)
                await anyio.sleep(0)

    anyio.run(day)
    assert turns == list(range(6))


def test_a_free_place_needs_no_patience() -> None:
    async def day() -> None:
        line = AdmissionQueue(places=1, length=0)
        async with line.turn(0.0):
            with pytest.raises(FullError, match="all 1 places are taken and 0 callers wait already"):
                line.check()
        line.check()

    anyio.run(day)


def served(arrivals: list[tuple[str, int]], places: int = 1, length: int = 99) -> list[str]:
    """Return the callers in the order of their turns, where all came, with their priorities, while one was served."""
    turns: list[str] = []

    async def ask(line: AdmissionQueue, caller: str, priority: int) -> None:
        await line.take(60.0, caller=caller, priority=priority)
        turns.append(f"{caller}{priority}")
        await anyio.sleep(0)
        line.leave(caller)

    async def day() -> None:
        line = AdmissionQueue(places, length)
        await line.take(0.0, caller="a")
        async with anyio.create_task_group() as callers:
            for caller, priority in arrivals:
                callers.start_soon(ask, line, caller, priority)
            await anyio.sleep(0)
            line.leave("a")

    anyio.run(day)
    return turns


def test_callers_take_turns_and_have_their_urgent_requests_first() -> None:
    flood = [("a", 100)] * 4
    assert served([*flood, ("b", -1), ("b", 0), ("c", 0)]) == ["b0", "c0", "a100", "b-1", "a100", "a100", "a100"]


def test_in_a_full_queue_the_caller_with_most_requests_gives_way() -> None:
    refused: list[str] = []

    async def ask(line: AdmissionQueue, caller: str) -> None:
        try:
            async with line.turn(60.0, caller=caller):
                pass
        except FullError as error:
            refused.append(f"{caller}: {error}")

    async def day() -> None:
        line = AdmissionQueue(places=1, length=3)
        await line.take(0.0, caller="flood")
        async with anyio.create_task_group() as callers:
            for caller in ("flood", "flood", "flood", "flood", "late", "late"):
                callers.start_soon(ask, line, caller)
                await anyio.sleep(0)
            assert line.waiting == 3
            line.leave("flood")
        assert (line.waiting, line.busy) == (0, 0)

    anyio.run(day)
    assert refused == [
        "flood: memplan: all 1 places are taken and 3 callers wait already",
        "flood: memplan: all 1 places are taken and others wait with fewer requests",
        "late: memplan: all 1 places are taken and 3 callers wait already",
    ]
