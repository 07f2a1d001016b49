"""Requests compute in turns; large bodies take turns, and none is parsed or waits beyond its own time limit."""

import asyncio
import time

import pytest

from memplan.api.http import parse_queue
from memplan.api.http.parse_queue import ParseQueue, Turns
from memplan.api.refusals import FullError, NotInTimeError, NoTurnError
from memplan.api.requests import head_of, stated_time_limit_s
from memplan.api.settings import Settings
from memplan.questions import QUESTIONS
from memplan.solvers.search.control import Deadline
from tests.support.event_loops import run_in_loop

JSON = "application/json"
MOST_S = Settings().max_time_limit_s


async def parse_after(queue: ParseQueue, n_bytes: int, limit_s: float, over: asyncio.Event, done: list[int]) -> None:
    async with queue.turn(n_bytes, Deadline.from_limit(limit_s)):
        await over.wait()
        done.append(n_bytes)


@run_in_loop
async def test_the_loop_serves_others_between_requests_that_compute_and_refuses_who_would_wait_long() -> None:
    turns, seen = Turns(), list[str]()

    async def compute() -> None:
        await turns.take()
        time.sleep(0.01)
        seen.append("computed")

    async def serve() -> None:
        for _ in range(9):
            seen.append("served")
            await asyncio.sleep(0)

    await asyncio.gather(*(compute() for _ in range(3)), serve())
    assert (seen.count("computed"), "computed computed" in " ".join(seen)) == (3, False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parse_queue, "_LONGEST_WAIT_S", 0.001)
        first = asyncio.create_task(compute())
        await asyncio.sleep(0)
        with pytest.raises(FullError, match="1 other requests are read first"):
            await turns.take()
        await first


@run_in_loop
async def test_large_bodies_are_parsed_one_at_a_time_in_order_of_arrival() -> None:
    queue, over, done = ParseQueue(), asyncio.Event(), list[int]()
    parses = [asyncio.create_task(parse_after(queue, n, 10.0, over, done)) for n in (3, 1, 2)]
    await asyncio.sleep(0.01)
    assert not done
    over.set()
    await asyncio.gather(*parses)
    assert done == [3, 1, 2]


@run_in_loop
async def test_a_body_whose_turn_would_come_after_its_limit_is_refused_on_arrival() -> None:
    queue, over, done = ParseQueue(), asyncio.Event(), list[int]()
    first = asyncio.create_task(parse_after(queue, 100_000_000, 10.0, over, done))
    await asyncio.sleep(0.01)
    with pytest.raises(NoTurnError, match="but 100000000 bytes of other bodies are read first") as refused:
        await parse_after(queue, 1, 1.0, over, done)
    assert refused.value.headers == {"Retry-After": "5"}  # 100 MB at the assumed 20 MB/s
    over.set()
    await first
    await parse_after(queue, 1, 1.0, over, done)
    assert done == [100_000_000, 1]


@run_in_loop
async def test_a_body_that_waits_until_its_limit_is_refused_and_leaves_the_queue() -> None:
    queue, over, done = ParseQueue(), asyncio.Event(), list[int]()
    first = asyncio.create_task(parse_after(queue, 10, 10.0, over, done))
    await asyncio.sleep(0.01)
    with pytest.raises(NoTurnError, match="but 10 bytes of other bodies are read first"):
        await parse_after(queue, 7, 0.05, over, done)
    with pytest.raises(NotInTimeError, match="body: must arrive completely within its time limit"):
        await parse_after(queue, 7, 0.0, over, done)
    over.set()
    await first
    await parse_after(queue, 5, 1.0, over, done)
    assert done == [10, 5]


DEFAULT_S = QUESTIONS["order"].options().time_limit_s


@pytest.mark.parametrize(
    ("query", "body", "limit_s"),
    [
        ("", b'{"buffers":[]}', DEFAULT_S),
        ("time_limit_s=2.5", b'{"buffers":[]}', 2.5),
        ("", b'{"options": {"time_limit_s" : 0.25}}', 0.25),
        ("", b'{"time_limit_s":1e-1}', 0.1),
        ("", b'{"name":"time_limit_s", "options":{"time_limit_s":3}}', 3.0),
        ("", b'{"name":{"time_limit_s":0.1},"options":{"time_limit_s":3}}', 3.0),
        ("", b'{"options":{"time_limit_s":0}}', DEFAULT_S),
        ("", b'{"options":{"time_limit_s":1000000}}', MOST_S),
        ("", b'{"time_limit_s":1,' * 100, MOST_S),
    ],
)
def test_the_time_limit_of_an_unparsed_body_is_the_longest_it_states(query: str, body: bytes, limit_s: float) -> None:
    assert stated_time_limit_s("order", head_of(JSON, query), body, Settings()) == limit_s
