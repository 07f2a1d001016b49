"""TFLite Micro's arena by processor and set of kernels: measured values, and unknown targets."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from lab.tflm_arenas import draw_models, judge_models
from lab.tflm_sizes import TABLE
from memplan.api.cli.main import main
from memplan.planner.errors import OptionError
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import read_model
from memplan.runtimes.tflite.model import read_model as read_tensors
from memplan.runtimes.tflite.tflm_arena import model_for_options
from memplan.runtimes.tflite.tflm_tail import arena_of, arena_space
from tests.runtimes.tflite_files import FLOAT32, INT8, model, operator, subgraph, tensor
from tests.runtimes.vendor_models import draw_vendor_models

Captured = pytest.CaptureFixture[str]
MODELS = Path(__file__).parents[3] / "tests" / "models"
KWS = (MODELS / "recorded" / "kws_dscnn_int8.tflite").read_bytes()
CUSTOM = model(subgraph([tensor("x", (4,)), tensor("y", (4,))], [0], [1], [operator("CUSTOM", [0], [1])]))
MISSING = model(subgraph([tensor("x", (4,)), tensor("y", (4,))], [0], [1], [operator("TILE", [0], [1])]))
SOFTMAX, WIDE_SOFTMAX, FLOAT_SOFTMAX = (
    model(subgraph([tensor("x", (1, 10), x), tensor("y", (1, 10), y)], [0], [1], [operator("SOFTMAX", [0], [1])]))
    for x, y in ((INT8, INT8), (INT8, 7), (FLOAT32, FLOAT32))
)
"""Models of one softmax: of int8, of int8 with an int16 result, and of float32."""


def arena_bytes(data: bytes, target: str | None, kernels: str | None = None, **others: int) -> int:
    return arena_of(data, ModelOptions(target=target, kernels=kernels, scratch=others)).used


@pytest.mark.parametrize("seed", range(3))
def test_random_models_start_in_the_computed_arena_but_not_in_a_smaller_one(seed: int) -> None:
    pytest.importorskip("tflite_micro", reason="needs tflite_micro")
    models = [row for k, row in enumerate(draw_models(24, seed)) if k % 15 == seed]
    counted: Counter[str] = Counter()
    assert list(judge_models(models, counted)) == []
    assert counted["exact"] > 3


def test_arenas_of_vendor_kernels_are_those_of_emulated_boards() -> None:
    pytest.importorskip("ai_edge_litert", reason="the models are written with LiteRT's schema")
    with (Path(__file__).parent / "vendor_arenas.csv").open() as file:
        _, *targets = head = next(file).strip().split(",")
        rows = [dict(zip(head, line.strip().split(","), strict=True)) for line in file]
    counted = 0
    for row, (name, data) in zip(rows, draw_vendor_models(len(rows)), strict=True):
        for target in targets:
            core, kernels = target.split("/")
            options = ModelOptions(target=core, kernels=kernels)
            arena = arena_of(data, options)
            assert bool(arena.unknown) == (not row[target]), (name, target)
            if row[target]:
                used, least = map(int, row[target].split())
                unguarded = arena_space(model_for_options(read_tensors(data), options), arena.head).unguarded
                assert (arena.used, unguarded <= least <= arena.least) == (used, True), (name, target)
                counted += least == arena.least
    assert counted > 0.95 * len(rows) * len(targets)


def test_targets_with_4_byte_pointers_and_small_enumerations_need_less_arena() -> None:
    host, xtensa, arm = arena_bytes(KWS, None), arena_bytes(KWS, "esp32"), arena_bytes(KWS, "cortex-m4")
    assert host > xtensa > arm
    assert arena_bytes(KWS, "riscv32") == arena_bytes(KWS, "wasm32") == arena_bytes(KWS, "esp32s3") == xtensa
    assert "32-bit, reference kernels" in str(arena_of(KWS, ModelOptions(target="nano33ble")))


def test_vendor_kernels_require_scratch_for_integers_of_one_width() -> None:
    assert arena_bytes(SOFTMAX, "esp32", "esp-nn") - arena_bytes(SOFTMAX, "esp32") == 48
    for data in (WIDE_SOFTMAX, FLOAT_SOFTMAX):
        assert arena_bytes(data, "esp32", "esp-nn") == arena_bytes(data, "esp32")
    assert arena_bytes(KWS, "esp32s3", "esp-nn") > arena_bytes(KWS, "esp32", "esp-nn")
    problem = read_model(KWS, options=ModelOptions(target="esp32s3", kernels="esp-nn")).problem
    assert any("#scratch" in str(row.id) for row in problem.buffers)
    assert arena_of(KWS, ModelOptions(target="xtensa", kernels="xtensa")).unknown


def test_scratch_given_for_one_output_makes_the_arena_a_lower_bound() -> None:
    arena = arena_of(CUSTOM, ModelOptions(scratch={"y": 4096}))
    assert (arena.unknown, arena.said) == ((), ("CUSTOM",))
    assert str(arena).startswith("at least ")
    assert read_model(CUSTOM, options=ModelOptions(scratch={"y": 4096})).problem.buffers.size.max() == 4096


@pytest.mark.parametrize(
    ("target", "kernels", "rule"),
    [
        ("z80", None, "target: must be one of"),
        ("esp32", "best", "kernels: must be one of"),
        ("esp32", "cmsis-nn", 'kernels: must be one of reference, esp-nn for "esp32", got "cmsis-nn"$'),
        ("cortex-m4", "esp-nn", 'kernels: must be one of reference, cmsis-nn, ethos-u for "cortex-m4", got "esp-nn"$'),
        (None, "esp-nn", 'kernels: must be reference for "host", got "esp-nn"; give target='),
    ],
)
def test_an_unknown_target_is_refused(target: str | None, kernels: str | None, rule: str) -> None:
    with pytest.raises(OptionError, match=rule):
        read_model(KWS, options=ModelOptions(target=target, kernels=kernels))


@pytest.mark.parametrize(("name", "size"), [("person_detect", 82_300), ("hello_world_int8", 716)])
def test_arenas_on_an_esp32_are_those_measured_on_the_chip(name: str, size: int) -> None:
    # Models of TFLite Micro's examples (Apache-2.0), with zeros for weights; sizes by mcufit-bench on an ESP32.
    data = gzip.decompress((Path(__file__).parent / f"{name}.tflite.gz").read_bytes())
    assert arena_bytes(data, "esp32", "esp-nn") == size


def test_an_operator_without_a_kernel_is_reported(tmp_path: Path, capfd: Captured) -> None:
    (tmp_path / "m.tflite").write_bytes(MISSING)
    assert main(["check", str(tmp_path / "m.tflite"), "--budget", "64KiB", "--target", "cortex-m4"]) == 1
    (failure,) = json.loads(capfd.readouterr().out)["failures"]
    assert "TILE (for which TFLite Micro has no kernel)" in failure["message"]


def test_convert_writes_no_refused_c_array(tmp_path: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.tflite").write_bytes(SOFTMAX)
    forms = "memplan.extensions.forms.device_forms"
    monkeypatch.setattr(f"{forms}.compare_forms", lambda *given: (None, "not run"))
    monkeypatch.setattr(f"{forms}.refusal_reason", lambda *given: "tflite_micro does not start it")
    assert main(["convert", str(tmp_path / "m.tflite"), "-o", str(tmp_path / "new.tflite"), "--c-array"]) == 1
    assert "not written, as the size of the arena would be wrong" in capfd.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.tflite"]


@pytest.mark.parametrize(
    ("data", "said"), [(CUSTOM, "state it with --scratch CUSTOM=SIZE"), (MISSING, "has no kernel")]
)
def test_convert_writes_no_c_array_of_an_unknown_arena(tmp_path: Path, capfd: Captured, data: bytes, said: str) -> None:
    (tmp_path / "m.tflite").write_bytes(data)
    line = ["convert", str(tmp_path / "m.tflite"), "-o", str(tmp_path / "new.tflite"), "--c-array", "--target", "esp32"]
    assert main(line) == 1
    assert said in capfd.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.tflite"]
    assert main([*line, "--scratch", "CUSTOM=64"]) == (0 if data == CUSTOM else 2)


def test_the_table_of_structure_sizes_has_three_abis() -> None:
    head, *rows = TABLE.read_text().splitlines()
    assert head.startswith("tflite-micro ")
    for row in rows:
        _, arm, _, whole, _, wide, _ = row.split(",")
        assert int(arm) <= int(whole) <= int(wide)
