"""Scratch of kernels in every question about a model, known and unknown."""

import json
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.main import main
from memplan.extensions.files.compare.compare import CompareOptions, compare
from memplan.planner.errors import OptionError
from memplan.planner.foreign.layout import lay_out
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import read_model
from memplan.planner.foreign.writing import export
from memplan.programs.models.model_graph import graph_of_imported
from memplan.programs.operations.order_check import peak_of
from memplan.runtimes.tflite.arena import form_options
from memplan.runtimes.tflite.model import read_model as read_tensors
from memplan.runtimes.tflite.tflm_arena import arena_head
from memplan.runtimes.tflite.tflm_tail import arena_of
from memplan.solvers.portfolio.solve import solve
from tests.runtimes.micro_models import MicroModel, add_upsampling, window
from tests.runtimes.micro_runs import run_here
from tests.runtimes.tflite_files import FLOAT16, FLOAT32, INT8, INT16, INT32, UINT8, model, operator, subgraph, tensor

Captured = pytest.CaptureFixture[str]
MODELS = Path(__file__).parents[3] / "tests" / "models"
ARENAS = MODELS / "arenas"
GIVEN = {"CUSTOM": 8192, "MEAN": 5000}
SIZES = {"x": 64, "wide": 4096, "small": 64, "y": 64}
# The wide tensor is made before the custom operator runs, whose kernel needs 8192 bytes; the other order is better.
OPERATORS = [operator("RELU", [0], [1]), operator("CUSTOM", [0], [2]), operator("ADD", [1, 2], [3])]
LATE = model(subgraph([tensor(name, (size,), INT8) for name, size in SIZES.items()], [0], [3], OPERATORS))
AXES = tensor("axes", (2,), INT32, constant=True)
INSIDE = [tensor("inside", (1, 6, 6, 8), INT8), AXES, tensor("mean", (1, 8), INT8)]
AVERAGED = subgraph(INSIDE, [0], [2], [operator("MEAN", [0, 1], [2])])


def branching_model(times: int) -> bytes:
    """Return a model with this many IF operators, whose branches are all the same subgraph."""
    names = [f"a{k}" for k in range(times)]
    tensors = [tensor("c", (1,), 6), tensor("x", (1, 6, 6, 8), INT8), *(tensor(name, (1, 8), INT8) for name in names)]
    choices = [operator("IF", [0, 1], [2 + k], 1, 1) for k in range(times)]
    return model(subgraph(tensors, [0, 1], list(range(2, 2 + times)), choices), AVERAGED)


@pytest.mark.parametrize("options", [ModelOptions(), ModelOptions(alignment=64), ModelOptions(views="separate")])
@pytest.mark.parametrize(("data", "name"), [(LATE, "CUSTOM"), (branching_model(1), "MEAN")], ids=["late", "branched"])
def test_the_graph_of_a_model_has_the_live_bytes_of_its_problem(data: bytes, name: str, options: ModelOptions) -> None:
    found = read_model(data, options=options.model_copy(update={"scratch": {name: GIVEN[name]}}))
    graph = graph_of_imported(found).graph
    plan = solve(found.problem)
    assert plan.lower_bound == peak_of(graph, range(len(graph.ops)))
    assert (plan.peak or 0) > GIVEN[name]


def answers(
    tmp_path: Path, capfd: Captured, data: bytes, *lines: str, flags: str = ""
) -> list[tuple[int, dict[str, Any]]]:
    (tmp_path / "m.tflite").write_bytes(data)
    found = []
    for line in lines:
        command, *rest = f"{line} {flags}".split()
        status = main([command, str(tmp_path / "m.tflite"), *rest, "--time-limit", "1"])
        found.append((status, json.loads(capfd.readouterr().out or "{}")))
    return found


@pytest.mark.slow
def test_every_question_counts_scratch_including_the_search_of_orders(tmp_path: Path, capfd: Captured) -> None:
    plan, best, asked, cascaded, explained, _ = answers(
        tmp_path,
        capfd,
        LATE,
        *("plan", "plan --order best", "order", "cascade", "explain --capacity 8319 --repairs 2"),
        f"order -o {tmp_path / 'o.tflite'} -o {tmp_path / 'o.json'}",
        flags="--scratch CUSTOM=8192",
    )
    given, least = sum(SIZES.values()) - 64 + 8192, 64 + 64 + 8192
    assert plan[1]["peak"] == asked[1]["given_peak"] == given
    assert best[1]["peak"] == asked[1]["peak"] == asked[1]["placed_peak"] == cascaded[1]["points"][0]["peak"] == least
    assert explained[1]["repairs"]["of_operations"]["repairs"] == []
    again = read_model((tmp_path / "o.tflite").read_bytes(), options=ModelOptions(scratch={"CUSTOM": 8192}))
    assert solve(again.problem).peak == least


