"""The oracle against answers that can be seen by hand."""

from __future__ import annotations

from typing import Any

import pytest

from planner.problem import Problem
from planner.rows import Placement
from tests.oracle import best_score, check, least_total

A = {"id": "a", "size": 4, "start": 0, "end": 2}
B = {"id": "b", "size": 3, "start": 1, "end": 3}
C = {"id": "c", "size": 2, "start": 2, "end": 4}


def problem(*buffers: dict[str, Any], **fields: Any) -> Problem:
    return Problem.model_validate({"buffers": list(buffers), **fields})


@pytest.mark.parametrize(
    ("value", "score"),
    [
        (problem(), (0,)),
        (problem(A, B, C), (7,)),
        (problem(A, C), (4,)),
        (problem(A, C, conflicts=[["c", "a"]]), (6,)),
        (problem(A, A | {"id": 2, "size": 0}), (4,)),
        (problem(A, B | {"alignment": 3}, pools=[{"base_address": 1}]), (8,)),
        (problem(A, B | {"alignment": 3, "size": 1}, pools=[{"alignment": 2, "base_address": 3}]), (9,)),
        (problem(A | {"offset": 10}, B), (14,)),
        (problem(A, pools=[{"reserved": [[3, 2], [4, 4]]}]), (12,)),
        (problem(A, pools=[{"size": 3}]), None),
        (problem(A, B | {"size": 0, "alignment": 8}, pools=[{"size": 4, "base_address": 1}]), None),
        (problem(A, B, pools=[{"name": "x", "size": 4}, {"name": "y"}]), (3, 4)),
        (problem(A, B, pools=[{"name": "x", "size": 6}, {"name": "y"}], objective="fit"), (3, 4)),
        (problem(A, B, pools=[{"name": "x", "size": 4, "cost": 1}, {"name": "y"}], objective="cost"), (0.0, 7, 0)),
        (problem(A | {"pools": ["y"]}, B, pools=[{"name": "x", "size": 2}, {"name": "y"}]), (7, 0)),
        (problem(A, B | {"alias_of": "a", "alias_offset": 1}, C), (6,)),
        (problem(A, B | {"alias_of": "a", "offset": 7, "alias_offset": 1}), (10,)),
        (problem(A | {"start": None, "end": None, "lifetimes": [[0, 1], [5, 6]]}, B), (4,)),
    ],
)
def test_least_score(value: Problem, score: tuple[float, ...] | None) -> None:
    assert best_score(value) == score


def test_least_total_may_be_less_than_the_sum_of_the_least_score() -> None:
    """Spilling less from y into x costs x more, since x is aligned worse."""
    pools = [{"name": "x", "base_address": 1, "alignment": 16}, {"name": "y"}]
    value = problem(A, pools=pools)
    assert best_score(value) == (0, 19)
    assert least_total(value) == 4


@pytest.mark.parametrize(
    ("places", "wrong"),
    [
        ([("a", "x", 0), ("b", "x", 4)], []),
        ([("a", "x", 0), ("b", "x", 3)], ["overlap 'a' 'b'"]),
        ([("a", "x", 0), ("b", "y", 0)], ["pool 'b'"]),
        ([("a", "x", 1), ("b", "x", 8)], ["alignment 'a'", "capacity 'b'"]),
        ([("a", "x", 0), ("a", "x", 0), ("z", "x", 0)], ["twice 'a'", "unknown 'z'", "missing 'b'"]),
    ],
)
def test_check_says_all_that_is_wrong(places: list[tuple[str, str, int]], wrong: list[str]) -> None:
    value = problem(A | {"alignment": 2}, B, pools=[{"name": "x", "size": 10}])
    assert check(value, [Placement(id=name, pool=pool, offset=offset) for name, pool, offset in places]) == wrong
