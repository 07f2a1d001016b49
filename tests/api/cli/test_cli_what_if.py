"""`memplan what-if`: the worth of each buffer, as JSON and for people."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memplan.api.cli.main import main

Captured = pytest.CaptureFixture[str]
EXAMPLES = Path(__file__).parents[3] / "examples"


def test_the_worth_of_each_buffer_is_told(capfd: Captured) -> None:
    assert main(["what-if", str(EXAMPLES / "mobilenet_v2.csv"), "--format", "json", "--shrunk-to", "0.5"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["status"], told["peak"]) == ("optimal", 1505280)
    assert all(row["exact"] for row in told["buffers"])
    assert max(row["gain_if_dropped"][0] for row in told["buffers"]) > 0


def test_a_table_is_for_people(capfd: Captured) -> None:
    assert main(["what-if", str(EXAMPLES / "mobilenet_v2.csv"), "--format", "table"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "optimal: peak 1,505,280 bytes"
    assert lines[1].split() == ["buffer", "size", "if", "dropped", "may", "grow"]


@pytest.mark.parametrize(("option", "value"), [("--ask-limit", "0"), ("--shrunk-to", "1"), ("--more", "0")])
def test_wrong_options_are_refused(option: str, value: str, capfd: Captured) -> None:
    assert main(["what-if", str(EXAMPLES / "mobilenet_v2.csv"), option, value]) == 2
    assert f"memplan: error: {option[2:]}: must be " in capfd.readouterr().err
