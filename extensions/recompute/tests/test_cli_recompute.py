"""Tests of the command `memplan order --recompute`."""

import json
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.main import main

Captured = pytest.CaptureFixture[str]
RANDWIRE = str(Path(__file__).parents[3] / "examples" / "graphs" / "cells_randwire32x1_s1.json")


def order_within(path: Path, limit: str, capfd: Captured) -> dict[str, Any]:
    assert main(["order", str(path), "--recompute", "--deterministic", "--within", limit, "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capfd.readouterr().out)
    return found


def test_order_recompute_returns_points_with_falling_peaks_and_rising_costs(tmp_path: Path, capfd: Captured) -> None:
    ops = [{"out": [0], "cost": 2}, *({"in": [k], "out": [k + 1], "cost": 1} for k in range(4)), {"in": [4, 0]}]
    (path := tmp_path / "graph.json").write_text(json.dumps({"size": [100, 40, 40, 40, 40], "ops": ops}))
    asked = ["order", str(path), "--recompute", "--deterministic"]
    assert main([*asked, "--extra-cost", "50%", "--format", "json"]) == 0
    told = json.loads(capfd.readouterr().out)
    points = [(point["peak"], point["extra_cost"], point["clones"]) for point in told["recomputed"]["points"]]
    assert points == [(180, 0, []), (140, 2, [0])]
    assert told["order"] == told["recomputed"]["points"][-1]["order"]
    of_share, of_size = (order_within(path, limit, capfd) for limit in ("80%", "144"))
    assert (of_share, of_share["recomputed"]["points"][-1]["peak"]) == (of_size, 140)
    assert main([*asked, "--within", "64", "--format", "table"]) == 1
    assert "no program is within the limit, which is proved" in capfd.readouterr().out


def test_order_recompute_refuses_invalid_limits(capfd: Captured) -> None:
    asked = ["order", RANDWIRE, "--recompute"]
    assert main(["order", RANDWIRE, "--within", "1"]) == 2
    assert main([*asked, "--extra-cost", "ten"]) == 2
    assert main([*asked, "--within", "-4"]) == 2
    assert main([*asked, "--within", "0%"]) == 2
    assert main([*asked, "--within", "many"]) == 2
    assert main([*asked, "--within", "1kB", "--extra-cost", "10%"]) == 2
    err = capfd.readouterr().err
    assert "within: applies only with recompute" in err
    assert 'extra-cost: must be a percentage such as 10%, got "ten"' in err
    assert "within: must not be given together with extra" in err
    assert 'within: must be a share above 0% of the given peak such as 80%, got "0%"' in err
    assert 'within: must be a size such as 4096, 64kB or 1MiB, got "many", or a share of the given peak' in err


def test_doctor_prints_the_location_of_the_recompute_kernels(capfd: Captured) -> None:
    assert main(["doctor"]) == 0
    assert "  memplan_recompute: " in capfd.readouterr().out
