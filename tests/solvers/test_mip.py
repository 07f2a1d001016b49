from __future__ import annotations

import random

import numpy as np
import pytest

from planner.compiling import compile_problem
from planner.instance import Instance
from planner.objective import score
from planner.problem import Problem
from planner.table import column
from solvers.costs import Costs
from solvers.mip.boxes import Boxes
from solvers.mip.draft import Draft, Program
from solvers.mip.program import Question, draft
from solvers.mip.size import count_rows, sensible_limits
from solvers.mip.start import start_of
from solvers.placement import drop
from solvers.search import Assignment
from tests.solvers.small_problems import small_problems


def buffers(*rows: tuple[int, int, int], **fields: object) -> Problem:
    """A problem of buffers a, b, … given as (start, end, size)."""
    named = [{"id": "abcdefgh"[k], "start": row[0], "end": row[1], "size": row[2]} for k, row in enumerate(rows)]
    return Problem.model_validate({"buffers": named, **fields})


def asked(instance: Instance, limit: tuple[int, ...] | None = None) -> tuple[Boxes, Draft]:
    """The program that minimises the last memory's peak, when nothing is known."""
    limits = tuple(sensible_limits(instance, None)) if limit is None else limit
    boxes = Boxes(instance, limits)
    cost = (0, Costs.of(instance).most) if instance.objective == "cost" else None
    return boxes, draft(boxes, Question(limits, (0,) * len(limits), ("peak", len(limits) - 1), cost))


def row(program: Draft, *key: str | int) -> tuple[dict[tuple[str | int, ...], int], int | None, int | None]:
    """A row by its key: its entries by the keys of the columns, and its two limits."""
    found = next(row for row in program.rows if row.key == key)
    return {program.keys[at]: value for at, value in found.entries}, found.at_least, found.at_most


def broken(program: Program, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[object]:
    """What values of the columns violate."""
    sums = np.add.reduceat(np.append(program.value * values[program.index], 0.0), program.first[:-1])
    sums[np.diff(program.first) == 0] = 0.0
    slack = 1e-9 * max(1.0, float(np.abs(values).max(initial=0.0)))
    rows = np.flatnonzero((sums < program.row_lower - slack) | (sums > program.row_upper + slack))
    outside = (values < program.lower - slack) | (values > program.upper + slack)
    broken_whole = program.is_whole & (values != np.round(values))
    return [*rows.tolist(), *(program.keys[at] for at in np.flatnonzero(outside | broken_whole))]


def random_plan(instance: Instance, rng: random.Random) -> Assignment | None:
    """Buffers dropped in a random order into random memories; None where that does not fit."""
    homes = [np.flatnonzero(instance.allowed[:, i]).tolist() for i in range(len(instance))]
    if not all(homes):
        return None
    pool = column([rng.choice(some) for some in homes])
    offset = drop(instance, pool, [rng.random() for _ in homes])
    return None if offset is None else Assignment(pool, offset, score(instance, pool, offset), "random")


@pytest.mark.parametrize("scale", [1, 64])
def test_no_plan_is_cut_off(scale: int) -> None:
    rng = random.Random(7)
    plans = 0
    for problem in small_problems(seed=11, count=150, most=6):
        instance = compile_problem(problem)
        boxes, program = asked(instance)
        finished = program.finish(scale)
        for plan in filter(None, (random_plan(instance, rng) for _ in range(5))):
            values = start_of(finished, boxes, plan)
            assert values is not None
            assert broken(finished, values) == [], problem.model_dump_json(exclude_defaults=True)
            plans += 1
    assert plans > 250


def test_what_overlaps_is_cut_off() -> None:
    instance = compile_problem(buffers((0, 2, 3), (1, 3, 4)))
    boxes, program = asked(instance)
    plan = Assignment(column([0, 0]), column([0, 2]), (6,), "wrong")
    assert broken(program.finish(1), np.asarray(start_of(program.finish(1), boxes, plan))) != []


def test_an_end_is_an_offset_plus_a_size() -> None:
    _, program = asked(compile_problem(buffers((0, 2, 3), (1, 3, 4))))
    assert row(program, "end", 0) == ({("end", 0): 1, ("offset", 0): -1}, 3, 3)


def test_the_peak_is_at_or_above_every_end() -> None:
    _, program = asked(compile_problem(buffers((0, 2, 3), (1, 3, 4))))
    assert row(program, "peak", 0, 1) == ({("peak", 0): 1, ("end", 1): -1}, 0, None)
    assert program.keys[program.objective or 0] == ("peak", 0)


def test_offsets_are_not_negative_and_leave_room_for_the_size() -> None:
    _, program = asked(compile_problem(buffers((0, 2, 3), (1, 3, 4))), limit=(9,))
    limits = {key: (program.lower[at], program.upper[at]) for key, at in program.at.items()}
    assert (limits["offset", 0], limits["offset", 1]) == ((0, 6), (0, 5))


def test_of_two_in_conflict_one_lies_below_the_other_with_the_smallest_big_m() -> None:
    _, program = asked(compile_problem(buffers((0, 2, 3), (1, 3, 4))), limit=(9,))
    lies_below = ("below", 0, 1)
    assert row(program, "below", 0, 1) == ({("offset", 1): 1, ("end", 0): -1, lies_below: -9}, -9, None)
    assert row(program, "below", 1, 0) == ({("offset", 0): 1, ("end", 1): -1, lies_below: 9}, 0, None)


def test_buffers_that_touch_in_time_need_no_order() -> None:
    _, program = asked(compile_problem(buffers((0, 2, 3), (2, 3, 4))))
    assert not [key for key in program.keys if key[0] == "below"]


def test_buffers_of_different_memories_need_no_order() -> None:
    pools = [{"name": "fast", "size": 9}, {"name": "slow"}]
    for homes, orders in ((["fast", "slow"], 2), (["slow"], 0)):
        one = {"id": 0, "size": 3, "start": 0, "end": 2, "pools": ["fast"]}
        other = {"id": 1, "size": 4, "start": 0, "end": 2, "pools": homes}
        _, program = asked(compile_problem(Problem.model_validate({"buffers": [one, other], "pools": pools})))
        assert len([key for key in program.keys if key[0] == "below"]) == orders


def test_what_lies_below_and_above_a_member_of_a_crowd_holds_it_up_and_pushes_the_peak() -> None:
    _, program = asked(compile_problem(buffers((0, 3, 3), (1, 4, 4), (2, 5, 6))))
    below = {("offset", 1): 1, ("below", 0, 1): -3, ("below", 1, 2): 6}
    above = {("peak", 0): 1, ("end", 1): -1, ("below", 0, 1): 3, ("below", 1, 2): -6}
    assert row(program, "held", 0, 1) == (below, 6, None)
    assert row(program, "pushed", 0, 0, 1) == (above, 3, None)


def test_twins_keep_their_order() -> None:
    instance = compile_problem(buffers((0, 3, 3), (0, 3, 3), (0, 3, 4), (2, 4, 3), (3, 5, 3)))
    boxes, program = asked(instance)
    assert list(boxes.twins()) == [(0, 1)]
    assert program.lower[program.at["below", 0, 1]] == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"pools": [{"reserved": [[7, 1]]}]},
        {"pools": [{"name": "fast", "size": 20}, {"name": "slow"}]},
        {"pools": [{"alignment": 4}]},
        {"pools": [{"base_address": 1, "alignment": 2}]},
    ],
)
def test_a_mirror_image_is_left_out_only_where_it_is_as_good(fields: dict[str, object]) -> None:
    rows = ((0, 3, 3), (1, 4, 5), (2, 5, 6))
    assert Boxes(compile_problem(buffers(*rows)), (14,)).mirror() == (1, 2)
    instance = compile_problem(buffers(*rows, **fields))
    assert Boxes(instance, tuple(sensible_limits(instance, None))).mirror() is None


