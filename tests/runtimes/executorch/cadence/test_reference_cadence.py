"""Cadence's memory configurations, and its planners: their rules, and their recorded sizes for real models."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.planner.errors import OptionError
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import read_model
from memplan.planner.model.problem import Pool, Problem, replace_fields
from memplan.runtimes.executorch.cadence import planner as cadence
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.reference.tensors import PlannerAnswer
from tests.support import public_problems
from tests.support.dump_files import MEMORIES

POSITION_BASED = "reference:cadence-position-based-greedy-with-hierarchy"
BY_SIZE = "reference:cadence-greedy-by-size-with-hierarchy"
LITERAL = "reference:cadence-greedy-by-size-paper-literal"
RECORDED_AS = {POSITION_BASED: "PositionBasedGreedyWithHierarchy", BY_SIZE: "GreedyWithHeuristic"}
BOTH = pytest.mark.parametrize("planner", [POSITION_BASED, BY_SIZE])

RECORDED = public_problems.read_index("executorch_cadence")


def lives(name: str, size: int, start: int, end: int, **more: object) -> dict[str, object]:
    return {"id": name, "size": size, "start": start, "end": end, **more}


def two_memories(*rows: dict[str, object], size: int = 64, alignment: int = 16) -> Problem:
    fast = {"name": "fast", "size": size, "alignment": alignment}
    return Problem(buffers=rows, pools=[fast, {"name": "slow", "size": 4096, "alignment": 16}])


def placements(problem: Problem, planner: str) -> dict[int | str, tuple[str, int]]:
    plan = solve(problem, solver=planner)
    assert plan.explanation is None
    return {row.id: (row.pool, row.offset) for row in plan.placements}


def stop_check() -> None:
    """Do nothing, so that the planner is never stopped."""


def test_greedy_by_size_uses_the_smallest_gap_and_position_based_greedy_the_first() -> None:
    rows = (
        lives("a", 64, 0, 2),
        lives("b", 48, 2, 9),  # placed at offset 0
        lives("c", 32, 0, 9),  # placed above a
        lives("d", 24, 0, 2),
        lives("e", 8, 2, 9),
    )
    problem = Problem(buffers=rows)
    assert placements(problem, POSITION_BASED)["e"] == placements(problem, BY_SIZE)["e"] == ("default", 48)
    gaps = (
        lives("a", 60, 0, 9),
        lives("b", 50, 0, 1),
        lives("c", 40, 0, 9),  # at 110, so a gap of 50 opens below it when b ends
        lives("d", 30, 0, 1),
        lives("e", 20, 0, 9),  # at 180, so a gap of 30 opens below it when d ends
        lives("f", 10, 5, 6),
    )
    problem = Problem(buffers=gaps)
    assert placements(problem, POSITION_BASED)["f"] == ("default", 60)
    assert placements(problem, BY_SIZE)["f"] == ("default", 150)


PART = lives("slice", 16, 5, 9, relative={"to": "middle", "offset": 16})
MIDDLE = lives("middle", 32, 2, 6, relative={"to": "base", "offset": 16})
OF_ABC = [lives("a", 8, 0, 1, pools=["b", "c"]), lives("x", 16, 0, 1, forbid_pools=["a"])]
PLACED: dict[str, tuple[Problem, dict[str, tuple[str, int]]]] = {
    "the largest buffer first in the fastest memory with room": (
        two_memories(lives("a", 32, 0, 2), lives("b", 48, 0, 2), lives("c", 16, 0, 2)),
        {"a": ("slow", 0), "b": ("fast", 0), "c": ("fast", 48)},
    ),
    "a rounded end that exceeds a memory": (two_memories(lives("a", 60, 0, 2), size=62), {"a": ("slow", 0)}),
    "pins first, then buffers of one memory, then others": (
        two_memories(
            *(lives("large", 64, 0, 2), lives("medium", 24, 0, 2, pools=["fast"])),
            lives("small", 8, 0, 2, pools=["fast"], offset=0),
        ),
        {"small": ("fast", 0), "medium": ("fast", 16), "large": ("slow", 0)},
    ),
    "a memory that a buffer forbids": (
        Problem(buffers=OF_ABC, pools=[{"name": name, "size": 16} for name in "abc"]),
        {"x": ("b", 0), "a": ("c", 0)},
    ),
    "a buffer that names one memory before one that forbids the others": (
        two_memories(lives("forbids", 16, 0, 1, forbid_pools=["slow"]), lives("names", 8, 0, 1, pools=["fast"])),
        {"forbids": ("fast", 16), "names": ("fast", 0)},
    ),
    "views inside their buffer, whose lifetime they extend": (
        two_memories(PART, MIDDLE, lives("base", 64, 0, 3), lives("other", 16, 8, 9)),
        {"slice": ("fast", 32), "middle": ("fast", 16), "base": ("fast", 0), "other": ("slow", 0)},
    ),
}


@BOTH
@pytest.mark.parametrize(("problem", "placed"), PLACED.values(), ids=PLACED)
def test_both_planners_place_buffers_by_the_same_rules(problem: Problem, placed: Any, planner: str) -> None:
    assert placements(problem, planner) == placed


@BOTH
def test_planners_do_not_reserve_the_part_of_a_view_outside_its_buffer(planner: str) -> None:
    rows = [lives("base", 16, 0, 9), lives("out", 16, 0, 9, relative={"to": "base", "offset": 8}), lives("x", 8, 0, 9)]
    plan = solve(Problem(buffers=rows), solver=planner)
    assert (plan.status, set(plan.explanation.buffers)) == ("unknown", {"out", "x"})


@BOTH
def test_a_view_at_a_negative_offset_of_its_memory_has_no_plan(planner: str) -> None:
    rows = [lives("base", 16, 0, 9), lives("low", 16, 0, 9, relative={"to": "base", "offset": -8})]
    plan = solve(Problem(buffers=rows), solver=planner)
    message = 'buffer "low" would lie at offset -8 of "default", which no memory has'
    assert (plan.status, plan.explanation.message) == ("unknown", f"{planner}: {message}")


def test_an_offset_refused_by_one_memory_is_not_tried_in_the_next() -> None:
    # The gap below the pin is large enough, but x would end there at 16, past the pool; offset 0 of the slow pool is
    # taken.
    pin, taken = lives("pin", 5, 0, 2, pools=["fast"], offset=10), lives("taken", 32, 0, 2, pools=["slow"])
    problem = two_memories(pin, taken, lives("x", 10, 0, 2), size=15)
    assert cadence.greedy_by_size(problem, 0, stop_check).placements[2] == (1, 32)


@BOTH
def test_the_explanation_names_a_buffer_that_fits_in_no_memory(planner: str) -> None:
    rows = [lives("a", 8, 0, 1), lives("b", 6, 1, 3), lives("c", 5, 0, 3)]
    problem = Problem(buffers=rows, pools=[{"size": 13, "alignment": 2}])
    assert solve(problem).peak == 13  # The rounded end of the plan is outside the pool, so the planner finds no place.
    plan = solve(problem, solver=planner)
    assert plan.status == "unknown"
    assert plan.explanation.message == f'{planner}: cannot fit buffer "c" (5 bytes) in any memory'
    assert plan.explanation.buffers == ("c",)


@pytest.mark.parametrize("plan", [cadence.position_based_greedy, cadence.greedy_by_size])
def test_planners_give_up_when_two_pinned_buffers_overlap(plan: Any) -> None:
    rows = [lives("a", 8, 0, 2, offset=0), lives("b", 8, 1, 3, offset=4)]
    placed: PlannerAnswer = plan(Problem(buffers=rows), 0, stop_check)
    assert placed.because == 'it placed buffer "b" at offset 4, where it overlaps buffer "a", and stopped'


interval = st.tuples(st.integers(0, 9), st.integers(1, 9), st.integers(0, 20))


@given(st.lists(interval, min_size=1, max_size=8))
def test_the_literal_algorithm_of_the_paper_shares_no_bytes(rows: list[tuple[int, int, int]]) -> None:
    buffers = [lives(str(i), size, start, start + length) for i, (start, length, size) in enumerate(rows)]
    assert solve(Problem(buffers=buffers), solver=LITERAL).peak == sum(size for _, _, size in rows)


@BOTH
@pytest.mark.parametrize("row", RECORDED, ids=lambda row: row["file"])
def test_planned_sizes_of_real_models_equal_the_recorded_sizes(row: dict[str, Any], planner: str) -> None:
    problem = public_problems.problem(f"executorch_cadence/{row['file']}")
    pools = tuple(Pool.model_validate(pool) for pool in row["pools"])
    peaks, name = row["peer_peaks"], RECORDED_AS[planner]
    assert [0, *_rounded_pool_sizes(replace_fields(problem, pools=pools), planner)] == peaks[name]["bufsizes"]
    one = replace_fields(problem, pools=(Pool(alignment=16),))
    assert _rounded_pool_sizes(one, planner) == [peaks[f"{name}_one_memory_align16"]]


def _rounded_pool_sizes(problem: Problem, planner: str) -> list[int]:
    """Return the size that each pool needs: its used bytes, rounded up to its alignment."""
    used = [pool.used or 0 for pool in solve(problem, solver=planner).pools]
    return [-(-end // pool.alignment) * pool.alignment for end, pool in zip(used, problem.pools, strict=True)]


def test_memories_are_read_as_pools_in_their_order() -> None:
    problem = read_model(MEMORIES).problem
    assert [(pool.name, pool.size, pool.alignment, pool.base_address) for pool in problem.pools] == [
        ("dram0", 1024, 64, 0x40000000),
        ("sysram", 65536, 16, 0x60000000),
    ]
    assert {(row.id, row.pool) for row in solve(problem).placements} == {("a", "dram0"), ("b", "sysram")}


def test_memories_without_names_and_alignments_get_defaults() -> None:
    problem = read_model(b'{"memory_sizes": [64, 128]}').problem
    assert [(pool.name, pool.size, pool.alignment, pool.base_address) for pool in problem.pools] == [
        ("memory 1", 64, 1, 0),
        ("memory 2", 128, 1, 0),
    ]
    assert len(problem.buffers) == 0


def test_the_option_dims_is_refused_for_a_description_of_memories() -> None:
    with pytest.raises(OptionError, match="dims: must not be given"):
        read_model(MEMORIES, None, ModelOptions(dims={"n": 1}))
