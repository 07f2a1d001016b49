"""Large bodies are read in processes of their own, which end with their requests."""

from __future__ import annotations

import json

import pytest
from starlette.datastructures import QueryParams

from memplan.api.http.problem_details import TooLargeError
from memplan.api.http.requests.reading_process import begin_apart, is_read_apart
from memplan.api.http.requests.submissions import read_submission
from memplan.api.settings import Settings
from memplan.planner.errors import FormatError, InputError
from memplan.planner.instance.canonical import problem_hash
from tests.support.server import running

JSON = "application/json"
ROWS = [{"id": f"b{k}", "size": k + 1, "start": k, "end": k + 2} for k in range(50)]


def test_what_another_process_reads_is_the_same() -> None:
    body = json.dumps({"problem": {"buffers": ROWS}, "options": {"time_limit_s": 3.5}}).encode()
    begun = begin_apart(JSON, body, "", Settings())
    problem, options = read_submission(JSON, body, QueryParams())
    assert begun.options == options
    assert begun.rows == len(ROWS)
    assert begun.compiled is not None
    found = begun.compiled()
    assert found.problem == problem
    assert found.hash == problem_hash(problem)
    assert problem_hash(found.problem, found.instance) == found.hash


@pytest.mark.slow
def test_what_is_wrong_is_told_as_ever() -> None:
    with pytest.raises(FormatError) as caught:
        begin_apart(JSON, b"[1,1", "", Settings())
    with pytest.raises(FormatError) as expected:
        read_submission(JSON, b"[1,1", QueryParams())
    assert caught.value.sentences == expected.value.sentences
    rows = [row | {"size": -1} for row in ROWS]
    begun = begin_apart(JSON, json.dumps({"buffers": rows}).encode(), "", Settings())
    with pytest.raises(InputError) as many:
        begun.problem()
    assert "buffers[0].size: must be at least 0, got -1" in many.value.sentences
    assert len(many.value.sentences) > 1
    with pytest.raises(TooLargeError, match="buffers must be at most 7"):
        begin_apart(JSON, json.dumps({"buffers": ROWS}).encode(), "", Settings(max_buffers=7)).problem()


def test_an_ended_process_is_told_as_too_large() -> None:
    begun = begin_apart(JSON, json.dumps({"buffers": ROWS * 2000}).encode(), "", Settings())
    assert begun.end is not None
    begun.end()
    with pytest.raises(TooLargeError, match="must be read within its time limit"):
        begun.problem()


def test_large_bodies_and_those_of_tiny_values_are_read_apart() -> None:
    usual = json.dumps({"buffers": ROWS * 300}).encode()
    assert not is_read_apart(usual)
    assert is_read_apart(usual * 30)
    assert is_read_apart(b"[" + b"1," * 2**20 + b"1]")
    assert not is_read_apart(b"[1,1]")


@pytest.mark.slow
def test_a_caller_of_what_is_read_apart_gets_the_same_answers() -> None:
    rows = [{"id": k, "size": 1 + k % 7, "start": k, "end": k + 1, "pools": ["a"]} for k in range(9)]
    body = json.dumps({"buffers": rows, "pools": [{"name": "a"}]}, separators=(",", ":")).encode()
    spaced = b"{" + b" " * 2**24 + body[1:]
    with running() as server:
        one, other = (server.client.post("/v1/plan", content=content).json() for content in (body, spaced))
        assert one["status"] == other["status"] == "optimal"
        assert one["problem_hash"] == other["problem_hash"]
        assert one["placements"] == other["placements"]
        wrong = server.client.post("/v1/plan", content=b"[" + b"1," * 2**20 + b"1]")
        assert wrong.status_code == 422
        assert wrong.json()["detail"].startswith("body: must be an object, got [1, 1")
