"""Admission over real connections: solving, queueing, refusing and disconnecting."""

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from math import inf

import pytest

from memplan.api.http.openapi import PROBLEM_EXAMPLE
from memplan.api.http.serving import connections
from memplan.api.http.serving.server import bind_socket
from memplan.api.service import admission, answering
from memplan.api.settings import Settings
from tests.support.hard_requests import AS_HARD, HARD_TOO, hard_request, send_request, wait_until
from tests.support.server import RunningServer, run_server


@pytest.fixture(scope="module")
def narrow_server() -> Iterator[RunningServer]:
    with run_server(Settings(solves=1, waiting=1)) as found:
        yield found


@pytest.fixture
def searching_server(narrow_server: RunningServer) -> Iterator[RunningServer]:
    """The narrow server during a long search, which ends with the test because its client disconnects."""
    with send_request(narrow_server):
        assert wait_until(lambda: narrow_server.service.queue.busy_slots == 1)
        yield narrow_server
    assert wait_until(lambda: narrow_server.service.queue.busy_slots == 0)


def test_a_full_queue_admits_quick_requests(searching_server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "_LATE_S", inf)
    queue, client = searching_server.service.queue, searching_server.client
    with send_request(searching_server, HARD_TOO):
        assert wait_until(lambda: queue.waiting_count == 1)
        refused = client.post("/v1/plan", content=AS_HARD)
        assert client.post("/v1/plan", json=PROBLEM_EXAMPLE).json()["status"] == "optimal"
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["detail"] == "memplan: all 1 places are taken and 1 callers wait already"
    assert wait_until(lambda: queue.waiting_count == 0)
    assert queue.busy_slots == 1


def test_a_full_queue_refuses_many_unsearched(searching_server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "_LATE_S", inf)
    queue, client, searched = searching_server.service.queue, searching_server.client, "memplan_solve_seconds_count{"

    def search_count() -> float:
        lines = client.get("/metrics").text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(searched))

    with send_request(searching_server, HARD_TOO), ThreadPoolExecutor(24) as pool:
        assert wait_until(lambda: queue.waiting_count == 1)
        before = search_count()
        answers = [*pool.map(lambda body: client.post("/v1/plan", content=body).status_code, [AS_HARD] * 24)]
        assert (answers, search_count() - before < 24) == ([429] * 24, True)


