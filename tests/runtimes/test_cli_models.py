"""Models on the command line: compared with their runtimes, reordered, checked, and written with a plan."""

import json
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.main import main
from memplan.extensions.files.compare.compare import CompareOptions, compare, lines
from memplan.planner.foreign.reading import read_model
from memplan.runtimes.tflite.tflm_tail import arena_of
from tests.runtimes.tflite_files import INT8, model, operator, subgraph, tensor, two_halves
from tests.support.dump_files import DUMPS, MEMORIES

Captured = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[2]
MODELS = ROOT / "tests" / "models"
VIEW = str(MODELS / "view.tflite")
RANDWIRE = str(ROOT / "examples" / "graphs" / "cells_randwire32x1_s1.json")


def wide_then_narrow() -> bytes:
    """Return a model that the greedy of TFLite Micro plans with more bytes than it needs, and that has a view."""
    tensors = [tensor(f"t{k}", (size,), INT8) for k, size in enumerate((32, 32, 96, 64, 160, 64, 64))]
    operators = [operator("RELU", [k], [k + 1]) for k in range(5)]
    return model(subgraph(tensors, [0], [6], [*operators, operator("RESHAPE", [5], [6])]))


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "model.tflite"
    path.write_bytes(wide_then_narrow())
    return str(path)


def run_compare(capfd: Captured, *arguments: str) -> Any:
    assert main(["compare", *arguments]) == 0
    return json.loads(capfd.readouterr().out)


def test_compare_uses_the_runtimes_planner_for_a_model_without_a_plan(file: str, capfd: Captured) -> None:
    found = run_compare(capfd, file)
    assert (found["format"], found["nothing_shared"]) == ("tflite", 512)
    assert found["own"]["name"] == "reference:tflite-micro-greedy"
    assert found["memplan"]["peak"] == found["memplan"]["lower_bound"] == 224
    assert found["memplan_with_views"]["buffers"] == 7
    assert found["views"] == {"aliases": 1, "alias_bytes": 64, "apart": 0, "apart_bytes": 0}
    assert found["saved"] == found["own"]["peak"] - 224
    audited = found["own_audit"]
    assert (audited["valid"], audited["peak"], audited["best"]) == (True, found["own"]["peak"], 224)
    excess = audited["too_much_bytes"], audited["pools"][0]["above_line"], audited["fewest_moves"]["count"]
    assert excess == (0, [], 0)


def test_compare_uses_the_plan_in_the_file_of_a_model(tmp_path: Path, capfd: Captured) -> None:
    path = tmp_path / "planned.tflite"
    graph = subgraph([tensor("x", (16,), INT8), tensor("y", (16,), INT8)], [0], [1], [operator("RELU", [0], [1])])
    path.write_bytes(model(graph, offline_plan=(0, 1, 2, 0, 48)))
    found = run_compare(capfd, str(path))
    assert found["own"] == {"name": "the plan in the file", "peak": 64, "message": None}
    assert (found["saved"], found["saved_percent"]) == (32, 50.0)
    audited = found["own_audit"]
    moves = audited["fewest_moves"]
    assert (audited["valid"], audited["too_much_bytes"], moves["count"], moves["proved"]) == (True, 32, 1, True)


def test_compare_uses_the_layout_in_the_dump_of_a_compiler(capfd: Captured) -> None:
    found = run_compare(capfd, str(DUMPS / "densenet121.iree.txt"))
    assert (found["format"], found["own"]["peak"]) == ("iree", 9_416_320)
    assert (found["memplan"]["status"], found["memplan"]["peak"]) == ("optimal", 7_810_688)


def test_compare_prints_one_line_for_each_fact(file: str, capfd: Captured) -> None:
    assert main(["compare", file, "--format", "table", "--views", "separate"]) == 0
    lines = capfd.readouterr().out.splitlines()
    facts = ["nothing shared", "reference:tflite-micro-greedy", "memplan", "lower bound", "saved", "memplan, reordered"]
    assert [line.rsplit("  ", 2)[0].split("  ")[0] for line in lines] == facts
    assert lines[2].split()[1:] == ["224", "optimal"]


def test_compare_names_no_planner_for_a_format_whose_planner_is_unknown(tmp_path: Path, capfd: Captured) -> None:
    pytest.importorskip("onnx", reason="needs the extra onnx")
    from tests.runtimes.onnx_models import choice

    path = tmp_path / "model.onnx"
    path.write_bytes(choice())
    found = run_compare(capfd, str(path), "--alignment", "1")
    assert found["own"] is None
    assert found["saved"] == found["nothing_shared"] - found["memplan_with_views"]["peak"]


