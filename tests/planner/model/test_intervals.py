"""Closed lifetimes (with inclusive ends) are converted to half-open lifetimes when a problem is read."""

import json
from typing import Any

import pytest

from memplan.planner.errors import ProblemError
from memplan.planner.formats import FORMATS, read_problem
from memplan.planner.lint.problems import lint
from memplan.planner.model.problem import Buffer, Problem
from tests.support.values import buffer_rows

ROWS: list[dict[str, Any]] = [
    *buffer_rows(a=(100, 0, 1), b=(100, 1, 2)),
    {"id": "c", "size": 7, "lifetimes": [[3, 3], [5, 6]]},
]
HALF_OPEN_ROWS = [*buffer_rows(a=(100, 0, 2), b=(100, 1, 3)), {"id": "c", "size": 7, "lifetimes": [[3, 4], [5, 7]]}]
HALF_OPEN = Problem.model_validate({"buffers": HALF_OPEN_ROWS})


def test_closed_lifetimes_in_json_are_converted_to_half_open_lifetimes() -> None:
    assert Problem.model_validate({"interval": "closed", "buffers": ROWS}) == HALF_OPEN


def test_buffer_objects_may_have_closed_lifetimes() -> None:
    buffers = [Buffer(id="a", size=64, start=0, end=3), Buffer(id="b", size=8, lifetimes=((1, 2), (4, 6)))]
    problem = Problem(interval="closed", buffers=buffers)
    assert [row.intervals for row in problem.buffers] == [((0, 4),), ((1, 3), (4, 7))]
    with pytest.raises(ProblemError, match=r"^interval: must be half-open unless the buffers are rows, got 'closed'"):
        Problem(interval="closed", buffers=problem.buffers)


SEQUENCE = [{"id": k, "size": 8, "start": 2 * k, "end": 2 * k + 1} for k in range(9)]


@pytest.mark.parametrize("interval", ["closed", "half-open"])
def test_lint_does_not_suspect_inclusive_ends_if_the_problem_states_its_interval(interval: str) -> None:
    problem = Problem.model_validate({"interval": interval, "buffers": SEQUENCE})
    for said in (problem, problem.with_capacity(64), read_problem(FORMATS["json"].write_problem(problem))):
        assert [found.rule for found in lint(said)] == []
    assert [found.rule for found in lint(Problem.model_validate({"buffers": SEQUENCE}))] == ["inclusive-ends"]


def test_lint_accepts_inclusive_ends_in_a_column_named_end() -> None:
    rows = "".join(f"{row['id']},{row['start']},{row['end']},8\n" for row in SEQUENCE)
    found = [lint(read_problem(f"id,start,{end},size\n{rows}".encode())) for end in ("end", "upper")]
    assert [[each.rule for each in findings] for findings in found] == [[], ["inclusive-ends"]]


def test_a_problem_with_closed_lifetimes_is_written_with_half_open_ones() -> None:
    problem = Problem.model_validate({"interval": "closed", "buffers": ROWS})
    written = FORMATS["json"].write_problem(problem)
    assert json.loads(written)["interval"] == "half-open"
    assert read_problem(written) == problem


@pytest.mark.parametrize(
    ("data", "interval", "end"),
    [
        (b"id,lower,upper,size\na,0,3,2\n", None, 3),
        (b"id,lower,upper,size\na,0,3,2\n", "closed", 4),
        (b"id,start,end,size\na,0,3,2\n", None, 4),
        (b"id,lower,end,size\na,0,3,2\n", None, 4),
        (b"id,start,end,size\na,0,3,2\n", "half-open", 3),
        (b'{"buffers": [{"id": "a", "size": 2, "start": 0, "end": 3}]}', None, 3),
        (b'{"buffers": [{"id": "a", "size": 2, "start": 0, "end": 3}]}', "closed", 4),
        (b'{"buffers": [{"id": "a", "size": 2, "start": 0, "end": 3}], "interval": "half-open"}', "closed", 3),
    ],
)
def test_the_interval_kind_comes_from_file_then_caller_then_column_name(data: bytes, interval: Any, end: int) -> None:
    assert read_problem(data, None, interval).buffers[0].end == end
