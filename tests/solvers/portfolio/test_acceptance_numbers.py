"""Figures that others published for small problems, reached or beaten, and proved."""

from __future__ import annotations

import pytest

from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Placement
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.solve import solve
from tests.support import tvm_problems as tvm

MINIMALLOC_EXAMPLE = (("b1", 4, 0, 3), ("b2", 4, 3, 9), ("b3", 4, 0, 9), ("b4", 4, 9, 21), ("b5", 4, 0, 21))


@pytest.mark.parametrize(
    ("problem", "peak"),
    [
        (tvm.conflicting(tvm.LINEAR, tvm.LINEAR_CONFLICTS), 140),
        (tvm.conflicting(tvm.FAN_OUT, tvm.FAN_OUT_CONFLICTS), 210),
        (tvm.living([(name, size, *tvm.FAN_OUT_LIVES[name]) for name, size in tvm.FAN_OUT.items()]), 190),
        (tvm.living(tvm.MOBILENET), 1_117_718),
        (tvm.living(tvm.MOBILENET_BY_CALLS), 1_418_774),
        (tvm.living(tvm.RESNET), 7_200_256),
        (tvm.living(MINIMALLOC_EXAMPLE), 12),
        (tvm.living(MINIMALLOC_EXAMPLE, [{"size": 11}]), None),
    ],
    ids=[
        *("line", "fan-out, all conflicts both ways", "fan-out, what is alive when"),
        *("mobilenet", "mobilenet, each function by itself", "resnet", "minimalloc", "minimalloc in 11 bytes"),
    ],
)
def test_what_others_published_is_reached_and_proved(problem: Problem, peak: int | None) -> None:
    plan = solve(problem, time_limit_s=60)
    assert (plan.status, plan.peak) == ("infeasible" if peak is None else "optimal", peak)
    assert peak is None or plan.lower_bound == peak


@pytest.mark.parametrize("objective", ["peak", "cost"])
def test_the_mobilenet_subgraph_with_a_fast_memory_is_proved_to_need_1_117_462_of_the_slow_one(objective: str) -> None:
    pools = [tvm.FAST_AND_SLOW[0], {**tvm.FAST_AND_SLOW[1], "cost": 1.0}]
    problem = tvm.living(tvm.MOBILENET, pools)
    plan = solve(Problem.model_validate({**problem.model_dump(), "objective": objective}), time_limit_s=60)
    assert (plan.status, plan.stop_reason) == ("optimal", "proved")
    assert plan.pools[1].used == plan.pools[1].lower_bound == 1_117_462


@pytest.mark.parametrize(
    "solver", ["auto", "reference:tvm-greedy-by-size", "reference:tvm-greedy-by-conflicts", "reference:tvm-hill-climb"]
)
def test_where_nothing_fits_all_three_buffers_are_named(solver: str) -> None:
    sizes = {"bi_a": 10, "bi_b": 10, "bi_c": 10}
    problem = tvm.conflicting(sizes, {"bi_a": ["bi_b"], "bi_b": ["bi_c"], "bi_c": ["bi_a"]}, capacity=10)
    plan = solve(problem, solver=solver)
    assert (plan.status, plan.stop_reason) == ("infeasible", "proved")
    assert plan.explanation is not None
    assert plan.explanation.buffers == ("bi_a", "bi_b", "bi_c")
    assert plan.explanation.missing_bytes == 20


def test_the_offsets_in_minimallocs_readme_hold() -> None:
    rows = zip(MINIMALLOC_EXAMPLE, (8, 8, 4, 4, 0), strict=True)
    placements = [Placement(id=name, pool="default", offset=offset) for (name, *_), offset in rows]
    plan = Plan(peak=12, placements=PlacementTable.from_rows(placements))
    assert verify(tvm.living(MINIMALLOC_EXAMPLE, [{"size": 12}]), plan) == ()