def test_convert_prints_the_operations_of_a_file(file: str, capfd: Captured) -> None:
    assert main(["convert", file, "--program"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["format"], len(found["problem"]["buffers"]), found["plan"]) == ("tflite", 7, None)
    assert len(found["names"]["roles"]) == 7
    assert main(["convert", file, "--format", "table"]) == 0
    assert capfd.readouterr().out == "tflite: 7 buffers, 1 pool\n"
    assert main(["convert", str(Path(file).with_name("none"))]) == 2


def test_convert_writes_the_problem_of_a_model(file: str, tmp_path: Path, capfd: Captured) -> None:
    target = tmp_path / "problem.csv"
    assert main(["convert", file, "-o", str(target), "--views", "separate"]) == 0
    assert target.read_text().splitlines()[1] == "main/t0,-1,1,32,16"
    assert "1 views are buffers of their own, of 64 B" in capfd.readouterr().err
    assert main(["convert", str(target), "-o", "-", "--views", "separate"]) == 2
    assert "applies only to models (" in capfd.readouterr().err


def test_liveness_reads_the_converted_operations_of_a_model(file: str, tmp_path: Path, capfd: Captured) -> None:
    target = tmp_path / "operations.json"
    assert main(["convert", file, "-o", str(target), "--to", "operations", "-q"]) == 0
    assert main(["liveness", str(target), "-q"]) == 0
    assert json.loads(capfd.readouterr().out)["workspace"]["live_bytes"] == 224
    problem = tmp_path / "problem.json"
    assert main(["convert", file, "-o", str(problem), "-q"]) == 0
    assert main(["convert", str(problem), "-o", "-", "--to", "operations"]) == 2


def test_plan_and_compare_read_a_model_equally(file: str, tmp_path: Path, capfd: Captured) -> None:
    for options in ([], ["--alignment", "1"], ["--views", "separate"]):
        asked = run_compare(capfd, file, *options)
        assert main(["plan", file, *options, "-o", str(tmp_path / "plan.json"), "--deterministic", "-q"]) == 0
        assert json.loads((tmp_path / "plan.json").read_text())["peak"] == asked["memplan"]["peak"]
        assert main(["verify", file, str(tmp_path / "plan.json"), *options, "--again", "-q"]) == 0
        assert json.loads(capfd.readouterr().out)["again"]["same"] == "bytes"
    (tmp_path / "a.json").write_text('{"buffers": []}')
    assert main(["plan", str(tmp_path / "a.json"), "--dim", "batch=1"]) == 2
    assert "dim: applies only to models" in capfd.readouterr().err


def test_all_commands_include_the_scratch_given_by_option(tmp_path: Path, capfd: Captured) -> None:
    network = tmp_path / "custom.tflite"
    tensors = [tensor("x", (4,)), tensor("y", (4,))]
    network.write_bytes(model(subgraph(tensors, [0], [1], [operator("CUSTOM", [0], [1])])))
    given, plan = [str(network), "--scratch", "CUSTOM=64"], str(tmp_path / "plan.json")
    assert main(["plan", *given, "-o", plan, "-q"]) == 0
    assert main(["verify", *given[:1], plan, *given[1:], "-q"]) == 0
    assert main(["verify", str(network), plan, "-q"]) == 0  # the plan remembers it
    assert main(["verify", str(network), plan, "--scratch", "CUSTOM=128", "-q"]) == 3
    assert main(["explain", *given, "--what-if"]) == 0
    assert main(["explain", *given, "--capacity", "95", "-q"]) == 1
    capfd.readouterr()
    assert main(["check", *given, "--budget", "1056"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["pools"][0]["used"], found["arena"]["least"]) == (96, 1056)


def test_order_writes_a_model_in_its_new_order(tmp_path: Path, capfd: Captured) -> None:
    sizes = {"x": 64, "a": 1024, "b": 1024, "c": 4, "d": 4, "y": 4}
    tensors = [tensor(name, [size]) for name, size in sizes.items()]
    rows = [("RELU", [0], [1]), ("RELU", [0], [2]), ("RELU", [1], [3]), ("RELU", [2], [4]), ("ADD", [3, 4], [5])]
    operators = [operator(*row) for row in rows]
    given, target = tmp_path / "model.tflite", tmp_path / "new.tflite"
    given.write_bytes(model(subgraph(tensors, [0], [5], operators), offline_plan=[1, 0, 6, -1, -1, -1, -1, -1, -1]))
    asked = ["order", str(given), "--deterministic", "--format", "table", "-o"]
    assert main([*asked, str(target)]) == 0
    assert "has not the metadata OfflineMemoryAllocation, a plan for the old order" in capfd.readouterr().err
    assert len(target.read_bytes()) == len(given.read_bytes())
    assert main([*asked, str(given)]) == 2
    assert "output: must not be a file that the command reads" in capfd.readouterr().err
    assert main(["order", RANDWIRE, "--deterministic", "-o", str(target)]) == 2
    assert "must not be a model unless the input is a model" in capfd.readouterr().err


def test_compare_reports_the_gain_of_a_better_order() -> None:
    tensors = [tensor(f"t{k}", (size,), INT8) for k, size in enumerate((16, 512, 512, 32, 32))]
    operators = [operator("RELU", [0], [1]), operator("RELU", [0], [2])]
    operators += [operator("RELU", [1], [3]), operator("RELU", [2], [4])]
    found = compare(model(subgraph(tensors, [0], [3, 4], operators)), CompareOptions(time_limit_s=6))
    assert (found.memplan.peak, found.memplan_reordered.peak, found.saved_by_order) == (1056, 576, 480)
    assert [*lines(found)][-1].split(None, 2) == ["memplan,", "reordered", "576  optimal; the order saves 480"]
    dump = compare(MEMORIES, CompareOptions(time_limit_s=6))
    assert (dump.memplan_reordered, dump.saved_by_order) == (None, None)


@pytest.mark.parametrize("views", ["alias", "separate"])
def test_convert_writes_a_model_with_its_plan(views: str, tmp_path: Path) -> None:
    problem, plan, written = (str(tmp_path / name) for name in ("problem.json", "plan.json", "planned.tflite"))
    assert main(["convert", VIEW, "-o", problem, "--views", views, "--quiet"]) == 0
    assert main(["plan", problem, "-o", plan, "--quiet"]) == 0
    assert main(["convert", VIEW, plan, "-o", written, "--views", views]) == 0
    assert read_model(Path(written).read_bytes()).own_peak == json.loads(Path(plan).read_text())["peak"]


@pytest.mark.parametrize(
    ("name", "flags", "arena"),
    [
        ("recorded/kws_dscnn_int8.tflite", ["--macs", "+25%"], "24,208 bytes on host (64-bit, reference kernels)"),
        ("variable.tflite", [], ""),
    ],
)
def test_cascade_writes_no_model_without_a_gain(
    name: str, flags: list[str], arena: str, tmp_path: Path, capfd: Captured
) -> None:
    target = tmp_path / "parts.tflite"
    assert main(["cascade", str(MODELS / name), *flags, "-o", str(target), "--time-limit", "5"]) == 1
    assert f"not written, as nothing is gained: TFLite Micro's whole arena takes {arena}" in capfd.readouterr().err
    assert not target.exists()


def test_order_reports_the_whole_arena_of_the_new_order(tmp_path: Path, capfd: Captured) -> None:
    given, target = tmp_path / "model.tflite", tmp_path / "ordered.tflite"
    given.write_bytes(two_halves())
    assert main(["order", str(given), "--deterministic", "-o", str(target)]) == 0
    before, after = arena_of(given.read_bytes()), arena_of(target.read_bytes())
    assert after.used < before.used
    assert f"TFLite Micro's whole arena takes {after}, {before.used:,} as given" in capfd.readouterr().err


def test_order_writes_a_model_unchanged_if_no_order_is_better(tmp_path: Path, capfd: Captured) -> None:
    given, target = tmp_path / "model.tflite", tmp_path / "ordered.tflite"
    given.write_bytes((MODELS / "recorded" / "kws_dscnn_int8.tflite").read_bytes())
    assert main(["order", str(given), "--deterministic", "-o", str(target)]) == 0
    assert "written as given, as nothing is gained: the given order has the least peak" in capfd.readouterr().err
    assert target.read_bytes() == given.read_bytes()


def test_convert_reports_the_whole_arena_of_a_plan(tmp_path: Path, capfd: Captured) -> None:
    given, plan, target = tmp_path / "model.tflite", str(tmp_path / "plan.json"), tmp_path / "planned.tflite"
    given.write_bytes(two_halves())
    assert main(["plan", str(given), "-o", plan, "--quiet"]) == 0
    assert main(["convert", str(given), plan, "-o", str(target)]) == 0
    arena = arena_of(target.read_bytes())
    assert f"TFLite Micro's whole arena takes {arena}, as large as {arena.used:,} without" in capfd.readouterr().err


def test_check_compares_the_whole_arena_of_a_model_with_the_budget(tmp_path: Path, capfd: Captured) -> None:
    given, plan = tmp_path / "model.tflite", tmp_path / "plan.json"
    given.write_bytes(two_halves())
    arena = arena_of(given.read_bytes())
    assert arena.head < arena.used == arena.least
    for budget, status in ((arena.head, 1), (arena.least - 1, 1), (arena.least, 0)):
        assert main(["check", str(given), "--budget", str(budget)]) == status
        found = json.loads(capfd.readouterr().out)
        assert (found["arena"]["least"], found["passed"]) == (arena.least, status == 0)
        said = [failure["message"] for failure in found["failures"] if "TFLite Micro's arena" in failure["message"]]
        assert len(said) == status
        assert all(f"{arena.least - budget:,} above its budget" in message for message in said)
    assert main(["plan", str(given), "-o", str(plan), "--quiet"]) == 0
    assert main(["check", str(given), "--plan", str(plan), "--budget", str(arena.head)]) == 0
    assert "arena" not in json.loads(capfd.readouterr().out)


def test_plan_prints_a_cascade_that_fits_for_a_model_that_does_not_fit(capfd: Captured) -> None:
    model = str(MODELS / "recorded" / "kws_dscnn_int8.tflite")
    assert main(["cascade", model, "--alignment", "16", "--format", "json"]) == 0
    peak = json.loads(capfd.readouterr().out)["points"][0]["peak"]
    assert main(["plan", model, "--pool", "14000", "--format", "json"]) == 1
    advice = f"memplan: with cascades {peak:,} bytes at +0.0 % MACs: `memplan cascade {model} --fit 14000`"
    assert advice in capfd.readouterr().err
    assert main(["plan", model, "--pool", "100", "--format", "json"]) == 1
    assert "cascades" not in capfd.readouterr().err


def test_cascade_writes_points_as_c_and_as_a_script(tmp_path: Path, capfd: Captured) -> None:
    small = str(ROOT / "examples" / "networks" / "two_convolutions.json")
    assert main(["cascade", small, "--stripe", "1", "-o", f"{tmp_path}/net/"]) == 0
    assert "#define NET_ARENA_SIZE 7404u" in (tmp_path / "net" / "net.h").read_text()
    assert main(["cascade", small, "--stripe", "6x6", "-o", str(tmp_path / "loops.schedule")]) == 0
    told = (tmp_path / "loops.schedule").read_text()
    assert "op1.compute_root().tile(rows, columns, 6, 6, y, x)\nop0.compute_at(op1, x)\n" in told


@pytest.mark.slow
def test_explain_repairs_a_model_by_a_cascade_if_no_order_fits(capfd: Captured) -> None:
    model = str(MODELS / "recorded" / "kws_dscnn_int8.tflite")
    flags = "--capacity 14KiB --repairs 2 --study-limit 60 --time-limit 240 -q --format json"
    assert main(["explain", model, *flags.split()]) == 0
    told = json.loads(capfd.readouterr().out)["repairs"]["of_operations"]
    assert (told["repairs"][-1]["kind"], told["proved"]) == ("cascade", True)
    assert told["repairs"][-1]["peak_after"] <= 14 * 1024 < told["least_live_peak"]
    assert told["repairs"][-1]["extra_traffic"] > 0


@pytest.mark.parametrize(
    ("name", "peak", "best"), [("models/loop.pte", 416, 384), ("dumps/network_planned.relax", 46_528, 43_264)]
)
def test_verify_reads_the_plans_inside_models_and_dumps(name: str, peak: int, best: int, capfd: Captured) -> None:
    assert main(["verify", str(MODELS.parent / name), "--better", "--format", "json", "-q"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["valid"], told["better"]["peak"], told["better"]["best"]) == (True, peak, best)


def test_schedule_accepts_a_model_as_a_network(tmp_path: Path) -> None:
    network = MODELS / "recorded" / "kws_dscnn_int8.tflite"
    arguments = ["schedule", str(network), "--target", str(ROOT / "examples" / "schedules" / "gap8_like.json")]
    assert main([*arguments, "--time-limit", "1", "-o", str(tmp_path / "answer.json"), "--quiet"]) == 0
    assert json.loads((tmp_path / "answer.json").read_text())["regions"]
