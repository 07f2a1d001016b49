from __future__ import annotations

from typing import Any

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.problem import Problem
from memplan.solvers.exact.components import split


def instance(*rows: dict[str, Any], **rest: Any) -> Instance:
    buffers = [{"id": k, "size": 1} | row for k, row in enumerate(rows)]
    return compile_problem(Problem.model_validate({"buffers": buffers, **rest}))


def components(*rows: dict[str, Any], **rest: Any) -> list[list[int]]:
    return [component.buffers.tolist() for component in split(instance(*rows, **rest))]


def lives(start: int, end: int, **rest: Any) -> dict[str, Any]:
    return {"start": start, "end": end, **rest}


def test_buffers_that_no_third_one_ties_together_are_apart() -> None:
    assert components(lives(0, 2), lives(1, 3), lives(3, 5), lives(4, 6)) == [[0, 1], [2, 3]]
    assert components(lives(0, 2), lives(1, 4), lives(3, 5), lives(4, 6)) == [[0, 1, 2, 3]]


def test_a_conflict_by_name_ties_parts_together() -> None:
    assert components(lives(0, 1), lives(1, 2), lives(2, 3), conflicts=[(0, 2)]) == [[0, 1, 2]]


def test_a_hole_does_not_cut_a_buffer() -> None:
    assert components({"lifetimes": [(0, 1), (4, 5)]}, lives(2, 3)) == [[0, 1]]


def test_a_pinned_buffer_ties_nothing_together() -> None:
    assert components(lives(0, 2), lives(1, 4, offset=0), lives(3, 5)) == [[0], [2]]


def test_no_free_buffer_makes_no_part() -> None:
    assert components(lives(0, 2, offset=0)) == []
    assert components() == []


def test_wide_and_large_buffers_have_large_traits() -> None:
    (component,) = split(instance(lives(0, 9), lives(0, 1, size=4), lives(3, 4, size=2), lives(8, 9)))
    traits = {name: values.tolist() for name, values in component.traits.items()}
    assert traits["C"] == [3, 1, 1, 1]
    assert traits["T"] == [5, 5, 3, 2]
    assert max(traits["W"]) == traits["W"][0]
    assert traits["A"] == [width * size for width, size in zip(traits["W"], [1, 4, 2, 1], strict=True)]
