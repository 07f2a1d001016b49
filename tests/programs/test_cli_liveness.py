"""Tests of the command `memplan liveness`."""

import json
from pathlib import Path

import pytest

from memplan.api.cli.main import main
from memplan.planner.formats import read_problem
from tests.support.programs import call, function, op

Captured = pytest.CaptureFixture[str]
F = function(op("p -> t"), op("t ->"), op("-> u"), op("u -> q"), takes="p", gives="q", p=10, q=10, t=100, u=80)
PROGRAM = {"functions": {"main": function(call("f", "x -> y"), takes="x", gives="y", x=10, y=10), "f": F}}


@pytest.fixture
def operations(tmp_path: Path) -> str:
    path = tmp_path / "operations.json"
    path.write_text(json.dumps(PROGRAM))
    return str(path)


def test_liveness_writes_json_to_stdout_and_a_summary_to_stderr(operations: str, capfd: Captured) -> None:
    assert main(["liveness", operations, "--compare", "--time-limit", "5"]) == 0
    out, err = capfd.readouterr()
    answer = json.loads(out)
    assert answer["workspace"]["live_bytes"] == 110
    assert [row["id"] for row in answer["problem"]["buffers"]] == ["main/x", "main/y", "main/0:f/t", "main/0:f/u"]
    assert [row["peak"] for row in answer["peaks"]] == [110, 200, 200, 200, 120]
    assert err.splitlines()[:2] == [
        "memplan: 4 buffers, at most 110 bytes alive, at main/0:f/0",
        "memplan: nested by scope: 90 bytes more alive",
    ]
    assert err.splitlines()[-1] == "memplan: nested by usage, planned local: peak 120 bytes"


def test_liveness_options_select_the_reading_and_the_planned_buffers(operations: str, capfd: Captured) -> None:
    options = ["--liveness", "scope", "--temporaries", "lifted", "--no-plan-inputs", "--no-plan-outputs", "--quiet"]
    assert main(["liveness", operations, *options]) == 0
    out, err = capfd.readouterr()
    answer = json.loads(out)
    assert (answer["workspace"]["live_bytes"], answer["not_planned"], err) == (180, ["main/x", "main/y"], "")


def test_liveness_executes_the_plan_of_a_problem_it_wrote(operations: str, tmp_path: Path, capfd: Captured) -> None:
    problem, plan, table = (str(tmp_path / name) for name in ("problem.json", "plan.json", "problem.csv"))
    assert main(["liveness", operations, "-o", problem, "-o", table, "--quiet"]) == 0
    assert len(read_problem(Path(table).read_bytes(), table).buffers) == 4
    assert main(["plan", problem, "-o", plan, "--quiet"]) == 0
    assert capfd.readouterr() == ("", "")
    assert main(["liveness", operations, "--plan", plan]) == 0
    out, err = capfd.readouterr()
    assert (json.loads(out)["shadow"], err) == ({"intact": True, "clobbered": []}, "memplan: intact\n")


def test_liveness_ends_with_3_if_a_plan_overwrites_live_bytes(operations: str, tmp_path: Path, capfd: Captured) -> None:
    plan = tmp_path / "plan.csv"
    rows = "main/x,0,1,10,5\nmain/y,3,4,10,0\nmain/0:f/t,0,2,100,10\nmain/0:f/u,2,4,80,20\n"
    plan.write_text(f"id,lower,upper,size,offset\n{rows}")
    assert main(["liveness", operations, "--plan", str(plan), "--quiet"]) == 3
    assert not json.loads(capfd.readouterr().out)["shadow"]["intact"]
    assert main(["liveness", operations, "--plan", str(plan), "--format", "table"]) == 3
    sentence = "main/0:f/0 needs main/x, but main/0:f/0 wrote main/0:f/t over bytes 10 to 15 of default\n"
    assert capfd.readouterr().out == sentence


def test_the_example_has_documented_peaks_and_a_tentative_order_is_reported(tmp_path: Path, capfd: Captured) -> None:
    root = Path(__file__).parents[2]
    assert main(["liveness", str(root / "examples" / "operations.json"), "--compare", "--quiet"]) == 0
    peaks = [(row["peak"], row["lost_bytes"]) for row in json.loads(capfd.readouterr().out)["peaks"]]
    assert (peaks[0], peaks[2][1], peaks[-1][1]) == ((56716, 0), 22560, 22560)
    said = (root / "docs" / "liveness.md").read_text(encoding="utf-8")
    assert "56,716 bytes" in said
    assert "22,560 more bytes" in " ".join(said.split())
    path = tmp_path / "operations.json"
    path.write_text(json.dumps({"order": "tentative", "functions": {"main": function(op("-> a"), a=2048)}}))
    assert main(["liveness", str(path)]) == 0
    assert "the order is tentative; in any order, 2,048 bytes (2 KiB) are alive at once\n" in capfd.readouterr().err
