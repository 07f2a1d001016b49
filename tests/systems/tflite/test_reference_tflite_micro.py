"""TFLite Micro's greedy planner: the figures of its own tests, and the rules that make them."""

from __future__ import annotations

from typing import Any

from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.solve import solve

# (size, first use, last use) of the model of the person detection example, in TFLite Micro's own test.
PERSON_DETECTION = (
    (9216, 0, 29), (3, 28, 29), (256, 27, 28), (2304, 26, 27), (2304, 25, 26), (2304, 24, 25), (1152, 23, 24),
    (4608, 22, 23), (4608, 21, 22), (4608, 20, 21), (4608, 19, 20), (4608, 18, 19), (4608, 17, 18), (4608, 16, 17),
    (4608, 15, 16), (4608, 14, 15), (4608, 13, 14), (4608, 12, 13), (2304, 11, 12), (9216, 10, 11), (9216, 9, 10),
    (9216, 8, 9), (4608, 7, 8), (18432, 6, 7), (18432, 5, 6), (18432, 4, 5), (9216, 3, 4), (36864, 2, 3),
    (18432, 1, 2), (18432, 0, 1),
)  # fmt: skip


def problem(*uses: tuple[int, int, int], alignment: int = 1, **pinned: int) -> Problem:
    """Return buffers b0, b1, ... of (size, first use, last use); `pinned` ones have an offset."""
    rows: list[dict[str, Any]] = [
        {"id": f"b{i}", "size": size, "start": first, "end": last + 1} for i, (size, first, last) in enumerate(uses)
    ]
    for row in rows:
        row |= {"offset": pinned[row["id"]]} if row["id"] in pinned else {}
    return Problem.model_validate({"buffers": rows, "pools": [{"alignment": alignment}]})


def offsets(wanted: Problem) -> list[int]:
    return [row.offset for row in solve(wanted, solver="reference:tflite-micro-greedy").placements]


def test_buffers_that_never_meet_share_the_start() -> None:
    assert offsets(problem((10, 0, 1), (20, 2, 3))) == [0, 0]


def test_the_largest_is_placed_first_and_the_others_in_the_gaps() -> None:
    assert offsets(problem((10, 0, 1), (20, 1, 2), (30, 2, 3), (40, 3, 4), (50, 0, 1))) == [50, 70, 40, 0, 0]


def test_a_gap_that_is_too_small_is_passed_over() -> None:
    assert offsets(problem((100, 0, 1), (50, 2, 3), (20, 1, 2))) == [0, 0, 100]


def test_of_equal_sizes_the_last_added_is_placed_first() -> None:
    assert offsets(problem((8, 0, 1), (8, 0, 1), (8, 0, 1))) == [16, 8, 0]


def test_sizes_are_rounded_up_and_equal_after_that() -> None:
    assert offsets(problem((16, 0, 1), (1, 0, 1), (17, 0, 1), alignment=16)) == [48, 32, 0]


def test_what_was_planned_offline_stays_where_it_is_and_the_others_go_round_it() -> None:
    assert offsets(problem((4, 0, 1), (10, 0, 1), (6, 0, 1), b0=8)) == [8, 12, 0]


def test_offline_offsets_may_overlap_and_then_there_is_no_plan() -> None:
    plan = solve(problem((4, 0, 2), (4, 1, 3), b0=0, b1=2), solver="reference:tflite-micro-greedy")
    assert plan.status in ("unknown", "infeasible")
    assert plan.explanation is not None


def test_the_person_detection_model_is_planned_at_its_bound() -> None:
    wanted = problem(*PERSON_DETECTION, alignment=16)
    plan = solve(wanted, solver="reference:tflite-micro-greedy")
    assert verify(wanted, plan) == ()
    assert (plan.status, plan.peak) == ("optimal", 36864 + 18432 + 9216)
