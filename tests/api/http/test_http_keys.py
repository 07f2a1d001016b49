"""Access control over HTTP: missing, wrong, revoked and insufficient keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from memplan.api.http.openapi import PROBLEM_EXAMPLE
from memplan.api.settings import Settings
from memplan.api.store.api_key import new_secret
from tests.support.server import RunningServer, key_for, run_server

OPEN_CALLS = {("GET", "/healthz"), ("GET", "/readyz")}
ADMIN_KEY = "an-operator-wrote-this-one-by-hand-42"


@pytest.fixture(scope="module")
def guarded_server() -> Iterator[RunningServer]:
    with run_server(Settings(require_keys=True, admin_key=ADMIN_KEY, workers=0, max_body_bytes=100_000)) as found:
        yield found


def calls(server: RunningServer) -> list[tuple[str, str, dict[str, Any]]]:
    schema = server.client.get("/openapi.json").json()
    return [(method.upper(), path, call) for path, verbs in schema["paths"].items() for method, call in verbs.items()]


def assert_refused(answer: httpx.Response, status: int) -> None:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text


def test_every_call_except_health_checks_verifies_the_key_first(guarded_server: RunningServer) -> None:
    found = set()
    for method, path, _ in calls(guarded_server):
        answer = guarded_server.client.request(method, re.sub(r"\{\w+\}", "x", path), content=b"{not json")
        if answer.status_code == 401:
            assert answer.headers["www-authenticate"] == 'Bearer realm="memplan"'
            assert_refused(answer, 401)
        else:
            found.add((method, path))
    assert found == OPEN_CALLS


def test_every_call_refuses_a_wrong_key_and_a_key_without_scopes(guarded_server: RunningServer) -> None:
    wrong, nothing = {"Authorization": f"Bearer {new_secret()[1]}"}, key_for(guarded_server, "nothing")
    for method, path, _ in calls(guarded_server):
        for headers, status in ((wrong, 401), (nothing, 403)) if (method, path) not in OPEN_CALLS else ():
            answer = guarded_server.client.request(method, re.sub(r"\{\w+\}", "x", path), headers=headers)
            assert_refused(answer, status)


def test_the_schema_states_which_calls_require_a_key_and_their_error_statuses(guarded_server: RunningServer) -> None:
    for method, path, call in calls(guarded_server):
        if (method, path) not in OPEN_CALLS | {("GET", "/metrics")}:
            assert call["security"] == [{"HTTPBearer": []}]
        if (method, path) not in OPEN_CALLS:
            assert {"401", "403", "429", "503"} <= call["responses"].keys()
        if "requestBody" in call:
            assert "408" in call["responses"]


def test_a_key_allows_only_the_calls_of_its_scopes(guarded_server: RunningServer) -> None:
    planner, reader = key_for(guarded_server, "planner", "plan"), key_for(guarded_server, "reader", "read")
    assert guarded_server.client.post("/v1/plan", headers=planner, json=PROBLEM_EXAMPLE).status_code == 200
    assert guarded_server.client.get("/v1/solvers", headers=reader).status_code == 200
    assert_refused(answer := guarded_server.client.post("/v1/plan", headers=reader, json=PROBLEM_EXAMPLE), 403)
    assert answer.json()["detail"] == "key reader: must have the scope plan for this call"
    assert_refused(guarded_server.client.get("/v1/solvers", headers=planner), 403)


def test_the_admin_key_allows_every_call(guarded_server: RunningServer) -> None:
    admin = {"Authorization": f"Bearer {ADMIN_KEY}"}
    assert guarded_server.client.post("/v1/plan", headers=admin, json=PROBLEM_EXAMPLE).status_code == 200
    assert guarded_server.client.get("/metrics", headers=admin).status_code == 200
