"""`std::sort` of libstdc++: which of equal elements comes first, as the planners of others have it."""

from __future__ import annotations

from memplan.extensions.systems.std_sort import std_sorted


def test_more_than_sixteen_equal_elements_are_left_in_another_order() -> None:
    rows = list(range(20))
    assert std_sorted(rows[:16], lambda a, b: False) == rows[:16]
    assert sorted(std_sorted(rows, lambda a, b: False)) == rows != std_sorted(rows, lambda a, b: False)
