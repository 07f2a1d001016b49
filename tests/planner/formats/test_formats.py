"""Reading and writing problem and plan files, and refusing files of other formats."""

import contextlib
import io
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.planner import formats
from memplan.planner.errors import FormatError, InputError
from memplan.planner.foreign import reading as importers
from memplan.planner.formats import FORMATS, detect, format_of_name, read_plan, read_problem
from memplan.planner.formats.other_files import foreign_kind
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import MAX_BYTES, MAX_TIME, MIN_TIME, Placement
from memplan.planner.systems import file_readers, systems
from memplan.programs.models.model_graph import read_model_graph
from tests.support.strategies import placements, problems, tied_problems

IDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5) | st.sampled_from(
    ["a,b", 'say "hi"', " spaced ", "two\nlines", "re\rturn", "\u2028", "=1+1", "\ufeff", "null", "0"]
)


@st.composite
def tables(draw: st.DrawFn) -> Problem:
    """Draw a problem that every format can express: one pool, and one lifetime for each buffer."""
    rows = []
    for name in draw(st.lists(IDS, unique=True, max_size=6)):
        start = draw(st.integers(MIN_TIME, MAX_TIME - 1))
        row = {"id": name, "size": draw(st.integers(0, MAX_BYTES)), "start": start}
        row["end"] = draw(st.integers(start + 1, MAX_TIME))
        row["alignment"] = draw(st.sampled_from((1, 1, 12, 64)))
        if draw(st.integers(0, 3)) == 0:
            row["offset"] = draw(st.integers(0, MAX_BYTES))
        rows.append(row)
    return Problem.model_validate({"buffers": rows})


@pytest.mark.parametrize("name", FORMATS)
@given(problem=tables())
def test_a_written_problem_reads_back_unchanged(name: str, problem: Problem) -> None:
    assert read_problem(FORMATS[name].write_problem(problem), f"some{FORMATS[name].SUFFIX}") == problem


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
def test_a_written_plan_reads_back_unchanged(name: str, data: st.DataObject) -> None:
    problem = data.draw(problems())
    places = [place for place in data.draw(placements(problem)) if place.id in problem.index]
    plan = Plan(placements=PlacementTable.from_rows(places))
    assert read_plan(FORMATS[name].write_plan(plan, problem), problem, f"some{FORMATS[name].SUFFIX}") == plan


@given(problem=tied_problems())
def test_json_round_trips_all_constraints_between_buffers(problem: Problem) -> None:
    assert read_problem(FORMATS["json"].write_problem(problem)) == problem


def test_json_omits_fields_with_default_values() -> None:
    rows = [{"id": "a", "size": 4, "start": 0, "end": 1}, {"id": "b", "size": 4, "start": 0, "end": 1}]
    tied = rows[1] | {"relative": {"to": "a", "offset": -8}, "no_cross": 16, "forbid_pools": ["y"]}
    pools = [{"name": "x", "bank_size": 64}, {"name": "y"}]
    data = {"buffers": [rows[0], tied], "bank": [{"buffers": ["a"], "weight": 2.5}], "pools": pools}
    assert json.loads(FORMATS["json"].write_problem(Problem.model_validate(data))) == data
    assert json.loads(FORMATS["json"].write_problem(Problem.model_validate({"buffers": rows}))) == {"buffers": rows}


@given(problem=problems())
def test_json_round_trips_any_problem_and_csv_refuses_inexpressible_ones(problem: Problem) -> None:
    assert read_problem(FORMATS["json"].write_problem(problem)) == problem
    try:
        written = FORMATS["csv"].write_problem(problem)
    except FormatError:
        return
    again = FORMATS["csv"].read_problem(written)
    assert again.conflicts == problem.conflicts == ()
    for mine, other in zip(problem.buffers, again.buffers, strict=True):
        # CSV may change only the name of a single pool, traffic without effect, and integer ids to text.
        assert other == mine.model_copy(update={"id": str(mine.id), "pools": None, "traffic": None})


