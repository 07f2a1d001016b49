"""Access control over HTTP: missing, wrong, revoked and insufficient keys, byte quotas of keys, and a full disk."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from memplan.api.http.openapi import PROBLEM_EXAMPLE
from memplan.api.settings import Settings
from memplan.api.store.api_key import new_secret
from memplan.api.store.errors import FullDiskError
from memplan.api.store.tables.jobs import _drop_requests
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


@pytest.fixture(scope="module")
def separate_server() -> Iterator[RunningServer]:
    with run_server(Settings(require_keys=True, share_plans=False, workers=0)) as found:
        yield found


def submit(server: RunningServer, headers: dict[str, str], status: int = 202) -> dict[str, Any]:
    answer = server.client.post("/v1/jobs", json=PROBLEM_EXAMPLE, headers=headers)
    assert answer.status_code == status, answer.text
    return dict(answer.json())


def test_a_key_above_its_byte_quota_is_refused_and_told_of_removable_jobs(separate_server: RunningServer) -> None:
    mine, other = (key_for(separate_server, name, "plan", "read", max_kept_bytes=5000) for name in ("full", "other"))
    jobs = [submit(separate_server, mine) for _ in range(2)]
    refused = submit(separate_server, mine, 429)
    assert refused["detail"].startswith("jobs: must keep at most 5000 bytes of requests and answers of this key, ")
    assert refused["hints"][0].endswith("the largest jobs: none has ended yet")
    submit(separate_server, other)
    url = jobs[0]["links"]["self"]
    assert separate_server.client.delete(url, headers=mine).json()["state"] == "cancelled"
    assert f": {jobs[0]['id']} with " in submit(separate_server, mine, 429)["hints"][0]
    assert separate_server.client.delete(f"{url}?forget=true", headers=mine).status_code == 200
    submit(separate_server, mine)


def test_requesting_a_discarded_body_returns_404_and_keeps_its_job(separate_server: RunningServer) -> None:
    mine = key_for(separate_server, "dropped", "plan", "read")
    job = submit(separate_server, mine)
    url = job["links"]["self"]
    separate_server.client.delete(url, headers=mine)
    store = separate_server.service.store
    with store._database.writing() as connection:
        found = store.jobs.find(job["id"])
        assert found is not None
        assert _drop_requests(connection, found.key_id, 1.0, float("inf")) > 0
    for part in ("request", "problem"):
        answer = separate_server.client.get(f"{url}/{part}", headers=mine)
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
        assert answer.json()["detail"] == "request: was deleted to make room for newer ones; the job's answer is kept"
    assert separate_server.client.get(url, headers=mine).json()["state"] == "cancelled"


def test_a_full_disk_refuses_only_new_jobs(separate_server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_full(*_: object) -> None:
        raise FullDiskError("database: is on a machine whose name no caller hears")

    mine, store = key_for(separate_server, "calm", "plan", "read"), separate_server.service.store
    monkeypatch.setattr(store.jobs, "add", raise_full)
    monkeypatch.setattr(store, "check", raise_full)
    monkeypatch.setattr(store._database, "lacks_room", True)
    refused = submit(separate_server, mine, 503)
    assert refused["detail"] == "jobs: the disk of the database is full, so new jobs cannot be accepted now"
    assert "forget=true" in refused["hints"][0]
    monkeypatch.setattr(separate_server.service.readiness, "_checked_at", float("-inf"))
    answer = separate_server.client.get("/readyz")
    assert (answer.status_code, answer.json()["limits"]) == (200, [f"{refused['detail']}; {refused['hints'][0]}"])
    assert "memplan_disk_full 1.0" in separate_server.client.get("/metrics", headers=mine).text
    assert separate_server.client.post("/v1/plan", json=PROBLEM_EXAMPLE, headers=mine).json()["status"] == "optimal"


def test_unshared_plans_are_not_served_to_other_keys(separate_server: RunningServer) -> None:
    mine, other = (key_for(separate_server, name, "plan", "read") for name in ("one", "another"))

    def post_plan(headers: dict[str, str], **options: object) -> tuple[str, str]:
        sent = {"problem": PROBLEM_EXAMPLE, "options": options}
        answer = separate_server.client.post("/v1/plan", json=sent, headers=headers)
        return answer.headers["x-memplan-cache"], answer.json()["problem_hash"]

    for options in ({}, {"time_limit_s": 9.5}):  # the same bytes, and the same problem
        assert post_plan(mine, **options)[0] == ("hit" if options else "miss")
        _, known = post_plan(mine, **options)
        assert post_plan(mine, **options)[0] == "hit"
    url = f"/v1/plans/{known}"
    assert separate_server.client.get(url, headers=mine).json()["problem_hash"] == known
    assert separate_server.client.get(url, headers=other).status_code == 404
    assert post_plan(other)[0] == "miss"
    assert post_plan(other)[0] == "hit"
    assert separate_server.client.get(url, headers=other).status_code == 200
