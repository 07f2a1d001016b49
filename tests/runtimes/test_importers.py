"""Tests of all readers: how files are recognised, and how broken, hostile and unusual bytes are handled."""

import io
import json
import pickle
import random
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

import memplan
from lab.fuzz_expansion import DRAWINGS, LIMIT_S, Reading, read_apart
from lab.fuzz_importers import SEEDS, draw_faulty_file, outcome
from memplan.api.cli.main import main
from memplan.planner import formats
from memplan.planner.errors import FormatError, ProblemError, ReaderFaultError, excerpt
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import detect, read_model, read_problem
from memplan.planner.instance.compile import MOST_CELLS, compile_problem
from memplan.planner.model.problem import Problem
from memplan.planner.systems import FileReader, file_readers
from memplan.runtimes.xla.module import read_module
from tests.runtimes import onnx_models
from tests.runtimes.failing_reader import FAULTS
from tests.runtimes.foreign_files import relax
from tests.runtimes.protobuf_files import field, message, varint
from tests.runtimes.tflite_files import model, operator, subgraph, tensor
from tests.support.depth import seeds
from tests.support.dump_files import dump_bytes


@pytest.mark.parametrize("name", SEEDS)
def test_a_file_is_recognised_by_its_content_regardless_of_its_name(name: str) -> None:
    for data in SEEDS[name]():
        assert detect(data, "problem.json") == name
        assert [known for known, importer in file_readers().items() if importer.recognises(data)] == [name]
        assert not formats.is_own(data)


@pytest.mark.parametrize(
    "data",
    [
        b"id,lower,upper,size\na,0,1,4\n",
        b'\xef\xbb\xbf{ "buffers": []}',
        b'{"format": "memplan/1", "buffers": []}',
        b'{"size": [4], "ops": []}',
        b'{"functions": {}}',
    ],
)
def test_files_of_memplan_are_recognised_by_their_first_bytes(data: bytes) -> None:
    assert formats.is_own(data)
    assert not any(reader.recognises(data) for reader in file_readers().values())


def test_a_file_is_recognised_by_its_name_if_its_content_is_ambiguous() -> None:
    assert (detect(b"?", "dir/MODEL.TFLITE"), detect(b"?", "dir/model.onnx")) == ("tflite", "onnx")


@pytest.mark.parametrize("data", [b'{"buffers": []}', b"id,lower,upper,size\n", b"hello", b"\x08"])
def test_files_that_are_not_models_have_no_model_reader(data: bytes) -> None:
    assert detect(data, "problem.json") is None
    with pytest.raises(FormatError, match=r"must be of a known format, got .*; known are .*TensorFlow Lite"):
        read_model(data)


@pytest.mark.drawn
@pytest.mark.parametrize("name", SEEDS)
@pytest.mark.slow
def test_a_corrupted_file_is_read_or_refused_with_a_message(name: str) -> None:
    files = SEEDS[name]()
    assert {"read", "FormatError"} <= {outcome(name, draw_faulty_file(name, files, seed)) for seed in seeds(100)}


def _snapshot(traces: bytes) -> bytes:
    return b"\x80\x04}(X\x08\0\0\0segments]X\x0d\0\0\0device_traces" + traces + b"u."


def _lying_archive() -> bytes:
    """Return an archive that says that its program has 10 bytes, and has 64 MiB."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m/archive_format", b"pt2")
        archive.writestr("m/models/model.json", b" " * (1 << 26))
    data = bytearray(out.getvalue())
    struct.pack_into("<I", data, data.rfind(b"PK\1\2") + 24, 10)
    return bytes(data)


def _called_often(constant: int, calls: int) -> bytes:
    """Return an ONNX model that calls a function `calls` times, which holds a constant of `constant` bytes."""
    from onnx import helper

    content = helper.make_tensor("c", 1, [constant // 4], bytes(constant), raw=True)
    body = [helper.make_node("Constant", [], ["c"], value=content), helper.make_node("Add", ["x", "c"], ["y"])]
    function = helper.make_function("own", "F", ["x"], ["y"], body, [helper.make_opsetid("", 17)])
    nodes = [helper.make_node("F", [f"v{k}"], [f"v{k + 1}"], domain="own") for k in range(calls)]
    shape = (constant // 4,)
    ends = [onnx_models.value(name, shape) for name in ("v0", f"v{calls}")]
    return onnx_models.model_bytes(onnx_models.graph(nodes, ends[:1], ends[1:]), functions=[function])


_EVENT = {"action": "alloc", "addr": 1 << 28, "size": 512, "stream": 0}
_TRACES = "device_traces"
_ALL_ALIKE = pickle.dumps({"segments": [], _TRACES: [trace := [_EVENT] * 1000, *[trace] * 1000]}, 4)


@pytest.fixture(scope="module")
def reading_of() -> Iterator[Callable[..., Reading]]:
    """Return `read_apart` in a small process, as the memory of this one would count in its forks."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield lambda *given: pool.submit(read_apart, *given).result()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="this system has no forks")
