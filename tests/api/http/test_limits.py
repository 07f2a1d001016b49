"""The server's limits: memory of bodies, open streams, and time to send headers and bodies."""

import socket
import time
from collections.abc import Iterator

import pytest

from memplan.api.http import receiving
from memplan.api.http.middleware import Streams
from memplan.api.http.openapi import PROBLEM_EXAMPLE
from memplan.api.http.receiving import HeldBytes, HeldShare
from memplan.api.refusals import FullError
from memplan.api.request_bodies import TooLargeError
from memplan.api.requests import MOST_BUFFERS, check_extent
from memplan.api.settings import Settings
from memplan.questions.inputs.extent import Extent
from tests.support.server import RunningServer, run_server


def drip(into: socket.socket) -> None:
    for _ in range(1000):
        into.sendall(b" ")
        time.sleep(0.01)


def test_memory_of_request_bodies_is_limited_in_total_and_to_half_for_one_key() -> None:
    whole = HeldBytes(1000)
    mine, other, third = (HeldShare(whole, name) for name in ("mine", "other", None))
    mine.take(500)
    with pytest.raises(FullError, match="memplan: unanswered requests already hold 500 bytes"):
        HeldShare(whole, "mine").take(1)
    other.take(400)
    third.take(100)
    with pytest.raises(FullError, match="requests already hold 1000 bytes"):
        third.take(1)
    mine.release()
    third.take(1)
    assert (whole.held, dict(whole.of_key)) == (501, {"other": 400, None: 101})


def test_one_key_can_open_at_most_half_of_all_streams() -> None:
    streams = Streams(4)
    with streams.open("a"), streams.open("a"), streams.open("b"):
        with pytest.raises(FullError, match="a key must have at most 2 open streams at a time"), streams.open("a"):
            pass
        with streams.open("b"):
            assert streams.count == 4
    assert not streams.of_key


@pytest.mark.parametrize(
    ("extent", "rule"),
    [
        (Extent(n_buffers=MOST_BUFFERS + 1), "must have at most 5000000 buffers, got 5000001"),
        (Extent(n_pairs=100_001), "at most 100000 pairs from entries of bank, got 100001"),
    ],
)
def test_a_small_body_that_expands_into_a_large_problem_is_refused(extent: Extent, rule: str) -> None:
    with pytest.raises(TooLargeError, match=rule):
        check_extent(extent)
    check_extent(Extent(n_buffers=MOST_BUFFERS, n_pairs=100_000, n_pools=4))


@pytest.fixture
def short_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memplan.api.http.serving.connections.HEAD_S", 0.2)


@pytest.fixture(scope="module")
def idle_server() -> Iterator[RunningServer]:
    with run_server(Settings(workers=0)) as found:
        yield found


def connection(server: RunningServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=30)


def read_all(from_: socket.socket) -> bytes:
    return b"".join(iter(lambda: from_.recv(65536), b""))


def test_an_incomplete_body_gets_408_after_a_time(idle_server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, "BODY_S", 0.2)
    with connection(idle_server) as slow:
        slow.sendall(b"POST /v1/plan HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\n{")
        answer = read_all(slow)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"detail": "body: must arrive within 0.2 s"' in answer
    assert idle_server.service.bodies.held == 0
    assert idle_server.client.post("/v1/plan", json=PROBLEM_EXAMPLE).status_code == 200


def test_non_http_bytes_get_400_and_the_connection_is_closed(
    idle_server: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    with connection(idle_server) as odd:
        odd.sendall(b"\x16\x03\x01 not http\r\n\r\n")
        assert read_all(odd).startswith(b"HTTP/1.1 400 ")
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.usefixtures("short_heads")
def test_a_connection_that_sends_after_the_response_is_closed() -> None:
    with run_server(Settings(require_keys=True, max_body_bytes=10**9, workers=0)) as server, connection(server) as slow:
        slow.sendall(b"POST /v1/plan HTTP/1.1\r\nHost: here\r\nContent-Length: 1000000\r\n\r\n")
        assert slow.recv(65536).startswith(b"HTTP/1.1 401 ")
        with pytest.raises(ConnectionError):
            drip(slow)


@pytest.mark.usefixtures("short_heads")
def test_the_time_limit_for_headers_does_not_apply_to_body_or_answer(idle_server: RunningServer) -> None:
    """The time limit of headers ends when they are complete; bodies and answers have separate limits."""
    body = b'{"buffers": []}'
    with connection(idle_server) as slow:
        head = b"POST /v1/plan HTTP/1.1\r\nHost: here\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
        slow.sendall(head % len(body))
        slow.settimeout(0.5)
        with pytest.raises(TimeoutError):
            slow.recv(1)
        slow.settimeout(30)
        slow.sendall(body)
        assert read_all(slow).startswith(b"HTTP/1.1 200 ")


def test_bodies_above_the_total_memory_limit_are_refused_and_accepted_ones_continue() -> None:
    with run_server(Settings(max_body_bytes=100_000, workers=0)) as server, connection(server) as large:
        server.service.bodies.most = 100_000
        large.sendall(b"POST /v1/plan HTTP/1.1\r\nHost: here\r\nContent-Length: 100000\r\n\r\n" + b" " * 90_000)
        while server.service.bodies.held < 90_000:
            assert server.client.get("/healthz").status_code == 200
        assert server.client.post("/v1/plan", json=PROBLEM_EXAMPLE).status_code == 200
        answer = server.client.post("/v1/plan", content=b" " * 20_000)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
        assert answer.json()["detail"].startswith("memplan: unanswered requests already hold 9")
        large.close()
        while server.service.bodies.held:
            assert server.client.get("/healthz").status_code == 200
        assert server.client.post("/v1/plan", json=PROBLEM_EXAMPLE).status_code == 200
