"""Closed lifetimes: read as their authors mean them, and half-open from then on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memplan.planner.errors import InputError
from memplan.planner.formats import FORMATS, read_problem
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve

ROWS: list[dict[str, Any]] = [
    {"id": "a", "size": 100, "start": 0, "end": 1},
    {"id": "b", "size": 100, "start": 1, "end": 2},
    {"id": "c", "size": 7, "lifetimes": [[3, 3], [5, 6]]},
]
HALF_OPEN = Problem.model_validate(
    {
        "buffers": [
            {"id": "a", "size": 100, "start": 0, "end": 2},
            {"id": "b", "size": 100, "start": 1, "end": 3},
            {"id": "c", "size": 7, "lifetimes": [[3, 4], [5, 7]]},
        ]
    }
)


def test_buffers_that_meet_at_an_inclusive_end_are_alive_together() -> None:
    problem = read_problem(b"id,start,end,size\na,0,1,100\nb,1,2,100\n")
    assert solve(problem, time_limit_s=1).peak == 200


def test_closed_lifetimes_in_json_are_half_open_ones_that_end_later() -> None:
    assert Problem.model_validate({"interval": "closed", "buffers": ROWS}) == HALF_OPEN


def test_what_is_written_of_a_closed_problem_is_half_open() -> None:
    problem = Problem.model_validate({"interval": "closed", "buffers": ROWS})
    written = FORMATS["json"].write_problem(problem)
    assert "interval" not in json.loads(written)
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
def test_the_file_says_the_interval_then_the_caller_then_the_column(data: bytes, interval: Any, end: int) -> None:
    assert read_problem(data, None, interval).buffers[0].end == end


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        ({"start": 3, "end": 2}, "buffers[0].end: must be at least start (3), as ends are inclusive, got 2"),
        (
            {"lifetimes": [[0, 1], [4, 2]]},
            "buffers[0].lifetimes[1][1]: must be at least start (4), as ends are inclusive, got 2",
        ),
        (
            {"start": 3, "end": 2**63 - 1},
            "buffers[0].end: must be less than 9223372036854775807, as ends are inclusive, got 9223372036854775807",
        ),
        ({"start": 3, "end": "4"}, 'buffers[0].end: must be an integer, got "4" (did you mean 4, without quotes?)'),
        ({"start": 3, "end": True}, "buffers[0].end: must be an integer, got true"),
    ],
)
def test_wrong_closed_lifetimes_are_told_as_their_author_wrote_them(row: dict[str, Any], rule: str) -> None:
    content = {"interval": "closed", "buffers": [{"id": "a", "size": 1} | row]}
    with pytest.raises(InputError) as caught:
        Problem.model_validate(content)
    assert caught.value.sentences[0] == rule


def test_buffers_that_are_half_open_already_cannot_be_called_closed() -> None:
    with pytest.raises(InputError, match="interval: must be half-open where the buffers are no objects of JSON"):
        Problem(buffers=HALF_OPEN.buffers, interval="closed")
