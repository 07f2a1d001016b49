"""Problems and plans as files, for those who import memplan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import memplan
from memplan import Buffer, FileError, InputError, OptionError, Pool, Problem, solve

PROBLEM = Problem(buffers=[Buffer(id=name, size=64, start=0, end=2) for name in ("a", "b")])
PLAN = solve(PROBLEM)


@pytest.mark.parametrize("name", ["problem.json", "problem.csv"])
def test_what_is_written_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    data = memplan.write_problem(PROBLEM, path)
    assert path.read_bytes() == data
    assert PROBLEM == memplan.read_problem(path) == memplan.read_problem(str(path)) == memplan.read_problem(data)
    written = memplan.write_plan(PLAN, PROBLEM, tmp_path / f"plan-of-{name}")
    assert memplan.read_plan(tmp_path / f"plan-of-{name}", PROBLEM).placements == PLAN.placements
    assert memplan.read_plan(written, PROBLEM).placements == PLAN.placements


def test_a_format_is_asked_for_by_name_and_is_json_without_one(tmp_path: Path) -> None:
    assert memplan.write_problem(PROBLEM).startswith(b'{"buffers"')
    assert memplan.write_problem(PROBLEM, tmp_path / "problem.txt", format="csv").startswith(b"id,lower")
    assert memplan.write_plan(PLAN, PROBLEM, format="csv").splitlines()[0] == b"id,lower,upper,size,offset"
    assert memplan.read_plan(memplan.write_plan(PLAN, PROBLEM), PROBLEM) == PLAN


def test_models_of_other_systems_are_read_too() -> None:
    assert len(memplan.read_problem(Path(__file__).parents[1] / "models" / "view.tflite").buffers) > 0


@pytest.mark.parametrize(
    ("source", "kind", "sentence"),
    [
        ("missing.json", FileError, "missing.json: no such file or directory"),
        (Path(), FileError, ".: is a directory"),
        ("a\0b", FileError, "a\0b: embedded null byte"),
        ('{"buffers": []}', InputError, 'source: must be bytes or a path, got text (a str is a path): "{\\"buffers\\"'),
        (5, InputError, "source: must be bytes or a string or a path, got 5"),
        (b"", InputError, "must not be empty"),
        (b'{"buffers": [{"id": "a", "size": -1}]}', InputError, "buffers[0].size: must be at least 0, got -1"),
    ],
)
def test_what_cannot_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Any, kind: type[InputError], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind) as caught:
        memplan.read_problem(source)
    assert str(caught.value).startswith(sentence)


def test_what_is_wrong_in_a_file_is_told_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "wrong.csv"
    path.write_text("id,lower,upper,size\na,5,1,4\n")
    with pytest.raises(InputError) as caught:
        memplan.read_problem(path)
    assert caught.value.sentences == (f"{path}: line 2, column 'upper': must be greater than start (5), got 1",)


def test_what_cannot_be_written_is_told_and_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "problem.csv"
    path.write_bytes(b"before")
    beyond = Problem(buffers=PROBLEM.buffers, pools=(Pool(size=5),))
    with pytest.raises(InputError, match=r"pools\[0\].size: cannot be written to a table"):
        memplan.write_problem(beyond, path)
    with pytest.raises(OptionError, match='format: must be json or csv, got "xml"'):
        memplan.write_plan(PLAN, PROBLEM, path, format="xml")
    with pytest.raises(InputError, match=r"must end in .json or .csv"):
        memplan.write_problem(PROBLEM, tmp_path / "problem.txt")
    with pytest.raises(FileError, match="no such file or directory"):
        memplan.write_problem(PROBLEM, tmp_path / "nowhere" / "problem.json")
    assert path.read_bytes() == b"before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["problem.csv"]
