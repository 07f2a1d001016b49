"""The names that models give to their plans."""

from __future__ import annotations

from pathlib import Path

from memplan import read_problem
from memplan.systems.program_names import names_in, names_read

MODELS = Path(__file__).parents[1] / "models"


def test_operations_are_names_of_time_and_loops_are_ranges_of_it() -> None:
    path = MODELS / "loop.tflite"
    names = names_in(path.read_bytes(), path.name, read_problem(path))
    assert [step.name for step in names.steps][:4] == ["copy", "copy", "SUM", "LESS"]
    assert [(span.kind, span.start < span.end) for span in names.spans] == [("loop", True)]


def test_buffers_have_types_roles_and_the_operations_that_make_them() -> None:
    path = MODELS / "recorded" / "kws_dscnn_int8.tflite"
    problem = read_problem(path)
    names = names_in(path.read_bytes(), path.name, problem)
    assert names.types[0] == "int8 1x49x10x1"
    assert names.roles[0] == "input"
    assert names.operations[1] == "CONV_2D"
    assert len(names.roles) == len(names.operations) == len(problem.buffers)


def test_a_problem_gives_no_names() -> None:
    data = b'{"buffers": [{"id": 1, "size": 1, "start": 0, "end": 1}]}'
    assert names_in(data, "problem.json", read_problem(data)).steps == ()


def test_models_of_an_application_are_ranges_of_time_and_own_their_buffers() -> None:
    path = Path(__file__).parents[2] / "examples" / "application.json"
    problem = read_problem(path)
    names = names_in(path.read_bytes(), path.name, problem)
    assert [(span.kind, span.name, span.start, span.end) for span in names.spans] == [
        ("model", "capture", 0, 2),
        ("model", "detect", 2, 4),
        ("model", "network", 4, 5),
    ]
    assert list(names.models) == [str(each).partition("/")[0] for each in problem.buffers.ids]
    assert names_read(path.read_bytes(), None) == names
