"""Every wrong request is told, as problem details, which object breaks which rule with which value."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import anyio
import httpx
import pytest

from memplan.api.http.app import create_app
from memplan.api.http.problem_details import problem_details
from memplan.api.store.errors import StoreError
from memplan.api.workers.task import LostWorkersError
from memplan.planner.errors import TimeOverError
from memplan.systems.imported import reader_fault
from tests.support.mistakes import NEW, Mistake
from tests.support.sentences import rules
from tests.support.server import Running

TITLES = {
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    422: "Unprocessable Content",
}
BUFFER = {"id": "a", "size": 8, "start": 0, "end": 1}
PROBLEM = {"buffers": [BUFFER]}
LATE = {"buffers": [*({**BUFFER, "id": i} for i in range(3)), {**BUFFER, "start": 7, "end": 5}]}
MORE = " (the server's MEMPLAN_MAX_BODY_BYTES says how many)"


def assert_problem(answer: httpx.Response, status: int, *sentences: str) -> None:
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.status_code == status
    content = answer.json()
    content.pop("hints", None)
    assert rules([content["detail"], *content["errors"]]) == rules([sentences[0], *sentences])
    assert content == {
        "type": "about:blank",
        "title": TITLES[status],
        "status": status,
        "detail": content["errors"][0],
        "errors": content["errors"],
    }


MADE = [each for each in NEW if each.line == "plan p.json"]


@pytest.mark.parametrize("mistake", MADE, ids=range(len(MADE)))
def test_mistakes_are_answered_over_http_as_by_the_command(mistake: Mistake, server: Running) -> None:
    headers = {"content-type": "application/json"}
    answer = server.client.post("/v1/plan", content=mistake.content.encode(), headers=headers)
    said = "\n".join((*answer.json()["errors"], *answer.json().get("hints", ())))
    assert answer.status_code in (400, 422)
    where = mistake.where.removeprefix("p.json")
    assert [part for part in (where, mistake.value, mistake.rule, mistake.way) if part not in said] == [], said


NOT_JSON = [
    (b'{"buffers": [', "EOF while parsing a list at line 1 column 13"),
    (b'{"buffers": [{"size": NaN}]}', "expected value at line 1 column 23"),
    (b"[" * 100_000, "recursion limit exceeded at line 1 column 202"),
    (b'{"buffers": [{"id": "\\ud800"}]}', "unexpected end of hex escape at line 1 column 28"),
]


@pytest.mark.parametrize(("body", "rule"), NOT_JSON)
@pytest.mark.parametrize("path", ["/v1/plan", "/v1/verify"])
def test_what_is_not_json_is_a_bad_request(server: Running, path: str, body: bytes, rule: str) -> None:
    answer = server.client.post(path, content=body, headers={"content-type": "application/json"})
    near = answer.json()["detail"].partition(", in ")
    assert_problem(answer, 400, f"body: must be JSON: {rule}{near[1]}{near[2]}")


CSV = {"content-type": "text/csv"}


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        (b"id,lower,upper,size\na,0,1\n", 400, "line 2: must have 4 cells, as the first line, got 3: 'a,0,1'"),
        (b"id,lower,upper,size\na,3,1,5\n", 422, "line 2, column 'upper': must be greater than start (3), got 1"),
    ],
)
def test_a_wrong_table_is_told_line_and_column(server: Running, body: bytes, status: int, sentence: str) -> None:
    assert_problem(server.client.post("/v1/plan", content=body, headers=CSV), status, sentence)


@pytest.mark.parametrize(
    ("content", "sentences"),
    [
        ([], ["body: must be an object, got []"]),
        ({"problem": 5}, ["problem: must be an object, got 5"]),
        ({"graph": {}}, ["problem: must not be a graph of operations: /v1/order and /v1/cascade take one"]),
        ({"problem": PROBLEM, "option": {}, "plan": 1}, ["option: is not a known field", "plan: is not a known field"]),
        ({"problem": LATE}, ["buffers[3].end: must be greater than start (7), got 5"]),
        (
            {"buffers": [{**BUFFER, "size": "8"}]},
            ['buffers[0].size: must be an integer, got "8" (did you mean 8, without quotes?)'],
        ),
        ({"buffers": [{**BUFFER, "length": 8}]}, ["buffers[0].length: is not a known field (did you mean size?)"]),
        ({"buffers": {"a": 1}}, ['buffers: must be a list, got {"a": 1} (did you mean [{...}], a list of one?)']),
    ],
)
def test_a_wrong_problem_is_told_every_break(server: Running, content: object, sentences: list[str]) -> None:
    assert_problem(server.client.post("/v1/plan", json=content), 422, *sentences)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (None, "options: must be an object, got null"),
        ({"time_limit": 1}, "time_limit: is not a known field (did you mean time_limit_s, an option?)"),
        ({"time_limit_s": "2"}, 'time_limit_s: must be a number, got "2"'),
        ({"time_limit_s": True}, "time_limit_s: must be a number, got true"),
        ({"time_limit_s": 7200.0}, "time_limit_s: must be at most 3600 on this server, got 7200.0"),
        ({"accept": 10**400}, f"accept: must be fit or a percentage such as 5%, got 1{'0' * 56}..."),
        ({"deterministic": 1}, "deterministic: must be true or false, got 1"),
    ],
)
def test_a_wrong_option_is_told(server: Running, options: object, sentence: str) -> None:
    answer = server.client.post("/v1/plan", json={"problem": PROBLEM, "options": options})
    assert_problem(answer, 422, sentence)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("problem=old.json", "problem: must stand in the body"),
        ("sed=1", "sed: is not a known field"),
        ("seed=1&seed=2", "seed: must be given once, got 2 values"),
        ("deterministic=maybe", 'deterministic: must be true or false, got "maybe"'),
        ("time_limit_s=nan", 'time_limit_s: must be a finite number, got "nan"'),
        ("capacity=much", 'capacity: must be a size such as 4096, 64kB or 1MiB, got "much"'),
    ],
)
def test_a_wrong_query_is_told(server: Running, query: str, sentence: str) -> None:
    assert_problem(server.client.post(f"/v1/plan?{query}", json=PROBLEM), 422, sentence)


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
def test_options_come_beside_the_problem_inside_of_options_or_in_the_query(
    server: Running, query: str, content: object
) -> None:
    assert server.client.post(f"/v1/plan{query}", json=content).status_code == 200
    options = server.client.post(f"/v1/jobs{query}", json=content).json()["options"]
    assert (options["time_limit_s"], options["seed"]) == (1.0, 3)


@pytest.mark.parametrize(
    ("query", "content", "where"),
    [
        ("?seed=1", {"problem": PROBLEM, "options": {"seed": 1}}, "the body and in the query"),
        ("?seed=1", {"problem": PROBLEM, "seed": 1}, "the body and in the query"),
        ("", {"problem": PROBLEM, "seed": 1, "options": {"seed": 1}}, "options and beside the inputs"),
    ],
)
def test_an_option_comes_once(server: Running, query: str, content: object, where: str) -> None:
    answer = server.client.post(f"/v1/plan{query}", json=content)
    assert_problem(answer, 422, f"seed: must be given once, got it in {where}")


@pytest.mark.parametrize(
    ("content", "sentences"),
    [
        ({}, ["problem: is required", "plan: is required"]),
        (PROBLEM, ['buffers: must lie in problem, as {"problem": {"buffers": [...]}, "plan": ...}']),
        ({"problem": PROBLEM, "plan": {"offsets": []}}, ["plan.offsets: is not a known field"]),
    ],
)
def test_a_wrong_verification_is_told(server: Running, content: object, sentences: list[str]) -> None:
    assert_problem(server.client.post("/v1/verify", json=content), 422, *sentences)


@pytest.mark.parametrize(
    ("headers", "sentence"),
    [
        *(
            (
                {"content-type": kind},
                "content-type: must be application/json, text/csv, multipart/form-data or that of a file,"
                f' got "{kind}": write `curl --json @FILE`; a table'
                " `curl -H 'content-type: text/csv' --data-binary @FILE`, a model as application/octet-stream",
            )
            for kind in ("application/x-www-form-urlencoded", "json")
        ),
        ({"content-type": "text/csv; charset=latin-1"}, 'content-type: charset must be utf-8, got "latin-1"'),
        (
            {"content-type": "application/json", "content-encoding": "gzip"},
            'content-encoding: must be identity, got "gzip"',
        ),
    ],
)
def test_an_unknown_media_type_is_told(server: Running, headers: Mapping[str, str], sentence: str) -> None:
    assert_problem(server.client.post("/v1/plan", content=b"{}", headers=dict(headers)), 415, sentence)


def test_a_body_that_says_that_it_is_too_large_is_not_read(server: Running) -> None:
    answer = server.client.post("/v1/plan", content=b" " * 1_000_001)
    assert_problem(answer, 413, f"body: must be at most 1000000 bytes, got 1000001{MORE}")


def test_a_body_that_turns_out_too_large_is_not_kept(server: Running) -> None:
    chunks = (b" " * 1000 for _ in range(1001))
    answer = server.client.post("/v1/verify", content=chunks)
    assert_problem(answer, 413, f"body: must be at most 1000000 bytes, got more{MORE}")


def test_many_pools_are_too_many(server: Running) -> None:
    pools = [{"name": f"p{q}"} for q in range(4_001)]
    answer = server.client.post("/v1/verify", json={"problem": {"buffers": [], "pools": pools}, "plan": {}})
    rule = "buffers or pairs (at least 5000 are counted) times pools must be at most 20000000"
    assert_problem(answer, 413, f"problem: {rule}, got 20005000")


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/plan", "path: nothing is at /plan (did you mean /v1/plan?)"),
        ("/v1/deploy", "path: nothing is at /v1/deploy (did you mean /v1/convert?)"),
        ("/v1/what-if", "path: nothing is at /v1/what-if (did you mean /v1/explain?)"),
        ("/v1/cascades", "path: nothing is at /v1/cascades (did you mean /v1/cascade?)"),
        ("/anything/else", "path: nothing is at /anything/else (GET /docs shows all calls)"),
        ("/v1/jobs/123", 'job: there is no "123", or none that this key may see: it was forgotten, or never was'),
    ],
)
def test_an_unknown_path_is_told(server: Running, path: str, sentence: str) -> None:
    answer = server.client.get(path)
    assert (answer.status_code, answer.json()["errors"]) == (404, [sentence])


def test_a_method_that_a_path_does_not_have_is_told_with_those_it_has(server: Running) -> None:
    answer = server.client.get("/v1/plan")
    assert_problem(answer, 405, "method: must be POST for /v1/plan, got GET")
    assert answer.headers["allow"] == "POST"
    assert_problem(server.client.delete("/v1/jobs"), 405, "method: must be GET, POST for /v1/jobs, got DELETE")
    assert_problem(server.client.put("/v1/jobs/1"), 405, "method: must be DELETE, GET, PATCH for /v1/jobs/1, got PUT")


def test_an_unknown_target_is_told_with_those_that_exist_and_nothing_else(server: Running) -> None:
    said = server.client.post("/v1/convert?to=xyz", content=TABLE, headers=CSV).json()["detail"]
    assert (said.startswith("to: must be 'json', 'csv', "), said.endswith('got "xyz"')) == (True, True), said


def test_a_problem_sent_where_operations_are_asked_for_is_told(server: Running) -> None:
    for name in ("order", "cascade"):
        for body in (PROBLEM, {"problem": PROBLEM}):
            answer = server.client.post(f"/v1/{name}", json=body)
            assert_problem(answer, 422, "graph: must not be a problem of buffers: /v1/plan takes one")


@pytest.mark.parametrize(
    ("call", "more", "sentence"),
    [
        ("sweep", {"sizes": {"a": "1k"}}, "sizes.a: must be a list of numbers of bytes, or an object with first, last"),
        ("sweep", {"options": {"alignments": [8, [9]]}}, "alignments[1]: must be an integer, got [9]"),
        ("sweep", {}, 'sizes, changes, alignments: one of them is required, got none: as {"sizes": '),
        ("check", {"options": {"budget": ["1k"]}}, "budget: is not a known field (did you mean budgets?)"),
        (
            "compare",
            {},
            "file: must be a model file, got JSON: of a problem, `memplan plan FILE` and POST /v1/plan make",
        ),
    ],
)
def test_what_is_meant_is_told_in_words_of_a_body(
    server: Running, call: str, more: dict[str, object], sentence: str
) -> None:
    answer = server.client.post(f"/v1/{call}", json={"problem": PROBLEM} | more if call != "compare" else PROBLEM)
    assert answer.json()["detail"].startswith(sentence), answer.text


TABLE = b"id,lower,upper,size\na,0,1,8\n"


@pytest.mark.parametrize(
    ("body", "kind", "sentence"),
    [
        (TABLE, "application/json", "body: must be JSON, and looks like CSV: send it with content-type: text/csv"),
        (
            b'{"buffers": []}',
            "text/csv",
            "body: must be CSV, and looks like JSON: send it with content-type: application/json",
        ),
        (
            b'{"buffers": [], "keep": {}}',
            "application/json",
            'buffers: must lie in problem, as {"problem": {"buffers": [...]}, "keep": ...}',
        ),
        (
            b'{"buffers": [], "kind": "order"}',
            "application/json",
            "kind: is not a known field (did you mean ?kind=order in the query of a job?)",
        ),
        (b"", "application/json", "body: must not be empty, as in `curl --json @FILE`"),
        (b"ok.json", "application/json", "body: must be what is in a file, got its name: write `--json @ok.json`"),
        (b'{"data": {"buffers": []}}', "application/json", "problem: is required"),
        (
            b"\x1c\0\0\0TFL3\xf0",
            "application/json",
            "body: must be JSON, and looks like a file of tflite: send it with content-type: application/octet-stream",
        ),
        (
            b'{"problem": {"problem": {"buffers": []}}}',
            "application/json",
            "problem.problem: must not lie in problem: leave one of the two out",
        ),
    ],
)
def test_what_is_sent_as_something_else_is_told_what_to_send(
    server: Running, body: bytes, kind: str, sentence: str
) -> None:
    answer = server.client.post("/v1/plan", content=body, headers={"content-type": kind})
    assert (answer.status_code in (400, 422), answer.json()["detail"]) == (True, sentence)
    if sentence == "problem: is required":
        assert answer.json()["errors"][1:] == ["data: is not a known field (did you mean problem?)"]


def test_whatever_an_error_quotes_leaves_as_json() -> None:
    answer = problem_details(422, ("name: must be a name, got \ud800\U0001f40d",))
    assert bytes(answer.body).isascii()


def test_problems_are_not_logged(server: Running, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        server.client.post("/v1/plan", json={"buffers": [{**BUFFER, "id": "secret"}]})
        server.client.post("/v1/plan", json={"buffers": [{**BUFFER, "id": "secret", "size": -1}]})
        server.client.post("/v1/jobs", json={"buffers": [{**BUFFER, "id": "secret", "size": 9}]})
    assert "secret" not in caplog.text
    assert "sha256:" not in caplog.text


def answer_to_failing(error: Exception) -> httpx.Response:
    """Ask a call that raises an error."""

    async def fail() -> None:
        raise error

    app = create_app()
    app.add_api_route("/fail", fail)

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            return await client.get("/fail")

    return anyio.run(ask)


def test_a_failure_of_the_program_is_logged_without_its_message(caplog: pytest.LogCaptureFixture) -> None:
    message = "secret"
    answer = answer_to_failing(RuntimeError(message))
    assert answer.status_code == 500
    kind = answer.json()["detail"].removeprefix("memplan: failed; its log says where, at fault ")
    (line,) = (record for record in caplog.records if record.levelname == "ERROR")
    assert (line.__dict__["fault"], line.__dict__["question"]) == (kind, "fail")
    assert line.getMessage().startswith("RuntimeError at api/http/test_http_errors.py:")
    assert "raise error" in line.getMessage()
    assert message not in caplog.text


def test_a_store_that_does_not_answer_is_told_without_its_address(caplog: pytest.LogCaptureFixture) -> None:
    answer = answer_to_failing(StoreError("database: connection to 10.0.0.7 refused"))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json()["detail"] == "memplan: its store does not answer for now"
    assert "10.0.0.7" in caplog.text


def test_what_has_no_answer_in_part_is_not_in_time() -> None:
    answer = answer_to_failing(TimeOverError("time_limit_s: must be enough for the whole program"))
    assert (answer.status_code, answer.json()["detail"].partition(":")[0]) == (504, "time_limit_s")


def test_a_fault_of_a_reader_is_told_with_its_place() -> None:
    answer = answer_to_failing(reader_fault(KeyError("shape")))
    says = 'file: cannot be read, by a fault of memplan; please report KeyError "shape" at unknown; its log says where'
    assert (answer.status_code, answer.json()["detail"].rpartition(", at fault ")[0]) == (500, says)


def test_a_problem_that_workers_were_lost_over_may_be_tried_later() -> None:
    answer = answer_to_failing(LostWorkersError("memplan: 4 workers were lost over this problem"))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "60")
    assert answer.json()["detail"] == "memplan: 4 workers were lost over this problem"
