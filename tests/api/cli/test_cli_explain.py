"""`memplan explain`, and the reasons that `plan` and `check` give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.main import main

Captured = pytest.CaptureFixture[str]
EXAMPLES = Path(__file__).parents[3] / "examples"
ROWS: list[dict[str, Any]] = [{"id": k, "size": size, "start": 0, "end": 3} for k, size in enumerate((9, 7, 2))]


@pytest.fixture
def problem_file(tmp_path: Path) -> str:
    path = tmp_path / "problem.json"
    path.write_text(json.dumps({"buffers": ROWS, "pools": [{"name": "sram", "size": 15}]}))
    return str(path)


def test_explain_reports_the_reason_for_infeasibility_as_json(problem_file: str, capfd: Captured) -> None:
    assert main(["explain", problem_file]) == 1
    out, err = capfd.readouterr()
    told = json.loads(out)
    assert told["status"] == "infeasible"
    assert told["explanation"]["buffers"] == [0, 1]
    assert told["explanation"]["irreducible"] is True
    assert told["explanation"]["would_do"] == {"pool": "sram", "size": 18, "proved": True}
    assert "lacks 3 bytes" in err


def test_explain_prints_a_readable_table_with_the_flag_format_table(problem_file: str, capfd: Captured) -> None:
    assert main(["explain", problem_file, "--format", "table", "--quiet"]) == 1
    out, err = capfd.readouterr()
    assert err == ""
    assert [line.split("  ")[0] for line in out.splitlines()[1:]] == ["kind", "buffer", "buffer", "needed", "would do"]


def test_explain_names_the_buffers_that_determine_a_feasible_peak(problem_file: str, capfd: Captured) -> None:
    assert main(["explain", problem_file, "--capacity", "18", "--format", "json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["status"], told["explanation"], told.keys() & {"repairs", "what_if"}) == ("fits", None, set())
    (pool,) = told["pools"]
    assert (pool["used"], pool["decided_by"], pool["decides"]) == (18, "live-set", [0, 1, 2])


def test_plan_and_check_report_the_reason_why_a_problem_does_not_fit(problem_file: str, capfd: Captured) -> None:
    assert main(["plan", problem_file]) == 1
    assert json.loads(capfd.readouterr().out)["explanation"]["kind"] == "live-set"
    assert main(["check", problem_file]) == 1
    assert "2 buffers (0, 1) do not fit" in capfd.readouterr().out


def test_explain_repairs_are_reported_as_json_and_as_text(problem_file: str, capfd: Captured) -> None:
    assert main(["explain", problem_file, "--repairs", "2", "--format", "json"]) == 0
    told = json.loads(capfd.readouterr().out)["repairs"]
    assert (told["status"], told["fewest"], told["proved"]) == ("repaired", 1, True)
    assert len(told["repairs"]) == 2
    assert main(["explain", problem_file, "--repairs", "2", "--format", "table", "-q"]) == 0
    lines = [line for line in capfd.readouterr().out.splitlines() if line.startswith("repair")]
    assert len(lines) == 2
    assert main(["explain", problem_file, "--repairs", "1", "--most-changes", "9"]) == 2
    assert "most-changes: must be at most 4" in capfd.readouterr().err


def test_explain_repairs_an_infeasible_graph_by_reordering_its_operations(tmp_path: Path, capfd: Captured) -> None:
    path = tmp_path / "graph.json"
    ops = [
        {"in": [0], "out": [1]},
        {"in": [0], "out": [3]},
        {"in": [1], "out": [2]},
        {"in": [3], "out": [4]},
        {"in": [2, 4], "out": [5]},
    ]
    path.write_text(json.dumps({"size": [1, 10, 2, 10, 2, 1], "kept": [5], "ops": ops}))
    assert main(["explain", str(path), "--capacity", "14", "--repairs", "1", "--format", "json", "-q"]) == 0
    told = json.loads(capfd.readouterr().out)["repairs"]["of_operations"]
    assert [(each["kind"], each["operations"]) for each in told["repairs"]] == [("reorder", [1, 2])]
    assert told["repairs"][0]["peak_after"] <= 14


def test_explain_what_if_prints_a_table_of_savings_per_buffer(capfd: Captured) -> None:
    assert main(["explain", str(EXAMPLES / "mobilenet_v2.csv"), "--what-if", "--format", "table"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[2] == "optimal: peak 1,505,280 bytes"
    assert lines[3].split() == ["buffer", "size", "if", "dropped", "may", "grow"]
