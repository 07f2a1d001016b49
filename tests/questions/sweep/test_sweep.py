"""`sweep`: plans of one problem at many pool sizes or changes, with bounds propagated from larger sizes."""

from typing import Any

import pytest

import memplan
from memplan.planner.errors import OptionError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.questions.sweep.combinations import SweepOptions
from memplan.questions.sweep.combinations import sweep as run_sweep
from memplan.questions.sweep.grid import Change
from memplan.solvers.portfolio.solve import solve
from tests.support import oracle
from tests.support.random_problems import random_problem

ROWS = [(3, 0, 2), (2, 1, 4), (4, 3, 6), (2, 0, 1), (3, 5, 7)]
BUFFERS = [{"id": k, "size": size, "start": a, "end": b} for k, (size, a, b) in enumerate(ROWS)]
POOLS = [{"name": "fast", "size": 4}, {"name": "slow", "cost": 2}]
PROBLEM = Problem.model_validate({"buffers": BUFFERS, "pools": POOLS, "objective": "cost"})


def score(plan: Plan) -> tuple[float | None, ...]:
    return plan.cost, *(use.used for use in reversed(plan.pools))


def swept_plans(problem: Problem, sizes: dict[str, Any]) -> list[tuple[dict[str, int], Plan]]:
    answer = run_sweep(problem, sizes, options=SweepOptions(each_s=20.0, time_limit_s=200.0))
    found = [(row.sizes, plan) for row, plan in zip(answer.points, answer.plans or (), strict=True)]
    for chosen, plan in found:
        sized = problem.with_capacity(chosen)
        assert verify(sized, plan) == ()
        assert score(plan) == oracle.best_score(sized)
    return found


def test_a_sweep_returns_the_optimal_plan_for_each_size_in_ascending_order() -> None:
    found = swept_plans(PROBLEM, {"fast": [9, 0, 4, 2, 4, 6]})
    assert [sizes["fast"] for sizes, _ in found] == [0, 2, 4, 6, 9]
    assert [plan.pools[0].size for _, plan in found] == [0, 2, 4, 6, 9]
    assert all(plan.cost_lower_bound == plan.cost for _, plan in found)


def test_a_larger_size_in_a_sweep_is_never_worse_even_without_search_time() -> None:
    good = solve(PROBLEM.with_capacity({"fast": 5}), time_limit_s=20)
    answer = run_sweep(PROBLEM, {"fast": range(5, 9)}, start=good, options=SweepOptions(each_s=1e-9))
    assert [score(plan) for plan in answer.plans or ()] == [score(good)] * 4
    assert all(
        verify(row.problem_of(PROBLEM), plan) == () for row, plan in zip(answer.points, answer.plans or (), strict=True)
    )


def test_a_plan_of_another_problem_is_ignored_as_a_start() -> None:
    other = Problem.model_validate({"buffers": [{"id": "x", "size": 1, "start": 0, "end": 1}]})
    stranger = solve(other, time_limit_s=20)
    for start in (stranger, solve(PROBLEM.with_capacity({"fast": 9}), time_limit_s=20)):
        assert solve(PROBLEM.with_capacity({"fast": 0}), time_limit_s=20, start=start).status == "optimal"


def test_sweep_plans_every_combination_of_the_sizes_of_several_pools() -> None:
    pools = [{"name": "fast", "size": 4}, {"name": "middle", "size": 4, "cost": 1}, {"name": "slow", "cost": 2}]
    problem = Problem.model_validate({"buffers": PROBLEM.buffers, "pools": pools, "objective": "cost"})
    found = swept_plans(problem, {"fast": (4, 0), "middle": (0, 3, 6)})
    assert [tuple(sizes.values()) for sizes, _ in found] == [(0, 0), (0, 3), (0, 6), (4, 0), (4, 3), (4, 6)]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"sram": [1]}, 'sizes: must name a pool of the problem (fast, slow), got "sram"'),
        ({"fast": range(40), "slow": range(40)}, "sizes: must have at most 1000 combinations, got 1600"),
    ],
)
def test_unknown_pools_and_too_many_combinations_are_refused(sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        run_sweep(PROBLEM, sizes)
    assert str(caught.value) == message


def test_a_sweep_over_changes_plans_each_combination() -> None:
    rows = [{"id": k, "size": 10, "start": 0, "end": 1} for k in "ab"]
    problem = Problem.model_validate({"buffers": rows, "pools": [{"name": "sram", "size": 100}]})
    sizes = [Change(buffer="a", fields={"size": size}) for size in (5, 95)]
    pools = [Change(pool="sram", fields={"size": size}) for size in (50, 200)]
    changes = (tuple(sizes), tuple(pools), (Change(buffer="b"),))
    found = run_sweep(problem, changes=changes, options=SweepOptions(repetitions=2))
    assert [row.peak for row in found.points] == [5, 5, None, 95]
    assert [row.changes[1] for row in found.points] == pools * 2
    sizes_too = run_sweep(problem, {"sram": (8, 200)}, changes=(tuple(sizes),), options=SweepOptions(alignments=(1, 8)))
    assert [(row.alignment, row.size, row.peak) for row in sizes_too.points] == [
        *((1, 8, None), (1, 200, 15), (1, 8, None), (1, 200, 105)),
        *((8, 8, None), (8, 200, 18), (8, 8, None), (8, 200, 106)),
    ]


def test_a_sweep_accepts_changes_as_json_objects() -> None:
    problem = Problem.model_validate({"buffers": [{"id": "a", "size": 1, "start": 0, "end": 1}]})
    found = memplan.sweep(problem, changes=[[{"buffer": "a", "fields": {"size": 3}}, {"buffer": "a"}]])
    assert [row.peak for row in found.points] == [3, 0]
    with pytest.raises(OptionError, match=r"^changes\[0\]: must be a list, got "):
        memplan.sweep(problem, changes=[{"buffer": "a"}])  # type: ignore[list-item]


def test_a_sweep_that_starts_from_a_plan_is_never_worse_than_it() -> None:
    problem = random_problem(3, 24)
    best = solve(problem)
    sizes = problem.buffers.size.tolist()
    halved = [Change.model_validate({"buffer": k, "fields": {"size": 1 + sizes[k] // 2}}) for k in range(24)]
    dropped = [Change(buffer=k) for k in range(24)]
    for changes in ((tuple(halved),), (tuple(dropped),)):
        alone, started = (
            run_sweep(problem, changes=changes, start=start, options=SweepOptions(solver="greedy"))
            for start in (None, best)
        )
        assert max(point.peak or 0 for point in alone.points) > (best.peak or 0)
        assert max(point.peak or 0 for point in started.points) <= (best.peak or 0)
