"""`memplan cascade`: what it writes where, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memplan.api.cli.main import main

Captured = pytest.CaptureFixture[str]
NETWORKS = Path(__file__).parents[3] / "examples" / "networks"
SMALL = str(NETWORKS / "two_convolutions.json")


def test_the_points_go_to_standard_output_as_json(capfd: Captured) -> None:
    assert main(["cascade", SMALL, "--check", "--format", "json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert told["layers_peak"] == 23_040
    (point,) = told["points"]
    assert (point["peak"], point["macs_ratio"], point["checked_by_value"]) == (6_668, 1.0, True)
    assert point["regions"][0]["kind"] == "tiles"
    assert told["exhausted"]["intervals"] is True


def test_ranges_are_told_in_closed_form(capfd: Captured) -> None:
    assert main(["cascade", SMALL, "--overlap", "sliding", "--format", "json"]) == 0
    (point,) = json.loads(capfd.readouterr().out)["points"]
    assert point["slides"] == [{"tensor": 0, "output": 4, "down": 2_814}]
    ranges = point["regions"][0]["ranges"]["1"]["rows"]
    assert ranges["A"] == 1
    assert ranges["top"] == 24


def test_a_table_is_for_people(tmp_path: Path, capfd: Captured) -> None:
    target = tmp_path / "cascades.json"
    assert main(["cascade", SMALL, "--input", "streamed", "--json", str(target)]) == 0
    told = capfd.readouterr().err
    assert "layer by layer          23,040 bytes" in told
    assert "cascade 0                4,667 bytes     +0.00 % MACs" in told
    assert json.loads(target.read_text())["conventions"]["input"] == "streamed"


def test_a_point_is_told_alone(capfd: Captured) -> None:
    assert main(["cascade", SMALL, "--point", "-1", "--check", "--format", "json"]) == 0
    (point,) = json.loads(capfd.readouterr().out)["points"]
    assert (point["peak"], point["checked_by_value"]) == (6_668, True)
    assert main(["cascade", SMALL, "--point", "7"]) == 2
    assert "point: must be from -1 to 0, got 7" in capfd.readouterr().err


def test_what_does_not_fit_is_status_1(capfd: Captured) -> None:
    assert main(["cascade", SMALL, "--fit", "6 kB", "--format", "table"]) == 1
    assert "no cascade is within the bounds" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--fit", "lots"], "--fit: must be a size such as 4096, 64kB or 1MiB"),
        (["--macs", "much"], "--macs: must be a share such as +10%, got 'much'"),
        (["--alignment", "3"], "alignment: must be a power of two"),
    ],
)
def test_wrong_options_are_status_2(arguments: list[str], told: str, capfd: Captured) -> None:
    assert main(["cascade", SMALL, *arguments]) == 2
    assert told in capfd.readouterr().err
