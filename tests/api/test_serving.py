"""Starting, stopping, and what an operator sets."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import httpx
import pytest

from api.serving import listening
from api.settings import read_settings
from planner.errors import OptionError
from tests.api.server import running
from tests.api.test_http_line import HARD, soon


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMPLAN_SOLVES", "3")
    monkeypatch.setenv("MEMPLAN_MAX_BODY_BYTES", "1000")
    settings = read_settings()
    assert (settings.solves, settings.max_body_bytes, settings.waiting) == (3, 1000, 16)


def test_a_wrong_setting_is_told_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMPLAN_SOLVES", "many")
    monkeypatch.setenv("MEMPLAN_WAITING", "-1")
    with pytest.raises(OptionError) as caught:
        read_settings()
    assert caught.value.sentences == (
        'MEMPLAN_SOLVES: must be an integer, got "many"',
        'MEMPLAN_WAITING: must be at least 0, got "-1"',
    )


def test_a_port_that_is_taken_is_told() -> None:
    with listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(OptionError, match=f"^port: cannot listen on 127.0.0.1:{port}: Address already in use"):
            listening("127.0.0.1", port)


def test_a_server_that_is_told_to_stop_answers_with_the_best_plan_so_far() -> None:
    with ThreadPoolExecutor(1) as callers:
        with running() as server:
            url = f"http://127.0.0.1:{server.port}/v1/plan"
            asked: Future[httpx.Response] = callers.submit(httpx.post, url, content=HARD, timeout=60.0, trust_env=False)
            assert soon(lambda: server.service.line.busy == 1)
        answer = asked.result()
    assert answer.status_code == 200
    assert answer.json()["stop_reason"] == "cancelled"


def test_a_server_that_cannot_solve_is_not_ready() -> None:
    async def no() -> bool:
        return False

    with running() as server:
        server.service.is_ready = no
        answer = server.client.get("/readyz")
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    assert answer.json()["detail"] == "memplan: could not solve a tiny problem"
