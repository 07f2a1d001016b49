"""Tests of the writer of TFLite Micro's offline plan, read back by Vela's generated reader."""

import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.planner.errors import FormatError
from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.foreign.layout import lay_out
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import read_model
from memplan.planner.foreign.writing import export
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.model.plan import Plan
from memplan.runtimes.tflite.model import OFFLINE_PLAN
from memplan.runtimes.tflite.model import read_model as read_tensors
from memplan.runtimes.tflite.tflm import set_metadata
from memplan.solvers.portfolio.solve import solve
from tests.runtimes.tflite_files import flatbuffer, model, operator, subgraph, tensor
from tests.support.layouts import single_pool_layout

MODELS = Path(__file__).parents[3] / "tests" / "models"
OF_ONE_SUBGRAPH = [MODELS / "view.tflite", MODELS / "recorded" / "kws_dscnn_int8.tflite"]
RESIDENT = [tensor("k", (4,), constant=True), tensor("s", (4,), variable=True)]
TENSORS = [tensor("x", (1, 4)), *RESIDENT, tensor("y", (1, 4))]
GRAPH = subgraph(TENSORS, [0], [3], [operator("ADD", [0, 1, 2], [3])])
PLACES = {"main/x": ("default", 0), "main/s": ("default", 16), "main/y": ("default", 32)}


def plan_model(data: bytes) -> tuple[ImportedProblem, Plan, bytes]:
    found = read_model(data)
    plan = solve(found.problem)
    return found, plan, export("tflite", lay_out(found.problem, plan, data), "model")[""]


def placed_by_hand(data: bytes, **moved: int) -> bytes:
    found = read_model(data, None, ModelOptions(alignment=8))
    places = PLACES | {f"main/{name}": ("default", offset) for name, offset in moved.items()}
    placements = [{"id": name, "pool": pool, "offset": offset} for name, (pool, offset) in places.items()]
    return export("tflite", lay_out(found.problem, Plan(placements=placements), data), "model")[""]


def read_by_vela(data: bytes) -> Any:
    module = pytest.importorskip("ethosu.vela.tflite.Model", reason="needs ethos-u-vela, an independent reader")
    return module.Model.GetRootAsModel(data, 0)


def offline_offsets(read: Any) -> list[int]:
    """Return what TFLite Micro takes of the metadata, which it must have once, with a count that is its tensors'."""
    entries = [read.Metadata(k) for k in range(read.MetadataLength())]
    (entry,) = (entry for entry in entries if entry.Name() == OFFLINE_PLAN.encode())
    content = read.Buffers(entry.Buffer()).DataAsNumpy().tobytes()
    numbers = struct.unpack(f"<{len(content) // 4}i", content)
    assert numbers[:2] == (0, 1)
    assert numbers[2] == len(numbers) - 3 == read.Subgraphs(0).TensorsLength()
    return list(numbers[3:])


def model_content(read: Any) -> dict[str, Any]:
    """Return the content of a model without its metadata."""
    graph = read.Subgraphs(0)
    rows = [graph.Tensors(k) for k in range(graph.TensorsLength())]
    runs = [graph.Operators(k) for k in range(graph.OperatorsLength())]
    return {
        "version": read.Version(),
        "description": read.Description(),
        "codes": [read.OperatorCodes(k).BuiltinCode() for k in range(read.OperatorCodesLength())],
        "signatures": [read.SignatureDefs(k).SignatureKey() for k in range(read.SignatureDefsLength())],
        "tensors": [(row.Name(), row.ShapeAsNumpy().tolist(), row.Type(), row.IsVariable()) for row in rows],
        "operators": [(run.InputsAsNumpy().tolist(), run.OutputsAsNumpy().tolist()) for run in runs],
        "constants": [_content(read.Buffers(row.Buffer())) for row in rows],
    }


def _content(buffer: Any) -> bytes:
    return bytes(buffer.DataAsNumpy().tobytes()) if buffer.DataLength() else b""


@pytest.mark.parametrize("path", OF_ONE_SUBGRAPH, ids=lambda path: str(path.stem))
def test_velas_reader_finds_the_same_model_and_a_valid_plan(path: Path) -> None:
    data = path.read_bytes()
    found, plan, written = plan_model(data)
    before, after = read_by_vela(data), read_by_vela(written)
    assert (model_content(after), after.MetadataLength()) == (model_content(before), before.MetadataLength() + 1)
    offsets = offline_offsets(after)
    tensors = read_tensors(data).tensors
    for row, offset in zip(tensors, offsets, strict=True):
        assert (offset == -1) == row.is_constant
        assert offset == -1 or offset % 16 == 0
    sizes = {row.id: row.size for row in found.problem.buffers}
    ends = [offset + sizes[f"main/{row.id}"] for row, offset in zip(tensors, offsets, strict=True) if offset >= 0]
    assert max(ends) == plan.peak