def test_a_full_queue_refuses_a_request_like_a_refused_one_unread_but_gives_a_plan_to_one_that_has_waited(
    searching_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(body: bytes) -> int:
        return searching_server.client.post("/v1/plan", content=body).status_code

    queue = searching_server.service.queue
    with send_request(searching_server, HARD_TOO):
        assert wait_until(lambda: queue.waiting_count == 1)
        monkeypatch.setattr(answering, "_LATE_S", 0.0)
        monkeypatch.setattr(admission, "_ALIKE_S", 0.0)
        assert ask(json.dumps(hard_request(10)).encode()) == 200
        monkeypatch.setattr(answering, "_LATE_S", inf)
        monkeypatch.setattr(admission, "_ALIKE_S", inf)
        assert (ask(AS_HARD), ask(b"?" * len(AS_HARD)), ask(b"?")) == (429, 429, 400)
        assert ask(json.dumps(PROBLEM_EXAMPLE).encode()) == 200


def test_a_request_that_times_out_in_the_queue_gets_the_quick_plan(searching_server: RunningServer) -> None:
    found = searching_server.client.post("/v1/plan", json=hard_request(8) | {"options": {"time_limit_s": 1.0}}).json()
    assert (found["status"], found["stop_reason"], len(found["placements"])) == ("feasible", "time_limit", 3000)


def test_equal_requests_share_one_slot_until_the_last_client_disconnects(searching_server: RunningServer) -> None:
    queue, joined = searching_server.service.queue, 'memplan_cache_lookups_total{result="joined"} '

    def joined_count() -> float:
        return float(searching_server.client.get("/metrics").text.partition(joined)[2].partition("\n")[0] or 0)

    before = joined_count()
    with send_request(searching_server):
        assert wait_until(lambda: joined_count() == before + 1)
        assert (queue.busy_slots, queue.waiting_count) == (1, 0)
    assert queue.busy_slots == 1


def test_health_solver_and_verify_calls_are_answered_during_a_search(searching_server: RunningServer) -> None:
    for path in ("/healthz", "/readyz", "/v1/solvers"):
        assert searching_server.client.get(path).status_code == 200
    assert searching_server.client.post("/v1/verify", json={"problem": PROBLEM_EXAMPLE, "plan": {}}).status_code == 200
    assert searching_server.service.queue.busy_slots == 1


def test_a_client_that_disconnects_while_sending_its_body_occupies_no_slot(narrow_server: RunningServer) -> None:
    with socket.create_connection(("127.0.0.1", narrow_server.port)) as connection:
        connection.sendall(b'POST /v1/plan HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\n{"buffers": [')
    assert narrow_server.client.post("/v1/plan", json=PROBLEM_EXAMPLE).status_code == 200
    assert narrow_server.service.queue.busy_slots == 0


def test_concurrent_callers_each_receive_the_plan_of_their_own_problem() -> None:
    def ask(size: int) -> int:
        row = {"id": "a", "size": size, "start": 0, "end": 1}
        return int(server.client.post("/v1/plan", json={"buffers": [row]}).json()["peak"])

    with run_server(Settings(solves=2, waiting=64)) as server, ThreadPoolExecutor(16) as callers:
        assert list(callers.map(ask, range(1, 65))) == list(range(1, 65))


@pytest.fixture(scope="module")
def plain_server() -> Iterator[RunningServer]:
    """A server without requests of other modules, with the default settings."""
    with run_server() as found:
        yield found


@pytest.mark.parametrize("sent", [b"", b"GET /heal", b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\nGET /healthz"])
def test_a_connection_with_incomplete_headers_is_closed_while_others_are_served(
    sent: bytes, plain_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_S", 0.2)
    with socket.create_connection(("127.0.0.1", plain_server.port)) as slow:
        slow.sendall(sent)
        slow.settimeout(20)
        assert plain_server.client.get("/healthz").status_code == 200
        while slow.recv(65536):
            pass
    time.sleep(0.5)
    assert plain_server.client.get("/healthz").status_code == 200


def test_the_newest_connection_above_the_connection_limit_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    with run_server(Settings(workers=0)) as server:
        monkeypatch.setattr(connections, "max_connections", lambda: 2)
        first, second, third = (socket.create_connection(("127.0.0.1", server.port)) for _ in range(3))
        with first, second, third:
            third.settimeout(20)
            assert third.recv(1) == b""
            first.sendall(b"GET /healthz HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
            assert first.recv(15) == b"HTTP/1.1 200 OK"


def test_a_server_accepts_no_connection_before_it_is_ready() -> None:
    with bind_socket("127.0.0.1", 0) as listener, pytest.raises(ConnectionRefusedError):
        socket.create_connection(listener.getsockname())


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 14\r\nTransfer-Encoding: chunked\r\n\r\n",  # a proxy may obey the other header
        b"Content-Length: 14\r\nContent-Length: 15\r\n\r\n",
        b"Content-Length: +5\r\n\r\n",
        b"X-Long: " + b"x" * 400_000,
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + 20_000 * b"X-Trailer: of many\r\n",
    ],
)
def test_conflicting_or_endless_headers_are_refused_and_disconnected(head: bytes, plain_server: RunningServer) -> None:
    with socket.create_connection(("127.0.0.1", plain_server.port)) as odd:
        odd.settimeout(20)
        answer = b""
        with suppress(ConnectionError):
            odd.sendall(b"POST /v1/plan HTTP/1.1\r\nHost: here\r\n" + head)
            while part := odd.recv(65536):
                answer += part
        assert answer[:13] in (b"HTTP/1.1 400 ", b"")
        assert plain_server.client.get("/healthz").status_code == 200


def test_a_problem_that_compiles_too_slowly_gets_unknown_with_time_limit(plain_server: RunningServer) -> None:
    rows = [{"id": i, "size": 1, "lifetimes": [[0, 1]]} for i in range(60_000)]
    body = json.dumps({"problem": {"buffers": rows}, "options": {"time_limit_s": 0.01}})
    answer = plain_server.client.post("/v1/plan", content=body).json()
    assert (answer["status"], answer["stop_reason"], answer["placements"]) == ("unknown", "time_limit", [])
    assert "could not be read, compiled and planned within 0.01 s" in answer["explanation"]["message"]
    for limit in (0.07, 0.09, 0.1):
        small = {"problem": {"buffers": rows[:300]}, "options": {"time_limit_s": limit}}
        assert plain_server.client.post("/v1/plan", json=small).status_code == 200
