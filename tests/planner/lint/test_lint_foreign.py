"""Mistakes of other systems' planners are found in their plans."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.planner.lint.foreign import lint_plan
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Placement

A: dict[str, Any] = {"id": "a", "size": 10, "start": 0, "end": 2, "alignment": 16}
B: dict[str, Any] = {"id": "b", "size": 10, "start": 1, "end": 3}


def found(*buffers: dict[str, Any], places: dict[str, int], **fields: Any) -> list[str]:
    problem = Problem.model_validate({"buffers": list(buffers), **fields})
    pool = problem.pools[0].name
    rows = [Placement(id=name, pool=pool, offset=offset) for name, offset in places.items()]
    findings = lint_plan(problem, PlacementTable.from_rows(rows))
    assert {finding.rule for finding in findings} <= {"neighbours-alignment"}
    return [finding.message for finding in findings]


def test_an_offset_that_only_the_alignment_below_explains_is_named() -> None:
    assert found(A, B, places={"a": 0, "b": 16}) == [
        'buffer "b": lies at 16 of "default", the end of "a" (10) rounded up to the alignment of that (16); '
        "its own (1) asks for 10"
    ]


def test_an_offset_that_is_aligned_for_a_neighbour_and_not_for_itself_is_named() -> None:
    """The verifier says that it is misaligned; this says why."""
    assert found(A | {"alignment": 4}, B | {"alignment": 8}, places={"a": 0, "b": 12}) == [
        'buffer "b": lies at 12 of "default", the end of "a" (10) rounded up to the alignment of that (4); '
        "its own (8) asks for 16"
    ]


def test_addresses_count_not_offsets() -> None:
    pools = [{"name": "x", "base_address": 4}]
    assert found(A, B, places={"a": 12, "b": 28}, pools=pools) != []
    assert found(A, B, places={"a": 12, "b": 32}, pools=pools) == []


@pytest.mark.parametrize(
    ("second", "places"),
    [
        (B, {"a": 0, "b": 10}),
        (B, {"a": 0, "b": 17}),
        (B | {"alignment": 16}, {"a": 0, "b": 16}),
        (B | {"alignment": 8}, {"a": 0, "b": 16}),
        (B | {"start": 2}, {"a": 0, "b": 16}),
        (B | {"offset": 16}, {"a": 0, "b": 16}),
        (B | {"no_cross": 16}, {"a": 0, "b": 16}),
        (B | {"offset_mod": {"modulus": 16, "remainder": 0}}, {"a": 0, "b": 16}),
        (B | {"relative": {"to": "a", "offset": 16}}, {"a": 0, "b": 16}),
        (B, {"b": 16}),
        (B, {"a": 0, "b": 16, "c": 10}),
    ],
)
def test_what_something_else_explains_is_fine(second: dict[str, Any], places: dict[str, int]) -> None:
    third = {"id": "c", "size": 6, "start": 0, "end": 9}
    assert found(A, second, third, places=places) == []


def test_what_a_price_may_explain_is_fine() -> None:
    """Above its neighbour's padding `b` shares no bytes with what comes later, which may cost something."""
    rows = (A, B, {"id": "later", "size": 12, "start": 5, "end": 6})
    places = {"a": 0, "b": 16, "later": 0}
    priced = {"reuse": [{"pairs": [["b", "later"]], "cost": 1}], "objective": "cost"}
    assert len(found(*rows, places=places)) == 1
    assert found(*rows, places=places, **priced) == []
