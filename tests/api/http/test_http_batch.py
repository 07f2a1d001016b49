"""`POST /v1/batch`: many problems in one request."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from memplan.api.http.openapi import PROBLEM_EXAMPLE
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from tests.support.hard_requests import HARD, wait_until
from tests.support.server import RunningServer, run_server

LEAST = 'least: applies only with keep, got "bytes"'
NDJSON = {"content-type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with run_server() as found:
        found.service.streams.limit = 1
        yield found


@pytest.fixture(autouse=True)
def _no_stream_is_left(server: RunningServer) -> None:
    """Wait until the previous test's stream is sent completely, because it counts against the limit until then."""
    assert wait_until(lambda: server.service.streams.count == 0)


def post_batch(server: RunningServer, *lines: object, **query: str) -> list[dict[str, Any]]:
    """Send lines as a batch (strings unchanged, others as JSON); return the answer's lines in request order."""
    body = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    wait_until(lambda: server.service.streams.count == 0)  # the limit counts a stream until it is sent completely
    answer = server.client.post("/v1/batch", content=body, headers=NDJSON, params=query)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
    return sorted(map(json.loads, answer.text.splitlines()), key=lambda line: int(line["index"]))


def single_buffer(size: int) -> dict[str, Any]:
    return {"buffers": [{"id": "a", "size": size, "start": 0, "end": 1}]}


def test_a_batch_answers_each_problem_with_its_plan(server: RunningServer) -> None:
    results = post_batch(server, *(single_buffer(size) for size in range(1, 31)))
    assert [line["index"] for line in results] == list(range(30))
    assert [line["plan"]["peak"] for line in results] == list(range(1, 31))
    for size, line in enumerate(results, 1):
        assert verify(Problem.model_validate(single_buffer(size)), Plan.model_validate(line["plan"])) == ()


def test_plans_of_a_batch_have_only_the_selected_fields(server: RunningServer) -> None:
    triples = {"problem": single_buffer(2), "options": {"format": "triples"}}
    results = post_batch(server, single_buffer(1), triples, fields="peak,status")
    assert (results[0]["plan"], results[1]["error"]["status"]) == ({"status": "optimal", "peak": 1}, 422)
    wait_until(lambda: server.service.streams.count == 0)
    refused = server.client.post("/v1/batch", json={"submissions": []}, params={"fields": "-peaks"})
    assert (refused.status_code, "did you mean peak?" in refused.text) == (422, True)
    refused = server.client.post("/v1/plan", json=single_buffer(1), params={"format": "triples", "fields": "peak"})
    assert (refused.status_code, "the format's fields differ" in refused.text) == (422, True)


def test_results_of_a_batch_have_the_ids_of_their_submissions(server: RunningServer) -> None:
    named = (single_buffer(1) | {"id": "first"}, {"id": 2, "problem": single_buffer(2)})
    results = post_batch(server, *named, single_buffer(3))
    assert [line["id"] for line in results] == ["first", 2, None]


def test_an_error_in_one_submission_of_a_batch_does_not_affect_the_others(server: RunningServer) -> None:
    in_csv = {"problem": single_buffer(1), "options": {"format": "csv"}}
    wrong = ("{", single_buffer(-1) | {"id": "b"}, in_csv, {"problem": single_buffer(1), "id": [1]}, "[]")
    results = post_batch(server, single_buffer(1), *wrong, single_buffer(2))
    assert [line["plan"]["peak"] for line in results if "plan" in line] == [1, 2]
    errors = [line["error"] for line in results if "error" in line]
    assert [error["status"] for error in errors] == [400, 422, 422, 422, 422]
    assert [error["detail"] for error in errors[1:]] == [
        "buffers[0].size: must be at least 0, got -1 (bytes, as 4096)",
        'format: must be json, triples or exir in a batch, got "csv"',
        "id: must be a string or an integer, got [1]",
        "body: must be an object, got []",
    ]
    assert results[2]["id"] == "b"


