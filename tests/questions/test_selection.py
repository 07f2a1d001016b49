"""Selecting fields of answers, and reading options recorded in plans."""

import json
from pathlib import Path
from typing import Any

import pytest

import memplan
from memplan.api.cli.main import main
from memplan.api.request_bodies import JSON, body_shape
from memplan.api.requests import head_of, parse_request, takes_list
from memplan.api.service.request_task import RequestTask, run
from memplan.api.workers.task import TaskControl
from memplan.planner.errors import OptionError
from memplan.questions import QUESTIONS
from memplan.questions.question.selection import Selection
from tests.support.server import RunningServer

Captured = pytest.CaptureFixture[str]
PROBLEM: dict[str, Any] = {
    "buffers": [{"id": "a", "size": 64, "start": 0, "end": 3}, {"id": "b", "size": 32, "start": 2, "end": 5}]
}


@pytest.mark.parametrize("name", list(QUESTIONS))
def test_every_field_of_every_answer_can_be_selected(name: str) -> None:
    answer, models = QUESTIONS[name].answer, QUESTIONS[name].answers
    schemas = {model.__name__: model.model_json_schema(mode="serialization") for model in models}
    first, *others = {
        field: 1 for own, schema in schemas.items() for field in schema.get("$defs", {}).get(own, schema)["properties"]
    }
    content = json.dumps(dict.fromkeys((first, *others), 1)).encode()
    wanted, rest = Selection.from_names(answer, fields=[first]), Selection.from_names(answer, fields=[f"-{first}"])
    assert wanted is not None
    assert rest is not None
    assert json.loads(wanted.write(content)) == {first: 1}
    assert [*json.loads(rest.write(content))] == others
    with pytest.raises(OptionError, match=r"fields: must name fields of the answer \(.*\), got \"no_such\""):
        Selection.from_names(answer, fields=["no_such"])


def test_select_fields_returns_the_named_fields_of_an_answer() -> None:
    plan = memplan.solve(memplan.Problem.model_validate(PROBLEM))
    assert memplan.select_fields(plan, fields=["status", "peak"]) == {"status": "optimal", "peak": 96}
    assert memplan.select_fields(plan, fields="peak") == {"peak": 96}
    assert "placements" not in memplan.select_fields(plan, "-placements")
    with pytest.raises(OptionError, match=r"got \"peaks\" \(did you mean peak\?\)"):
        memplan.select_fields(plan, fields=["peaks"])


def test_the_flag_format_selects_printed_fields_of_an_answer(tmp_path: Path, capfd: Captured) -> None:
    problem, plan = tmp_path / "p.json", tmp_path / "plan.json"
    problem.write_text(json.dumps(PROBLEM))
    assert main(["plan", str(problem), "--format", "status,peak", "-o", str(plan), "--quiet"]) == 0
    assert json.loads(capfd.readouterr().out) == {"status": "optimal", "peak": 96}
    assert json.loads(plan.read_text())["placements"]
    assert main(["check", str(problem), "--budget", "96", "--format=-pools,-plan", "--quiet"]) == 0
    assert not {"pools", "plan"} & json.loads(capfd.readouterr().out).keys()
    assert main(["plan", str(problem), "--format", "pek"]) == 2
    assert "format: must name json, csv, table, tables, triples, exir, page, or fields" in (
        err := capfd.readouterr().err
    )
    assert 'got "pek" (did you mean peak?)' in err


def test_the_query_parameter_fields_selects_fields_of_calls_and_jobs(server: RunningServer) -> None:
    client = server.client
    for _ in range(2):  # the second response comes from the response cache
        answer = client.post("/v1/plan?fields=status,peak&time_limit_s=2", json=PROBLEM)
        assert (answer.status_code, answer.json()) == (200, {"status": "optimal", "peak": 96})
    assert client.post("/v1/plan", json=PROBLEM).json()["placements"]
    body = {"problem": PROBLEM, "options": {"time_limit_s": 2, "budgets": ["96"]}}
    found = client.post("/v1/check?fields=-pools&fields=-plan", json=body).json()
    assert found["passed"]
    assert not {"pools", "plan"} & found.keys()

    job = server.wait_for_end(client.post("/v1/jobs", json=PROBLEM).json())
    for link in ("result", "plan"):
        assert client.get(f"{job['links'][link]}?fields=peak").json() == {"peak": 96}
    assert client.get(f"/v1/plans/{job['problem_hash']}?fields=status").json() == {"status": "optimal"}


def test_an_unknown_field_of_an_answer_is_refused_with_the_list_of_fields(server: RunningServer) -> None:
    answer = server.client.post("/v1/check?fields=pased", json={"problem": PROBLEM})
    assert answer.status_code == 422
    assert "passed, subject, status," in answer.json()["detail"]
    assert answer.json()["detail"].endswith('got "pased" (did you mean passed?)')
    answer = server.client.post("/v1/plan?fields=peak", json=PROBLEM, headers={"accept": "text/csv"})
    rule = 'fields, fail: must be left out unless the answer is application/json, got "text/csv"'
    assert (answer.status_code, answer.json()["detail"]) == (422, rule)
    inside = server.client.post("/v1/check", json={"problem": PROBLEM, "options": {"fields": ["peak"]}})
    assert "belongs in the query, as ?fields=status,peak" in inside.json()["detail"]