@given(data=st.binary(max_size=200), name=st.sampled_from((None, "x.json", "x.csv")))
def test_read_problem_returns_a_problem_or_raises_input_error_for_any_bytes(data: bytes, name: str | None) -> None:
    with contextlib.suppress(InputError):
        assert isinstance(read_problem(data, name), Problem)


def test_format_detection_prefers_file_content_over_the_file_name() -> None:
    assert detect(b' {"buffers": []}', "problem.csv") == "json"
    assert detect(b"id,lower,upper,size\n", "problem.json") == "csv"
    assert detect(b"start,size\n", "PROBLEM.CSV") == "csv"
    assert detect(b"[]", "problem.json") == "json"


@pytest.mark.parametrize(
    ("data", "name", "sentence"),
    [
        (b"", "p.json", "must not be empty"),
        (b" \r\n", None, "must not be empty"),
        (b"\x7fELF\x02\x01", "a.out", "must be a file that memplan reads, got a compiled program"),
        (b"<!DOCTYPE html>", None, "must be a file that memplan reads, got a page in HTML"),
        (b"buffers:\n - 1", None, "must be a file that memplan reads, got YAML; convert it to JSON"),
        (b"hello", None, 'must be of a known format, got "hello"; known are '),
    ],
)
def test_a_file_of_an_unknown_format_is_refused(data: bytes, name: str | None, sentence: str) -> None:
    with pytest.raises(FormatError) as error:
        detect(data, name)
    assert str(error.value).startswith(sentence)


def test_the_suffix_of_an_output_file_determines_its_format() -> None:
    assert format_of_name("out/plan.JSON") == "json"
    with pytest.raises(FormatError, match=r"must end in \.json or \.csv"):
        format_of_name("plan.txt")


def test_a_csv_plan_matches_integer_ids_by_their_text() -> None:
    problem = Problem.model_validate({"buffers": [{"id": 7, "size": 1, "start": 0, "end": 1}]})
    plan = FORMATS["csv"].read_plan(b"id,offset\n7,64\n", problem)
    assert list(plan.placements) == [Placement(id=7, pool="default", offset=64)]


def test_a_csv_plan_with_unknown_buffers_is_read_without_error() -> None:
    plan = FORMATS["csv"].read_plan(b"id,offset\nstranger,0\n", Problem.model_validate({"buffers": []}))
    assert plan.placements.ids == ("stranger",)