def test_scratch_in_subgraphs_is_planned_for_each_of_their_runs() -> None:
    data = branching_model(2)
    found = read_model(data)
    scratch = {row.id: row.size for row in found.problem.buffers if "#scratch" in str(row.id)}
    assert sorted(scratch.values()) == [16] * 8 + [32] * 4
    assert not found.warnings
    planned = export("tflite", lay_out(found.problem, solve(found.problem), data), "model")[""]
    again = read_model(planned)
    assert {row.id for row in again.own_plan.placements} >= scratch.keys()
    assert again.own_peak == arena_head(read_tensors(planned), read_tensors(planned).offline_offsets).size


def test_scratch_given_for_views_counts_and_for_control_flow_is_refused() -> None:
    rows = [operator("RESHAPE", [0], [1]), operator("RELU", [1], [2])]
    data = model(subgraph([tensor(name, (64,), INT8) for name in "xvy"], [0], [2], rows))
    assert solve(read_model(data).problem).peak == 128
    assert solve(read_model(data, options=ModelOptions(scratch={"RESHAPE": 64})).problem).peak == 192
    with pytest.raises(OptionError, match='scratch: must not name an operator that runs subgraphs, got "IF"'):
        read_model(branching_model(1), options=ModelOptions(scratch={"IF": 64}))


def test_given_scratch_is_used_even_with_given_sizes_of_dimensions() -> None:
    shapes = [tensor(name, (1, 4), signature=[-1, 4]) for name in "xy"]
    data = model(subgraph(shapes, [0], [1], [operator("RELU", [0], [1])]))
    problem = read_model(data, options=ModelOptions(dims={"x.0": 2}, scratch={"RELU": 64})).problem
    assert [row.size for row in problem.buffers if "#scratch" in str(row.id)] == [64]


def test_unknown_scratch_is_reported_in_every_answer(tmp_path: Path, capfd: Captured) -> None:
    (tmp_path / "m.tflite").write_bytes(LATE)
    for line in ("plan", "plan --order best", "order", "cascade", "explain", "check --budget 1MiB", "certify"):
        command, *rest = line.split()
        main([command, str(tmp_path / "m.tflite"), *rest, "--time-limit", "1"])
        out, err = capfd.readouterr()
        (unknown,) = json.loads(out)["unknown"]
        assert unknown.startswith("the scratch of the kernels of CUSTOM is not known"), line
        assert err.count(f"warning: unknown-scratch: {unknown}") == 1, line


def test_check_fails_for_a_model_with_an_unknown_arena(tmp_path: Path, capfd: Captured) -> None:
    ((status, found), (least, enough)) = answers(
        tmp_path, capfd, LATE, "check --budget 1MiB", "check --budget 1MiB --scratch CUSTOM=64"
    )
    assert (status, found["passed"], found["failures"][0]["rule"]) == (1, False, "unknown-arena")
    assert "state it with --scratch CUSTOM=SIZE" in found["failures"][0]["message"]
    assert (least, enough["passed"]) == (0, True)
    assert answers(tmp_path, capfd, LATE, "check --budget 4KiB")[0][1]["failures"][0]["rule"] == "over-budget"
    in_two = "check --pool a=1MiB --pool b=1MiB --budget a=1MiB"
    ((status, found), (passed, _)) = answers(tmp_path, capfd, LATE, in_two, f"{in_two} --scratch CUSTOM=1KiB")
    assert (status, found["failures"][0]["rule"], passed) == (1, "unknown-arena", 0)


