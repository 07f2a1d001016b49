"""Tests of the HTML pages that commands write and open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memplan.api.cli.main import main

Captured = pytest.CaptureFixture[str]
TABLE = "id,lower,upper,size\na,0,2,4\nb,1,3,4\nc,2,4,6\n"


@pytest.fixture
def table(tmp_path: Path, capfd: Captured) -> Path:
    (tmp_path / "p.csv").write_text(TABLE)
    made = ["plan", str(tmp_path / "p.csv"), "--deterministic", "-o", str(tmp_path / "p.json")]
    assert main(made) == 0
    capfd.readouterr()
    return tmp_path / "p.csv"


def test_plan_and_verify_write_a_page_and_format_page_opens_it(
    table: Path, tmp_path: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def browse(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr("webbrowser.open", browse)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    page = tmp_path / "page.html"
    assert main(["plan", str(table), "-o", str(tmp_path / "x.json"), "-o", str(page), "-q"]) == 0
    assert ("<title>p.csv</title>" in page.read_text(), opened) == (True, [])
    page.unlink()
    wrong = json.dumps({"a": 0, "b": 0, "c": 0})
    table.with_name("wrong.json").write_text(wrong)
    assert main(["verify", str(table), str(table.with_name("wrong.json")), "-o", str(page), "-q"]) == 3
    assert page.read_text().startswith("<!doctype html>")
    capfd.readouterr()
    assert main(["verify", str(table), str(table.with_name("p.json")), "--format", "page"]) == 0
    (path,) = opened
    assert Path(path.removeprefix("file://")).parent == tmp_path
    assert capfd.readouterr().err.splitlines()[-1] == f"memplan: wrote {path.removeprefix('file://')}"


def test_sweep_writes_a_page_and_a_table(table: Path, tmp_path: Path, capfd: Captured) -> None:
    page = tmp_path / "sweep.html"
    assert main(["sweep", str(table), "--size", "8:16:4", "-o", str(page), "-o", str(page.with_suffix(".csv"))]) == 0
    assert page.read_text().startswith("<!doctype html>")
    assert page.with_suffix(".csv").read_text().startswith("size,status,cost,")
    assert capfd.readouterr().out == ""
