"""`plan --keep` and `check --differences`: kept offsets, and differences from a baseline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memplan import Buffer, Problem, solve
from memplan.api.cli.main import main
from memplan.api.cli.report import advice
from memplan.planner.model.plan import KeptPlaces

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
    assert told["kept"] == {
        "eps": 0.02,
        "least": "buffers",
        "stayed": 3,
        "moved": 0,
        "moved_bytes": 0,
        "least_moves": 0,
        "proved": True,
        "peak_without_keeping": 24,
    }
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
    command = ["plan", problem, "--keep", old, "-o", str(made), "--solver", "exact", "--deterministic", "-q"]
    assert main(command) == 0
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
