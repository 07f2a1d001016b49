"""Connections that send no whole request, and servers that are not ready."""

from __future__ import annotations

import socket
import time
from contextlib import suppress

import pytest

from memplan.api.http.serving import connections
from memplan.api.http.serving.server import listening
from memplan.api.settings import Settings
from tests.support.server import running


@pytest.mark.parametrize("sent", [b"", b"GET /heal", b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\nGET /healthz"])
def test_a_head_that_does_not_come_closes_its_connection_and_no_other(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_S", 0.2)
    with running(Settings()) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as slow:
            slow.sendall(sent)
            slow.settimeout(20)
            assert server.client.get("/healthz").status_code == 200
            while slow.recv(65536):
                pass
        time.sleep(0.5)
        assert server.client.get("/healthz").status_code == 200


def test_of_too_many_connections_the_newest_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(Settings()) as server:
        monkeypatch.setattr(connections, "most_connections", lambda: 2)
        first, second, third = (socket.create_connection(("127.0.0.1", server.port)) for _ in range(3))
        with first, second, third:
            third.settimeout(20)
            assert third.recv(1) == b""
            first.sendall(b"GET /healthz HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
            assert first.recv(15) == b"HTTP/1.1 200 OK"


def test_a_server_that_is_not_ready_takes_no_connection() -> None:
    with listening("127.0.0.1", 0) as listener, pytest.raises(ConnectionRefusedError):
        socket.create_connection(listener.getsockname())


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 14\r\nTransfer-Encoding: chunked\r\n\r\n",  # a proxy may believe the other one
        b"Content-Length: 14\r\nContent-Length: 15\r\n\r\n",
        b"Content-Length: +5\r\n\r\n",
        b"X-Long: " + b"x" * 400_000,
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + 20_000 * b"X-Trailer: of many\r\n",
    ],
)
def test_a_head_that_says_two_lengths_or_comes_to_no_end_is_refused_and_hung_up_on(head: bytes) -> None:
    with running(Settings()) as server, socket.create_connection(("127.0.0.1", server.port)) as odd:
        odd.settimeout(20)
        answer = b""
        with suppress(ConnectionError):
            odd.sendall(b"POST /v1/plan HTTP/1.1\r\nHost: here\r\n" + head)
            while part := odd.recv(65536):
                answer += part
        assert answer[:13] in (b"HTTP/1.1 400 ", b"")
        assert server.client.get("/healthz").status_code == 200
