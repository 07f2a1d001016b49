"""Tests of how libstdc++'s `std::sort` orders equal elements, on which the reimplemented planners depend."""

from __future__ import annotations

from memplan.runtimes.std_sort import std_sorted


def test_std_sort_reorders_more_than_sixteen_equal_elements() -> None:
    rows = list(range(20))
    assert std_sorted(rows[:16], lambda a, b: False) == rows[:16]
    assert sorted(std_sorted(rows, lambda a, b: False)) == rows != std_sorted(rows, lambda a, b: False)
