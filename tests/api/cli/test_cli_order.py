"""`memplan order`: what it writes where, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memplan.api.cli.main import main
from tests.support import tflite_files as tflite
from tests.support.operation_graphs import ORDERED_INSIDE

Captured = pytest.CaptureFixture[str]
GRAPHS = Path(__file__).parents[3] / "examples" / "graphs"
MODELS = Path(__file__).parents[2] / "models"
RANDWIRE = str(GRAPHS / "cells_randwire32x1_s1.json")


def test_two_operations_that_make_one_tensor_are_named(tmp_path: Path, capfd: Captured) -> None:
    graph = tmp_path / "graph.json"
    graph.write_text('{"size": [4, 4], "ops": [{"out": [0]}, {"out": [0, 1], "name": "b"}]}')
    assert main(["order", str(graph), "--format", "peak"]) == 0
    said = 'tensor 0 is made by ops[0] and by ops[1] ("b"), which does not read it'
    assert f"warning: made-again: {said}" in capfd.readouterr().err


def test_a_table_is_for_people(capfd: Captured) -> None:
    assert main(["order", RANDWIRE, "--format", "table", "--deterministic"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines] == [
        "operations",
        "given peak",
        "best peak",
        "lower bound",
        "placed peak",
        "saved",
        "moves",
    ]
    assert "3,669,120 bytes, optimal" in lines[2]
    assert lines[5].endswith("1,223,040 bytes (25.0 %)")
    assert main(["order", RANDWIRE, "--time-limit", "30", "--format", "json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["peak"], told["gap"], told["placed_peak"], told["saved_bytes"]) == (3669120, 0.0, 3669120, 1223040)
    assert 0 < told["moves"] < 40
    assert told["wall_time_s"] > 0


def test_what_proves_the_bound_is_written_and_why_nothing_does_is_said(tmp_path: Path, capfd: Captured) -> None:
    search, none = tmp_path / "search.proof", tmp_path / "none.proof"
    assert main(["order", RANDWIRE, "--deterministic", "-o", str(search), "--format", "json"]) == 0
    assert search.read_text() == json.loads(capfd.readouterr().out)["certificate"]["text"]
    (inside := tmp_path / "inside.json").write_text(json.dumps(ORDERED_INSIDE))
    assert main(["order", str(inside), "--deterministic", "-o", str(none), "--format", "json"]) == 0
    assert "memplan: no certificate: " in capfd.readouterr().err
    assert not none.exists()


def test_a_model_is_written_in_its_new_order(tmp_path: Path, capfd: Captured) -> None:
    sizes = {"x": 64, "a": 1024, "b": 1024, "c": 4, "d": 4, "y": 4}
    tensors = [tflite.tensor(name, [size]) for name, size in sizes.items()]
    rows = [("RELU", [0], [1]), ("RELU", [0], [2]), ("RELU", [1], [3]), ("RELU", [2], [4]), ("ADD", [3, 4], [5])]
    operators = [tflite.operator(*row) for row in rows]
    model, target = tmp_path / "model.tflite", tmp_path / "new.tflite"
    model.write_bytes(
        tflite.model(tflite.subgraph(tensors, [0], [5], operators), offline_plan=[1, 0, 6, -1, -1, -1, -1, -1, -1])
    )
    asked = ["order", str(model), "--deterministic", "--format", "table", "-o"]
    assert main([*asked, str(target)]) == 0
    assert "has not the metadata OfflineMemoryAllocation, a plan for the old order" in capfd.readouterr().err
    assert len(target.read_bytes()) == len(model.read_bytes())
    assert main([*asked, str(model)]) == 2
    assert "output: must be another file than those that are read" in capfd.readouterr().err
    assert main(["order", RANDWIRE, "--deterministic", "-o", str(target)]) == 2
    assert "a graph or a program was read" in capfd.readouterr().err


def test_a_program_is_ordered_if_its_order_is_tentative(tmp_path: Path, capfd: Captured) -> None:
    body = [
        {"op": "wide", "outputs": ["a"]},
        {"op": "tall", "outputs": ["b"]},
        {"op": "end", "inputs": ["a"], "outputs": ["c"]},
    ]
    buffers = [{"id": name, "size": size} for name, size in (("a", 4), ("b", 4), ("c", 1))]
    path = tmp_path / "program.json"
    program = {"functions": {"main": {"buffers": buffers, "body": body}}}
    path.write_text(json.dumps(program))
    assert main(["order", str(path)]) == 2
    assert "order: must be tentative where another one is asked for, got final" in capfd.readouterr().err
    path.write_text(json.dumps({**program, "order": "tentative"}))
    assert main(["order", str(path), "--deterministic", "--format", "json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["given_peak"], told["peak"]) == (8, 5)


def test_recompute_gives_points_with_falling_peaks_and_rising_costs(tmp_path: Path, capfd: Captured) -> None:
    ops = [{"out": [0], "cost": 2}, *({"in": [k], "out": [k + 1], "cost": 1} for k in range(4)), {"in": [4, 0]}]
    (path := tmp_path / "graph.json").write_text(json.dumps({"size": [100, 40, 40, 40, 40], "ops": ops}))
    asked = ["order", str(path), "--recompute", "--deterministic"]
    assert main([*asked, "--extra-cost", "50%", "--format", "json"]) == 0
    told = json.loads(capfd.readouterr().out)
    points = [(point["peak"], point["extra_cost"], point["clones"]) for point in told["recomputed"]["points"]]
    assert points == [(180, 0, []), (140, 2, [0])]
    assert told["order"] == told["recomputed"]["points"][-1]["order"]
    assert main([*asked, "--within", "64", "--format", "table"]) == 1
    assert "no program was found within the limit" in capfd.readouterr().out


def test_limits_of_recompute_are_refused_where_they_are_none(capfd: Captured) -> None:
    asked = ["order", RANDWIRE, "--recompute"]
    assert main(["order", RANDWIRE, "--within", "1"]) == 2
    assert main([*asked, "--extra-cost", "ten"]) == 2
    assert main([*asked, "--within", "-4"]) == 2
    assert main([*asked, "--within", "1kB", "--extra-cost", "10%"]) == 2
    err = capfd.readouterr().err
    assert "within: must be given with recompute only" in err
    assert 'extra-cost: must be a part such as 10%, got "ten"' in err
    assert "within: must not be given together with extra" in err


@pytest.mark.parametrize("file", ["order.html", "order.onnx"])
def test_files_that_need_more_than_an_answer_are_not_written_of_a_services_one(file: str, capfd: Captured) -> None:
    assert main(["order", RANDWIRE, "-o", file, "--server", "http://127.0.0.1:1"]) == 2
    sentence = f"output: {file} must not be asked for with --server, whose answer is not enough for it"
    assert sentence in capfd.readouterr().err
