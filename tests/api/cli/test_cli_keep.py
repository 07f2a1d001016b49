"""`plan --keep` and `check --differences`: kept offsets, and differences from a baseline."""

import json
from pathlib import Path
from typing import Any

import pytest

from memplan import Buffer, Problem, solve
from memplan.api.cli.main import main
from memplan.api.cli.report import advice
from memplan.planner.model.plan import KeptPlaces
from tests.support.values import buffer_rows

Captured = pytest.CaptureFixture[str]


OLD = "id,lower,upper,size,offset\na,0,4,8,0\nb,0,4,8,8\nc,4,6,8,0\n"
NEW = "id,lower,upper,size\na,0,4,8\nb,0,5,8\nc,4,6,8\nd,0,4,8\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "old.csv").write_text(OLD)
    (tmp_path / "new.csv").write_text(NEW)
    return tmp_path


def test_plan_keep_moves_only_the_buffers_that_must_move_and_reports_them(files: Path, capfd: Captured) -> None:
    assert main(["plan", str(files / "new.csv"), "--keep", str(files / "old.csv"), "-o", str(files / "new.json")]) == 0
    told = json.loads((files / "new.json").read_text())
    assert [row["offset"] for row in told["placements"]] == [0, 8, 0, 16]
    moves = {"stayed": 3, "moved": 0, "moved_bytes": 0, "least_moves": 0, "proved": True}
    assert told["kept"] == {"eps": 0.02, "least": "buffers", "peak_without_keeping": 24} | moves
    assert "0 of 3 buffers moved, 0 bytes; proved to be the fewest" in capfd.readouterr().err


def test_the_flag_baseline_problem_supplies_the_problem_of_a_baseline_plan(files: Path, capfd: Captured) -> None:
    plan = str(files / "old.json")
    assert main(["plan", str(files / "old.csv"), "-o", plan, "-q"]) == 0
    alone = ["check", plan, "--baseline", plan, "--differences", "--format", "json", "-q"]
    assert main(alone) == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["pools"], told["difference"]["growth"], told["difference"]["stayed"]) == ([], None, 3)
    page = ["-o", str(files / "page.html")]
    assert main([*alone, *page]) == 2
    assert "page: requires the problem of" in capfd.readouterr().err
    assert main([*alone, "--budget", "8"]) == 2
    assert "problem: must be given if there are budgets" in capfd.readouterr().err
    its = ["--plan", plan, "--baseline", plan, "--baseline-problem", str(files / "old.csv")]
    assert main(["check", str(files / "old.csv"), *its, *page, "--format", "json", "-q"]) == 0
    assert json.loads(capfd.readouterr().out)["difference"]["growth"]["default"]["causes"] == []
    assert b"<html" in (files / "page.html").read_bytes()


def test_plan_keep_uses_the_solve_options_for_the_best_peak(files: Path) -> None:
    problem, old, made = str(files / "new.csv"), str(files / "old.csv"), files / "new.json"
    assert main(["plan", problem, "--keep", old, "-o", str(made), "--solver", "exact", "--deterministic", "-q"]) == 0
    told = json.loads(made.read_text())
    assert (told["kept"]["moved"], told["reproducible"], told["wall_time_s"]) == (0, True, None)
    assert main(["plan", problem, "--keep", old, "--capacity", "40", "--accept", "fit", "-o", str(made), "-q"]) == 0
    assert json.loads(made.read_text())["kept"]["moved"] == 0


def test_plan_keep_refuses_a_malformed_old_plan(files: Path, capfd: Captured) -> None:
    (files / "bad.json").write_text('{"placements": [{"id": "a"}]}')
    assert main(["plan", str(files / "new.csv"), "--keep", str(files / "bad.json")]) == 2
    assert "bad.json" in capfd.readouterr().err


def test_what_is_proved_of_the_fewest_moves_ends_the_table_of_a_kept_plan() -> None:
    problem = Problem(buffers=[Buffer(id="a", size=40, start=0, end=2)])
    kept = KeptPlaces(
        eps=0.02, least="buffers", stayed=1, moved=0, moved_bytes=0, least_moves=0, proved=True, peak_without_keeping=40
    )
    plan = solve(problem).model_copy(update={"status": "feasible", "gap": 0.02, "kept": kept})
    assert [*advice(problem, plan)] == [
        "the fewest moves within --accept are proved; without old places, 40 bytes would do"
    ]
    assert "a longer --time-limit may find it" in next(advice(problem, plan.model_copy(update={"kept": None})))


