"""Unambiguous standard JSON is read; ambiguous or nonstandard JSON is refused."""

from pathlib import Path

import pytest

from memplan.planner.errors import FormatError, InputError, PlanError
from memplan.planner.formats import memplan_json
from memplan.planner.model.problem import Problem

ONE = b'{"buffers": [{"id": "a", "size": 4, "start": 0, "end": 2}]}'


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b'{"name": "\xff"}', "must be JSON in UTF-8, got byte 0xff at 10"),
        (b"\xff\xfe{\x00}\x00", "must be JSON in UTF-8, got byte 0xff at 0"),
        (b'{"buffers": [], "buffers": []}', 'must be JSON in which no object repeats a key, got "buffers" twice'),
        (
            b'{"buffers": [{"id": 1, "size": 1, "start": 0, "end": 1, "size": 2}]}',
            'must be JSON in which no object repeats a key, got "size" twice',
        ),
    ],
)
def test_ambiguous_json_is_refused(data: bytes, sentence: str) -> None:
    with pytest.raises(FormatError) as error:
        memplan_json.parse(data)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"[]", 'must be an object, {"buffers": [...]}, got a list'),
        (b"{}", "buffers: is required"),
        (b'{"buffers": {}}', "buffers: must be a list, got {}"),
        (b'{"buffers": [], "extra": 1}', "extra: is not a known field"),
        (b'{"buffers": [{"id": "a", "size": 1e999, "start": 0, "end": 2}]}', "buffers[0].size: must be an integer"),
    ],
)
def test_an_error_in_a_json_problem_is_reported_with_its_location(data: bytes, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        memplan_json.read_problem(data)
    assert str(error.value).startswith(sentence)


def test_a_byte_order_mark_before_json_is_ignored() -> None:
    assert memplan_json.recognises(b"\xef\xbb\xbf" + ONE)
    assert memplan_json.read_problem(b"\xef\xbb\xbf" + ONE) == memplan_json.read_problem(ONE)


def test_reading_and_writing_json_adds_no_default_values() -> None:
    written = memplan_json.write_problem(memplan_json.read_problem(ONE))
    assert written == b'{"buffers":[{"id":"a","size":4,"start":0,"end":2}]}\n'


def test_an_error_in_a_json_plan_is_reported_with_its_location() -> None:
    problem = Problem.model_validate({"buffers": []})
    with pytest.raises(PlanError) as error:
        memplan_json.read_plan(b'{"status": "perfect", "placements": [{"id": "a", "pool": "p"}]}', problem)
    assert error.value.sentences == (
        "status: must be 'optimal', 'feasible', 'infeasible' or 'unknown', got \"perfect\"",
        "placements[0].offset: is required (bytes from the start of the pool, as 64)",
    )


def test_the_problems_in_the_documentation_are_valid() -> None:
    text = (Path(__file__).parents[3] / "docs" / "formats.md").read_text()
    blocks = [block.split("```")[0] for block in text.split("```json\n")[1:]]
    problems = [memplan_json.read_problem(block.encode()) for block in blocks if '"buffers": [\n' in block]
    assert [len(problem.buffers) for problem in problems] == [8]


def test_a_megabyte_of_blanks_before_invalid_json_is_refused_in_linear_time() -> None:
    for blank in (b"\n", b" ", b"\t\n", b"\r\n", b'"', b"{", b"7"):
        with pytest.raises(InputError):  # rescanning the rest at each blank would take hours
            memplan_json.parse(blank * 1_000_000 + b"x")
    with pytest.raises(InputError, match="JSON has no comments"):
        memplan_json.parse(b"\n\n  // buffers\n{}")
