"""Tests of `memplan plan` for several files: in turns, together, and the part of each model for its runtime."""

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memplan.api.cli.main import main
from memplan.planner.foreign.programs import problem_from
from memplan.solvers.portfolio.solve import solve
from tests.runtimes.tflite_files import model, operator, subgraph, tensor
from tests.runtimes.tflite_networks import mobilenet_v1, mobilenet_v2, vgg

EXAMPLES = Path(__file__).parents[2] / "examples"
KWS = Path(__file__).parents[2] / "tests" / "models" / "recorded" / "kws_dscnn_int8.tflite"
Captured = pytest.CaptureFixture[str]


def run_plan(capfd: Captured, *arguments: object) -> dict[str, object]:
    assert main(["plan", *map(str, arguments), "--format", "json", "--quiet"]) == 0
    found: dict[str, object] = json.loads(capfd.readouterr().out)
    return found


def test_alternating_models_need_the_largest_arena_and_concurrent_models_the_sum(capfd: Captured) -> None:
    files = KWS, EXAMPLES / "mobilenet_v2.csv"
    assert run_plan(capfd, *files, "--together", "none")["peak"] == 1505280
    assert run_plan(capfd, *files, "--together", "kws_dscnn_int8,mobilenet_v2")["peak"] == 1521280


def shared_names(plan: dict[str, object]) -> set[str]:
    """Return the names of the buffers, without their models, at the same bytes in two models."""
    rows: list[dict[str, Any]] = plan["placements"]  # type: ignore[assignment]
    twice = combinations(rows, 2)
    both = [(a["id"].partition("/")[2], b["id"].partition("/")[2]) for a, b in twice if a["offset"] == b["offset"]]
    return {name for name, other in both if name == other}


@pytest.mark.parametrize(
    ("name", "flags", "kept"),
    [
        ("state.tflite", (), {"main/state"}),
        ("state.pte", (), {"main/#0"}),
        ("recorded/kws_dscnn_int8.tflite", ("--weights", "ram"), {"main/arith.constant"}),
        ("recorded/kws_dscnn_int8.tflite", ("--copies", "2"), {"main/x", "main/x#2"}),
        ("state.tflite", ("--persistent", "m/main/x", "--persistent", "n/main/x"), {"main/x", "main/state"}),
    ],
)
def test_bytes_that_last_between_calls_are_not_shared_by_models_in_turns(
    name: str, flags: tuple[str, ...], kept: set[str], tmp_path: Path, capfd: Captured
) -> None:
    rows, suffix = [operator("ADD", [0, 1], [2]), operator("RELU", [2], [3])], Path(name).suffix
    tensors = [tensor(each, [4], variable=each == "state") for each in ("x", "state", "s", "y")]
    is_made = name == "state.tflite"
    data = model(subgraph(tensors, [0], [3], rows)) if is_made else (KWS.parents[1] / name).read_bytes()
    files = [tmp_path / f"m{suffix}", tmp_path / f"n{suffix}"]
    for file in files:
        file.write_bytes(data)
    shared = shared_names(run_plan(capfd, *files, "--together", "none", *flags))
    assert shared
    assert shared.isdisjoint(kept)


def test_an_application_in_json_keeps_the_persistent_buffers_of_its_operations() -> None:
    state = {"id": "s", "size": 16, "persistent": True}
    body = [{"op": "f", "inputs": ["s"], "outputs": ["y"]}]
    program = {"functions": {"main": {"buffers": [state, {"id": "y", "size": 48}], "results": ["y"], "body": body}}}
    problem, _ = problem_from({"models": {"a": program, "b": program}})
    assert solve(problem).peak == 80


def test_the_part_of_each_model_is_a_valid_plan_of_its_file(tmp_path: Path, capfd: Captured) -> None:
    run_plan(capfd, KWS, KWS, "--together", "kws_dscnn_int8,kws_dscnn_int8#2", "-o", f"{tmp_path}/")
    ends = []
    for name in ("kws_dscnn_int8", "kws_dscnn_int8#2"):
        part = tmp_path / f"{name}.plan.json"
        assert main(["verify", str(KWS), str(part), "--quiet"]) == 0
        ends.append(min(row["offset"] for row in json.loads(part.read_bytes())["placements"]))
    assert sorted(ends) == [0, 16000]


@pytest.mark.slow
def test_four_alternating_models_run_in_the_arena_of_the_largest(tmp_path: Path, capfd: Captured) -> None:
    pytest.importorskip("ai_edge_litert", reason="the models are written with LiteRT's schema")
    runtime = pytest.importorskip("tflite_micro", reason="models are run where TFLite Micro is installed").runtime
    made = {"v1": mobilenet_v1(48), "v2": mobilenet_v2(48), "vgg": vgg(32), "kws": KWS.read_bytes()}
    files = [tmp_path / f"{name}.tflite" for name in made]
    for file in files:
        file.write_bytes(made[file.stem])
    alone = [run_plan(capfd, file)["peak"] for file in files]
    assert run_plan(capfd, *files, "--together", "none", "-o", f"{tmp_path}/")["peak"] == max(alone)  # type: ignore[type-var]

    def result(data: bytes, arena: int) -> bytes:
        model = runtime.Interpreter.from_bytes(data, arena_size=arena)
        about = model.get_input_details(0)
        model.set_input(np.arange(np.prod(about["shape"])).reshape(about["shape"]).astype(about["dtype"]), 0)
        model.invoke()
        capfd.readouterr()
        model.print_allocations()
        return bytes(model.get_output(0).tobytes())

    rewritten = {}
    for file in files:
        target = tmp_path / f"planned_{file.name}"
        assert main(["convert", str(file), str(tmp_path / f"{file.stem}.plan.json"), "-o", str(target)]) == 0
        rewritten[file.stem] = target.read_bytes()
    largest = files[alone.index(max(alone))].stem  # type: ignore[type-var]
    result(rewritten[largest], 1 << 20)
    (whole,) = map(int, re.findall(r"Arena allocation total (\d+)", "".join(capfd.readouterr())))
    for name, data in rewritten.items():
        # The runtime aligns the arena's start, which may be anywhere, to 16 bytes.
        assert result(data, whole + 64) == result(made[name], 1 << 20)


def test_files_that_share_nothing_are_planned_separately(tmp_path: Path, capfd: Captured) -> None:
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("id,lower,upper,size\na,3,1,8\n")
    small = tmp_path / "mobilenet_v2.csv"
    small.write_text("id,lower,upper,size\na,0,1,8\n")
    files = [KWS, EXAMPLES / "mobilenet_v2.csv", wrong, small]
    assert main(["plan", *map(str, files), "-o", f"{tmp_path / 'plans'}/"]) == 2
    err = capfd.readouterr().err
    assert f"{wrong}" in err
    assert "upper" in err
    plans = {path.name: json.loads(path.read_text())["peak"] for path in (tmp_path / "plans").iterdir()}
    wide = {"mobilenet_v2.plan.json": 1505280, "mobilenet_v2#2.plan.json": 8}
    assert plans == {"kws_dscnn_int8.plan.json": run_plan(capfd, KWS)["peak"]} | wide


def test_an_application_is_planned_like_any_other_problem(capfd: Captured) -> None:
    found = run_plan(capfd, EXAMPLES / "application.json")
    assert (found["status"], found["peak"]) == ("optimal", 35840)
