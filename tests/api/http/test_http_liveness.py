"""`POST /v1/liveness`, as a client sees it."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.capabilities.liveness.liveness import CAPABILITY
from tests.support.programs import function, op
from tests.support.server import Running

OPERATIONS_EXAMPLE: dict[str, Any] = CAPABILITY.example["operations"]


def ask(server: Running, content: object) -> Any:
    answer = server.client.post("/v1/liveness", json=content)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    return answer.json()


def test_bare_operations_are_analysed_and_nothing_is_solved(server: Running) -> None:
    found = ask(server, OPERATIONS_EXAMPLE)
    assert found["workspace"] == {"live_bytes": 48384, "time": 0, "path": "main/0", "any_order_live_bytes": 48384}
    assert found["peaks"] is None


def test_the_problem_of_an_answer_can_be_planned(server: Running) -> None:
    problem = ask(server, OPERATIONS_EXAMPLE)["problem"]
    assert server.client.post("/v1/plan", json=problem).json()["peak"] == 48384


def test_operations_may_come_with_options(server: Running) -> None:
    options = {"plan_inputs": False, "temporaries": "lifted", "compare": True, "time_limit_s": 5}
    found = ask(server, {"operations": OPERATIONS_EXAMPLE, "options": options})
    assert found["reading"]["temporaries"] == "lifted"
    assert found["not_planned"] == ["main/image"]
    assert [row["peak"] for row in found["peaks"]] == [20736, 20776, 20736, 20776, 20736]


@pytest.mark.parametrize(
    ("content", "status", "sentence"),
    [
        ([], 422, "body: must be an object, got []"),
        ({"functions": {}}, 422, 'entry: must name a function, got "main"'),
        (
            {"operations": OPERATIONS_EXAMPLE, "option": {}},
            422,
            "option: is not a known field (did you mean options?)",
        ),
        (
            {"operations": OPERATIONS_EXAMPLE, "options": {"liveness": "use"}},
            422,
            "liveness: must be 'usage' or 'scope', got \"use\"",
        ),
        (
            {"operations": OPERATIONS_EXAMPLE, "options": {"compare": True, "time_limit_s": 4000}},
            422,
            "time_limit_s: must be at most 3600 on this server, got 4000.0",
        ),
        (
            {"functions": {"main": function(op("-> a"), {"alloc": ["a"]}, a=1)}},
            422,
            "main/a: must be allocated where it is used, got main/0",
        ),
    ],
)
def test_wrong_calls_are_told_what_is_wrong(server: Running, content: object, status: int, sentence: str) -> None:
    answer = server.client.post("/v1/liveness", json=content)
    assert (answer.status_code, answer.json()["detail"]) == (status, sentence)


def test_what_is_no_json_is_told(server: Running) -> None:
    answer = server.client.post("/v1/liveness", content=b"{", headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("body: must be JSON")
