"""The best plan of few buffers, whatever the rules, beside brute force."""

from __future__ import annotations

import time

import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem
from memplan.solvers.exact import few_buffers
from memplan.solvers.portfolio import registry
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.incumbent import Search
from tests.support.depth import seeds
from tests.support.oracle import best_score
from tests.support.several_pools import several_pools
from tests.support.tied_problems import priced_tied_problem, tied_problem

CAN = registry.BY_NAME["few"].can


@pytest.mark.drawn
@pytest.mark.parametrize("draw", [tied_problem, priced_tied_problem, several_pools])
def test_all_that_it_suits_is_proved_as_brute_force_says(draw: object) -> None:
    proved = 0
    for seed in seeds(25):
        problem: Problem = draw(seed)  # type: ignore[operator]  # a function of a seed
        instance = compile_problem(problem)
        search = Search(instance, deadline=time.monotonic() + 600, trusted=frozenset({"few"}))
        if not instance.features <= CAN or problem.objective == "fit" or search.is_over:
            continue
        few_buffers.solve(instance, search)
        least = best_score(problem)
        assert search.stop_reason == "proved"
        if least is None:
            assert search.infeasible is not None
        else:
            cost = [least[0]] if problem.objective == "cost" else []
            ends = [end / instance.unit for end in least[len(cost) :]]
            assert search.best is not None
            assert list(search.best.score) == pytest.approx([*cost, *ends])
        proved += 1
    assert proved > 5


@pytest.mark.parametrize("objective", ["cost", ["peak", "cost"]])
def test_what_is_small_is_proved_where_work_is_counted_too(objective: object) -> None:
    rows = [{"id": k, "size": 2 + k, "start": k % 2, "end": k % 2 + 2, "alignment": 1 + k % 2} for k in range(5)]
    pools = [{"name": "fast", "size": 9, "bank_size": 3}, {"name": "slow", "cost": 2, "bank_size": 4}]
    banks = [{"buffers": [0, 1, 2], "weight": 2.5}, {"buffers": [3, 4]}]
    problem = Problem.model_validate({"buffers": rows, "pools": pools, "bank": banks, "objective": objective})
    plan = solve(problem, time_limit_s=0.3, deterministic=True)
    assert (plan.status, plan.reproducible) == ("optimal", True)