def test_a_batch_reports_every_wrong_submission(server: RunningServer) -> None:
    results = post_batch(server, *["{}"] * 150, single_buffer(1), *["{"] * 150)
    assert [line["index"] for line in results] == list(range(301))
    assert [line["error"]["status"] for line in results if "error" in line] == [422] * 150 + [400] * 150
    assert results[150]["plan"]["peak"] == 1


def test_a_batch_accepts_blank_lines_and_windows_line_endings(server: RunningServer) -> None:
    results = post_batch(server, "", json.dumps(single_buffer(1)) + "\r", "  ", json.dumps(single_buffer(2)), "")
    assert [line["plan"]["peak"] for line in results] == [1, 2]
    assert post_batch(server) == []


def test_batch_options_apply_per_submission_or_to_all_through_the_query(server: RunningServer) -> None:
    timeless = post_batch(server, single_buffer(1), single_buffer(2), deterministic="true")
    assert [line["plan"]["wall_time_s"] for line in timeless] == [None, None]
    results = post_batch(server, {"problem": single_buffer(1), "options": {"format": "triples"}}, single_buffer(2))
    assert (results[0]["plan"], results[1]["plan"]["peak"]) == ([["a", "default", 0]], 2)


def test_a_batch_may_be_a_json_object_with_a_list_of_submissions(server: RunningServer) -> None:
    submissions = [single_buffer(5), {"problem": PROBLEM_EXAMPLE, "id": "x"}]
    answer = server.client.post("/v1/batch", json={"submissions": submissions})
    results = sorted(map(json.loads, answer.text.splitlines()), key=lambda line: int(line["index"]))
    assert [(line["id"], line["plan"]["peak"]) for line in results] == [(None, 5), ("x", 602112)]


def test_a_wrong_query_parameter_refuses_the_whole_batch(server: RunningServer) -> None:
    answer = server.client.post("/v1/batch", content=json.dumps(single_buffer(1)), headers=NDJSON, params={"seed": "x"})
    detail = 'seed: must be an integer, got "x" (the default is 0)'
    assert (answer.status_code, answer.json()["detail"]) == (422, detail)


def test_disconnecting_cancels_the_rest_of_a_batch_and_closes_its_stream(server: RunningServer) -> None:
    body = HARD + b"\n" + HARD.replace(b'"size": ', b'"size": 1', 1)
    head = f"POST /v1/batch HTTP/1.1\r\nHost: here\r\nContent-Type: application/x-ndjson\r\nContent-Length: {len(body)}"
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(head.encode() + b"\r\n\r\n" + body)
        assert wait_until(lambda: server.service.queue.busy_slots > 0)
        assert server.client.post("/v1/batch", content=json.dumps(single_buffer(1)), headers=NDJSON).status_code == 429
    assert wait_until(lambda: server.service.queue.busy_slots == 0 and server.service.streams.count == 0)
    assert post_batch(server, single_buffer(3))[0]["plan"]["peak"] == 3


def test_a_batch_does_not_ignore_an_option_that_a_single_request_obeys(server: RunningServer) -> None:
    (line,) = post_batch(server, {"problem": single_buffer(1), "options": {"heaps": 64}})
    assert line["plan"]["heaps"]["least"] == 1
    assert "a,0,1,1,0" in server.client.post("/v1/plan?heaps=64&format=csv", json=single_buffer(1)).text
    problem, keep = single_buffer(1), {"placements": [{"id": "a", "pool": "default", "offset": 0}]}
    alone, kept = post_batch(server, problem, {"problem": problem, "keep": keep}, least="bytes")
    assert (alone["error"]["detail"], kept["plan"]["kept"]["least"]) == (LEAST, "bytes")
    for path in ("plan", "jobs"):
        answer = server.client.post(f"/v1/{path}?least=bytes", json=problem)
        assert (answer.status_code, answer.json()["detail"]) == (422, LEAST)
