"""A check that lower bounds never exceed the optimum found by brute force."""

from memplan.planner.bounds.lower_bound import lower_bound
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem
from tests.support.oracle import best_score, min_total


def check_that_it_is_never_above_the_optimum(problem: Problem) -> None:
    instance = compile_problem(problem)
    found = lower_bound(instance)
    optimum, total = best_score(problem), min_total(problem)
    if optimum is None or total is None:
        return
    assert found.nothing_fits is None
    p = len(problem.pools)
    ends = [int(end) * instance.unit for end in found.score[-p:]]
    cost = [value - 1e-9 * max(1.0, value) for value in found.score[:-p]]
    assert (*cost, *ends) <= optimum
    assert found.total * instance.unit <= total