EXAMPLES = Path(__file__).parents[3] / "examples"
ROWS: list[dict[str, Any]] = [{"id": k, "size": size, "start": 0, "end": 3} for k, size in enumerate((9, 7, 2))]


@pytest.fixture
def problem_file(tmp_path: Path) -> str:
    path = tmp_path / "problem.json"
    path.write_text(json.dumps({"buffers": ROWS, "pools": [{"name": "sram", "size": 15}]}))
    return str(path)


def test_explain_reports_why_nothing_fits_as_json_and_as_a_table(problem_file: str, capfd: Captured) -> None:
    assert main(["explain", problem_file]) == 1
    out, err = capfd.readouterr()
    told = json.loads(out)
    assert (told["status"], told["explanation"]["buffers"]) == ("infeasible", [0, 1])
    assert told["explanation"]["irreducible"] is True
    assert told["explanation"]["would_do"] == {"pool": "sram", "size": 18, "proved": True}
    assert "lacks 3 bytes" in err
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
    assert len([line for line in capfd.readouterr().out.splitlines() if line.startswith("repair")]) == 2
    assert main(["explain", problem_file, "--repairs", "1", "--most-changes", "9"]) == 2
    assert "most-changes: must be at most 4" in capfd.readouterr().err


def test_explain_repairs_an_infeasible_graph_by_reordering_its_operations(tmp_path: Path, capfd: Captured) -> None:
    path = tmp_path / "graph.json"
    uses = ([0], 1), ([0], 3), ([1], 2), ([3], 4), ([2, 4], 5)
    ops = [{"in": reads, "out": [made]} for reads, made in uses]
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


ONE_POOL: dict[str, Any] = {"buffers": buffer_rows(a=(64, 0, 3), b=(32, 2, 5))}
PRICED_POOLS = {"pools": [{"name": "sram", "size": 32}, {"name": "dram", "cost": 1}], "objective": "cost"}


@pytest.fixture
def problem(tmp_path: Path) -> str:
    (tmp_path / "two.json").write_text(json.dumps(ONE_POOL | PRICED_POOLS))
    return str(tmp_path / "two.json")


def test_sweep_writes_csv_and_a_readable_table(problem: str, tmp_path: Path, capfd: Captured) -> None:
    file = tmp_path / "sweep.csv"
    assert main(["sweep", problem, "--size", "sram=64B:0.125KiB:64", "-o", str(file), "-q"]) == 0
    assert capfd.readouterr() == ("", "")
    assert file.read_text().splitlines() == [
        "size,status,cost,cost_lower_bound,peak,lower_bound,sram used,sram lower bound,dram used,dram lower bound",
        "64,optimal,32.0,32.0,96,96,64,64,32,32",
        "128,optimal,0.0,0.0,96,96,96,96,0,0",
    ]
    assert main(["sweep", problem, "--size", "sram=64:64:1", "--format", "table"]) == 0
    head, row = (line.split() for line in capfd.readouterr().out.splitlines())
    assert head == ["size", "of", "sram", "status", "cost", "at", "least", "sram", "used", "dram", "used"]
    assert row == ["64", "B", "optimal", "32", "32", "64", "32"]


def test_a_sweep_of_one_pool_exits_with_1_if_no_size_fits_and_omits_columns(tmp_path: Path, capfd: Captured) -> None:
    file = str(tmp_path / "one.json")
    Path(file).write_text(json.dumps(ONE_POOL))
    assert main(["sweep", file, "--size", "default=0:95:95"]) == 1
    assert [row["status"] for row in json.loads(capfd.readouterr().out)["points"]] == ["infeasible", "infeasible"]
    assert main(["sweep", file, "--size", "96:96:1", "--format", "table"]) == 0
    assert capfd.readouterr().out.splitlines()[0].split() == ["size", "of", "default", "status", "default", "used"]
