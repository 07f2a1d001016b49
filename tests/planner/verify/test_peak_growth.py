"""`peak_growth`: the buffers that made a pool's peak grow."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.peak_growth import Cause, Occupancy, PeakGrowth, occupancies, peak_growth

Row = tuple[str, int, int, int]


def stack_buffers(*rows: Row | dict[str, Any], pools: dict[str, str] | None = None) -> dict[str, Occupancy]:
    buffers: list[dict[str, Any]] = [
        row if isinstance(row, dict) else dict(zip(("id", "start", "end", "size"), row, strict=True)) for row in rows
    ]
    names = sorted({*(pools or {}).values()} or {"default"})
    problem = Problem.model_validate({"buffers": buffers, "pools": [{"name": name} for name in names]})
    places, offset = [], 0
    for row in buffers:
        places.append({"id": row["id"], "pool": (pools or {}).get(row["id"], names[0]), "offset": offset})
        offset += row["size"]
    return occupancies(problem, Plan.model_validate({"placements": places}))


def growth_of(now: dict[str, Occupancy], then: dict[str, Occupancy], pool: str = "default") -> PeakGrowth:
    elsewhere = {name: size for other in then if other != pool for name, size in then[other].sizes.items()}
    return peak_growth(now[pool], then[pool], elsewhere)


BEFORE = stack_buffers(("a", 0, 2, 64), ("b", 1, 3, 32), ("c", 2, 4, 16))


def test_the_live_set_of_occupancy_is_at_the_first_time_of_the_peak() -> None:
    peak = BEFORE["default"].live_set
    assert (peak.time, peak.bytes, peak.buffers) == (1, 96, ("a", "b"))
    assert BEFORE["default"].used == 112


@pytest.mark.parametrize(
    ("rows", "cause", "peaks"),
    [
        ([("a", 0, 2, 64), ("d", 0, 4, 8)], Cause("d", "new", 8, None, 8), (1, 96, 104)),
        ([("a", 0, 2, 65)], Cause("a", "grown", 1, 64, 65), (1, 96, 97)),
        ([("a", 0, 3, 64)], Cause("a", "longer-lived", 64, 64, 64), (2, 48, 112)),
    ],
    ids=["a new buffer", "a larger buffer", "a longer-lived buffer"],
)
def test_peak_growth_names_its_only_cause(rows: list[Row], cause: Cause, peaks: tuple[int, int, int]) -> None:
    found = growth_of(stack_buffers(*rows, ("b", 1, 3, 32), ("c", 2, 4, 16)), BEFORE)
    assert found.causes == (cause,)
    assert (found.time_before, found.bytes_before, found.now.bytes) == peaks


def test_peak_growth_ignores_shifts_of_time_by_an_inserted_operation() -> None:
    later = stack_buffers(("a", 0, 2, 64), ("d", 2, 3, 1), ("b", 1, 4, 32), ("c", 3, 5, 16))
    assert growth_of(later, BEFORE).causes == ()


def test_peak_growth_distinguishes_moved_and_shifted_buffers_from_new_ones() -> None:
    pools = {"a": "fast", "b": "slow", "c": "slow"}
    then = stack_buffers(("a", 0, 2, 64), ("b", 1, 3, 32), ("c", 3, 4, 16), pools=pools)
    now = stack_buffers(
        ("a", 0, 2, 64), ("b", 1, 3, 32), ("c", 1, 2, 16), pools={**pools, "a": "slow", "c": "slow", "z": "fast"}
    )
    assert growth_of(now, then, "slow").causes == (
        Cause("a", "from-another-pool", 64, 64, 64),
        Cause("c", "at-another-time", 16, 16, 16),
    )


def test_peak_growth_reports_removed_buffers_with_negative_bytes() -> None:
    found = growth_of(stack_buffers(("a", 0, 2, 70), ("c", 2, 4, 16)), BEFORE)
    assert found.causes == (Cause("a", "grown", 6, 64, 70),)
    now = stack_buffers(("a", 1, 2, 70), ("b", 2, 3, 32), ("e", 1, 2, 40))
    found = growth_of(now, stack_buffers(("a", 0, 2, 64), ("b", 0, 3, 32)))
    causes = {cause.buffer: (cause.kind, cause.bytes) for cause in found.causes}
    assert causes == {"e": ("new", 40), "a": ("grown", 6), "b": ("gone", -32)}


def test_occupancy_counts_a_group_of_aliases_once_while_any_is_alive() -> None:
    view = {"id": "v", "size": 8, "start": 1, "end": 6, "alias_of": "a"}
    lies = stack_buffers(("a", 0, 2, 64), view, ("b", 5, 7, 32))["default"]
    assert (dict(lies.alive), lies.live_set.bytes) == ({"a": ((0, 6),), "b": ((5, 7),)}, 96)


def test_buffers_without_lifetimes_are_alive_all_the_time() -> None:
    lies = stack_buffers({"id": "a", "size": 8}, ("b", 1, 2, 4), ("c", 2, 3, 5))["default"]
    assert lies.live_set.buffers == ("a", "c")
    alone = stack_buffers({"id": "a", "size": 8}, {"id": "b", "size": 4})["default"].live_set
    assert (alone.time, alone.bytes) == (None, 12)


def test_occupancy_sums_huge_sizes_exactly() -> None:
    lies = stack_buffers(("a", 0, 2, 2**62), pools={"a": "x", "b": "y"})
    assert (lies["x"].live_set.bytes, lies["y"].live_set.bytes) == (2**62, 0)


BUFFERS = st.dictionaries(
    st.sampled_from("abcdef"), st.tuples(st.integers(0, 6), st.integers(1, 4), st.integers(0, 9)), min_size=1
)


def draw_occupancy(buffers: dict[str, tuple[int, int, int]]) -> dict[str, Occupancy]:
    return stack_buffers(*((name, start, start + length, size) for name, (start, length, size) in buffers.items()))


@given(BUFFERS, BUFFERS)
def test_causes_of_peak_growth_add_up_to_the_growth_in_bytes(
    now: dict[str, tuple[int, int, int]], then: dict[str, tuple[int, int, int]]
) -> None:
    found = growth_of(draw_occupancy(now), draw_occupancy(then))
    assert sum(cause.bytes for cause in found.causes) == found.now.bytes - found.bytes_before
    loads = [sum(size for start, length, size in now.values() if start <= time < start + length) for time in range(11)]
    assert found.now.bytes == max(loads)


@given(BUFFERS, st.integers(-3, 3))
def test_peak_growth_ignores_a_uniform_shift_in_time(buffers: dict[str, tuple[int, int, int]], shift: int) -> None:
    shifted = {name: (start + shift, length, size) for name, (start, length, size) in buffers.items()}
    assert growth_of(draw_occupancy(shifted), draw_occupancy(buffers)).causes == ()
