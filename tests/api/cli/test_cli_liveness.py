"""`memplan liveness`, with a plan or without: what they write where, and their exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.main import main
from memplan.planner.formats import read_problem
from tests.support.programs import call, function, op

Captured = pytest.CaptureFixture[str]
F = function(op("p -> t"), op("t ->"), op("-> u"), op("u -> q"), takes="p", gives="q", p=10, q=10, t=100, u=80)
PROGRAM: dict[str, Any] = {
    "functions": {"main": function(call("f", "x -> y"), takes="x", gives="y", x=10, y=10), "f": F}
}


@pytest.fixture
def operations(tmp_path: Path) -> str:
    path = tmp_path / "operations.json"
    path.write_text(json.dumps(PROGRAM))
    return str(path)


def test_the_analysis_goes_to_standard_output(operations: str, capfd: Captured) -> None:
    assert main(["liveness", operations]) == 0
    out, err = capfd.readouterr()
    answer = json.loads(out)
    assert (answer["workspace"]["live_bytes"], answer["peaks"]) == (110, None)
    assert [row["id"] for row in answer["problem"]["buffers"]] == ["main/x", "main/y", "main/0:f/t", "main/0:f/u"]
    assert err.splitlines() == [
        "memplan: 4 buffers, at most 110 bytes alive, at main/0:f/0",
        "memplan: nested by scope: 90 bytes more alive",
        "memplan: lifted by usage: 90 bytes more alive",
        "memplan: lifted by scope: 90 bytes more alive",
    ]


def test_options_say_how_lifetimes_are_read_and_what_is_planned(operations: str, capfd: Captured) -> None:
    options = ["--liveness", "scope", "--temporaries", "lifted", "--no-plan-inputs", "--no-plan-outputs", "--quiet"]
    assert main(["liveness", operations, *options]) == 0
    out, err = capfd.readouterr()
    answer = json.loads(out)
    assert answer["reading"] == {
        "liveness": "scope",
        "temporaries": "lifted",
        "plan_inputs": False,
        "plan_outputs": False,
    }
    assert (answer["workspace"]["live_bytes"], answer["not_planned"], err) == (180, ["main/x", "main/y"], "")


def test_readings_are_compared_where_that_is_asked_for(operations: str, capfd: Captured) -> None:
    assert main(["liveness", operations, "--compare", "--time-limit", "5"]) == 0
    out, err = capfd.readouterr()
    assert [(row["planning"], row["peak"]) for row in json.loads(out)["peaks"]] == [
        ("global", 110),
        ("global", 200),
        ("global", 200),
        ("global", 200),
        ("local", 120),
    ]
    assert err.splitlines()[-1] == "memplan: nested by usage, planned local: peak 120 bytes"


def test_a_problem_is_planned_and_its_plan_run(operations: str, tmp_path: Path, capfd: Captured) -> None:
    problem, plan = str(tmp_path / "problem.json"), str(tmp_path / "plan.json")
    assert main(["liveness", operations, "-o", problem, "--quiet"]) == 0
    assert main(["plan", problem, "-o", plan, "--quiet"]) == 0
    assert capfd.readouterr() == ("", "")
    assert main(["liveness", operations, "--plan", plan]) == 0
    out, err = capfd.readouterr()
    assert (json.loads(out)["shadow"], err) == ({"intact": True, "clobbered": []}, "memplan: intact\n")


def test_a_table_is_written_on_request(operations: str, tmp_path: Path) -> None:
    table = tmp_path / "problem.csv"
    assert main(["liveness", operations, "-o", str(table)]) == 0
    assert len(read_problem(table.read_bytes(), table.name).buffers) == 4


def test_a_plan_that_overwrites_something_is_told_and_exits_with_3(
    operations: str, tmp_path: Path, capfd: Captured
) -> None:
    plan = tmp_path / "plan.csv"
    plan.write_text(
        "id,lower,upper,size,offset\nmain/x,0,1,10,5\nmain/y,3,4,10,0\nmain/0:f/t,0,2,100,10\nmain/0:f/u,2,4,80,20\n"
    )
    assert main(["liveness", operations, "--plan", str(plan), "--quiet"]) == 3
    out, err = capfd.readouterr()
    answer = json.loads(out)["shadow"]
    assert not answer["intact"]
    assert answer["clobbered"][0] == {
        "buffer": "main/x",
        "path": "main/0:f/0",
        "by": "main/0:f/t",
        "overwritten_at": "main/0:f/0",
        "pool": "default",
        "bytes": [10, 15],
    }
    assert err == ""
    assert main(["liveness", operations, "--plan", str(plan), "--format", "table"]) == 3
    assert (
        capfd.readouterr().out
        == "main/0:f/0 needs main/x, but main/0:f/0 wrote main/0:f/t over bytes 10 to 15 of default\n"
    )


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[]", "operations: must be an object, got []"),
        ("{", "must be JSON: EOF while parsing an object at line 1 column 1"),
        ('{"functions": {}}', 'entry: must name a function, got "main"'),
    ],
)
def test_wrong_operations_are_told_with_the_name_of_their_file(
    content: str, sentence: str, tmp_path: Path, capfd: Captured
) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(content)
    for arguments in (["liveness", str(path)], ["liveness", str(path), "--plan", "plan.json"]):
        assert main(arguments) == 2
        told, said = capfd.readouterr()
        assert (told, said.startswith(f"memplan: error: {path}: {sentence}")) == ("", True)


def test_a_wrong_time_limit_is_an_error(operations: str, capfd: Captured) -> None:
    assert main(["liveness", operations, "--time-limit", "0"]) == 2
    assert capfd.readouterr().err == "memplan: error: time-limit: must be greater than 0.0, got 0.0 (left out, 10.0)\n"


def test_only_one_of_operations_and_plan_is_standard_input(capfd: Captured) -> None:
    assert main(["liveness", "-", "--plan", "-"]) == 2
    assert capfd.readouterr().err.endswith("files: only one of them must be standard input, got - twice\n")


def test_a_tentative_order_is_told(tmp_path: Path, capfd: Captured) -> None:
    path = tmp_path / "operations.json"
    path.write_text(json.dumps({"order": "tentative", "functions": {"main": function(op("-> a"), a=2048)}}))
    assert main(["liveness", str(path)]) == 0
    assert "the order is tentative; in any order, 2,048 bytes (2 KiB) are alive at once\n" in capfd.readouterr().err


def test_the_example_needs_what_its_document_says(capfd: Captured) -> None:
    root = Path(__file__).parents[3]
    assert main(["liveness", str(root / "examples" / "operations.json"), "--compare", "--quiet"]) == 0
    peaks = {
        (row["liveness"], row["temporaries"], row["planning"]): (row["peak"], row["lost_bytes"])
        for row in json.loads(capfd.readouterr().out)["peaks"]
    }
    assert peaks["usage", "nested", "global"] == (56716, 0)
    assert peaks["usage", "lifted", "global"][1] == peaks["usage", "nested", "local"][1] == 22560
    said = (root / "docs" / "liveness.md").read_text(encoding="utf-8")
    assert "56,716 bytes" in said
    assert "22,560 more" in said
