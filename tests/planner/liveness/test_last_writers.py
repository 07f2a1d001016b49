"""The map from bytes to their last writers, against one entry a byte."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memplan.planner.liveness.last_writers import NO_WRITER, ByteMap, Writers

SPAN = 12
RANGES = st.tuples(st.integers(0, SPAN - 1), st.integers(1, 5)).map(lambda pair: (pair[0], min(SPAN, sum(pair))))
STEPS = st.lists(st.tuples(st.sampled_from(("put", "forget")), RANGES, st.integers(0, 2)), max_size=8)


def played(steps: list[tuple[str, tuple[int, int], int]]) -> tuple[ByteMap, list[Writers]]:
    """Do the steps to a map, and to a list with an entry for each byte."""
    found, cells = ByteMap(), [NO_WRITER] * SPAN
    for what, (low, high), writer in steps:
        if what == "put":
            found.put(low, high, frozenset((writer,)))
        else:
            found.forget(low, high, writer)
        for k in range(low, high):
            cells[k] = frozenset((writer,)) if what == "put" else cells[k] - {writer}
    return found, cells


def spelled(found: ByteMap) -> list[Writers]:
    return [next(found.within(k, k + 1)) for k in range(SPAN)]


@given(steps=STEPS)
def test_every_byte_has_its_last_writers(steps: list[tuple[str, tuple[int, int], int]]) -> None:
    found, cells = played(steps)
    assert spelled(found) == cells
    assert all(a != b for a, b in zip(found.writers, found.writers[1:], strict=False))
    assert found.starts == sorted(set(found.starts))
    assert found.writers[-1] == NO_WRITER


@given(first=STEPS, second=STEPS)
def test_a_join_has_the_writers_of_both(
    first: list[tuple[str, tuple[int, int], int]], second: list[tuple[str, tuple[int, int], int]]
) -> None:
    (a, mine), (b, others) = played(first), played(second)
    assert spelled(a.join(b)) == [x | y for x, y in zip(mine, others, strict=True)]
    assert a.join(b) == b.join(a)
    assert a.join(a) == a


@given(steps=STEPS, wanted=RANGES)
def test_a_range_has_the_writers_of_all_its_bytes(
    steps: list[tuple[str, tuple[int, int], int]], wanted: tuple[int, int]
) -> None:
    found, cells = played(steps)
    assert set(found.within(*wanted)) == set(cells[wanted[0] : wanted[1]])