def archive(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name in names:
            packed.writestr(name, b"")
    return out.getvalue()


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 44\n"
SAFETENSORS = (2).to_bytes(8, "little") + b'{"w":{}}'
C_SOURCE = b"#include <cstdint>\nalignas(16) const unsigned char g_model[] = {\n  0x20, 0x00"
GRAPH_DEF = b"\n\x09\n\x01x\x12\x04Relu\n\x0a\n\x01y\x12\x05Const"
FILES: list[tuple[str, bytes, str]] = [
    ("m.tflite", POINTER, "a pointer of Git LFS, .*git lfs pull"),
    ("m.onnx", POINTER, "a pointer of Git LFS"),
    ("m.tflite", b"\n<!-- a --><!DOCTYPE html><html>", "a page in HTML, .*the raw one"),
    ("m.onnx", b"<html><title>Not found</title>", "a page in HTML"),
    ("m.pt", archive("m/data.pkl", "m/version"), "a checkpoint of PyTorch, .*torch.onnx.export"),
    ("m.pt", archive("m/data.pkl", "m/constants.pkl", "m/code/x.py"), "a TorchScript model"),
    ("m.pth", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02", "a checkpoint of PyTorch"),
    ("m.pkl", b"\x80\x04\x95\x00\x00", "a pickle"),
    ("m.h5", b"\x89HDF\r\n\x1a\n\x00", "an HDF5 file, .*TFLiteConverter"),
    ("m.keras", archive("config.json", "model.weights.h5"), "a model of Keras"),
    ("m.safetensors", SAFETENSORS, "a file of safetensors, .*no operations"),
    ("m.gguf", b"GGUF\x03\x00\x00\x00", "a GGUF file, .*no operations"),
    ("m.npz", archive("a.npy"), "arrays of NumPy"),
    ("m.txt", b"HloModule jit_f, is_scheduled=true\n", "HLO as text, .*xla_dump_hlo_as_proto"),
    ("m.mlir", b"module @m {\n  func.func @main() {", "MLIR whose memory is not packed yet; .*iree-compile"),
    ("m.mlmodel", b"\x08\x04\x12\x05\n\x03\n\x01x", "a model of Core ML"),
    ("saved_model.pb", b"\x08\x01\x12\x85\x01\n\x02\x12\x00", "a SavedModel of TensorFlow"),
    ("frozen.pb", GRAPH_DEF, "a frozen graph of TensorFlow"),
    ("m.ort", b"\x18\x00\x00\x00ORTM\x00", "ONNX Runtime's own format"),
    ("m.ptd", b"\x18\x00\x00\x00FT01\x00", "data of an ExecuTorch program"),
    ("m.cc", C_SOURCE, "C source with a model as an array"),
    ("m.py", b"# a model\nimport torch\n", "Python source"),
    ("m.ipynb", b'{"cells": []}', "a notebook"),
    ("model.json", b'{"format": "layers-model", "modelTopology": {}}', "a model of TensorFlow.js"),
    ("m.onnx.gz", b"\x1f\x8b\x08\x00", "compressed with gzip; unpack it"),
    ("m.zip", archive("a.onnx", "b.onnx"), "a ZIP archive of 2 files; unpack it"),
    ("m.zip", archive("a.onnx")[:30], "cut short; fetch it again"),
    ("m.xlsx", archive("xl/workbook.xml"), "a spreadsheet; save the table as CSV"),
    ("m.csv", "id,size".encode("utf-16"), "a text in UTF-16"),
    ("m.xml", b'<?xml version="1.0"?>\n<net name="m">', "a model of OpenVINO"),
    ("m.xml", b'<problem id="1"><buffer/></problem>', "got XML; give a model or a problem"),
    ("m.bin", b"\x10\x00\x00\x00vjp\x00ML\xefR\rStableHLO_v1.8.0\x00", r"exported.serialize\(\).*; print it as text"),
    ("m.espdl", b"EDL2\x00\x00\x00\x00\x10\x00\x00\x00", "a model of ESP-DL; give the .onnx"),
    ("m.mlir", b"w: warning\n// -----// IR Dump After X //----- //\nmodule {\n}", "without stream.resource.pack"),
    ("m.tflite", b" \n", "must not be empty"),
]


@pytest.mark.parametrize(("name", "data", "said"), FILES, ids=[f"{name}-{said[:20]}" for name, _, said in FILES])
def test_every_reader_names_the_kind_of_an_unsupported_file(name: str, data: bytes, said: str) -> None:
    for read in (importers.read_problem, importers.read_model, read_model_graph, formats.read_problem):
        if read is formats.read_problem and name.endswith(("json", "ipynb")):
            continue  # formats.read_problem treats these as JSON problems
        with pytest.raises(FormatError, match=said):
            read(data, name)


def test_an_unknown_file_is_refused_with_the_readable_formats() -> None:
    with pytest.raises(FormatError, match=r'must be of a known format, got "what"; known are ') as refused:
        importers.read_problem(b"what", "what")
    assert [each.title for each in systems() if each.files and each.title not in str(refused.value)] == []
    assert "docs/reference.md lists the suffixes of each" in str(refused.value)
    listed = (Path(__file__).parents[3] / "docs/reference.md").read_text(encoding="utf-8")
    assert [end for each in file_readers().values() for end in each.suffixes if end not in listed] == []


def test_foreign_kind_returns_none_for_files_that_memplan_reads() -> None:
    for document in [{"buffers": []}, {"format": "memplan/1", "buffers": []}, {"functions": {}}]:
        assert foreign_kind(json.dumps(document).encode(), "m.json") is None
    assert foreign_kind(b"id,lower,upper,size\n0,0,1,4\n", "m.csv") is None
