"""Files over HTTP: what a command takes for a question is a body of its call, or a part of a form."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from memplan.systems.reading import read_model
from tests.support.server import Running

MODEL = (Path(__file__).parents[2] / "models" / "view.tflite").read_bytes()
BYTES = {"Content-Type": "application/octet-stream"}
CSV = {"Content-Type": "text/csv"}
TABLE = "id,lower,upper,size\na,0,3,64\nb,2,5,48\n"


def post(server: Running, path: str, status: int = 200, **sent: Any) -> Any:
    answer = server.client.post(path, **sent)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_model_is_planned_with_the_options_for_reading_it(server: Running) -> None:
    plan = post(server, "/v1/plan", content=MODEL, headers=BYTES)
    assert (plan["status"], len(plan["placements"])) == ("optimal", len(read_model(MODEL).problem.buffers))
    apart = post(server, "/v1/plan?views=separate&capacity=1MiB", content=MODEL, headers=BYTES)
    assert (apart["peak"] >= plan["peak"], apart["pools"][0]["size"]) == (True, 2**20)
    table = server.client.post("/v1/plan", content=MODEL, headers={**BYTES, "Accept": "text/csv"})
    assert table.text.startswith("id,lower,upper,size,alignment,offset")
    assert "views" in post(server, "/v1/plan?views=separate", 422, json={"buffers": []})["detail"]


def test_a_job_is_about_a_model_too(server: Running) -> None:
    job = post(server, "/v1/jobs?kind=cascade&name=view.tflite&priority=2", 202, content=MODEL, headers=BYTES)
    assert (job["name"], job["priority"]) == ("view.tflite", 2)
    give_up = time.monotonic() + 30
    while (found := server.client.get(job["links"]["self"]).json())["finished_at"] is None:
        assert time.monotonic() < give_up, found
        time.sleep(0.05)
    assert found["state"] == "succeeded"
    sent = server.client.get(f"{job['links']['self']}/request")
    assert (sent.content, sent.headers["content-type"]) == (MODEL, BYTES["Content-Type"])


def test_a_form_has_a_part_for_each_file(server: Running) -> None:
    plan = server.client.post("/v1/plan?format=csv", content=TABLE, headers=CSV).content
    files = {"problem": ("p.csv", TABLE), "plan": ("plan.csv", plan)}
    assert post(server, "/v1/verify", files=files)["valid"]
    assert post(server, "/v1/plan?seed=3", files={"file": ("view.tflite", MODEL)})["status"] == "optimal"
    options = json.dumps({"time_limit_s": 3})
    assert post(server, "/v1/plan", files={"problem": ("p.csv", TABLE), "options": (None, options)})["peak"] == 112
    wrong = post(server, "/v1/verify", 422, files={"problme": ("p.csv", TABLE)})
    assert wrong["detail"].endswith('got "problme" (did you mean problem?)')
    assert post(server, "/v1/verify", 400, files={"problem": ("p.csv", TABLE)})


def test_a_table_is_checked_and_may_fail(server: Running) -> None:
    query = "/v1/check?budgets=1KiB"
    within: dict[str, Any] = {"content": TABLE, "headers": CSV}
    assert post(server, query, **within)["passed"]
    assert post(server, f"{query}&fail=true", **within)["passed"]
    over = "/v1/check?budgets=100&fail="
    assert not post(server, f"{over}false", **within)["passed"]
    assert not post(server, f"{over}true", 417, **within)["passed"]
    assert post(server, "/v1/plan?capacity=100&fail=true", 417, **within)["status"] == "infeasible"
    assert post(server, "/v1/plan?fail=true&fields=status", **within) == {"status": "optimal"}
    assert post(server, "/v1/plan?fail=1", 422, **within)["detail"] == 'fail: must be true or false, got "1"'


def test_long_lists_of_what_is_wrong_arrive_whole(server: Running) -> None:
    wrong = {"size": [1], "ops": [{"in": [3], "name": 300 * "x"}] * 60}
    for name in ("order", "cascade"):
        errors = post(server, f"/v1/{name}", 422, json=wrong)["errors"]
        assert all("ops[" in sentence for sentence in errors)
    buffers = [{"id": 60 * "x", "size": 1, "start": 0, "end": 1}] * 200
    errors = post(server, "/v1/explain", 422, json={"problem": {"buffers": buffers}})["errors"]
    assert (sum(map(len, errors)) > 10_000, errors[0].startswith("buffers[1].id")) == (True, True)
