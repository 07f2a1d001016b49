"""Models adapted by options: weights and copies on the command line, and weights by every entrance."""

import json
from pathlib import Path
from typing import Any

import pytest

import memplan
from memplan.api.cli.main import main
from memplan.extensions.files.convert.convert import convert
from memplan.extensions.files.convert.options import ConvertOptions
from memplan.planner.instance.canonical import problem_hash

KWS = Path(__file__).parents[2] / "tests" / "models" / "recorded" / "kws_dscnn_int8.tflite"
Captured = pytest.CaptureFixture[str]


def run_plan(capfd: Captured, *arguments: str, status: int = 0) -> Any:
    assert main(["plan", *arguments, "--format", "json", "--quiet"]) == status
    return json.loads(capfd.readouterr().out)


def test_the_option_weights_chooses_flash_ram_or_any_pool_for_the_weights(capfd: Captured) -> None:
    flash = run_plan(capfd, str(KWS), "--weights", "flash")
    assert {row["name"]: row["used"] for row in flash["pools"]} == {"ram": 16_000, "flash": 24_320}
    ram = run_plan(capfd, str(KWS), "--weights", "ram")
    assert {row["name"]: row["used"] for row in ram["pools"]} == {"ram": 40_320}
    some = run_plan(capfd, str(KWS), "--weights", "choose", "--pool", "ram=20000", "--pool", "flash=64KiB")
    used = {row["name"]: row["used"] for row in some["pools"]}
    assert some["status"] == "optimal"
    assert used["ram"] <= 20_000
    assert some["cost"] == some["cost_lower_bound"]
    assert 24_320 - 4_000 <= some["cost"] < 24_320


def test_written_tensors_are_never_placed_in_flash(capfd: Captured) -> None:
    plan = run_plan(capfd, str(KWS), "--weights", "choose", "--pool", "ram=15000", "--pool", "flash=1MiB", status=1)
    assert plan["status"] == "infeasible"


def test_weights_count_in_budgets(capfd: Captured) -> None:
    weights = ["--weights", "flash"]
    assert main(["check", str(KWS), *weights, "--budget", "ram=16000", "--budget", "flash=24320"]) == 0
    assert main(["check", str(KWS), *weights, "--budget", "flash=24000"]) == 1
    capfd.readouterr()


def test_the_option_copies_applies_to_inputs_and_outputs_of_a_model(capfd: Captured) -> None:
    plan = run_plan(capfd, str(KWS), "--copies", "2")
    found = {row["id"]: (row["pool"], row["offset"]) for row in plan["placements"]}
    assert {"main/x", "main/x#2", "main/Identity", "main/Identity#2"} <= set(found)


def test_read_problem_and_convert_place_weights_in_the_same_pools() -> None:
    weights = memplan.read_problem(KWS, weights="flash", capacity={"ram": 32768, "flash": 65536})
    found = convert(KWS.read_bytes(), None, ConvertOptions(weights="flash")).problem
    assert problem_hash(found.with_capacity({"ram": 32768, "flash": 65536})) == problem_hash(weights)
