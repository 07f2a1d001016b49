"""Plans that keep the places of an old plan: sent along, or by the hash of a job's plan."""

from __future__ import annotations

import time
from typing import Any

import pytest

from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from tests.support.server import Running

OLD: dict[str, Any] = {
    "buffers": [
        {"id": "a", "size": 8, "start": 0, "end": 4},
        {"id": "b", "size": 4, "start": 1, "end": 3},
        {"id": "c", "size": 4, "start": 2, "end": 5},
    ]
}
NEW: dict[str, Any] = {"buffers": [*OLD["buffers"], {"id": "d", "size": 4, "start": 0, "end": 2}]}


@pytest.fixture(scope="module")
def job(server: Running) -> dict[str, Any]:
    links = server.client.post("/v1/jobs", json=OLD).json()["links"]
    give_up = time.monotonic() + 30
    while (found := server.client.get(links["self"]).json())["finished_at"] is None:
        assert time.monotonic() < give_up
        time.sleep(0.02)
    answer: dict[str, Any] = found
    return answer


def offsets(content: dict[str, Any]) -> dict[str, int]:
    return {row["id"]: row["offset"] for row in content["placements"]}


def test_the_plan_of_a_job_is_kept_by_its_hash(server: Running, job: dict[str, Any]) -> None:
    before = server.client.get(job["links"]["plan"]).json()
    keep = {"plan_hash": job["plan_hash"]}
    options = {"time_limit_s": 5, "accept": "5%"}
    answer = server.client.post("/v1/plan", json={"problem": NEW, "keep": keep, "options": options})
    assert answer.status_code == 200, answer.text
    plan = answer.json()
    assert verify(Problem.model_validate(NEW), Plan.model_validate(plan)) == ()
    kept = offsets(plan)
    assert {name: kept[name] for name in "abc"} == offsets(before)
    csv = server.client.post("/v1/plan", json={"problem": NEW, "keep": keep}, headers={"accept": "text/csv"})
    assert csv.text.startswith("id,lower,upper,size,offset\n")


def test_a_plan_that_comes_along_is_kept(server: Running) -> None:
    old = {"placements": [{"id": "c", "pool": "default", "offset": 8}, {"id": "a", "pool": "default", "offset": 0}]}
    plan = server.client.post("/v1/plan", json={"problem": NEW, "keep": old}).json()
    assert {name: offsets(plan)[name] for name in "ac"} == {"a": 0, "c": 8}
    options = {"solver": "exact", "deterministic": True}
    again = server.client.post("/v1/plan", json={"problem": NEW, "keep": old, "options": options}).json()
    assert (offsets(again)["c"], again["reproducible"]) == (8, True)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"keep": {"plan_hash": "x"}}, 'keep.plan_hash: must be sha256: and 64 hexadecimal digits, got "x"'),
        ({"keep": {"placements": 1}}, "keep.placements"),
    ],
)
def test_what_cannot_be_kept_is_said(server: Running, more: dict[str, Any], sentence: str) -> None:
    answer = server.client.post("/v1/plan", json={"problem": NEW, **more})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(sentence)


def test_a_hash_of_nothing_that_is_kept_is_told(server: Running) -> None:
    answer = server.client.post("/v1/plan", json={"problem": NEW, "keep": {"plan_hash": f"sha256:{64 * '0'}"}})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("keep.plan_hash: must be that of a plan of a job that is kept, got")


def test_a_buffer_may_be_called_keep(server: Running) -> None:
    problem = {"buffers": [{"id": "keep", "size": 4, "start": 0, "end": 1}]}
    assert server.client.post("/v1/plan", json=problem).json()["peak"] == 4
