"""Why nothing fits, as a person reads it."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve
from tests.support.tiny import FEATURES

THREE = [{"id": name, "size": 10, "start": 0, "end": 2} for name in "abc"]


def explained(**fields: Any) -> dict[str, Any]:
    plan = solve(Problem.model_validate(fields), time_limit_s=5)
    assert plan.status == "infeasible"
    assert plan.explanation is not None
    return plan.explanation.model_dump(exclude_defaults=True)


def test_three_that_are_alive_together_are_all_named() -> None:
    assert explained(buffers=THREE, pools=[{"name": "sram", "size": 25}]) == {
        "message": 'pool "sram" lacks 5 bytes at time 0, when 3 buffers are alive',
        "pool": "sram",
        "missing_bytes": 5,
        "time": 0,
        "buffers": ("a", "b", "c"),
    }


def test_a_buffer_that_is_larger_than_its_pool_is_named() -> None:
    assert explained(buffers=[{"id": "w", "size": 9, "start": 4, "end": 5}], pools=[{"name": "sram", "size": 8}]) == {
        "message": 'buffer "w" (9 bytes) fits no pool that it may use ("sram"), even alone',
        "pool": "sram",
        "missing_bytes": 1,
        "time": 4,
        "buffers": ("w",),
    }


def test_a_buffer_that_crosses_a_page_wherever_it_lies_is_named() -> None:
    rows = [THREE[0], THREE[1] | {"no_cross": 8, "relative": {"to": "a", "offset": 16}}]
    found = explained(buffers=rows)
    assert found["buffers"] == ("b",)
    assert found["message"] == (
        'buffer "b" (10 bytes) fits no pool that it may use ("default"), even with only what must lie with it: '
        "it must not cross a multiple of 8 bytes"
    )


def test_a_colocation_group_without_a_pool_for_all_is_named() -> None:
    rows = [THREE[0] | {"pools": ["x"]}, THREE[1] | {"forbid_pools": ["x"]}]
    found = explained(buffers=rows, together=[["b", "a"]], pools=[{"name": "x"}, {"name": "y"}])
    assert found["message"] == (
        'buffer "a" (10 bytes) fits no pool that it may use ("x"), even with only what must lie with it'
    )


def test_pins_that_collide_are_named() -> None:
    rows = [dict(row, offset=offset) for row, offset in zip(THREE, (0, 5, 20), strict=True)]
    found = explained(buffers=rows)
    assert found["buffers"] == ("a", "b")
    assert found["message"].startswith("pinned: ")


def test_buffers_that_conflict_by_name_have_no_time() -> None:
    rows = [{"id": name, "size": 10} for name in "abc"]
    pairs = [["a", "b"], ["b", "c"], ["a", "c"]]
    found = explained(buffers=rows, conflicts=pairs, pools=[{"name": "sram", "size": 25}])
    assert found["message"] == 'pool "sram" lacks 5 bytes for 3 buffers that conflict pairwise'
    assert found["missing_bytes"] == 5


@pytest.mark.parametrize("solver", ["exact", "auto"])
def test_where_only_a_search_can_tell_it_says_where_it_is_tightest(solver: str) -> None:
    plan = solve(FEATURES["infeasible, which no live set and no clique shows"], solver=solver, time_limit_s=20)
    assert plan.status == "infeasible"
    assert plan.explanation is not None
    assert plan.explanation.message == "nothing fits: exact searched everything"
    assert len(plan.explanation.buffers) == 2
