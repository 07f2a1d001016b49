"""What a server holds at a time, and how long it waits for whom."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from typing import Any

import pytest

from memplan.api.http.limits.held_bodies import SMALL_BYTES, HeldBytes, HeldShare
from memplan.api.http.limits.memory import check_memory
from memplan.api.http.middleware import Streams
from memplan.api.http.openapi.schemas import PROBLEM_EXAMPLE
from memplan.api.http.problem_details import TooLargeError
from memplan.api.http.requests.submissions import check_size
from memplan.api.refusals import FullError, TooSlowError
from memplan.api.settings import Settings
from memplan.planner.model.problem import Problem
from tests.support.server import Running, running


def drip(into: socket.socket) -> None:
    """Send a byte at a time, for ten seconds at the most."""
    for _ in range(1000):
        into.sendall(b" ")
        time.sleep(0.01)


MB = 2**20


def test_bodies_are_held_up_to_a_limit_for_all_together() -> None:
    whole = HeldBytes(MB)
    one, two = HeldShare(whole, 1.0), HeldShare(whole, 1.0)
    one.take(600_000)
    two.take(MB - 600_000)
    with pytest.raises(FullError, match="memplan: requests of 1048576 bytes are in work already"):
        two.take(1)
    one.release()
    two.take(1)
    assert whole.held == two.held == MB - 599_999


def test_the_largest_body_can_always_be_held() -> None:
    def held(**said: Any) -> tuple[int, int]:
        found = HeldBytes.under(Settings(max_body_bytes=50, **said))
        return found.limit, found.most_of_key

    assert held() == (200, 100)
    assert held(max_held_bytes=70) == (70, 50)
    assert held(max_held_bytes=10) == (50, 50)


def test_a_key_holds_half_and_small_bodies_find_room_in_any_case() -> None:
    whole = HeldBytes(4 * MB, 2 * MB)
    shares = [HeldShare(whole, 1.0, key) for key in ("mine", "mine", "other", "other")]
    for share in shares:
        share.take(MB)
    for key in ("mine", "new"):
        with pytest.raises(FullError, match="in work already"):
            HeldShare(whole, 1.0, key).take(MB)
        HeldShare(whole, 1.0, key).take(SMALL_BYTES)
    for share in shares:
        share.release()
    assert (whole.held, dict(whole.of_key)) == (2 * SMALL_BYTES, {"mine": SMALL_BYTES, "new": SMALL_BYTES})


def test_a_body_that_stalls_gives_way_to_one_that_comes() -> None:
    now = 0.0
    whole = HeldBytes(2 * MB + 1, clock=lambda: now)

    async def upload(stalls: asyncio.Event, goes_on: asyncio.Event, more: int) -> int:
        share = HeldShare(whole, 60.0)
        try:
            async with share.coming(None):
                share.take(MB)
                stalls.set()
                await goes_on.wait()
                share.take(more)
                await asyncio.Event().wait()
        finally:
            share.release()
        return more

    async def day() -> list[object]:
        nonlocal now
        events = [(asyncio.Event(), asyncio.Event()) for _ in range(2)]
        uploads = [asyncio.create_task(upload(*pair, 1)) for pair in events]
        for stalls, _ in events:
            await stalls.wait()
        newcomer = HeldShare(whole, 60.0)
        with pytest.raises(FullError):
            newcomer.take(MB)  # nothing has stalled for long enough
        now = 2.0
        events[0][1].set()  # a byte now and then is no progress
        await asyncio.sleep(0)
        newcomer.take(MB)
        await asyncio.wait(uploads, return_when=asyncio.FIRST_COMPLETED)
        uploads[1].cancel()
        return await asyncio.gather(*uploads, return_exceptions=True)

    cut, other = asyncio.run(day())
    assert isinstance(cut, TooSlowError)
    assert str(cut) == "body: must bring 65536 bytes a second where others wait for the room that it holds"
    assert isinstance(other, asyncio.CancelledError)


@pytest.mark.parametrize("body", [b"[" + b"{}," * 999, b"[" * 4000, b"1," * 2000])
def test_a_body_that_would_take_too_much_memory_is_refused_before_it_is_read(body: bytes) -> None:
    check_memory(body, 600_000)
    with pytest.raises(
        TooLargeError, match=r"body: must take at most 250000 bytes of memory once it is read, got \d{6}"
    ):
        check_memory(body, 250_000)
    check_memory(b"[1,1]" + b" " * 10_000, 20_000)


def test_a_body_is_weighed_when_it_has_come() -> None:
    with running(Settings(max_request_memory_bytes=100_000)) as server:
        wide = server.client.post("/v1/plan", content=b"[" + b"{}," * 999 + b"{}]")
        assert wide.status_code == 413
        assert "bytes of memory once it is read, got 5" in wide.json()["detail"]
        assert server.client.post("/v1/plan", json={"buffers": []}).status_code == 200


def test_streams_are_counted_while_they_are_open() -> None:
    streams = Streams(1)
    with streams.open():
        with pytest.raises(FullError, match="memplan: all 1 streams are open"), streams.open():
            pass
        assert streams.count == 1
    assert streams.count == 0


def problem(buffers: int, pools: int) -> Problem:
    rows = [{"id": i, "size": 8, "start": 0, "end": 1} for i in range(buffers)]
    return Problem.model_validate({"buffers": rows, "pools": [{"name": str(q)} for q in range(pools)]})


def test_a_problem_has_as_many_buffers_and_cells_as_the_settings_allow() -> None:
    settings = Settings(max_buffers=3, max_cells=10_000)
    check_size(problem(3, 2), settings)
    with pytest.raises(TooLargeError, match=r"^problem: buffers must be at most 3, got 4$"):
        check_size(problem(4, 1), settings)
    with pytest.raises(TooLargeError, match=r"times pools must be at most 10000, got 15000$"):
        check_size(problem(3, 3), settings)


def connection(server: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=30)


def everything(from_: socket.socket) -> bytes:
    """Read until the server hangs up."""
    return b"".join(iter(lambda: from_.recv(65536), b""))


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    with running(Settings(body_timeout_s=0.2, workers=0)) as server, connection(server) as slow:
        slow.sendall(b"POST /v1/plan HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\n{")
        answer = everything(slow)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b'"detail": "body: must come within 0.2 s"' in answer
        assert server.service.bodies.held == 0
        assert server.client.post("/v1/plan", json=PROBLEM_EXAMPLE).status_code == 200


@pytest.mark.parametrize("begun", [b"", b"POST /v1/plan HTTP/1.1\r\nHost: he"])
def test_a_connection_without_a_request_is_closed(begun: bytes) -> None:
    with running(Settings(header_timeout_s=0.2, workers=0)) as server, connection(server) as silent:
        silent.sendall(begun)
        assert everything(silent) == b""


def test_a_connection_with_an_incomplete_second_request_is_closed() -> None:
    with running(Settings(header_timeout_s=0.2, workers=0)) as server, connection(server) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n")
        answer = b""
        while not answer.endswith(b"}"):
            answer += slow.recv(65536)
        slow.sendall(b"GET /heal")
        assert everything(slow) == b""


def test_what_is_not_http_is_told_and_hung_up_on(caplog: pytest.LogCaptureFixture) -> None:
    with running() as server, connection(server) as odd:
        odd.sendall(b"\x16\x03\x01 not http\r\n\r\n")
        assert everything(odd).startswith(b"HTTP/1.1 400 ")
    assert not [record for record in caplog.records if record.exc_info]


def test_a_connection_that_sends_after_the_response_is_closed() -> None:
    settings = Settings(header_timeout_s=0.2, require_keys=True, max_body_bytes=10**9)
    with running(settings) as server, connection(server) as slow:
        slow.sendall(b"POST /v1/plan HTTP/1.1\r\nHost: here\r\nContent-Length: 1000000\r\n\r\n")
        assert slow.recv(65536).startswith(b"HTTP/1.1 401 ")
        with pytest.raises(ConnectionError):
            drip(slow)


def test_a_complete_request_may_wait_longer_than_headers_may_take() -> None:
    """The time for headers ends with them: a body, and an answer, have times of their own."""
    body = b'{"buffers": []}'
    with running(Settings(header_timeout_s=0.2, workers=0)) as server, connection(server) as slow:
        head = b"POST /v1/plan HTTP/1.1\r\nHost: here\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
        slow.sendall(head % len(body))
        slow.settimeout(0.5)
        with pytest.raises(TimeoutError):
            slow.recv(1)
        slow.settimeout(30)
        slow.sendall(body)
        assert everything(slow).startswith(b"HTTP/1.1 200 ")


def test_bodies_beyond_what_is_held_are_turned_away_and_others_go_on() -> None:
    with running(Settings(max_body_bytes=MB, max_held_bytes=MB, workers=0)) as server, connection(server) as large:
        large.sendall(b"POST /v1/plan HTTP/1.1\r\nHost: here\r\nContent-Length: 1048576\r\n\r\n" + b" " * 1_000_000)
        while server.service.bodies.held < 1_000_000:
            assert server.client.get("/healthz").status_code == 200
        assert server.client.post("/v1/plan", json=PROBLEM_EXAMPLE).status_code == 200
        answer = server.client.post("/v1/plan", content=b" " * 70_000)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
        assert re.fullmatch(r"memplan: requests of 10\d{5} bytes are in work already", answer.json()["detail"])
        large.close()
        while server.service.bodies.held:
            assert server.client.get("/healthz").status_code == 200
        assert server.client.post("/v1/plan", json=PROBLEM_EXAMPLE).status_code == 200
