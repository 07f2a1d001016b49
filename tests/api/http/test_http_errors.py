"""Refused requests and internal errors over HTTP; `test_mistakes.py` covers wrong input values."""

import logging

import anyio
import httpx
import pytest

from memplan.api.http.app import create_app
from memplan.api.http.problem_details import problem_details
from memplan.api.store.errors import StoreError
from memplan.api.workers.task import LostWorkersError
from memplan.planner.errors import TimeOverError
from memplan.planner.foreign.imported import reader_fault
from tests.support.server import RunningServer

BUFFER = {"id": "a", "size": 8, "start": 0, "end": 1}
PROBLEM = {"buffers": [BUFFER]}
MORE = " (the server's MEMPLAN_MAX_BODY_BYTES sets this limit)"


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("?time_limit_s=1", {"problem": PROBLEM, "options": {"seed": 3}}),
        ("?time_limit_s=1&seed=3", PROBLEM),
        ("", {"problem": PROBLEM, "time_limit_s": 1, "options": {"seed": 3}}),
        ("?seed=3", {"problem": PROBLEM, "time_limit_s": 1}),
        ("", {**PROBLEM, "time_limit_s": 1, "seed": 3}),
        ("", {**PROBLEM, "options": {"time_limit_s": 1, "seed": 3}}),
    ],
)
def test_options_may_be_in_the_query_or_the_body_or_options(server: RunningServer, query: str, content: object) -> None:
    assert server.client.post(f"/v1/plan{query}", json=content).status_code == 200
    options = server.client.post(f"/v1/jobs{query}", json=content).json()["options"]
    assert (options["time_limit_s"], options["seed"]) == (1.0, 3)


@pytest.mark.parametrize(
    ("path", "body", "headers", "status", "sentence"),
    [
        ("plan", b" " * 1_000_001, {}, 413, f"body: must be at most 1000000 bytes, got 1000001{MORE}"),
        ("plan", b"[" * 100_000, {}, 400, "body: must be JSON: recursion limit exceeded at line 1 column 202, in "),
        ("verify", b"[" * 100_000, {}, 400, "body: must be JSON: recursion limit exceeded at line 1 column 202, in "),
        ("plan", b"\x1c\0\0\0TFL3\xf0", {}, 400, "body: must be JSON, but looks like a file of tflite: send it with "),
        ("plan", b"{}", {"content-encoding": "gzip"}, 415, 'content-encoding: must be identity, got "gzip"'),
    ],
)
def test_an_oversized_too_deep_compressed_or_non_json_body_is_refused(
    server: RunningServer, path: str, body: bytes, headers: dict[str, str], status: int, sentence: str
) -> None:
    answer = server.client.post(f"/v1/{path}", content=body, headers={"content-type": "application/json"} | headers)
    assert (answer.status_code, answer.json()["detail"][: len(sentence)]) == (status, sentence)


def test_a_chunked_body_is_refused_above_the_size_limit(server: RunningServer) -> None:
    told = server.client.post("/v1/verify", content=(b" " * 1000 for _ in range(1001)))
    assert (told.status_code, told.json()["errors"]) == (413, [f"body: must be at most 1000000 bytes, got more{MORE}"])


def test_a_problem_with_too_many_pools_is_refused(server: RunningServer) -> None:
    pools = [{"name": f"p{q}"} for q in range(4_001)]
    answer = server.client.post("/v1/verify", json={"problem": {"buffers": [], "pools": pools}, "plan": {}})
    rule = "must have at most 20000000 buffers or pairs (counted as at least 5000) times pools"
    assert (answer.status_code, answer.json()["errors"]) == (413, [f"problem: {rule}, got 20005000"])


def test_an_unsupported_method_gets_an_allow_header_with_the_supported_methods(server: RunningServer) -> None:
    assert server.client.get("/v1/plan").headers["allow"] == "POST"


def test_error_responses_escape_quoted_values_as_ascii_json() -> None:
    assert bytes(problem_details(422, ("name: must be a name, got \ud800\U0001f40d",)).body).isascii()


def test_the_log_has_no_data_of_a_problem(server: RunningServer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        server.client.post("/v1/plan", json={"buffers": [{**BUFFER, "id": "secret"}]})
        server.client.post("/v1/plan", json={"buffers": [{**BUFFER, "id": "secret", "size": -1}]})
        server.client.post("/v1/jobs", json={"buffers": [{**BUFFER, "id": "secret", "size": 9}]})
    assert "secret" not in caplog.text
    assert "sha256:" not in caplog.text


def answer_to_failing(error: Exception) -> httpx.Response:
    async def fail() -> None:
        raise error

    app = create_app()
    app.add_api_route("/fail", fail)

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://here") as client:
            return await client.get("/fail")

    return anyio.run(ask)


def test_an_internal_error_is_logged_without_its_message(caplog: pytest.LogCaptureFixture) -> None:
    message = "secret"
    answer = answer_to_failing(RuntimeError(message))
    assert answer.status_code == 500
    kind = answer.json()["detail"].removeprefix("memplan: failed; memplan's log shows where, at fault ")
    (line,) = (record for record in caplog.records if record.levelname == "ERROR")
    assert (line.__dict__["fault"], line.__dict__["question"]) == (kind, "fail")
    assert line.getMessage().startswith("RuntimeError at api/http/test_http_errors.py:")
    assert "raise error" in line.getMessage()
    assert message not in caplog.text


def test_an_unavailable_store_is_reported_without_its_address(caplog: pytest.LogCaptureFixture) -> None:
    answer = answer_to_failing(StoreError("database: connection to 10.0.0.7 refused"))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json()["detail"] == "memplan: the database does not respond at the moment"
    assert "10.0.0.7" in caplog.text


TOO_SHORT, LOST = "time_limit_s: must be enough", "memplan: 4 workers were lost over this"
READER_FAULT = (
    'file: cannot be read because of a memplan fault; please report KeyError "shape" at unknown; '
    "memplan's log shows where"
)


@pytest.mark.parametrize(
    ("error", "status", "retry_after", "detail"),
    [
        (TimeOverError(f"{TOO_SHORT} for the whole program"), 504, None, TOO_SHORT),
        (reader_fault(KeyError("shape")), 500, None, READER_FAULT),
        (LostWorkersError(LOST), 503, "60", LOST),
    ],
    ids=["time limit", "fault of a file reader", "crashed workers"],
)
def test_each_error_has_its_own_answer(error: Exception, status: int, retry_after: str | None, detail: str) -> None:
    answer = answer_to_failing(error)
    assert (answer.status_code, answer.headers.get("retry-after")) == (status, retry_after)
    assert answer.json()["detail"].startswith(detail)
