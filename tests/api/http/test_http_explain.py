"""Why nothing fits, over HTTP: asked for, and told by jobs that end with that."""

from __future__ import annotations

import json
import time
from typing import Any

from memplan.capabilities.plan.plan import CAPABILITY, PlanOptions, plan
from memplan.planner.model.problem import Problem
from tests.support.server import Running

TIGHT: dict[str, Any] = {
    "name": "tight",
    "buffers": [
        {"id": "a", "size": 64, "start": 0, "end": 3},
        {"id": "b", "size": 48, "start": 2, "end": 5},
        {"id": "c", "size": 8, "start": 6, "end": 8},
    ],
    "pools": [{"name": "sram", "size": 100}],
}


def test_an_answer_that_nothing_fits_links_to_its_explanation(server: Running) -> None:
    answer = server.client.post("/v1/plan", json=TIGHT)
    certified = '</v1/certify>; rel="certificate"'
    explained = f'</v1/explain>; rel="explanation", {certified}'
    assert (answer.json()["status"], answer.headers["link"]) == ("infeasible", explained)
    assert server.client.post("/v1/plan", json=TIGHT | {"pools": []}).headers["link"] == certified


def test_a_job_that_ends_with_that_tells_the_reason_in_stages(server: Running) -> None:
    links = server.client.post("/v1/jobs", json=TIGHT).json()["links"]
    told = server.client.get(links["events"]).text
    blocks = [
        dict(line.split(": ", 1) for line in block.splitlines()) for block in told.split("\n\n") if "data" in block
    ]
    stages = [json.loads(block["data"])["stage"] for block in blocks if block["event"] == "progress"]
    assert stages
    assert set(stages) <= {"infeasible", "witness", "stretch", "core", "irreducible", "enough"}
    give_up = time.monotonic() + 30
    while (job := server.client.get(links["self"]).json())["finished_at"] is None:
        assert time.monotonic() < give_up
        time.sleep(0.02)
    assert (job["state"], job["plan_status"]) == ("succeeded", "infeasible")
    answer = server.client.get(links["plan"])
    plan = answer.json()
    assert answer.headers["link"] == '</v1/explain>; rel="explanation", </v1/certify>; rel="certificate"'
    assert server.client.get(links["result"]).headers["link"] == answer.headers["link"]
    assert (sorted(plan["explanation"]["buffers"]), plan["explanation"]["irreducible"]) == (["a", "b"], True)


def test_the_reason_of_a_deterministic_plan_is_the_same_everywhere(server: Running) -> None:
    asked = {"problem": TIGHT, "options": {"deterministic": True}}
    answers = [server.client.post("/v1/plan", json=asked).content for _ in range(2)]
    links = server.client.post("/v1/jobs", json=asked).json()["links"]
    give_up = time.monotonic() + 30
    while server.client.get(links["self"]).json()["finished_at"] is None:
        assert time.monotonic() < give_up
        time.sleep(0.02)
    here = CAPABILITY.write(plan(Problem.model_validate(TIGHT), options=PlanOptions(deterministic=True)))
    assert [*answers, server.client.get(links["result"]).content] == [here] * 3
