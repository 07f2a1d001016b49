from __future__ import annotations

import random

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.instance.objective import score
from memplan.planner.model.buffer_table import column
from memplan.planner.model.problem import Problem
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.mip.boxes import Boxes
from memplan.solvers.mip.draft import Draft, IntegerProgram
from memplan.solvers.mip.program import MipQuestion, draft
from memplan.solvers.mip.size import count_rows, sensible_limits
from memplan.solvers.mip.start import start_of
from memplan.solvers.packing.place import drop
from memplan.solvers.search.result import Assignment
from tests.support.depth import DEPTH, seeds
from tests.support.small_problems import small_problems
from tests.support.tied_problems import tied_problem


def buffers(*rows: tuple[int, int, int], **fields: object) -> Problem:
    """A problem of buffers a, b, … given as (start, end, size)."""
    named = [{"id": "abcdefgh"[k], "start": row[0], "end": row[1], "size": row[2]} for k, row in enumerate(rows)]
    return Problem.model_validate({"buffers": named, **fields})


def asked(instance: Instance, limit: tuple[int, ...] | None = None) -> tuple[Boxes, Draft]:
    """The program that minimises the last memory's peak, when nothing is known."""
    limits = tuple(sensible_limits(instance, None)) if limit is None else limit
    boxes = Boxes(instance, limits)
    cost = (0, Costs.of(instance).most) if instance.objective == "cost" else None
    return boxes, draft(boxes, MipQuestion(limits, (0,) * len(limits), ("peak", len(limits) - 1), cost))


def row(program: Draft, *key: str | int) -> tuple[dict[tuple[str | int, ...], int], int | None, int | None]:
    """A row by its key: its entries by the keys of the columns, and its two limits."""
    found = next(row for row in program.rows if row.key == key)
    return {program.keys[at]: value for at, value in found.entries}, found.at_least, found.at_most


