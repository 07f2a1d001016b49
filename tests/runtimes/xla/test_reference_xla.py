"""Tests of XLA's best fit: results of XLA's own tests, single rules, and recorded heap sizes of real models."""

from typing import Any

import pytest

from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve
from tests.support import public_problems

Rows = dict[str, tuple[int, int, int]]


def offsets(rows: Rows, planner: str = "best-fit-by-size", alignment: int = 1) -> list[int]:
    """Plan buffers, given by name as (size, start, end), and return their offsets in the given order."""
    buffers = [{"id": name, "size": size, "start": start, "end": end} for name, (size, start, end) in rows.items()]
    problem = Problem(buffers=buffers, pools=[{"alignment": alignment}])
    return [row.offset for row in solve(problem, solver=f"reference:xla-{planner}").placements]


LIFE = {"planner": "best-fit-by-life"}
PLACED: dict[str, tuple[Rows, dict[str, Any], list[int]]] = {
    # The first three are of xla/service/heap_simulator/heap_simulator_test.cc: GlobalDecreasingSizeBestFitHeapTest.
    "the largest buffer first": (
        {"a": (10, 0, 4), "b": (30, 1, 5), "c": (20, 2, 6), "d": (40, 3, 7)}, {}, [90, 40, 70, 0],
    ),
    "gaps start at multiples of the alignment": (
        {"a": (10, 0, 3), "b": (20, 1, 5), "c": (50, 2, 6), "d": (40, 4, 7)}, {"alignment": 20}, [60, 100, 0, 60],
    ),
    "the smallest sufficient gap": (
        {"a": (10, 0, 3), "b": (20, 1, 6), "c": (40, 2, 7), "d": (30, 4, 8), "e": (50, 5, 9)}, {}, [90, 120, 50, 90, 0],
    ),
    "a smaller gap rather than a lower one": (
        {"low": (9, 0, 1), "first": (8, 0, 9), "high": (6, 0, 1), "second": (5, 0, 9), "late": (4, 2, 9)}, {},
        [0, 9, 17, 23, 17],
    ),
    "the lowest of equal gaps": (
        {"low": (9, 0, 1), "first": (8, 0, 9), "high": (5, 0, 1), "more": (4, 0, 1), "second": (3, 0, 9),
         "late": (2, 2, 9)}, {}, [0, 9, 17, 22, 26, 0],
    ),
    "equal sizes by lifetime, then position": ({"a": (8, 1, 2), "b": (8, 0, 3), "c": (8, 1, 2)}, {}, [8, 0, 16]),
    "by life the longest lifetime first": ({"large": (10, 1, 2), "long": (2, 0, 3)}, LIFE, [2, 0]),
    "by size the largest first": ({"large": (10, 1, 2), "long": (2, 0, 3)}, {}, [0, 10]),
    "lifetimes in events instead of time steps": (
        {"slow": (4, 0, 100), "busy": (4, 99, 103), "other": (1, 101, 102)}, LIFE, [4, 0, 4],
    ),
    "size zero at offset zero": ({"a": (8, 0, 2), "empty": (0, 0, 2)}, {}, [0, 0]),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "options", "expected"), PLACED.values(), ids=PLACED)
def test_best_fit_places_buffers_by_its_rules(rows: Rows, options: dict[str, Any], expected: list[int]) -> None:
    assert offsets(rows, **options) == expected


@pytest.mark.parametrize(
    ("rows", "by_size", "by_life"),
    [
        ({"a": (5, 2, 5), "b": (1, 1, 3), "c": (1, 3, 5), "d": (6, 1, 2)}, 7, 12),
        ({"a": (5, 1, 3), "b": (4, 3, 4), "c": (6, 2, 4), "d": (4, 0, 2), "e": (3, 0, 2)}, 14, 12),
    ],
)
def test_best_fit_returns_the_smaller_of_both_heaps(rows: Rows, by_size: int, by_life: int) -> None:
    def heap(planner: str) -> int:
        return max(offset + row[0] for row, offset in zip(rows.values(), offsets(rows, planner), strict=True))

    assert (heap("best-fit-by-size"), heap("best-fit-by-life")) == (by_size, by_life)
    assert heap("best-fit") == min(by_size, by_life)


def test_best_fit_reaches_the_recorded_heap_sizes_of_xla() -> None:
    recorded = {row["file"]: row["peer_peaks"]["xla_heap_simulator"] for row in public_problems.read_index("xla")}
    found = {}
    for name in recorded:
        found[name] = solve(public_problems.problem(f"xla/{name}"), solver="reference:xla-best-fit").peak
    assert found == recorded
