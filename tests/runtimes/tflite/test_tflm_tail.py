"""The whole arena of TFLite Micro with its tail, and the least arena for a start, compared with the runtime."""

import re
from pathlib import Path

import pytest

from memplan.planner.foreign.arena import ModelArena
from memplan.planner.foreign.model_options import ModelOptions
from memplan.runtimes.tflite.model import read_model
from memplan.runtimes.tflite.tflm_tail import arena_of, whole_arena
from tests.runtimes.tflite_files import INT32, model, operator, subgraph, tensor

MODELS = Path(__file__).parents[3] / "tests" / "models"
RECORDED = {
    "view.tflite": ModelArena(128, 1120, 1488, (), 528, is_host=True),
    "loop.tflite": ModelArena(96, 1536, 2496, (), 1112, scratch=32, is_host=True),
    "choice.tflite": ModelArena(80, 1472, 2128, (), 872, is_host=True),
    "variable.tflite": ModelArena(48, 1792, 2368, (), 736, is_host=True),
    "recorded/kws_dscnn_int8.tflite": ModelArena(16000, 8208, 24208, (), 16000, is_host=True),
}
"""What `tflite_micro` measured: the head, the tail, and the least arena of multiples of 16 that started."""
TENSORS = [tensor("x", (1,), INT32), tensor("table", (16, 8), constant=True), tensor("y", (1, 8))]
LOOKUP = model(subgraph(TENSORS, [0], [2], [operator("EMBEDDING_LOOKUP", [0, 1], [2])]))
ON_BOARDS = {
    "view.tflite": ((656, 864), (664, 864)),
    "loop.tflite": ((832, 1600), (856, 1616)),
    "choice.tflite": ((784, 1328), (808, 1328)),
    "variable.tflite": ((912, 1376), (920, 1376)),
    "recorded/kws_dscnn_int8.tflite": ((22756, 22768), (22780, 22784)),
    "lookup": ((384, 544), (392, 544)),
}
"""The bytes that TFLite Micro 90b983c2b used, and the least to start, on an emulated Cortex-M4 and 32-bit RISC-V."""


GIVEN = {"d181_transpose.tflite": (1072, 512), "s013_fc.tflite": (1328, 640), "s128_bmm.tflite": (1280, 704)}
"""The least arena that started small models in `tflite_micro`, and in TFLite Micro 90b983c2b for 32-bit Arm."""


@pytest.mark.parametrize("name", GIVEN)
def test_the_computed_arena_of_a_small_model_is_the_least_that_starts_on_64_and_on_32_bits(name: str) -> None:
    data = (MODELS / "arenas" / name).read_bytes()
    found = (arena_of(data), arena_of(data, ModelOptions(target="cortex-m4")))
    assert tuple(each.least for each in found) == GIVEN[name]
    assert not any(each.unknown for each in found)


@pytest.mark.parametrize("name", RECORDED)
def test_the_computed_arena_equals_the_measured_one(name: str) -> None:
    assert whole_arena(read_model((MODELS / name).read_bytes())) == RECORDED[name]


@pytest.mark.parametrize("name", RECORDED)
def test_the_runtime_needs_exactly_the_computed_arena(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    runtime = pytest.importorskip("tflite_micro", reason="needs tflite_micro").runtime
    data = (MODELS / name).read_bytes()
    said = whole_arena(read_model(data))
    runtime.Interpreter.from_bytes(data, arena_size=said.least).print_allocations()
    read = "".join(capfd.readouterr())
    parts = [int(re.findall(rf"Arena allocation {part} (\d+)", read)[0]) for part in ("head", "tail")]
    assert parts == [said.head, said.tail]
    with pytest.raises(RuntimeError, match="failed to allocate"):
        runtime.Interpreter.from_bytes(data, arena_size=said.least - 64)


@pytest.mark.parametrize("name", ON_BOARDS)
def test_the_arena_on_two_processors_equals_the_measured_one(name: str) -> None:
    data = LOOKUP if name == "lookup" else (MODELS / name).read_bytes()
    said = (arena_of(data, ModelOptions(target=target)) for target in ("cortex-m4", "riscv32"))
    assert tuple((arena.used, arena.least) for arena in said) == ON_BOARDS[name]


@pytest.mark.parametrize(
    "names", [["NEG"], ["NEG", "RELU"], ["RELU", "NEG", "NEG"], ["NEG"] * 4, ["NEG"] * 5 + ["RELU"]]
)
def test_kernels_without_persistent_data_need_no_alignment(names: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    runtime = pytest.importorskip("tflite_micro", reason="needs tflite_micro").runtime
    tensors = [tensor(f"t{k}", (4,)) for k in range(len(names) + 1)]
    data = model(subgraph(tensors, [0], [len(names)], [operator(name, [k], [k + 1]) for k, name in enumerate(names)]))
    runtime.Interpreter.from_bytes(data, arena_size=1 << 16).print_allocations()
    (tail,) = map(int, re.findall(r"Arena allocation tail (\d+)", "".join(capfd.readouterr())))
    assert whole_arena(read_model(data)).tail == tail
