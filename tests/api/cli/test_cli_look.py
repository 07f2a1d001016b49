"""`memplan look`: the page of a problem, of a plan, and of a file with a plan in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memplan.api.cli.main import main

PROBLEM = {"buffers": [{"id": "a", "size": 8, "start": 0, "end": 2}, {"id": "b", "size": 8, "start": 1, "end": 3}]}
PLAN = {"placements": [{"id": "a", "pool": "default", "offset": 64}, {"id": "b", "pool": "default", "offset": 0}]}


def test_a_problem_is_planned_and_its_page_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem, page = tmp_path / "problem.json", tmp_path / "page.html"
    problem.write_text(json.dumps(PROBLEM))
    assert main(["look", str(problem), "-o", str(page), "--no-browser"]) == 0
    assert capsys.readouterr().out.strip() == str(page)
    assert "<title>problem.json</title>" in page.read_text()


def test_the_page_of_a_plan_is_written_beside_it(tmp_path: Path) -> None:
    problem, page = tmp_path / "problem.json", tmp_path / "page.html"
    problem.write_text(json.dumps(PROBLEM))
    assert main(["plan", str(problem), "-o", str(tmp_path / "plan.json"), "--page", str(page), "-q"]) == 0
    assert "<title>problem.json</title>" in page.read_text()


def test_without_a_name_the_page_is_a_new_temporary_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    problem, plan = tmp_path / "problem.json", tmp_path / "plan.json"
    problem.write_text(json.dumps(PROBLEM))
    plan.write_text(json.dumps(PLAN))
    assert main(["look", str(problem), str(plan), "--no-browser"]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path.parent == tmp_path
    assert path.read_text().startswith("<!doctype html>")


def test_what_is_no_problem_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem = tmp_path / "problem.json"
    problem.write_text('{"buffers": [{"id": "a", "size": -1, "start": 0, "end": 2}]}')
    assert main(["look", str(problem), "--no-browser"]) == 2
    assert "buffers[0].size: must be at least 0, got -1" in capsys.readouterr().err