@pytest.mark.parametrize(
    ("kinds", "refused"),
    [
        ((FLOAT32, INT8), "float32 with int8"),
        ((UINT8, UINT8), "uint8 with uint8"),
        ((FLOAT32, FLOAT32), None),
        ((INT8, INT8), None),
    ],
)
def test_types_that_the_runtime_refuses_give_an_unknown_arena(kinds: tuple[int, int], refused: str | None) -> None:
    given, weights = kinds
    tensors = [tensor("x", (1, 16), given), tensor("w", (16, 16), weights, constant=1), tensor("y", (1, 16), given)]
    data = model(subgraph(tensors, [0], [2], [operator("FULLY_CONNECTED", [0, 1], [2])]))
    start = f"FULLY_CONNECTED (of {refused}, which TFLite Micro refuses: it takes float32 with float32, int8 with int8"
    assert [name.startswith(start) for name in arena_of(data).unknown] == ([] if refused is None else [True])


def one_operator(name: str, kinds: Sequence[int], shapes: Sequence[Sequence[int]], constants: Sequence[int]) -> bytes:
    """Return a model with one operator: tensors of these types and shapes, the last of which is its output."""
    last = len(kinds) - 1
    rows = enumerate(zip(kinds, shapes, strict=True))
    tensors = [tensor(f"t{k}", shape, kind, constant=k in constants) for k, (kind, shape) in rows]
    given = [k for k in range(last) if k not in constants]
    return model(subgraph(tensors, given, [last], [operator(name, list(range(last)), [last])]))


REFUSED = {
    "EXP (of int8": one_operator("EXP", [INT8, INT8], [[4], [4]], []),
    "DEQUANTIZE (of float16 with float32": one_operator("DEQUANTIZE", [FLOAT16, FLOAT32], [[4], [4]], []),
    "MIRROR_PAD (of int16": one_operator("MIRROR_PAD", [INT16, INT32, INT16], [[4], [1, 2], [6]], [1]),
    "FILL (of a computed input 0": one_operator("FILL", [INT32, FLOAT32, FLOAT32], [[1], [], [4]], [1]),
    "BROADCAST_TO (of 6 dimensions": one_operator(
        "BROADCAST_TO", [FLOAT32, INT32, FLOAT32], [[1] * 6, [6], [1] * 6], [1]
    ),
    "QUANTIZE (of int32 without a scale": one_operator("QUANTIZE", [INT16, INT32], [[4], [4]], []),
    "GATHER (of int16": (ARENAS / "s110_gather.tflite").read_bytes(),
    "REDUCE_MAX (of int16": (ARENAS / "s097_rmax.tflite").read_bytes(),
}


@pytest.mark.parametrize("start", REFUSED)
def test_targets_refuse_what_their_device_refuses_with_a_way_out(start: str, tmp_path: Path, capfd: Captured) -> None:
    (tmp_path / "m.tflite").write_bytes(REFUSED[start])
    name = start.partition(" ")[0]
    ((status, found),) = answers(tmp_path, capfd, REFUSED[start], "check --budget 1MiB")
    assert (status, found["failures"][0]["rule"]) == (1, "unknown-arena")
    assert f"{start}" in found["failures"][0]["message"]
    assert found["failures"][0]["message"].endswith(f"state it with --scratch {name}=SIZE")
    assert main(["plan", str(tmp_path / "m.tflite"), "--target", "cortex-m4"]) == 2
    said = capfd.readouterr().err
    assert f"error: model: must have operators that TFLite Micro runs, got {start}" in said
    assert f"give --scratch {name}=SIZE" in said
    own = "plan --target cortex-m4", "check --target cortex-m4 --budget 1MiB"
    sized = answers(tmp_path, capfd, REFUSED[start], *own, flags=f"--scratch {name}=64")
    assert [status for status, _ in sized] == [0, 0]


@pytest.mark.parametrize(("bias", "is_known"), [(0.0003, True), (0.0001, False)])
def test_a_bias_of_another_scale_than_its_products_is_refused_with_the_operator(bias: float, is_known: bool) -> None:
    scales = {"x": 0.1, "w": 0.003, "b": bias, "y": 0.001}
    kinds = {"x": INT8, "w": INT8, "b": INT32, "y": INT8}
    tensors = [
        {**tensor(name, (4, 4)[name in "by" :], kinds[name], constant=name in "wb"), 4: quantization}
        for name, scale in scales.items()
        for quantization in [{2: array("f", [scale])}]
    ]
    data = model(subgraph(tensors, [0], [3], [operator("FULLY_CONNECTED", [0, 1, 2], [3])]))
    assert (arena_of(data).unknown == ()) == is_known
    if not is_known:
        assert arena_of(data).unknown == ("FULLY_CONNECTED (of a bias of another scale, which TFLite Micro refuses)",)