@pytest.mark.parametrize(
    ("data", "command", "sentence"),
    [
        (_snapshot(b"]r" + struct.pack("<I", 1 << 29)), "fits", "device_traces: must have events"),
        (_snapshot(b"}" + b"K\1" + b"2\x86" * 34 + b"K\1s"), "fits", "got neither JSON nor a pickle"),
        (_snapshot(b"}" + b"K\1" + b"q\0h\0\x86" * 34 + b"K\1s"), "fits", "must have texts or numbers as keys, got "),
        (_snapshot(b"]q\1h\1a"), "fits", "device_traces[0][0]: must be an event with an action, got [[["),
        (_snapshot(b"](](Nee"), "fits", "device_traces[0][0]: must be an event with an action, got null"),
        (_ALL_ALIKE, "fits", "device_traces: must have separate rows, got one row 1001 times"),
        (_lying_archive(), "plan", "archive: must be a complete ZIP archive"),
        (_called_often(1 << 20, 2000), "plan", ""),
    ],
)
def test_a_small_file_that_would_take_gigabytes_or_hours_is_read_or_refused(
    reading_of: Callable[..., Reading], data: bytes, command: str, sentence: str
) -> None:
    found = reading_of(data, "file", (command, *(("--time-limit", str(LIMIT_S)) if command == "plan" else ())))
    assert (found.fault, sentence in found.said, found.status) == (None, True, 2 if sentence else 0)


@pytest.mark.drawn
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the memory of a process to others")
@pytest.mark.parametrize("name", DRAWINGS)
def test_a_file_that_is_made_to_expand_stays_within_the_limits(reading_of: Callable[..., Reading], name: str) -> None:
    for seed in seeds(4):
        assert reading_of(DRAWINGS[name](random.Random(seed))).fault is None, seed


FAULT = "cannot be read because of a memplan fault; please report "
SENTENCES = {
    b"fault:key": FAULT + 'KeyError "nodes" at tests/runtimes/failing_reader.py:9',
    b"fault:deep": "must not be nested deeper than its reader can follow",
    b"fault:none": FAULT + "AttributeError at tests/runtimes/failing_reader.py:11",
    b"fault:memory": "cannot be read, because the machine has too little memory",
}


