"""Large request bodies: refused while they arrive, or parsed by a child process."""

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from memplan.api.http.receiving import JsonGrowth
from memplan.api.request_bodies import TooLargeError
from memplan.api.requests import MOST_BUFFERS
from memplan.api.settings import Settings
from tests.support.depth import GRACE_S
from tests.support.hard_requests import wait_until
from tests.support.server import RunningServer, run_server

JSON, NDJSON = {"content-type": "application/json"}, {"content-type": "application/x-ndjson"}
SMALL, LARGE = 2_000, 5_000
"""In bytes: bodies from `SMALL` on have their memory estimated; bodies from `LARGE` on are parsed by a child."""
PROBLEM = {"buffers": [{"id": f"b{k}", "size": 64 + k % 5, "start": k, "end": k + 4} for k in range(200)]}
BODY = json.dumps(PROBLEM).encode()


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    modules = ("receiving", "app_state", "routes.questions", "routes.batch")
    with pytest.MonkeyPatch.context() as patch:
        for module in modules:
            patch.setattr(f"memplan.api.http.{module}.LARGE_BYTES", LARGE)
        patch.setattr("memplan.api.http.receiving.SMALL_BYTES", SMALL)
        with run_server(Settings(workers=1)) as found:
            yield found


def post(server: RunningServer, path: str, body: bytes, **headers: str) -> Any:
    return server.client.post(path, content=body, headers={**JSON, **headers})


def test_the_memory_of_a_parsed_body_is_estimated_while_it_arrives() -> None:
    grown = JsonGrowth()
    for part in (b'{"buffers":[{', b'"id":1,"size":', b"2},{}]}"):
        grown.add(part, 10**6)
    assert grown.n_openings == 4
    assert 700 < grown.n_bytes < 900
    with pytest.raises(TooLargeError, match="body: must be parsed within 1000 bytes of memory, got more"):
        grown.add(b"[],[],[]", 1000)
    with pytest.raises(TooLargeError, match=f"body: must have at most {MOST_BUFFERS} objects and lists, got more"):
        JsonGrowth().add(b"{}," * (MOST_BUFFERS + 1), 2**62)


@pytest.mark.parametrize("part", [b"{},", b"[],", b'{"":0},', b"0,"])
def test_a_body_that_takes_too_much_memory_is_refused_before_it_is_parsed(server: RunningServer, part: bytes) -> None:
    most, server.service.bodies.most_grown = server.service.bodies.most_grown, 100_000
    try:
        answer = post(server, "/v1/plan", b'{"buffers":[' + part * 4000 + b"0]}")
        lines = post(server, "/v1/batch", (b'{"buffers":[' + part * 400 + b"0]}\n") * 10, **NDJSON)
        job = post(server, "/v1/jobs", b'{"buffers":[' + part * 4000 + b"0]}")
    finally:
        server.service.bodies.most_grown = most
    assert {each.status_code for each in (answer, lines, job)} == {413}
    assert answer.json()["detail"] == "body: must be parsed within 100000 bytes of memory, got more"
    assert server.service.bodies.held == 0


def test_a_body_parsed_in_the_server_counts_with_its_estimated_parsed_size(server: RunningServer) -> None:
    bodies = server.service.bodies
    most, bodies.most = bodies.most, 20_000
    try:
        answer = post(server, "/v1/plan", b'{"buffers":[' + b"{}," * 1000 + b"{}]}")
    finally:
        bodies.most = most
    assert answer.status_code == 429
    assert answer.json()["detail"].startswith("memplan: unanswered requests already hold ")
    assert bodies.held == 0


def test_a_large_problem_is_planned_by_a_child_process_and_its_plan_is_cached(server: RunningServer) -> None:
    assert len(BODY) > LARGE
    made = 'memplan_plans_total{status="optimal"} '
    before = server.client.get("/metrics").text.partition(made)[2].partition("\n")[0] or "0"
    first = post(server, "/v1/plan?time_limit_s=100", BODY)
    plan = first.json()
    assert (plan["status"], first.headers["x-memplan-cache"]) == ("optimal", "miss")
    assert f"{made}{float(before) + 1}" in server.client.get("/metrics").text
    # A child proves a known plan again, so a later search starts from that plan.
    started = 'memplan_cache_lookups_total{result="started_from"} '
    assert started not in server.client.get("/metrics").text
    assert post(server, "/v1/plan?time_limit_s=100", BODY).json()["status"] == "optimal"
    assert f"{started}1.0" in server.client.get("/metrics").text
    assert len(plan["placements"]) == 200
    assert server.client.get(f"/v1/plans/{plan['problem_hash']}").json()["peak"] <= plan["peak"]
    table = post(server, "/v1/plan?time_limit_s=100", BODY, accept="text/csv")
    assert table.headers["content-type"].startswith("text/csv")
    assert len(table.text.splitlines()) == 201
    assert post(server, "/v1/plan?time_limit_s=100&fields=status", BODY).json() == {"status": plan["status"]}