@pytest.mark.parametrize("path", OF_ONE_SUBGRAPH, ids=lambda path: str(path.stem))
def test_an_exported_plan_reads_back_with_the_same_problem_and_its_peak(path: Path) -> None:
    found, plan, written = plan_model(path.read_bytes())
    again = read_model(written)
    assert (problem_hash(again.problem), again.own_peak) == (problem_hash(found.problem), plan.peak)
    assert written.endswith(path.read_bytes())


def test_an_exported_plan_replaces_the_one_in_the_file() -> None:
    written = placed_by_hand(model(GRAPH, offline_plan=(0, 1, 4, 0, -1, 64, 128)))
    assert written.count(OFFLINE_PLAN.encode()) == 2  # the old one is still there, but nothing points at it
    read = read_by_vela(written)
    assert (offline_offsets(read), read.MetadataLength()) == ([0, -1, 16, 32], 1)
    assert placed_by_hand(written)[-len(written) :] == written


def test_the_bytes_of_the_plan_are_aligned_in_the_file() -> None:
    written = placed_by_hand(model(GRAPH))
    assert written.index(struct.pack("<7i", 0, 1, 4, 0, -1, 16, 32)) % 16 == 0
    assert (len(written) - len(model(GRAPH))) % 64 == 0


def test_a_plan_is_added_to_a_file_without_metadata_or_with_odd_names() -> None:
    for name in ("n", "name", "longer name"):
        read = read_tensors(set_metadata(model(GRAPH), name, b"12345"))
        assert read.metadata == {name: b"12345"}
        assert read.subgraphs[0].operators == read_tensors(model(GRAPH)).subgraphs[0].operators


def test_several_subgraphs_have_one_plan_over_all_of_their_tensors() -> None:
    data = (MODELS / "choice.tflite").read_bytes()
    found = read_model(data)
    plan = solve(found.problem)
    planned = read_tensors(export("tflite", lay_out(found.problem, plan, data), "model")[""])
    places = {row.id: row.offset for row in plan.placements}
    said = [places.get(f"main/{tensor.id}", -1) for tensor in planned.tensors]
    assert (len(planned.subgraphs), list(planned.offline_offsets or ())) == (3, said)
    assert sum(offset >= 0 for offset in said) > len(planned.subgraphs[0].tensors)


def test_variable_tensors_after_the_first_subgraph_are_refused_with_a_remedy() -> None:
    inside = subgraph([tensor("s", (4,), variable=True)], [], [], [])
    data = model(subgraph([tensor("x", (4,)), tensor("y", (4,))], [0], [1], [operator("RELU", [0], [1])]), inside)
    found = read_model(data)
    with pytest.raises(FormatError, match=r'no variable tensors after the first .*, got "s"; try to=c or to=ld'):
        export("tflite", lay_out(found.problem, solve(found.problem), data), "model")


def test_write_tflm_refuses_files_that_are_not_tflite_models() -> None:
    with pytest.raises(FormatError, match=r"problem: must be the model \(a \.tflite file\) if the target is tflite"):
        export("tflite", single_pool_layout({}), "model")


@pytest.mark.parametrize("offset", [40, 2**31])
def test_write_tflm_refuses_offsets_that_tflite_micro_cannot_use(offset: int) -> None:
    with pytest.raises(
        FormatError, match=f'"main/y": must have an offset below 2.31 that 16 divides, .*, got {offset}'
    ):
        placed_by_hand(model(GRAPH), y=offset)


def test_set_metadata_refuses_files_with_absolute_positions() -> None:
    fields = {0: ("I", 3), 2: [GRAPH], 4: [{}, {1: ("Q", 4096), 2: ("Q", 8)}]}
    with pytest.raises(FormatError, match=r"model.buffers\[1\].offset: must not be given, got 4096"):
        set_metadata(flatbuffer(fields), "name", b"")
    run = {**operator("RELU", [0], [3]), 9: ("Q", 8192)}
    with pytest.raises(FormatError, match=r"operators\[0\].large_custom_options_offset: must not be given, got 8192"):
        set_metadata(model({**GRAPH, 3: [run]}), "name", b"")
    with pytest.raises(FormatError, match="model: must have at most 10 fields, because a newer schema defines"):
        set_metadata(flatbuffer({0: ("I", 3), 11: "new"}), "name", b"")


@given(st.data())
def test_write_tflm_refuses_a_broken_file_or_keeps_its_content(data: st.DataObject) -> None:
    broken = bytearray((MODELS / "view.tflite").read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    try:
        before = read_tensors(bytes(broken))
        written = set_metadata(bytes(broken), "name", b"content")
    except FormatError:
        return
    after = read_tensors(written)
    assert (after.subgraphs, after.metadata) == (before.subgraphs, {**before.metadata, "name": b"content"})