def test_the_runtimes_plan_of_a_model_with_branches_is_computed() -> None:
    data = branching_model(2)
    found = compare(data, CompareOptions(time_limit_s=3))
    assert (found.own.peak, found.own.message) == (arena_of(data).head, None)
    assert found.saved == arena_of(data).head - (found.memplan.peak or 0)


@pytest.mark.slow
def test_every_question_counts_the_scratch_of_a_transposed_convolution(tmp_path: Path, capfd: Captured) -> None:
    pytest.importorskip("ai_edge_litert", reason="the model is drawn with the schema that LiteRT brings")
    pytest.importorskip("tflite_micro", reason="the arena is measured where TFLite Micro is installed")
    m = MicroModel((1, 16, 16, 8), is_int8=True)
    m.at = window(m, "CONV_2D", 3, 1, width=8)
    m.at = add_upsampling(m, 8)
    data, needed = m.data(), 2048 + 8192 + 4 * 8192
    lines = ("plan", "plan --order best", "order", "cascade", "explain --capacity 20KiB --repairs 3")
    plan, best, asked, cascaded, explained = answers(tmp_path, capfd, data, *lines)
    assert {plan[1]["peak"], best[1]["peak"], asked[1]["peak"], cascaded[1]["layers_peak"]} == {needed}
    assert explained[1]["repairs"]["of_operations"]["repairs"] == []
    least = arena_of(data).least
    assert run_here(data, least).outputs is not None
    assert run_here(data, least - 64).fails


def test_scratch_by_output_or_number_takes_precedence_over_scratch_by_name() -> None:
    rows = [operator("NEG", [0], [1]), operator("NEG", [1], [2])]
    data = model(subgraph([tensor(name, (64,), INT8) for name in "xab"], [0], [2], rows))

    def sizes(**said: int) -> list[int]:
        rows = read_model(data, options=ModelOptions(scratch=said)).problem.buffers
        return [row.size for row in rows if "#scratch" in str(row.id)]

    assert (sizes(), sizes(NEG=64), sizes(a=128)) == ([], [64, 64], [128])
    assert sizes(**{"1": 256, "NEG": 64}) == [64, 256]
    with pytest.raises(OptionError, match=r"or one operator, by its output or number\), got \"2\""):
        sizes(**{"2": 4})


@pytest.mark.parametrize("name", ["small", "1"])
def test_scratch_of_one_operator_stays_with_it_in_another_order(name: str) -> None:
    given = ModelOptions(scratch={name: GIVEN["CUSTOM"]})
    moved = export_order(LATE)
    assert form_options(LATE, LATE, given) == given
    by_output = form_options(LATE, moved, given)
    assert by_output.scratch == {"small": GIVEN["CUSTOM"]}
    assert arena_of(moved, by_output) == arena_of(moved, ModelOptions(scratch={"CUSTOM": GIVEN["CUSTOM"]}))
    by_name = model(subgraph([tensor(n, (64,), INT8) for n in SIZES], [0], [3], [operator("RELU", [0], [2])]))
    with pytest.raises(OptionError, match=r"or one operator that the new form does not split, got \"small\""):
        form_options(LATE, by_name, given)


def export_order(data: bytes) -> bytes:
    found = read_tensors(data)
    rows = [operator("CUSTOM", [0], [2]), operator("RELU", [0], [1]), operator("ADD", [1, 2], [3])]
    assert [each.name for each in found.subgraphs[0].operators] == ["RELU", "CUSTOM", "ADD"]
    return model(subgraph([tensor(name, (size,), INT8) for name, size in SIZES.items()], [0], [3], rows))


def test_convert_takes_scratch_of_one_operator(tmp_path: Path, capfd: Captured) -> None:
    (tmp_path / "m.tflite").write_bytes(LATE)
    sizes = []
    for said in ("CUSTOM", "small", "1"):
        line = ["convert", str(tmp_path / "m.tflite"), "-o", str(tmp_path / "o.tflite"), "--scratch", f"{said}=8192"]
        assert main([*line, "--target", "cortex-m4", "--format", "arena,deployment"]) == 0
        answer = json.loads(capfd.readouterr().out)
        assert answer["deployment"]["form"] == "ordered"
        sizes.append(answer["arena"]["used"])
    assert sizes == [sizes[0]] * 3
