"""Tests that plans inside files of other systems are read and valid, and that the names in the files are read."""

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memplan import read_problem
from memplan.planner.errors import InputError
from memplan.planner.foreign.names_in_files import names_in, names_of_imported
from memplan.planner.foreign.reading import detect, read_model
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.solve import solve


def event(action: str, addr: int, size: int) -> dict[str, Any]:
    return {"action": action, "addr": addr, "size": size, "stream": 0, "frames": []}


SNAPSHOT: dict[str, Any] = {
    "segments": [{"address": 4096, "total_size": 2048, "blocks": []}, {"address": 1 << 40, "total_size": 4096}],
    "device_traces": [
        [],
        [
            event("alloc", 4096, 512),
            event("alloc", 4608, 1024),
            event("free_requested", 4096, 512),
            event("free_completed", 4096, 512),
            event("alloc", 4096, 512),
            event("free_completed", 1 << 40, 1024),
            event("segment_alloc", 1 << 41, 1024),
            event("alloc", 1 << 41, 1024),
        ],
    ],
}


@pytest.mark.parametrize("write", [lambda value: json.dumps(value).encode(), pickle.dumps])
def test_snapshots_of_pytorch_are_read_as_json_and_as_pickles(write: Any) -> None:
    data = write(SNAPSHOT)
    assert detect(data) == "torch-snapshot"
    found = read_model(data)
    rows = [(row.id, row.size, row.start, row.end) for row in found.problem.buffers]
    assert rows == [("0", 1024, 0, 4), ("1", 512, 0, 2), ("2", 1024, 1, 7), ("3", 512, 3, 7), ("4", 1024, 5, 7)]
    assert [row.offset for row in found.own_plan.placements] == [2048, 0, 512, 0, 6144]
    assert verify(found.problem, found.own_plan) == ()
    assert found.own_peak == 7168


def test_each_device_of_a_snapshot_has_a_separate_pool() -> None:
    first = [event("alloc", 0, 512), event("alloc", 512, 512)]
    second = [event("alloc", 512, 1024), event("free_completed", 512, 1024), event("alloc", 0, 512)]
    segments = [{"device": device, "address": 0, "total_size": 2048} for device in (0, 2)]
    found = read_model(json.dumps({"segments": segments, "device_traces": [first, [], second]}).encode())
    assert [(row.id, row.size, row.pools) for row in found.problem.buffers] == [
        ("device0/0", 512, ("device0",)),
        ("device0/1", 512, ("device0",)),
        ("device2/0", 1024, ("device2",)),
        ("device2/1", 512, ("device2",)),
    ]
    places = [("device0", 0), ("device0", 512), ("device2", 512), ("device2", 0)]
    assert [(row.pool, row.offset) for row in found.own_plan.placements] == places
    assert verify(found.problem, found.own_plan) == ()
    assert found.own_peak == 1024 + 1536
    assert solve(found.problem).peak == 1024 + 1024


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (print, ("this must not run",))


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps({"segments": [Evil()], "device_traces": []}),
        pickle.dumps({"segments": [], "device_traces": [[]]}),
        pickle.dumps(["segments"]),
        pickle.dumps(SNAPSHOT)[:-9],
        b"\x80\x04segments",
        json.dumps({"segments": 1, "device_traces": [[event("alloc", 0, 1)]]}).encode(),
        json.dumps({"segments": [], "device_traces": [[{"action": "alloc", "addr": "0", "size": 1}]]}).encode(),
        json.dumps({"segments": [], "device_traces": [[event("alloc", 0, 2**63)]]}).encode(),
        b'{"segments": [',
    ],
)
def test_malformed_snapshots_are_refused_and_run_no_code(data: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError):
        read_model(data)
    assert capfd.readouterr().out == ""


GRAPHS = Path(__file__).parents[2] / "tests" / "models" / "ggml"


def graphs(file: str) -> Iterator[bytes]:
    """Yield the bytes of each graph in a ggml file, which contains one graph for each size of its dimension."""
    start, *parts = Path(file).read_bytes().split(b'{"format"')
    yield from (start + b'{"format"' + part for part in parts)


def alarms(data: bytes) -> int:
    model = read_model(data)
    assert model.own_plan is not None
    return len(verify(model.problem, model.own_plan))


def test_ggmls_own_plans_at_several_sizes_are_valid() -> None:
    assert [alarms(data) for file in sorted(map(str, GRAPHS.glob("*.json"))) for data in graphs(file)] == [0] * 9


MODELS = Path(__file__).parents[2] / "tests" / "models"


def test_names_of_a_model_contain_its_operations_as_steps_and_its_loops_as_spans() -> None:
    path = MODELS / "loop.tflite"
    names = names_in(path.read_bytes(), path.name, read_problem(path))
    assert [step.name for step in names.steps][:4] == ["copy", "copy", "SUM", "LESS"]
    assert [(span.kind, span.start < span.end) for span in names.spans] == [("loop", True)]


def test_names_of_a_model_contain_types_roles_and_operations_of_buffers() -> None:
    path = MODELS / "recorded" / "kws_dscnn_int8.tflite"
    problem = read_problem(path)
    names = names_in(path.read_bytes(), path.name, problem)
    assert (names.types[0], names.roles[0], names.operations[1]) == ("int8 1x49x10x1", "input", "CONV_2D")
    assert len(names.roles) == len(names.operations) == len(problem.buffers)


def test_a_problem_file_has_no_names_of_steps() -> None:
    data = b'{"buffers": [{"id": 1, "size": 1, "start": 0, "end": 1}]}'
    assert names_in(data, "problem.json", read_problem(data)).steps == ()


def test_names_of_an_application_contain_models_as_spans_and_the_model_of_each_buffer() -> None:
    path = Path(__file__).parents[2] / "examples" / "application.json"
    problem = read_problem(path)
    names = names_in(path.read_bytes(), path.name, problem)
    spans = [("model", "capture", 0, 2), ("model", "detect", 2, 4), ("model", "network", 4, 5)]
    assert [(span.kind, span.name, span.start, span.end) for span in names.spans] == spans
    assert list(names.models) == [str(each).partition("/")[0] for each in problem.buffers.ids]
    assert names_of_imported(path.read_bytes(), None) == names
