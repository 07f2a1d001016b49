"""Files and models over HTTP: converted, planned, and sent as parts of a form."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import from_json, to_json

import memplan
from memplan import verify
from memplan.api.request_bodies import BYTES as BYTES_TYPE
from memplan.api.settings import Settings
from memplan.planner.foreign.reading import read_model
from memplan.planner.formats.memplan_json import read_plan
from memplan.planner.model.problem import Problem
from memplan.programs.models.model_graph import read_model_graph
from memplan.programs.operations.graph import write_graph
from memplan.questions import QUESTIONS
from tests.runtimes.tflite_files import model, operator, subgraph, tensor
from tests.support.dump_files import MEMORIES, dump_bytes
from tests.support.server import RunningServer, run_server

MODEL = (Path(__file__).parents[2] / "tests" / "models" / "choice.tflite").read_bytes()
VIEW = (Path(__file__).parents[2] / "tests" / "models" / "view.tflite").read_bytes()
BYTES = {"Content-Type": BYTES_TYPE}


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with run_server(Settings(max_jobs=20)) as found:
        yield found


def test_http_returns_the_names_of_a_program_on_request(server: RunningServer) -> None:
    def convert_model(data: bytes, **params: str) -> dict[str, Any]:
        found: dict[str, Any] = server.client.post("/v1/convert", params=params, content=data, headers=BYTES).json()
        return found

    names = convert_model(MODEL, program="true")["names"]
    assert len(names["roles"]) == len(names["operations"]) == len(read_model(MODEL).problem.buffers.ids)
    assert [step["time"] for step in names["steps"]] == sorted(step["time"] for step in names["steps"])
    assert convert_model(MEMORIES, program="true")["names"] is None
    assert "names" not in convert_model(MODEL)
    graph = convert_model(MODEL, program="true")["graph"]
    assert graph == from_json(write_graph(read_model_graph(MODEL).graph))
    assert server.client.post("/v1/order", json={"graph": graph}).json()["status"] == "optimal"
    assert "graph" not in convert_model(MEMORIES, program="true")


def test_http_convert_returns_the_problem_and_the_plan_of_a_dump(server: RunningServer) -> None:
    (dump,) = dump_bytes("mlp_sgd.hlo.pb")
    found = server.client.post("/v1/convert", json={"file": b64encode(dump).decode()}).json()
    problem = Problem.model_validate(found["problem"])
    plan = read_plan(to_json(found["plan"]), problem)
    assert (found["format"], found["own_peak"], found["violations"]) == ("xla", 12_090_728, [])
    assert verify(problem, plan).valid


@pytest.mark.parametrize(
    ("data", "query", "sentence"),
    [
        (MODEL[:200], "", "model.buffers: must lie in the file (200 bytes)"),
        (MODEL, "alignment=0", "alignment: must be "),
        (
            MODEL,
            "scratch=my_op",
            "scratch: must be OPERATOR=SIZE, or of one operator's output OUTPUT=SIZE, as in my_op=1024 or my_op=4KiB, "
            "got ",
        ),
    ],
)
def test_http_reports_errors_in_a_file(server: RunningServer, data: bytes, query: str, sentence: str) -> None:
    answer = server.client.post(f"/v1/convert?{query}", content=data, headers=BYTES)
    assert answer.status_code in (400, 422)
    assert answer.json()["errors"][0].startswith(sentence)


def test_a_model_is_planned_for_all_values_of_its_dimensions_over_http(server: RunningServer) -> None:
    data = (Path(__file__).parents[2] / "tests" / "models" / "exported.pt2").read_bytes()
    options = {"symbol": {"s77": {"min": 4, "max": 32}}, "time_limit_s": 10}
    body = {"problem": b64encode(data).decode(), "options": options}
    found = server.client.post("/v1/shapes", json=body).json()
    assert found == from_json(to_json(memplan.shapes(data, options=memplan.ShapesOptions.model_validate(options))))
    assert (found["status"], found["symbols"]["s77"]["max"]) == ("optimal", 32)
    limited = body | {"options": {"limits": True, "within": 4096, "dims": {}}}
    assert server.client.post("/v1/shapes", json=limited).json()["limits"]["limits"][0]["symbol"] == "s77"
    refused = server.client.post("/v1/shapes", json=body | {"options": {"symbol": {"n": {}}}})
    assert refused.json()["errors"] == ['symbol: must be a named dimension of the model (s77), got "n"']


def worker_loss_lines(server: RunningServer) -> list[str]:
    return [line for line in server.client.get("/metrics").text.splitlines() if "memplan_workers_lost_total" in line]


def test_http_answers_a_broken_file_with_a_message_and_keeps_its_workers(server: RunningServer) -> None:
    before = worker_loss_lines(server)
    nested = server.client.post("/v1/convert", content=b'{"functions":' + b"[" * 3_000_000, headers=BYTES)
    assert nested.status_code == 400
    assert worker_loss_lines(server) == before


def test_http_writes_a_plan_into_its_model_and_refuses_an_invalid_one(server: RunningServer) -> None:
    problem = server.client.post("/v1/convert", content=VIEW, headers=BYTES).json()["problem"]
    plan = server.client.post("/v1/plan", json=problem).json()
    body: dict[str, Any] = {"plan": plan, "options": {"to": "tflite"}}
    (file,) = server.client.post("/v1/convert", json=body | {"file": b64encode(VIEW).decode()}).json()["files"]
    assert (file["suffix"], read_model(b64decode(file["base64"])).own_peak) == ("", plan["peak"])
    broken_model = server.client.post("/v1/convert", json=body | {"file": b64encode(VIEW[:200]).decode()})
    no_model = server.client.post("/v1/convert", json=body | {"file": problem})
    assert (broken_model.status_code, no_model.status_code) == (400, 400)
    converted = server.client.post("/v1/convert", json=problem).json()
    assert (converted["format"], converted["problem"]) == ("json", problem)


def test_symbolic_problems_with_pins_or_conflicts_are_answered_or_refused(server: RunningServer) -> None:
    buffers: list[dict[str, Any]] = [
        {"id": "table", "size": 64, "start": 0, "end": 9, "offset": 0},
        {"id": "input", "size": "32*n", "start": 0, "end": 3},
        {"id": "view", "size": "16*n", "start": 2, "end": 5, "alias_of": "input", "alias_offset": "16*n"},
        {"id": "log", "size": "16*n", "start": 8, "end": 9},
    ]
    problem = {"symbols": {"n": {"min": 1}}, "alignment": 16, "buffers": buffers, "conflicts": [["view", "log"]]}
    answer = server.client.post("/v1/shapes", json={"problem": problem}).json()
    assert (answer["status"], answer["unchecked"], answer["bound"]) == ("optimal", None, ["48*n + 64"])
    assert (answer["views"][0][:2], answer["pins"][0][0], answer["apart"]) == ([2, 1], 0, [[0, 1, 3]])
    buffers[0]["offset"] = 8
    refused = server.client.post("/v1/shapes", json={"problem": problem})
    assert refused.status_code == 422
    assert "buffers[0].offset: must be proved to be a multiple of the alignment (16), got 8" in refused.text


def test_a_format_is_recognised_by_the_content_or_name_of_a_body(server: RunningServer) -> None:
    snapshot = b64decode(QUESTIONS["compare"].example["file"])
    answer = server.client.post("/v1/plan", content=snapshot, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["peak"]) == (200, 1024)
    other = server.client.post("/v1/plan", json={"bufers": []})
    assert (other.status_code, other.json()["detail"][:8]) == (422, "buffers:")
    for data, query, known in ((MEMORIES, "", "cadence"), (TABLE, "?name=small.csv", "csv")):
        assert post(server, f"/v1/convert{query}", content=data, headers=BYTES)["format"] == known


CSV = {"Content-Type": "text/csv"}
TABLE = "id,lower,upper,size\na,0,3,64\nb,2,5,48\n"


def post(server: RunningServer, path: str, status: int = 200, **sent: Any) -> Any:
    answer = server.client.post(path, **sent)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_model_is_planned_with_the_options_for_reading_it(server: RunningServer) -> None:
    plan = post(server, "/v1/plan", content=VIEW, headers=BYTES)
    assert (plan["status"], len(plan["placements"])) == ("optimal", len(read_model(VIEW).problem.buffers))
    apart = post(server, "/v1/plan?views=separate&capacity=1MiB", content=VIEW, headers=BYTES)
    assert (apart["peak"] >= plan["peak"], apart["pools"][0]["size"]) == (True, 2**20)
    table = server.client.post("/v1/plan", content=VIEW, headers={**BYTES, "Accept": "text/csv"})
    assert table.text.startswith("id,lower,upper,size,alignment,offset")
    assert "views" in post(server, "/v1/plan?views=separate", 422, json={"buffers": []})["detail"]


def test_a_job_accepts_a_model(server: RunningServer) -> None:
    job = post(server, "/v1/jobs?kind=cascade&name=view.tflite&priority=2", 202, content=VIEW, headers=BYTES)
    assert (job["name"], job["priority"]) == ("view.tflite", 2)
    assert server.wait_for_end(job)["state"] == "succeeded"
    sent = server.client.get(f"{job['links']['self']}/request")
    assert (sent.content, sent.headers["content-type"]) == (VIEW, BYTES["Content-Type"])


def test_http_accepts_a_form_with_one_part_for_each_file(server: RunningServer) -> None:
    plan = server.client.post("/v1/plan?format=csv", content=TABLE, headers=CSV).content
    assert post(server, "/v1/verify", files={"problem": ("p.csv", TABLE), "plan": ("plan.csv", plan)})["valid"]
    assert post(server, "/v1/plan?seed=3", files={"file": ("view.tflite", VIEW)})["status"] == "optimal"
    options = json.dumps({"time_limit_s": 3})
    assert post(server, "/v1/plan", files={"problem": ("p.csv", TABLE), "options": (None, options)})["peak"] == 112
    wrong = post(server, "/v1/verify", 422, files={"problme": ("p.csv", TABLE)})
    assert wrong["detail"].endswith('got "problme" (did you mean problem?)')
    assert post(server, "/v1/verify", 400, files={"problem": ("p.csv", TABLE)})


def test_http_returns_status_417_for_a_failed_check_or_plan_if_fail_is_true(server: RunningServer) -> None:
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


def test_long_lists_of_errors_arrive_complete(server: RunningServer) -> None:
    wrong = {"size": [1], "ops": [{"in": [3], "name": 300 * "x"}] * 60}
    for name in ("order", "cascade"):
        errors = post(server, f"/v1/{name}", 422, json=wrong)["errors"]
        assert all("ops[" in sentence for sentence in errors)
    buffers = [{"id": 60 * "x", "size": 1, "start": 0, "end": 1}] * 200
    errors = post(server, "/v1/explain", 422, json={"problem": {"buffers": buffers}})["errors"]
    assert (sum(map(len, errors)) > 10_000, errors[0].startswith("buffers[1].id")) == (True, True)


@pytest.mark.parametrize("call", ["plan?", "order?", "check?budgets=1MiB"])
def test_http_answers_list_the_warnings_of_the_reader(server: RunningServer, call: str) -> None:
    rows = [operator("RELU", [0], [1]), operator("CUSTOM", [1], [2])]
    data = model(subgraph([tensor(name, (4,)) for name in "xyz"], [0], [2], rows))
    for given, n_unknown in (("", 1), ("&scratch=CUSTOM=64", 0)):
        answer = server.client.post(f"/v1/{call}{given}", content=data, headers=BYTES)
        assert answer.status_code == 200, answer.text
        assert len(answer.json().get("unknown", ())) == n_unknown
        if call.startswith("check"):
            assert answer.json()["passed"] == (n_unknown == 0)
