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
from memplan.solvers.mip.stages import count_rows, sensible_limits
from memplan.solvers.mip.start import start_of
from memplan.solvers.packing.place import drop_buffers
from memplan.solvers.search.result import Assignment
from tests.support.depth import DEPTH, seeds
from tests.support.small_problems import small_problems
from tests.support.tied_problems import tied_problem


def buffers(*rows: tuple[int, int, int], **fields: object) -> Problem:
    """Return a problem of buffers a, b, ... given as (start, end, size)."""
    named = [{"id": "abcdefgh"[k], "start": row[0], "end": row[1], "size": row[2]} for k, row in enumerate(rows)]
    return Problem.model_validate({"buffers": named, **fields})


def draft_of(instance: Instance, limit: tuple[int, ...] | None = None, minimised: str = "peak") -> tuple[Boxes, Draft]:
    """Return the boxes and the integer program that minimises the last pool's peak or excess, without an incumbent."""
    limits = tuple(sensible_limits(instance, None)) if limit is None else limit
    boxes = Boxes(instance, limits)
    cost = (0, Costs.from_instance(instance).max_steps) if instance.objective == "cost" else None
    return boxes, draft(boxes, MipQuestion(limits, (0,) * len(limits), (minimised, len(limits) - 1), cost))


def row(program: Draft, *key: str | int) -> tuple[dict[tuple[str | int, ...], int], int | None, int | None]:
    """Return a row of an integer program: coefficients by column key, and its lower and upper limit."""
    found = next(row for row in program.rows if row.key == key)
    return {program.keys[at]: value for at, value in found.entries}, found.at_least, found.at_most


def violated_rows(program: IntegerProgram, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[object]:
    """Return the rows, and the keys of the columns, whose limits the values violate."""
    sums = np.add.reduceat(np.append(program.value * values[program.index], 0.0), program.first[:-1])
    sums[np.diff(program.first) == 0] = 0.0
    slack = 1e-9 * max(1.0, float(np.abs(values).max(initial=0.0)))
    rows = np.flatnonzero((sums < program.row_lower - slack) | (sums > program.row_upper + slack))
    outside = (values < program.lower - slack) | (values > program.upper + slack)
    broken_whole = program.is_whole & (values != np.round(values))
    return [*rows.tolist(), *(program.keys[at] for at in np.flatnonzero(outside | broken_whole))]


def random_plan(instance: Instance, rng: random.Random) -> Assignment | None:
    """Return an assignment of buffers dropped in random order into random pools; None if they do not fit."""
    homes = [np.flatnonzero(instance.allowed[:, i]).tolist() for i in range(len(instance))]
    if not all(homes):
        return None
    pool = column([rng.choice(some) for some in homes])[instance.colocation]
    offset = drop_buffers(instance, pool, [rng.random() for _ in homes])
    return None if offset is None else Assignment(pool, offset, score(instance, pool, offset), "random")


MIXED = [*small_problems(seed=11, count=50 * DEPTH, most=6), *(tied_problem(seed) for seed in seeds(40, 300))]


@pytest.mark.drawn
@pytest.mark.parametrize("scale", [1, 64])
def test_the_integer_program_admits_every_valid_plan(scale: int) -> None:
    rng = random.Random(7)
    plans = 0
    for problem in MIXED:
        instance = compile_problem(problem)
        boxes, program = draft_of(instance)
        programs = [program.finish(scale), draft_of(instance, minimised="over")[1].finish(scale)]
        for plan in filter(None, (random_plan(instance, rng) for _ in range(5))):
            for each in programs:
                values = start_of(each, boxes, plan.pool, plan.offset)
                assert violated_rows(each, values) == [], problem.model_dump_json(exclude_defaults=True)
            plans += 1
    assert plans > 130


def test_the_integer_program_excludes_overlapping_buffers() -> None:
    instance = compile_problem(buffers((0, 2, 3), (1, 3, 4)))
    boxes, program = draft_of(instance)
    plan = Assignment(column([0, 0]), column([0, 2]), (6,), "wrong")
    finished = program.finish(1)
    values = start_of(finished, boxes, plan.pool, plan.offset)
    assert violated_rows(finished, values) != []
    part, columns = finished.reduce(np.zeros(len(finished.row_lower), dtype=np.bool_))
    assert violated_rows(part, values[columns]) != []


def test_the_integer_program_stacks_identical_buffers_in_a_fixed_order() -> None:
    instance = compile_problem(buffers((0, 3, 3), (0, 3, 3), (0, 3, 4), (2, 4, 3), (3, 5, 3)))
    boxes, program = draft_of(instance)
    assert list(boxes.twins()) == [(0, 1)]
    assert program.lower[program.at["below", 0, 1]] == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"pools": [{"reserved": [[7, 1]]}]},
        {"pools": [{"name": "fast", "size": 20}, {"name": "slow"}]},
        {"pools": [{"alignment": 4}]},
        {"pools": [{"base_address": 1, "alignment": 2}]},
        {"may_share": [["a", "b"]]},
        {"bank": [{"buffers": ["a", "b"]}], "pools": [{"bank_size": 8}]},
        {"bank": [{"buffers": ["a", "b"], "weight": 1}], "pools": [{"bank_size": 8}], "objective": "cost"},
    ],
)
def test_the_integer_program_excludes_mirror_images_only_in_symmetric_pools_without_sharing_and_banks(
    fields: dict[str, object],
) -> None:
    rows = ((0, 3, 3), (1, 4, 5), (2, 5, 6))
    assert Boxes(compile_problem(buffers(*rows)), (14,)).mirror() == (1, 2)
    instance = compile_problem(buffers(*rows, **fields))
    assert Boxes(instance, tuple(sensible_limits(instance, None))).mirror() is None


def test_the_integer_program_counts_costs_above_the_cheapest_pool_in_steps() -> None:
    pools = [{"name": "fast", "size": 9, "cost": 0.1}, {"name": "slow", "cost": 0.35}]
    rows = [{"id": k, "size": 4, "start": 0, "end": 2, "traffic": traffic} for k, traffic in enumerate((2, 6))]
    problem = Problem.model_validate({"buffers": rows, "pools": pools, "objective": "cost"})
    costs = Costs.from_instance(compile_problem(problem))
    assert costs.extra == [{0: 0, 1: 1}, {0: 0, 1: 3}]
    assert [costs.cost_of_steps(steps) for steps in (0, 4)] == [0.8, 2.8]


def test_the_integer_program_has_at_most_the_predicted_rows() -> None:
    for problem in MIXED:
        instance = compile_problem(problem)
        _, program = draft_of(instance)
        assert len(program.rows) <= count_rows(instance)


def test_the_grid_of_the_integer_program_contains_the_bank_borders() -> None:
    rows = [{"id": k, "size": 4, "start": 0, "end": 2, "alignment": 4} for k in range(2)]
    for fields, granule in (({}, 4), ({"bank_size": 6}, 2), ({"bank_size": 8}, 4)):
        pools = [{"base_address": 4, **fields}, {"name": "odd", "size": 5}]
        bank = [{"buffers": [0, 1]}] if fields else []
        instance = compile_problem(Problem.model_validate({"buffers": rows, "pools": pools, "bank": bank}))
        assert Boxes(instance, (64, 64)).grid.granule * instance.unit == granule
