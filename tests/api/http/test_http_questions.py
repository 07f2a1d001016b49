"""Questions other than plan over HTTP: as calls and as jobs."""

import json
from typing import Any

import pytest

from memplan.api.client.http import Client
from memplan.api.http.openapi import PROBLEM_EXAMPLE
from memplan.programs.operations.graph import graph_from
from memplan.programs.order.options import OrderOptions
from memplan.questions import QUESTIONS
from memplan.questions.question.wire import request_model
from tests.support.operation_graphs import SUMS
from tests.support.server import RunningServer

OTHERS = tuple(name for name in QUESTIONS if name != "plan")


def test_an_ordering_job_ends_with_the_same_answer_as_the_order_call(server: RunningServer) -> None:
    job = server.client.post("/v1/jobs?kind=order&priority=3", json={"graph": SUMS, "deadline_s": 100}).json()
    assert (job["kind"], job["name"], job["priority"], job["buffers"]) == ("order", "sums", 3, 6)
    assert job["options"] == OrderOptions().model_dump(mode="json")
    assert (job["links"]["plan"], job["deadline_at"] > job["created_at"]) == (None, True)
    found = server.wait_for_end(job)
    assert (found["state"], found["plan_status"]) == ("succeeded", "optimal")
    answer = server.client.get(job["links"]["result"])
    assert (answer.headers["content-type"], answer.json()["peak"]) == ("application/json", 18)
    refused = server.client.get(f"/v1/jobs/{job['id']}/plan")
    assert (refused.status_code, "job of the kind order has no plan" in refused.text) == (404, True)
    events = server.client.get(job["links"]["events"]).text
    assert [line for line in events.splitlines() if line.startswith("event")] == [
        *("event: queued", "event: started", "event: finished")
    ]


def test_a_cascade_job_sends_each_point_as_an_event_when_it_is_found(server: RunningServer) -> None:
    body = QUESTIONS["cascade"].example
    found = server.client.post("/v1/cascade", json=body).json()
    assert (found["layers_peak"], found["points"][-1]["peak"], found["exhausted"]["intervals"]) == (23_040, 4_667, True)
    job = server.client.post("/v1/jobs?kind=cascade", json=body).json()
    assert (server.wait_for_end(job)["state"], job["options"]["input"]) == ("succeeded", "streamed")
    assert server.client.get(job["links"]["result"]).json()["points"] == found["points"]
    told = [line[6:] for line in server.client.get(job["links"]["events"]).text.splitlines() if "macs_ratio" in line]
    assert 4_667 in [json.loads(line)["peak"] for line in told]
    with Client(f"http://127.0.0.1:{server.port}") as client:
        assert client.cascade(graph_from(body["graph"]), input="streamed", macs=1.1).points[-1].peak == 4_667


def test_jobs_can_be_listed_by_kind_and_plan_jobs_have_a_result_link(server: RunningServer) -> None:
    plan = server.client.post("/v1/jobs?kind=plan", json=PROBLEM_EXAMPLE).json()
    order = server.client.post("/v1/jobs?kind=order", json=SUMS).json()
    server.wait_for_end(plan)
    server.wait_for_end(order)
    found = {kind: server.client.get(f"/v1/jobs?kind={kind}&limit=1").json()["jobs"] for kind in ("plan", "order")}
    listed = {kind: [job["id"] for job in jobs] for kind, jobs in found.items()}
    assert listed == {"plan": [plan["id"]], "order": [order["id"]]}
    result = server.client.get(plan["links"]["result"])
    assert result.content == server.client.get(plan["links"]["plan"]).content
    assert json.loads(result.content)["status"] == "optimal"


def test_a_job_of_an_unknown_kind_is_refused(server: RunningServer) -> None:
    known = ", ".join(("plan", *OTHERS))
    for query in ("kind=guess", "kind=plan&kind=plan"):
        assert server.client.post(f"/v1/jobs?{query}", json=SUMS).status_code == 422
    assert server.client.post("/v1/jobs?kind=guess", json=SUMS).json()["detail"] == (
        f'kind: must be one of {known}, got "guess"'
    )


def test_the_schema_describes_the_call_of_every_kind_of_job(server: RunningServer) -> None:
    described = server.client.get("/openapi.json").json()
    for kind in map(QUESTIONS.__getitem__, OTHERS):
        call = described["paths"][kind.path]["post"]
        assert {"200", "400", "408", "413", "415", "422", "429", "503"} <= call["responses"].keys()
        assert request_model(kind).__name__ in described["components"]["schemas"]


COPY, SPREAD = ({"op": "copy", "inputs": ["a"], "outputs": ["b"]}, {"op": "spread", "inputs": ["b"], "outputs": ["c"]})
TENSORS = [{"id": "a", "size": 64}, {"id": "b", "size": 32}, {"id": "c", "size": 64}]
MAIN = {"results": ["c"], "buffers": TENSORS, "body": [{"op": "make", "outputs": ["a"]}, COPY, SPREAD]}
PROGRAM: dict[str, Any] = {"functions": {"main": MAIN}}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("plan", PROGRAM),
        ("plan", {"problem": PROGRAM}),
        ("plan?capacity=256", PROGRAM),
        ("explain", {"problem": PROGRAM}),
        ("sweep", {"problem": PROGRAM, "sizes": {"default": {"first": 90, "last": 96, "step": 6}}}),
    ],
)
def test_plan_explain_and_sweep_accept_operations_as_their_problem(path: str, body: Any, server: RunningServer) -> None:
    answer = server.client.post(f"/v1/{path}", json=body)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    if path.startswith("plan"):
        assert (found["status"], found["peak"]) == ("optimal", 96)


def test_operations_that_expand_to_too_many_buffers_are_refused_before_expansion(server: RunningServer) -> None:
    functions: dict[str, Any] = {"f0": {"buffers": [{"id": "a", "size": 1}], "body": [{"op": "x", "outputs": ["a"]}]}}
    for k in range(1, 21):
        functions[f"f{k}"] = {"body": [{"call": f"f{k - 1}"}, {"call": f"f{k - 1}"}]}
    answer = server.client.post("/v1/plan", json={"functions": functions, "entry": "f20"})
    assert answer.status_code == 422
    assert "functions: must have at most 200000 statements and buffers" in answer.text


def test_a_job_returns_its_request_body_and_its_answer_as_text(server: RunningServer) -> None:
    body = {"graph": SUMS, "options": {"deterministic": True}}
    job = server.wait_for_end(server.client.post("/v1/jobs?kind=order", json=body).json())
    assert server.client.get(f"{job['links']['self']}/request").json() == body
    said = server.client.get(job["links"]["result"], headers={"Accept": "text/plain"})
    assert said.headers["content-type"].startswith("text/plain")
    answer = QUESTIONS["order"].answer.model_validate(server.client.get(job["links"]["result"]).json())
    assert said.text.splitlines() == list(QUESTIONS["order"].lines(answer))
    plan = server.wait_for_end(server.client.post("/v1/jobs", json=PROBLEM_EXAMPLE).json())
    assert server.client.get(f"{plan['links']['self']}/request").json() == PROBLEM_EXAMPLE
    assert server.client.get("/v1/jobs/none/request").status_code == 404