BUFFERS = [{"id": "a", "size": 400, "start": 0, "end": 2}, {"id": "b", "size": 8, "start": 1, "end": 3}]
OPTIONS = ["--pool", "sram=4KiB@0x20000000", "--pin", "b=sram:0x100", "--reserve", "sram=16", "--alignment", "4"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("p.json").write_text(json.dumps({"buffers": BUFFERS}))
    assert main(["plan", "p.json", "-o", "plan.json", "-q", *OPTIONS]) == 0
    assert main(["convert", "p.json", "-o", "full.json", "-q", *OPTIONS]) == 0
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "verify p.json plan.json",
        "verify full.json plan.json",
        "verify p.json plan.json --pool sram=4KiB@0x20000000",
        "convert p.json plan.json --to ld -o plan.ld",
        "certify p.json plan.json",
        "check p.json --plan plan.json",
        "plan p.json --keep plan.json --accept 0 -o new.json",
        "plan full.json --keep plan.json --accept 0 -o new.json",
    ],
)
def test_commands_about_a_plan_use_its_recorded_reading_options(folder: Path, line: str) -> None:
    assert main([*line.split(), "-q"]) == 0
    if (new := folder / "new.json").exists():
        kept = json.loads(new.read_text())["kept"]
        assert (kept["stayed"], kept["moved"]) == (2, 0)


def test_advice_about_a_plan_repeats_its_reading_options(folder: Path, capfd: Captured) -> None:
    main(["plan", "p.json", "--capacity", "64", "-o", "none.json", "-q"])
    assert main(["convert", "p.json", "none.json", "--to", "c"]) == 2
    said = capfd.readouterr().err
    assert "the problem is read with --capacity 64, as it was for the plan" in said
    assert "`memplan explain p.json --capacity 64` says why" in said


@pytest.mark.parametrize(
    "line", ["plan p.json --keep bare.json", "convert p.json bare.json --to c", "verify p.json bare.json"]
)
def test_a_plan_without_recorded_options_is_refused_by_their_name(folder: Path, line: str, capfd: Captured) -> None:
    plan = json.loads(Path("plan.json").read_text())
    Path("bare.json").write_text(json.dumps({name: plan[name] for name in plan if name != "read_with"}))
    assert main(line.split()) in (2, 3)
    said = capfd.readouterr().err
    assert "--capacity" in said
    assert "moved" not in said


def answer_request(kind: str, content: dict[str, Any], query: str = "") -> Any:
    task = RequestTask(kind, head_of(JSON, query), json.dumps(content).encode())
    return json.loads(run(TaskControl.from_limit(10), task).content)


def test_calls_about_a_plan_use_its_recorded_reading_options() -> None:
    problem = {"buffers": BUFFERS}
    plan = answer_request("plan", problem, "capacity=sram%3D4KiB&pin=b%3Dsram:256&copies=b%3D2")
    assert plan["read_with"] == {"capacity": ["sram=4KiB"], "pin": ["b=sram:256"], "copies": ["b=2"]}
    assert answer_request("verify", {"problem": problem, "plan": plan})["valid"]


def test_the_record_of_how_a_problem_was_read_stands_in_it_and_its_plans(folder: Path, capfd: Captured) -> None:
    full = memplan.read_problem("full.json")
    plan = memplan.solve(full)
    assert full.read_with is not None
    assert plan.read_with == full.read_with == json.loads(Path("plan.json").read_text())["read_with"]
    assert full.read_with["capacity"] == ["sram=4KiB@0x20000000"]
    # Each later step reads the bare file as the plan says, and applies nothing twice to the adapted one.
    memplan.write_plan(plan, full, "of_full.json")
    assert memplan.verify("p.json", "of_full.json").valid
    assert memplan.verify("full.json", "of_full.json").valid
    assert answer_request(
        "verify", {"problem": {"buffers": BUFFERS}, "plan": json.loads(Path("plan.json").read_text())}
    )["valid"]
    Path("more.json").write_text(json.dumps({**json.loads(Path("full.json").read_text()), "name": "more"}))
    assert main(["plan", "more.json", "--keep", "of_full.json", "-o", "kept.json"]) == 0
    assert main(["check", "p.json", *OPTIONS, "--budget", "sram=4KiB", "--save-baseline", "base.json", "-q"]) == 0
    capfd.readouterr()
    assert main(["check", "p.json", "--baseline", "base.json"]) == 0
    assert f"the problem is read with {' '.join(OPTIONS[-2:])}" in capfd.readouterr().err
    assert json.loads((folder / "base.json").read_text())["problem"]["read_with"] == full.read_with


@pytest.mark.parametrize("kind", ["plan", "order"])
def test_an_empty_list_that_is_sent_for_an_option_equals_its_default(kind: str) -> None:
    shape = body_shape(kind)
    models = [model for model in (shape.options, shape.reading) if model is not None]
    body = json.dumps(QUESTIONS[kind].example).encode()
    lists = [name for model in models for name in model.model_fields if takes_list(model, name)]
    assert lists
    for name in lists:
        (plain, in_query) = (parse_request(kind, head_of(JSON, query), body) for query in ("", f"{name}=[]"))
        whole = {"problem": PROBLEM} if kind == "plan" else QUESTIONS[kind].example
        in_body = parse_request(kind, head_of(JSON, ""), json.dumps({**whole, "options": {name: []}}).encode())
        for asked in (in_query, in_body):
            assert asked.options == plain.options, name
            assert asked.reading is None or asked.reading == type(asked.reading)(), name
