"""Reserved ranges: what is free below an end, counted byte by byte."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memplan.planner.bounds.demand import Reserve


@st.composite
def ranges(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Ascending disjoint ranges, some of them empty or side by side."""
    edges = sorted(draw(st.lists(st.integers(0, 30), max_size=8)))
    return list(zip(edges[::2], edges[1::2], strict=False))


def free_bytes(reserved: list[tuple[int, int]]) -> list[bool]:
    return [not any(low <= byte < high for low, high in reserved) for byte in range(100)]


@given(ranges(), st.integers(0, 60))
def test_free_below_an_end_is_every_byte_that_no_range_holds(reserved: list[tuple[int, int]], end: int) -> None:
    assert Reserve(reserved).free_below(end) == sum(free_bytes(reserved)[:end])


@given(ranges(), st.integers(0, 60))
def test_below_the_end_that_is_reached_so_much_is_free_and_below_no_lesser_one(
    reserved: list[tuple[int, int]], amount: int
) -> None:
    free = free_bytes(reserved)
    assert Reserve(reserved).reach(amount) == next(end for end in range(100) if sum(free[:end]) == amount)