def test_a_pinned_buffer_stops_the_mirror() -> None:
    pinned = {"id": "p", "size": 3, "start": 0, "end": 3, "offset": 5}
    free = [{"id": k, "size": k + 5, "start": 0, "end": 3} for k in range(2)]
    instance = compile_problem(Problem.model_validate({"buffers": [*free, pinned]}))
    assert Boxes(instance, (30,)).mirror() is None


def test_rooms_are_whole_granules_and_equal_alignments_need_no_integers() -> None:
    rows = [{"id": k, "size": size, "start": 0, "end": 2, "alignment": 8} for k, size in enumerate((5, 9))]
    boxes, program = asked(compile_problem(Problem.model_validate({"buffers": rows})))
    assert [box.room for box in boxes.all] == [8, 16]
    assert not [key for key in program.keys if key[0] == "multiple"]


def test_mixed_alignments_count_steps() -> None:
    rows = [{"id": k, "size": 5, "start": 0, "end": 2, "alignment": step} for k, step in enumerate((2, 6))]
    _, program = asked(compile_problem(Problem.model_validate({"buffers": rows})))
    assert row(program, "aligned", 1)[0] == {("offset", 1): 1, ("multiple", 0, 1): -6}


def test_costs_are_whole_steps_above_the_cheapest() -> None:
    pools = [{"name": "fast", "size": 9, "cost": 0.1}, {"name": "slow", "cost": 0.35}]
    rows = [{"id": k, "size": 4, "start": 0, "end": 2, "traffic": traffic} for k, traffic in enumerate((2, 6))]
    problem = Problem.model_validate({"buffers": rows, "pools": pools, "objective": "cost"})
    costs = Costs.of(compile_problem(problem))
    assert costs.extra == [{0: 0, 1: 1}, {0: 0, 1: 3}]
    assert [costs.of_steps(steps) for steps in (0, 4)] == [0.8, 2.8]
    assert costs.steps_of(2.8) == 4


def test_the_rows_are_at_most_those_foretold() -> None:
    for problem in small_problems(seed=3, count=100, most=7):
        instance = compile_problem(problem)
        _, program = asked(instance)
        assert len(program.rows) <= count_rows(instance)
