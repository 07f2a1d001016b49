"""Plans beside the best one, over HTTP: nothing that a plan claims is believed; that plan comes along if asked for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from memplan import Plan, Problem
from memplan.api.settings import Settings
from memplan.capabilities.registry import CAPABILITIES
from memplan.planner.audit import verify
from tests.support.server import Running, running

ROWS = [{"id": "conv1", "pool": "default", "offset": 0}, {"id": "conv2", "pool": "default", "offset": 128}]
ASKED: dict[str, Any] = {
    "problem": CAPABILITIES["verify"].example["problem"],
    "plan": {"placements": ROWS},
    "options": {"better": True},
}


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(Settings(max_jobs=5)) as found:
        yield found


def test_an_audit_tells_the_bytes_too_much_and_the_one_move_that_mends_them(server: Running) -> None:
    found = server.client.post("/v1/verify", json={**ASKED, "options": {"better": True, "with_plans": True}}).json()
    assert found["valid"]
    found = found["better"]
    assert (True, found["peak"], found["best"], found["too_much_bytes"]) == (True, 176, 112, 64)
    assert (found["pools"][0]["above_line"], found["fewest_moves"]["proved"]) == (["conv2"], True)
    assert len(found["fewest_moves"]["moved"]) == 1
    assert not verify(Problem.model_validate(ASKED["problem"]), Plan.model_validate(found["plan"]))


def test_a_plan_that_lies_is_found_out(server: Running) -> None:
    rows = [{"id": name, "pool": "default", "offset": 0} for name in ("conv1", "conv2")]
    plan = {"placements": rows, "status": "optimal", "peak": 1, "lower_bound": 1}
    found = server.client.post("/v1/verify", json={**ASKED, "plan": plan}).json()
    better = found["better"]
    assert (found["valid"], found["violations"][0]["rule"]) == (False, "overlap")
    assert (better["peak"], better["best"], "plan" in better) == (64, 112, False)


def test_an_audit_is_a_job_too(server: Running) -> None:
    job = server.client.post("/v1/jobs?kind=verify", json=ASKED).json()
    give_up = time.monotonic() + 30
    while (found := server.client.get(job["links"]["self"]).json())["finished_at"] is None:
        assert time.monotonic() < give_up, found
        time.sleep(0.02)
    result = server.client.get(f"{job['links']['self']}/result").json()
    assert (found["state"], result["better"]["too_much_bytes"]) == ("succeeded", 64)


def test_a_plan_is_required(server: Running) -> None:
    refused = server.client.post("/v1/verify", json={"problem": ASKED["problem"]})
    assert (refused.status_code, refused.json()["detail"]) == (422, "plan: is required")
