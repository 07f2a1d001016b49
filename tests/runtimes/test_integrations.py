"""Tests of integrations with other runtimes: wrong plans in their output are reported, and their sources are edited."""

import re
import sys
from pathlib import Path

import pytest

from integrations import edit
from memplan.api.cli.main import main

PRINTS = Path(__file__).parents[2] / "tests" / "dumps" / "wrong"


@pytest.mark.parametrize("name", sorted({path.stem.partition(".py")[0] for path in PRINTS.iterdir()}))
def test_verify_reports_a_wrong_plan_in_the_output_of_a_system(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if any(path.suffix == ".onnx" for path in PRINTS.glob(f"{name}.*")):
        pytest.importorskip("onnx")
    assert main(["verify", *map(str, sorted(PRINTS.glob(f"{name}.*")))]) == 3
    message = next(line for line in capsys.readouterr().err.splitlines() if "memplan: warning: " not in line)
    assert re.search(r'"[^"]+" and "[^"]+" share bytes \[\d+, \d+\) of|"[^"]+": must end at or below \d+', message)


@pytest.mark.parametrize("runtime", edit.EDITS)
def test_a_runtime_is_edited_once_by_all_anchors(runtime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: dict[Path, str] = {}
    for name, place, _ in edit.EDITS[runtime]:
        texts[tmp_path / name] = texts.get(tmp_path / name, "") + place
    for file, text in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    name, place, _ = edit.EDITS[runtime][1]
    (tmp_path / name).write_text(texts[tmp_path / name].replace(place, ""))
    monkeypatch.setattr(sys, "argv", ["edit.py", runtime, str(tmp_path)])
    with pytest.raises(SystemExit, match=r"must contain .* once, got it 0 times"):
        edit.main()
    assert all("memplan" not in file.read_text() for file in texts)
    (tmp_path / name).write_text(texts[tmp_path / name])
    edit.main()
    for name, place, line in edit.EDITS[runtime]:
        assert place + line in (tmp_path / name).read_text()
    adapter = tmp_path / edit.ADAPTERS[runtime]
    assert {path.name for path in adapter.parent.iterdir()} >= {"memplan.cpp", "memplan.h", adapter.name}
    with pytest.raises(SystemExit, match="must not contain memplan already"):
        edit.main()
