"""What is surely not meant of ties between buffers is said; what is usual is not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from memplan.planner.lint.problems import lint
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem import Problem
from tests.support.oracle import best_score
from tests.support.strategies import tied_problems

A: dict[str, Any] = {"id": "a", "size": 8, "start": 0, "end": 2}
B: dict[str, Any] = {"id": "b", "size": 4, "start": 1, "end": 3}
C: dict[str, Any] = {"id": "c", "size": 2, "start": 2, "end": 4}
BANKED = [{"name": "x", "bank_size": 16}]


def problem(*buffers: dict[str, Any], **fields: Any) -> Problem:
    return Problem.model_validate({"buffers": list(buffers), **fields})


def view(name: str, offset: int, size: int, **rules: Any) -> dict[str, Any]:
    return {"id": name, "size": size, "start": 0, "end": 2, "alias_of": "a", "alias_offset": offset, **rules}


@pytest.mark.parametrize(
    "value",
    [
        problem(A, B, C, may_share=[["a", "b"], ["b", "c"], ["a", "c"]]),
        problem(A, B | {"start": 0}, C | {"start": 0}, may_share=[["a", "b"]]),
        problem(A, view("v", 0, 4), view("w", 4, 4), C),
        problem(A, view("v", 0, 6), view("w", 2, 4), C),
        problem(A, view("v", 0, 6), view("w", 2, 6, start=4, end=5), C),
        problem(A, B | {"relative": {"to": "a", "offset": 8}}, C),
        problem(A, B, bank=[{"buffers": ["a", "b"]}], pools=BANKED),
        problem(A, B, bank=[{"buffers": ["a", "b"], "weight": 1}], pools=BANKED, objective="cost"),
        problem(A, B, bank=[{"buffers": ["a", "b"], "weight": 0}], pools=BANKED),
    ],
)
def test_of_what_is_usual_nothing_is_said(value: Problem) -> None:
    assert lint(value) == ()


@pytest.mark.parametrize(
    ("value", "finding"),
    [
        (
            problem(A | {"end": 6}, B | {"end": 9}, C, may_share=[["b", "a"]]),
            Finding(
                "long-sharing",
                'may_share[0]: ["b", "a"] are alive together in [1, 6), which is more than one step: '
                "others are born at 2",
                ("b", "a"),
            ),
        ),
        (
            problem(A, view("v", 0, 5), view("w", 3, 5), C),
            Finding(
                "hidden-overlap",
                'buffers "v" and "w": share 2 bytes while both are alive, which only a tie between them allows',
                ("v", "w"),
            ),
        ),
        (
            problem(A, B | {"relative": {"to": "a", "offset": 5}}, C),
            Finding(
                "hidden-overlap",
                'buffers "a" and "b": share 3 bytes while both are alive, which only a tie between them allows',
                ("a", "b"),
            ),
        ),
        (
            problem(A, B, bank=[{"buffers": ["a", "b"]}]),
            Finding("idle-banks", "bank: asks nothing, since no pool has a bank_size"),
        ),
        (
            problem(A, B, bank=[{"buffers": ["a", "b"], "weight": 1}], pools=BANKED),
            Finding("idle-weights", 'bank: weights are minimised with objective "cost" only, got "peak"'),
        ),
        (
            problem(A | {"no_cross": 4, "offset": 0}, C),
            Finding(
                "pins-collide",
                'pinned: buffer "a": must not cross a multiple of 4 among its addresses, got offset 0 of "default"',
                ("a",),
            ),
        ),
    ],
)
def test_what_was_surely_not_meant_is_said(value: Problem, finding: Finding) -> None:
    assert lint(value) == (finding,)


def test_pinned_buffers_that_may_share_do_not_collide() -> None:
    pinned = [A | {"offset": 4}, B | {"offset": 4}]
    assert [finding.rule for finding in lint(problem(*pinned, C))] == ["pins-collide"]
    assert lint(problem(*pinned, C, may_share=[["a", "b"]])) == ()


@given(value=tied_problems(4))
def test_where_a_buffer_has_no_room_or_pins_collide_nothing_fits(value: Problem) -> None:
    if any(finding.rule in ("too-large", "never-aligned", "pins-collide") for finding in lint(value)):
        assert best_score(value) is None
