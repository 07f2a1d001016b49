"""Proved answers are kept as they were written, for the same bytes only."""

from __future__ import annotations

import json

import httpx

from memplan.api.service.cache.plan_cache import WrittenPlans
from tests.support.server import Running

_ROWS = [{"id": 1, "size": 8, "start": 0, "end": 2}, {"id": ',"wall_time_s":1', "size": 4, "start": 1, "end": 3}]


def ask(server: Running, body: object, **headers: str) -> httpx.Response:
    answer = server.client.post("/v1/plan", content=json.dumps(body).encode(), headers=headers)
    assert answer.status_code == 200, answer.text
    return answer


def kept(server: Running) -> int:
    return len(server.service.written._plans)


def test_the_same_bytes_get_the_same_answer_but_for_its_time(server: Running) -> None:
    first, before = ask(server, {"buffers": _ROWS}), kept(server)
    again = ask(server, {"buffers": _ROWS})
    assert kept(server) == before >= 1
    one, other = first.json(), again.json()
    assert 0 <= other.pop("wall_time_s") < 5
    assert one.pop("wall_time_s") >= 0
    assert one == other
    assert first.headers["link"] == again.headers["link"]


def test_other_bytes_another_query_or_another_format_are_other_answers(server: Running) -> None:
    ask(server, {"buffers": _ROWS})
    assert ask(server, {"buffers": _ROWS}, accept="text/csv").headers["content-type"].startswith("text/csv")
    assert ask(server, {"buffers": _ROWS[:1]}).json()["peak"] == 8
    small = server.client.post("/v1/plan?capacity=11", content=json.dumps({"buffers": _ROWS}).encode())
    assert small.json()["status"] == "infeasible"
    assert server.client.post("/v1/plan?capacity=11", content=json.dumps({"buffers": _ROWS}).encode()).json()[
        "explanation"
    ]


def test_what_is_not_proved_or_asks_for_a_search_of_its_own_is_not_kept(server: Running) -> None:
    before = kept(server)
    for options in ({"deterministic": True}, {"solver": "greedy"}):
        ask(server, {"problem": {"buffers": _ROWS}, "options": options})
    ask(server, {"problem": {"buffers": _ROWS, "objective": "fit", "pools": [{"name": "a", "size": 99}]}})
    assert kept(server) <= before + 1  # that which fits may be proved, too


def test_the_oldest_answers_go_when_there_is_no_more_room() -> None:
    plans = WrittenPlans(10_000)
    content = b'{"peak":1,"wall_time_s":0.1,"version":"1"}'
    for k in range(40):
        plans.keep(b"%d" % k, content, "optimal")
    assert plans.find(b"0") is None
    latest = plans.find(b"39")
    assert latest is not None
    assert json.loads(latest.content(0.0)).keys() == json.loads(content).keys()
    plans.keep(b"large", content + b" " * 5_000, "optimal")
    assert plans.find(b"large") is None


def test_an_answer_says_whether_it_was_known(server: Running) -> None:
    rows = [{"id": k, "size": 17 + k, "start": 0, "end": 2} for k in range(3)]
    first, again = (ask(server, {"buffers": rows}).headers["x-memplan-cache"] for _ in range(2))
    renamed = ask(server, {"buffers": [row | {"id": f"b{row['id']}"} for row in rows]})
    assert (first, again, renamed.headers["x-memplan-cache"]) == ("miss", "hit", "hit")


def test_a_query_and_a_body_are_no_kept_request_where_their_bytes_are_together(server: Running) -> None:
    body = json.dumps({"buffers": _ROWS}).encode()
    ask(server, {"buffers": _ROWS})
    torn = server.client.post(f"/v1/plan?{body[:11].decode()}", content=body[11:])
    assert torn.status_code == 400
