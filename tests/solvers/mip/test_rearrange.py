from collections.abc import Callable

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.buffer_table import column
from memplan.planner.model.problem import Problem
from memplan.solvers.mip.boxes import Boxes
from memplan.solvers.mip.draft import F64, IntegerProgram
from memplan.solvers.mip.program import MipQuestion, draft
from memplan.solvers.mip.rearrange import PlanParts
from memplan.solvers.mip.start import start_of

ROWS = [(0, 2, 3), (0, 4, 2), (1, 5, 4), (3, 6, 1), (4, 8, 2), (5, 9, 3), (6, 9, 2), (8, 9, 5)]
"""Start, end and size of each buffer."""
BUFFERS = [{"id": k, "start": start, "end": end, "size": size} for k, (start, end, size) in enumerate(ROWS)]
SIZES = column([size for _, _, size in ROWS])
STACK = column(np.cumsum(SIZES) - SIZES)
"""The offsets of a plan in which no two buffers share bytes."""


def parts(floor: int) -> PlanParts:
    limits, q = (int(SIZES.sum()),), 0
    boxes = Boxes(compile_problem(Problem(buffers=BUFFERS)), limits)
    program = draft(boxes, MipQuestion(limits, (floor,), ("over", q))).finish(1)
    return PlanParts(boxes, program, q, floor, np.random.default_rng(0))


def are_kept(program: IntegerProgram, values: F64) -> bool:
    rows = np.diff(np.append(0.0, np.cumsum(program.value * values[program.index]))[program.first])
    is_in = ((program.lower <= values) & (values <= program.upper)).all()
    return bool(is_in and (rows >= program.row_lower).all() and (rows <= program.row_upper).all())


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_a_partial_program_contains_its_plan_and_leaves_some_orders_free(share: float) -> None:
    its = parts(floor=10)
    plan = its.rate(column(np.zeros(len(ROWS))), STACK)
    free: list[int] = []

    def solve(part: IntegerProgram, start: F64, widened: Callable[[F64], F64]) -> float:
        assert are_kept(part, start)
        assert are_kept(its.program, widened(start))
        assert part.cost @ start == plan.total_excess
        free.append(int(part.is_whole.sum()))
        return share

    before = min(its.sizes.values())
    for _ in range(30):
        its.improve(plan, solve)
    assert 0 < max(free) <= int((its.program.lower < its.program.upper)[its.order].sum())
    assert all((size > before) == (share < 0.5) for size in its.sizes.values()), "if done soon, parts grow"


def test_the_heights_of_a_plan_are_the_largest_excess_over_the_floor_in_each_live_set() -> None:
    plan = parts(floor=10).rate(column(np.zeros(len(ROWS))), STACK)
    at_once = ((0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 5), (4, 5, 6), (5, 6, 7))
    ends = STACK + SIZES
    assert sorted(plan.heights) == sorted(max(0, max(ends[b] for b in alive) - 10) for alive in at_once)


def test_a_perturbed_plan_is_valid_different_and_within_the_limit() -> None:
    its = parts(floor=10)
    plan = its.rate(column(np.zeros(len(ROWS))), STACK)
    shaken = its.perturbed_plan(plan)
    assert shaken.total_excess != plan.total_excess
    assert (shaken.offset + SIZES).max() <= SIZES.sum()
    assert all(
        shaken.offset[a] + SIZES[a] <= shaken.offset[b] or shaken.offset[b] + SIZES[b] <= shaken.offset[a]
        for a, b in its.boxes.pairs
    )


def test_a_partial_program_and_the_whole_program_accept_the_same_plans() -> None:
    its = parts(floor=10)
    plan = its.rate(column(np.zeros(len(ROWS))), STACK)
    moves = np.random.default_rng(1)
    verdicts: list[tuple[bool, bool]] = []

    def solve(part: IntegerProgram, start: F64, widened: Callable[[F64], F64]) -> float:
        orders = widened(start)[its.order]
        columns = [its.program.at[key] for key in part.keys]
        for _ in range(20):
            offset = plan.offset.copy()
            offset[moves.integers(len(offset), size=2)] += moves.integers(-2, 3, size=2)
            values = start_of(its.program, its.boxes, plan.pool, offset)
            values[its.order] = orders
            verdicts.append((are_kept(part, values[columns]), are_kept(its.program, values)))
        return 0.1

    for _ in range(10):
        its.improve(plan, solve)
    assert all(of_part == of_whole for of_part, of_whole in verdicts)
    assert 0 < sum(of_whole for _, of_whole in verdicts) < len(verdicts)


def test_the_best_random_start_exceeds_the_floor_by_less_than_stacking_does() -> None:
    its = parts(floor=10)
    drawn = its.best_start()
    assert drawn is not None
    assert drawn.total_excess < its.rate(column(np.zeros(len(ROWS))), STACK).total_excess
    assert are_kept(its.program, start_of(its.program, its.boxes, drawn.pool, drawn.offset))