def broken(program: IntegerProgram, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[object]:
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
    pool = column([rng.choice(some) for some in homes])[instance.colocation]
    offset = drop(instance, pool, [rng.random() for _ in homes])
    return None if offset is None else Assignment(pool, offset, score(instance, pool, offset), "random")


MIXED = [*small_problems(seed=11, count=50 * DEPTH, most=6), *(tied_problem(seed) for seed in seeds(40, 300))]


@pytest.mark.drawn
@pytest.mark.parametrize("scale", [1, 64])
def test_no_plan_is_cut_off(scale: int) -> None:
    rng = random.Random(7)
    plans = 0
    for problem in MIXED:
        instance = compile_problem(problem)
        boxes, program = asked(instance)
        finished = program.finish(scale)
        for plan in filter(None, (random_plan(instance, rng) for _ in range(5))):
            values = start_of(finished, boxes, plan)
            assert values is not None
            assert broken(finished, values) == [], problem.model_dump_json(exclude_defaults=True)
            plans += 1
    assert plans > 130


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
    assert [box.extent for box in boxes.all] == [8, 16]
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
    for problem in MIXED:
        instance = compile_problem(problem)
        _, program = asked(instance)
        assert len(program.rows) <= count_rows(instance)


def test_a_buffer_keeps_its_distance_in_its_rigid_group() -> None:
    _, program = asked(compile_problem(views()))
    assert row(program, "rigid", 1) == ({("offset", 1): 1, ("offset", 0): -1}, 4, 4)
    assert not [key for key in program.keys if key in {("below", 0, 1), ("below", 1, 0)}]


def test_overlapping_views_count_once_in_a_crowd() -> None:
    boxes, _ = asked(compile_problem(views()))
    assert boxes.crowds == [[0, 2]]


def views() -> Problem:
    """A buffer, a view of its upper part, and another buffer, all alive together."""
    rows = [{"id": k, "size": size, "start": 0, "end": 2} for k, size in enumerate((7, 5, 3))]
    return Problem.model_validate({"buffers": [rows[0], rows[1] | {"relative": {"to": 0, "offset": 4}}, rows[2]]})


def test_partners_lie_one_below_the_other_or_start_together() -> None:
    boxes, program = asked(compile_problem(buffers((0, 2, 3), (1, 3, 4), may_share=[["a", "b"]])), limit=(9,))
    ways = {("below", 0, 1): 1, ("below", 1, 0): 1, ("shared", 0, 1): 1}
    assert row(program, "order", 0, 1) == (ways, None, 1)
    assert row(program, "together", 0, 0, 1) == (ways, 1, None)
    assert row(program, "start", 0, 1) == ({("offset", 1): 1, ("offset", 0): -1, ("shared", 0, 1): -6}, -6, None)
    assert row(program, "start", 1, 0) == ({("offset", 0): 1, ("offset", 1): -1, ("shared", 0, 1): -5}, -5, None)
    assert boxes.crowds == [[1]]


def test_partners_that_share_lie_in_one_memory() -> None:
    pools = [{"name": "fast", "size": 9}, {"name": "slow"}]
    _, program = asked(compile_problem(buffers((0, 2, 3), (1, 3, 4), may_share=[["a", "b"]], pools=pools)))
    assert row(program, "beside", 0, 0, 1) == ({("in", 0, 1): 1, ("in", 0, 0): -1, ("shared", 0, 1): -1}, -1, None)


def test_colocated_buffers_lie_in_one_pool() -> None:
    pools = [{"name": "fast", "size": 9}, {"name": "slow"}]
    _, program = asked(compile_problem(buffers((0, 2, 3), (1, 3, 4), together=[["a", "b"]], pools=pools)))
    assert row(program, "colocation", 1, 1) == ({("in", 1, 1): 1, ("in", 1, 0): -1}, 0, 0)


def test_a_buffer_ends_in_the_page_that_it_starts_in() -> None:
    rows = [{"id": 0, "size": 3, "start": 0, "end": 2, "no_cross": 8}, {"id": 1, "size": 9, "start": 0, "end": 2}]
    problem = Problem.model_validate({"buffers": rows, "pools": [{"base_address": 5}]})
    _, program = asked(compile_problem(problem))
    address = {("offset", 0): 1, ("page", 0, 0): -8}
    assert row(program, "page_start", 0) == (address, -5, None)
    assert row(program, "page_end", 0) == (address, None, 0)


def test_bank_partners_are_parted_by_a_border_of_banks() -> None:
    pools = [{"bank_size": 5, "base_address": 2}]
    _, program = asked(compile_problem(buffers((0, 1, 3), (2, 3, 4), bank=[{"buffers": ["a", "b"]}], pools=pools)))
    assert row(program, "bank", 0, 1) == ({("offset", 1): 1, ("bank", 0, 1): -5}, -2, None)
    assert row(program, "past", 0, 0) == ({("past", 0, 0): 5, ("end", 0): -1}, 2, None)
    entries, _, _ = row(program, "parted", 0, 0, 1)
    assert entries.keys() == {("bank", 0, 1), ("past", 0, 0), ("below", 0, 1)}


def test_a_soft_pair_is_parted_or_costs_its_weight() -> None:
    bank = [{"buffers": ["a", "b"], "weight": 2.5}]
    _, program = asked(
        compile_problem(buffers((0, 1, 3), (0, 1, 4), bank=bank, pools=[{"bank_size": 5, "cost": 1}], objective="cost"))
    )
    assert row(program, "banks", 0, 0, 1)[0] == {("clash", 0): 1, ("parted", 0, 0, 1): 1, ("parted", 0, 1, 0): 1}
    assert row(program, "cost") == ({("cost",): 1, ("clash", 0): -1}, 0, 0)


def test_the_grid_holds_the_borders_of_banks_and_pages() -> None:
    rows = [{"id": k, "size": 4, "start": 0, "end": 2, "alignment": 4} for k in range(2)]
    for fields, granule in (({}, 4), ({"bank_size": 6}, 2), ({"bank_size": 8}, 4)):
        pools = [{"base_address": 4, **fields}, {"name": "odd", "size": 5}]
        bank = [{"buffers": [0, 1]}] if fields else []
        instance = compile_problem(Problem.model_validate({"buffers": rows, "pools": pools, "bank": bank}))
        assert Boxes(instance, (64, 64)).grid.granule * instance.unit == granule


@pytest.mark.parametrize(
    "fields",
    [
        {"may_share": [["a", "b"]]},
        {"bank": [{"buffers": ["a", "b"]}], "pools": [{"bank_size": 8}]},
        {"bank": [{"buffers": ["a", "b"], "weight": 1}], "pools": [{"bank_size": 8}], "objective": "cost"},
    ],
)
def test_where_addresses_or_starts_matter_a_mirror_image_is_another_plan(fields: dict[str, object]) -> None:
    rows = ((0, 3, 3), (1, 4, 5), (2, 5, 6))
    assert Boxes(compile_problem(buffers(*rows)), (14,)).mirror() is not None
    assert Boxes(compile_problem(buffers(*rows, **fields)), (14,)).mirror() is None


def test_views_and_pages_stop_the_mirror() -> None:
    assert Boxes(compile_problem(views()), (20,)).mirror() is None
    rows = [{"id": k, "size": 3 + k, "start": 0, "end": 2, "no_cross": 8} for k in range(3)]
    assert Boxes(compile_problem(Problem.model_validate({"buffers": rows})), (30,)).mirror() is None


def test_weights_are_whole_steps_of_cost_beside_traffic() -> None:
    pools = [{"name": "fast", "size": 9, "cost": 0.1, "bank_size": 4}, {"name": "slow", "cost": 0.35}]
    rows = [{"id": k, "size": 4, "start": 0, "end": 2, "traffic": traffic} for k, traffic in enumerate((2, 6))]
    said = {"buffers": rows, "pools": pools, "objective": "cost", "bank": [{"buffers": [0, 1], "weight": 0.75}]}
    costs = Costs.of(compile_problem(Problem.model_validate(said)))
    assert (costs.extra, costs.clash) == ([{0: 0, 1: 2}, {0: 0, 1: 6}], [3])
    assert (costs.of_plan([0, 0], [0]), costs.of_plan([0, 1], []), costs.most) == (3, 6, 11)
    assert (costs.coarser(2).extra, costs.coarser(2).clash) == ([{0: 0, 1: 1}, {0: 0, 1: 3}], [1])
