"""`memplan verify --again` and `--format page`: what they write and open, and their exit status."""

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


def test_a_plan_is_made_again_to_the_byte(table: Path, capfd: Captured) -> None:
    plan, saved = table.with_name("p.json"), table.with_name("again.json")
    assert main(["verify", str(table), str(plan), "--again", "--save-plan", str(saved)]) == 0
    told = capfd.readouterr()
    assert json.loads(told.out)["again"]["same"] == "bytes"
    assert told.err.splitlines()[-2:] == ["memplan: the same bytes", f"memplan: wrote {saved}"]
    assert saved.read_bytes() == plan.read_bytes()


def test_exit_statuses_tell_what_is_the_same(table: Path, capfd: Captured) -> None:
    plan = table.with_name("p.json")
    whole = json.loads(plan.read_text())
    higher = [row | {"offset": row["offset"] + 1} for row in whole["placements"]]
    other = {"placements": higher, "peak": 11, "status": "feasible"}
    for changed, status in ((whole | {"solver": "x"}, 4), (other, 5)):
        plan.write_text(json.dumps(changed))
        assert main(["verify", str(table), str(plan), "--again"]) == status
    assert "peak 11 (feasible) then, 10 (optimal) now" in capfd.readouterr().err
    assert main(["verify", str(table), str(plan), "--save-plan", "x.json"]) == 2
    assert "save-plan: must be given with better or again" in capfd.readouterr().err


def test_the_page_of_a_plan_is_written_and_opened(
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
