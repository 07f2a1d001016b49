"""The output and the exit status of `memplan cascade`."""

import json
from pathlib import Path

import pytest

from memplan.api.cli.main import main

Captured = pytest.CaptureFixture[str]
NETWORKS = Path(__file__).parents[3] / "examples" / "networks"
SMALL = str(NETWORKS / "two_convolutions.json")


def test_memplan_cascade_prints_ranges_as_lines_of_their_ends(capfd: Captured) -> None:
    assert main(["cascade", SMALL, "--overlap", "sliding", "--format", "json"]) == 0
    (point,) = json.loads(capfd.readouterr().out)["points"]
    assert point["slides"] == [{"tensor": 0, "output": 4, "down": 2_814}]
    ranges = point["regions"][0]["ranges"]["1"]["rows"]
    assert (ranges["A"], ranges["top"]) == (1, 24)


def test_memplan_cascade_prints_a_readable_table_unless_quiet(tmp_path: Path, capfd: Captured) -> None:
    target = tmp_path / "cascades.json"
    asked = ["cascade", SMALL, "--input", "streamed", "-o", str(target)]
    assert main([*asked, "--format", "table"]) == 0
    told = capfd.readouterr().out
    assert "layer by layer          23,040 bytes" in told
    assert "cascade 0                4,667 bytes     +0.00 % MACs" in told
    assert json.loads(target.read_text())["conventions"]["input"] == "streamed"
    assert main([*asked, "-q"]) == 0
    assert capfd.readouterr() == ("", "")


def test_memplan_cascade_prints_only_the_point_that_was_selected(capfd: Captured) -> None:
    assert main(["cascade", SMALL, "--point", "-1", "--check", "--format", "json"]) == 0
    (point,) = json.loads(capfd.readouterr().out)["points"]
    assert (point["peak"], point["checked_by_value"]) == (6_668, True)
    assert main(["cascade", SMALL, "--point", "7"]) == 2
    assert "point: must be all, or from -1 to 0, got 7" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "peak", "kind", "steps", "bytes_"),
    [
        (["--stripe", "6x6"], 7_788, "tiles", [4, 4], 1_152),
        (["--stripe", "1"], 7_404, "rows", [56, 1], 768),
        (["--stripe", "1", "--overlap", "sliding"], 5_610, "rows", [56, 1], 768),
    ],
)
def test_memplan_cascade_reproduces_the_documented_example(
    arguments: list[str], peak: int, kind: str, steps: list[int], bytes_: int, capfd: Captured
) -> None:
    assert main(["cascade", SMALL, *arguments, "--check", "--format", "json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert [row["bytes"] for row in told["tensors"] if row["bytes"]] == [2_028, 18_432, 4_608]
    (point,) = told["points"]
    (region,) = point["regions"]
    assert (point["peak"], point["checked_by_value"], region["kind"], region["steps"]) == (peak, True, kind, steps)
    assert region["buffers"][0]["bytes"] == bytes_


def test_memplan_cascade_exits_with_status_1_if_no_point_fits(capfd: Captured) -> None:
    assert main(["cascade", SMALL, "--fit", "6 kB", "--format", "table"]) == 1
    assert "no cascade is within the bounds" in capfd.readouterr().out
