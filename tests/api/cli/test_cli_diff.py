"""`memplan plan --keep` and `memplan diff`: what they write, and their exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memplan.api.cli.main import main

Captured = pytest.CaptureFixture[str]
OLD = "id,lower,upper,size,offset\na,0,4,8,0\nb,0,4,8,8\nc,4,6,8,0\n"
NEW = "id,lower,upper,size\na,0,4,8\nb,0,5,8\nc,4,6,8\nd,0,4,8\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "old.csv").write_text(OLD)
    (tmp_path / "new.csv").write_text(NEW)
    return tmp_path


def test_a_kept_plan_moves_what_it_must_and_says_so(files: Path, capfd: Captured) -> None:
    arguments = ["plan", str(files / "new.csv"), "--keep", str(files / "old.csv"), "-o", str(files / "new.json")]
    assert main(arguments) == 0
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


def test_a_difference_names_what_came_went_and_moved(files: Path, capfd: Captured) -> None:
    (files / "next.csv").write_text("id,lower,upper,size,offset\na,0,4,8,8\nb,0,5,12,16\nd,0,4,8,0\n")
    assert main(["diff", str(files / "old.csv"), str(files / "next.csv"), "--format", "json"]) == 1
    told = json.loads(capfd.readouterr().out)["diff"]
    assert (told["added"], told["removed"]) == (["d"], ["c"])
    assert told["resized"] == [{"id": "b", "from": 8, "to": 12}]
    assert told["lifetime"] == [{"id": "b", "from": [[0, 4]], "to": [[0, 5]]}]
    assert [(row["id"], row["from"], row["to"], row["reason"]) for row in told["moved"]] == [
        ("a", 0, 8, "taken"),
        ("b", 8, 16, "taken"),
    ]
    assert told["moved"][0]["why"] == 'its old bytes are now those of "d"'
    assert (told["peak_before"], told["peak"], told["moved_bytes"], told["stayed"]) == (16, 28, 20, 0)


def test_equal_plans_differ_in_nothing(files: Path, capfd: Captured) -> None:
    assert main(["diff", str(files / "old.csv"), str(files / "old.csv"), "--format", "table"]) == 0
    assert capfd.readouterr().out.splitlines() == ["peak 16 -> 16 bytes (+0)", "moved 0, 0 bytes; stayed 3"]


def test_plans_without_problems_tell_of_places_only(files: Path, capfd: Captured) -> None:
    for name, at in (("one", 0), ("two", 4)):
        plan = {"placements": [{"id": 1, "pool": "p", "offset": at}]}
        (files / f"{name}.json").write_text(json.dumps(plan))
    assert main(["diff", str(files / "one.json"), str(files / "two.json"), "--format", "json"]) == 1
    told = json.loads(capfd.readouterr().out)["diff"]
    assert told["moved"] == [{"id": 1, "from": 0, "to": 4, "bytes": None, "reason": "unknown", "why": None}]
    assert (told["resized"], told["peak"]) == (None, None)


def test_options_of_the_solve_hold_for_the_best_peak(files: Path) -> None:
    problem, old, made = str(files / "new.csv"), str(files / "old.csv"), files / "new.json"
    command = ["plan", problem, "--keep", old, "-o", str(made), "--solver", "exact", "--deterministic", "-q"]
    assert main(command) == 0
    told = json.loads(made.read_text())
    assert (told["kept"]["moved"], told["reproducible"], told["wall_time_s"]) == (0, True, None)
    assert main(["plan", problem, "--capacity", "40", "--keep", old, "--accept", "fit", "-o", str(made), "-q"]) == 0
    assert json.loads(made.read_text())["kept"]["moved"] == 0


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        (["--solver", "best"], "solver: must be one of auto, "),
        (["--solver", "planners:mine"], "keep: must not be given with a planner of your own"),
        (["--profile", "speed"], 'profile: must be size where an old plan is kept, got "speed"'),
        (["--eps", "many"], "eps: must be a part of the peak"),
    ],
)
def test_what_does_not_go_with_keep_is_refused(files: Path, capfd: Captured, option: list[str], sentence: str) -> None:
    assert main(["plan", str(files / "new.csv"), "--keep", str(files / "old.csv"), *option]) == 2
    assert sentence in capfd.readouterr().err


def test_an_old_plan_that_is_none_is_wrong_input(files: Path, capfd: Captured) -> None:
    (files / "bad.json").write_text('{"placements": [{"id": "a"}]}')
    assert main(["plan", str(files / "new.csv"), "--keep", str(files / "bad.json")]) == 2
    assert "bad.json" in capfd.readouterr().err