@pytest.mark.parametrize("later", [b"", b" later"])
@pytest.mark.parametrize("fault", FAULTS)
def test_the_error_of_a_failing_reader_states_if_the_file_or_memplan_is_at_fault(
    fault: bytes, later: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    failing = FileReader("failing", lambda data: data.startswith(b"fault:"), "tests.runtimes.failing_reader")
    monkeypatch.setitem(file_readers(), "failing", failing)
    file = tmp_path / "model"
    file.write_bytes(fault + later)
    sentence, is_fault = SENTENCES[fault], SENTENCES[fault].startswith(FAULT)
    with pytest.raises(ReaderFaultError if is_fault else FormatError) as found:
        memplan.read_problem(file)
    assert str(found.value).endswith(sentence.partition("/failing")[2])
    for command in ("plan", "compare", "explain"):
        assert main([command, str(file)]) == (70 if is_fault else 2)
        assert sentence in capfd.readouterr().err


def test_a_failing_reader_does_not_stop_the_check_of_other_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    module = "tests.runtimes.failing_reader"
    failing = FileReader("failing", lambda data: data.startswith(b"fault:"), module, suffixes=(".bad",))
    monkeypatch.setitem(file_readers(), "failing", failing)
    (tmp_path / "a.bad").write_bytes(b"fault:key")
    (tmp_path / "b.tflite").write_bytes((Path(__file__).parents[2] / "tests" / "models" / "view.tflite").read_bytes())
    assert main(["check", str(tmp_path), "--budget", "64KiB"]) == 70
    out, err = capfd.readouterr()
    assert json.loads(out)["passed"] is False
    checks = json.loads(out)["checks"]
    said = [(Path(each["subject"]).name, [one["rule"] for one in each["failures"]]) for each in checks]
    assert said == [("a.bad", ["unread"]), ("b.tflite", [])]
    assert f"{tmp_path / 'a.bad'}: {SENTENCES[b'fault:key']}" in err


BEYOND_TEXT = 16**8000
"""A number with more digits than Python is willing to convert to text."""


def test_excerpts_of_huge_numbers_show_first_digits_and_bits() -> None:
    assert excerpt(BEYOND_TEXT - 1) == "0xffffffffffffffff... of 32000 bits"
    assert (excerpt(-BEYOND_TEXT), excerpt([BEYOND_TEXT])) == ("-0x8000000000000000... of 32001 bits", "list")


def test_a_model_with_an_astronomical_number_of_elements_is_refused() -> None:
    shape = [2**31 - 1] * 5000
    data = model(subgraph([tensor("x", shape), tensor("y", shape)], [0], [1], [operator("RELU", [0], [1])]))
    with pytest.raises(FormatError, match=r"shape: must take at most \d+ bytes, got \d+$"):
        read_problem(data, "x.tflite")


def test_a_huge_number_in_relax_is_refused() -> None:
    (text,) = dump_bytes("network_allocated.relax")
    at = text.index(b"R.shape([") + len(b"R.shape([")
    data = text[:at] + b"0x" + b"f" * 8000 + text[text.index(b",", at) :]
    with pytest.raises(FormatError, match=r"0xf+\.\.\. of 32000 bits"):
        read_problem(data, "x.relax")


def test_a_too_large_product_of_pools_and_buffers_is_refused_before_columns_are_allocated() -> None:
    count = int(MOST_CELLS**0.5) + 1
    rows = [{"id": k, "size": 1, "start": 0, "end": 1} for k in range(count)]
    problem = Problem(buffers=rows, pools=[{"name": f"p{k}"} for k in range(count)])
    with pytest.raises(
        ProblemError, match=rf"^pools: must have at most {MOST_CELLS} pairs of a pool and a buffer, got {count**2}$"
    ):
        compile_problem(problem)


def test_a_long_chain_of_views_shares_one_root_buffer() -> None:
    count = 2000
    tensors = [tensor(f"t{k}", [4]) for k in range(count + 1)]
    chain = [operator("RESHAPE", [k], [k + 1]) for k in range(count)]
    problem, _ = read_problem(model(subgraph(tensors, [0], [count], chain)), "x.tflite")
    assert len(problem.buffers.aliases) == count - 1


def test_repeated_uses_of_large_tuples_in_relax_are_limited() -> None:
    four = 'R.Tensor((4, 8), dtype="float32")'
    made = [f"v{k}: {four} = R.relu()" for k in range(1001)]
    whole = f"t = ({', '.join(f'v{k}' for k in range(1001))})"
    used = [f"u{k}: {four} = R.add(t)" for k in range(1000)]
    with pytest.raises(FormatError, match=r"^operations: must use values at most 1000000 times in total, got more$"):
        read_problem(relax(*made, whole, *used, "return u0").replace(b'"n"', b"8"), "x.relax")


def test_nested_tuples_in_xla_modules_are_limited_before_they_are_expanded() -> None:
    def row(number: int, opcode: str, *operands: int) -> bytes:
        shape = message({2: 11, 3: varint(4)})
        return message({1: f"i{number}", 2: opcode, 3: shape, 35: number, 36: b"".join(map(varint, operands))})

    tower = [row(1, "parameter"), *(row(k, "tuple", k - 1, k - 1) for k in range(2, 60))]
    data = field(1, message({3: [message({2: tower, 5: 7, 6: 59})], 6: 7}))
    with pytest.raises(FormatError, match=r"^operations: must use values at most 1000000 times in total, got more$"):
        read_module(data, ModelOptions())


def test_xla_traces_without_events_get_no_pools() -> None:
    traces = field(4, message({1: message({1: 0, 2: 3})}))
    problem, _ = read_problem(field(3, field(1, message({1: 3, 2: 8})) + field(4, b"") * 1000 + traces), "x.hlo.pb")
    assert [pool.name for pool in problem.pools] == ["trace 1000"]