def test_a_large_batch_is_planned_line_by_line(server: RunningServer) -> None:
    line = json.dumps({"problem": PROBLEM, "id": "mine", "options": {"time_limit_s": 100}}).encode()
    small = b'{"buffers":[],"id":7}'
    lines = post(server, "/v1/batch?fields=status", line + b"\n" + small, **NDJSON)
    for answer in (lines, post(server, "/v1/batch?fields=status", b'{"submissions":[%b,%b]}' % (line, small))):
        found = {each["id"]: each["plan"]["status"] for each in map(json.loads, answer.text.splitlines())}
        assert found == {"mine": "optimal", 7: "optimal"}


def test_a_problem_that_a_child_has_read_counts_as_held(server: RunningServer) -> None:
    bodies, body = server.service.bodies, BODY + b"\n" + BODY
    most, bodies.most = bodies.most, len(body) + 1_000
    try:
        lines = post(server, "/v1/batch?time_limit_s=100", body, **NDJSON)
        assert wait_until(lambda: bodies.held == 0)
        bodies.most = len(BODY) + 1_000
        plan = post(server, "/v1/plan?time_limit_s=100", BODY)
    finally:
        bodies.most = most
    details = [plan.json()["detail"], *(json.loads(line)["error"]["detail"] for line in lines.text.splitlines())]
    assert [each.startswith("memplan: unanswered requests already hold ") for each in details] == [True] * 3
    assert wait_until(lambda: bodies.held == 0)


def test_a_large_job_is_read_by_a_child_process_and_its_contents_can_be_fetched(server: RunningServer) -> None:
    job = post(server, "/v1/jobs?time_limit_s=100", BODY).json()
    assert job["kind"] == "plan", job
    assert server.wait_for_end(job)["state"] == "succeeded"
    links = job["links"]["self"]
    assert server.client.get(f"{links}/request").content == BODY
    assert len(server.client.get(f"{links}/problem").json()["buffers"]) == 200
    assert server.client.get(f"{links}/plan", headers={"accept": "text/csv"}).text.count("\n") == 201
    plan_hash = server.client.get(links).json()["plan_hash"]
    body = json.dumps({"problem": PROBLEM, "keep": {"plan_hash": plan_hash}}).encode()
    kept = post(server, "/v1/plan?time_limit_s=100", body).json()
    assert kept["kept"]["moved"] == 0


@pytest.mark.parametrize(
    ("path", "body", "status", "detail"),
    [
        ("/v1/plan", BODY[:-1], 400, "body: must be JSON: EOF while parsing"),
        ("/v1/plan?time_limit_s=0", BODY, 422, "time_limit_s: must be greater than 0"),
        ("/v1/plan", BODY.replace(b'"size": 64', b'"size": -1', 1), 422, "buffers[0].size: must be at least 0, got -1"),
        ("/v1/jobs?kind=plan", b'{"buffers":' + b"[" * 6000, 400, "body: must be JSON: recursion limit exceeded"),
        ("/v1/order", b'{"graph":{"ops":[%b{"in":5}]}}' % (b"{}," * 3000), 422, "ops[3000].in: must be a list, got 5"),
    ],
)
def test_an_error_in_a_large_body_is_reported_like_one_in_a_small_body(
    server: RunningServer, path: str, body: bytes, status: int, detail: str
) -> None:
    answer = post(server, path, body)
    assert (answer.status_code, answer.json()["detail"][: len(detail)]) == (status, detail)
    assert server.service.bodies.held == 0


def test_a_large_plan_is_verified_by_a_child_process(server: RunningServer) -> None:
    plan = post(server, "/v1/plan?time_limit_s=100", BODY).json()
    found = post(server, "/v1/verify?time_limit_s=100", json.dumps({"problem": PROBLEM, "plan": plan}).encode()).json()
    assert found["valid"]


def drip(into: socket.socket) -> None:
    """Keep sending spaces as a body for up to `GRACE_S` seconds."""
    until = time.monotonic() + GRACE_S
    while time.monotonic() < until:
        into.sendall(b" " * 1000)
        time.sleep(0.01)


def test_the_connection_of_a_refused_body_that_keeps_arriving_is_closed() -> None:
    head = b"POST /v1/plan HTTP/1.1\r\nHost: here\r\nContent-Length: 1000000000\r\n\r\n"
    with run_server(Settings(max_body_bytes=1000, workers=0)) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as sender:
            sender.sendall(head)
            with pytest.raises(ConnectionError):
                drip(sender)
        assert server.client.get("/healthz").status_code == 200
