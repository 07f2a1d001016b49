"""Plans remember the options that their problems were read with, on the command and over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.main import main
from memplan.api.request_bodies import JSON
from memplan.api.requests import head_of, parse_request
from memplan.capabilities.capability import Control

BUFFERS = [{"id": "a", "size": 400, "start": 0, "end": 2}, {"id": "b", "size": 8, "start": 1, "end": 3}]
OPTIONS = ["--pool", "sram=4KiB@0x20000000", "--pin", "b=sram:0x100", "--reserve", "sram=16", "--alignment", "4"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("p.json").write_text(json.dumps({"buffers": BUFFERS}))
    assert main(["plan", "p.json", "-o", "plan.json", "-q", *OPTIONS]) == 0
    assert main(["convert", "p.json", "-o", "full.json", "-q", *OPTIONS]) == 0
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "verify p.json plan.json",
        "verify full.json plan.json",
        "verify p.json plan.json --pool sram=4KiB@0x20000000",
        "convert p.json plan.json --to ld -o plan.ld",
        "certify p.json plan.json",
        "check p.json --plan plan.json",
        "plan p.json --keep plan.json --accept 0 -o new.json",
        "plan full.json --keep plan.json --accept 0 -o new.json",
    ],
)
def test_a_plan_is_asked_about_without_its_options(folder: Path, line: str) -> None:
    assert main([*line.split(), "-q"]) == 0
    if (new := folder / "new.json").exists():
        kept = json.loads(new.read_text())["kept"]
        assert (kept["stayed"], kept["moved"]) == (2, 0)


def test_what_is_advised_about_a_plan_has_its_options(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    main(["plan", "p.json", "--capacity", "64", "-o", "none.json", "-q"])
    assert main(["convert", "p.json", "none.json", "--to", "c"]) == 2
    said = capfd.readouterr().err
    assert "the problem is read with --capacity 64, as it was for the plan" in said
    assert "`memplan explain p.json --capacity 64` says why" in said


@pytest.mark.parametrize(
    "line", ["plan p.json --keep bare.json", "convert p.json bare.json --to c", "verify p.json bare.json"]
)
def test_where_a_plan_remembers_nothing_the_missing_option_is_named(
    folder: Path, line: str, capfd: pytest.CaptureFixture[str]
) -> None:
    plan = json.loads(Path("plan.json").read_text())
    Path("bare.json").write_text(json.dumps({name: plan[name] for name in plan if name != "read_with"}))
    assert main(line.split()) in (2, 3)
    said = capfd.readouterr().err
    assert "--capacity" in said
    assert "moved" not in said


def ask(kind: str, content: dict[str, Any], query: str = "") -> Any:
    asked = parse_request(kind, head_of(JSON, query), json.dumps(content).encode())
    return json.loads(asked.answer(Control.of(10))[0])


def test_a_plan_is_asked_about_over_http_without_its_options() -> None:
    problem = {"buffers": BUFFERS}
    plan = ask("plan", problem, "capacity=sram%3D4KiB&pin=b%3Dsram:256&copies=b%3D2")
    assert plan["read_with"] == {"capacity": ["sram=4KiB"], "pin": ["b=sram:256"], "copies": ["b=2"]}
    assert ask("verify", {"problem": problem, "plan": plan})["valid"]
