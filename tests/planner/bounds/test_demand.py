"""Lower bounds with sharing and rigid groups: never above the optimum of brute force, and as high as expected."""

from typing import Any

import pytest
from hypothesis import given

from memplan.planner.bounds.demand import Demand
from memplan.planner.bounds.lower_bound import lower_bound
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem
from tests.support.bound_checks import check_that_it_is_never_above_the_optimum
from tests.support.strategies import tied_problems


def buffer_row(name: str, size: int, start: int, end: int, **rules: Any) -> dict[str, Any]:
    return {"id": name, "size": size, "start": start, "end": end, **rules}


def relative(to: str, offset: int) -> dict[str, Any]:
    return {"relative": {"to": to, "offset": offset}}


def bound(*buffers: dict[str, Any], **fields: Any) -> int:
    instance = compile_problem(Problem.model_validate({"buffers": list(buffers), **fields}))
    found = lower_bound(instance)
    assert found.nothing_fits is None
    assert list(found.score) == [found.total]
    return found.total * instance.unit


@given(problem=tied_problems(5))
def test_the_lower_bound_under_constraints_never_exceeds_the_optimum(problem: Problem) -> None:
    check_that_it_is_never_above_the_optimum(problem)


STEPS = [buffer_row("a", 5, 0, 2), buffer_row("b", 7, 1, 3), buffer_row("c", 3, 2, 4)]


@pytest.mark.parametrize(
    ("pairs", "peak"), [([], 12), ([["a", "b"]], 10), ([["b", "c"]], 12), ([["a", "b"], ["b", "c"]], 7)]
)
def test_the_lower_bound_counts_only_the_larger_of_two_sharing_buffers(pairs: list[list[str]], peak: int) -> None:
    assert bound(*STEPS, may_share=pairs) == peak


def test_the_lower_bound_counts_only_one_of_two_equal_buffers_that_may_share() -> None:
    rows = [buffer_row("a", 5, 0, 2), buffer_row("b", 5, 1, 3), buffer_row("c", 2, 0, 3)]
    assert bound(*rows, may_share=[["a", "b"]]) == 7


def test_a_sharing_buffer_counts_in_full_while_its_partner_is_not_alive() -> None:
    rows = [buffer_row("a", 5, 0, 9), {"id": "b", "size": 7, "lifetimes": [[1, 2], [6, 7]]}, buffer_row("c", 4, 4, 5)]
    instance = compile_problem(Problem.model_validate({"buffers": rows, "may_share": [["a", "b"]]}))
    demand = Demand.from_instance(instance)
    assert instance.live_set_sums(demand.start, demand.end, demand.size).tolist() == [7, 9, 7]
    assert bound(*rows, may_share=[["a", "b"]]) == 9


@pytest.mark.parametrize(
    ("group", "covered"),
    [
        ([buffer_row("b", 6, 0, 2, **relative("a", 0))], 8),
        ([buffer_row("b", 6, 0, 2, **relative("a", 4))], 10),
        ([buffer_row("b", 6, 0, 2, **relative("a", 12))], 14),
        ([buffer_row("b", 6, 0, 2, **relative("a", -4)), buffer_row("c", 2, 0, 2, **relative("a", 4))], 12),
        ([buffer_row("b", 6, 4, 5, **relative("a", 4))], 8),
        ([buffer_row("b", 6, 1, 5, **relative("a", 4)), buffer_row("c", 6, 3, 5, **relative("b", 1))], 10),
    ],
)
def test_a_rigid_group_counts_the_union_of_its_members_bytes(group: list[dict[str, Any]], covered: int) -> None:
    instance = compile_problem(Problem.model_validate({"buffers": [buffer_row("a", 8, 0, 2), *group]}))
    demand = Demand.from_instance(instance)
    assert max(instance.live_set_sums(demand.start, demand.end, demand.size).tolist()) * instance.unit == covered


def test_the_bound_of_a_rigid_group_is_the_end_of_its_highest_member() -> None:
    assert bound(buffer_row("a", 8, 0, 2), buffer_row("b", 6, 0, 2, **relative("a", 12))) == 18


def test_the_lower_bound_counts_a_rigid_group_member_but_not_its_sharing_partner() -> None:
    rows = [buffer_row("a", 8, 0, 2), buffer_row("b", 6, 0, 4, **relative("a", 8)), buffer_row("c", 7, 1, 5)]
    assert bound(*rows, may_share=[["c", "b"]]) == 15
    assert bound(*rows) == 21
