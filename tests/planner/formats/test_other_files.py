"""Files of other kinds, given where a problem or a model is wanted: what they are is said, and what to do."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from memplan.planner import formats
from memplan.planner.errors import FormatError
from memplan.planner.formats.other_files import other_kind
from memplan.planner.systems import file_readers
from memplan.systems import reading as importers
from memplan.systems.model_graph import read_model_graph


def archive(*names: str) -> bytes:
    """Return a ZIP archive of empty files."""
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
def test_a_file_of_another_kind_is_named_wherever_it_is_given(name: str, data: bytes, said: str) -> None:
    for read in (importers.read_problem, importers.read_model, read_model_graph, formats.read_problem):
        if read is formats.read_problem and name.endswith(("json", "ipynb")):
            continue  # what begins as JSON is JSON, where no model may be given
        with pytest.raises(FormatError, match=said):
            read(data, name)


def test_what_nothing_knows_is_refused_with_all_that_is_read() -> None:
    with pytest.raises(FormatError, match=r'must be of a known format, got "what"; known are ') as refused:
        importers.read_problem(b"what", "what")
    endings = [ending for importer in file_readers().values() for ending in importer.suffixes]
    assert all(ending in str(refused.value) for ending in endings)


def test_files_that_are_read_are_of_no_other_kind() -> None:
    documents: list[dict[str, object]] = [{"buffers": []}, {"format": "memplan/1", "buffers": []}, {"functions": {}}]
    for document in documents:
        assert other_kind(json.dumps(document).encode(), "m.json") is None
    assert other_kind(b"id,lower,upper,size\n0,0,1,4\n", "m.csv") is None
