"""CP-SAT, run only in child processes, because OR-Tools and highspy cannot be loaded into one process."""

import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import pytest

from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.instance.instance import Instance
from memplan.planner.instance.objective import Score
from memplan.planner.model.plan import StopReason
from memplan.planner.model.problem import Problem
from memplan.solvers.cp_sat import goals
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.search.incumbent import Search
from memplan.solvers.search.result import Assignment
from tests.support import oracle, public_problems
from tests.support.values import require_value


@dataclass(frozen=True)
class Outcome:
    best: Assignment | None
    bound: Score
    stop_reason: StopReason | None
    lines: tuple[str, ...]


def outcomes(problems: Sequence[Problem], limit_s: float = 30.0, deterministic: bool = False) -> list[Outcome]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as child:
        tasks = [child.submit(_outcome, compile_problem(problem), limit_s, deterministic) for problem in problems]
        return [task.result() for task in tasks]


def _outcome(instance: Instance, limit_s: float, deterministic: bool) -> Outcome:
    deadline = time.monotonic() + (600.0 if deterministic else limit_s)
    work, trusted = int(limit_s * 200_000) if deterministic else 2**62, frozenset({"cp-sat"})
    search = Search(instance, deadline, trusted=trusted, deterministic=deterministic, work_limit=work)
    if not search.is_over:
        goals.solve(instance, search)
    return Outcome(search.best, search.bound, search.stop_reason, tuple(search.lines))


def score_in_bytes(problem: Problem, score: Score) -> Score:
    """Return a score of an instance with ends in bytes, as the oracle computes it."""
    unit = compile_problem(problem).unit
    is_cost = problem.objective == "cost"
    return (*score[:is_cost], *(end * unit for end in score[is_cost:]))


def assert_agrees(problem: Problem, outcome: Outcome) -> None:
    """Assert that an outcome is valid and as good as the best by brute force."""
    least = oracle.best_score(problem)
    if least is None:
        assert outcome.best is None
    else:
        assert outcome.best is not None
        placements = lift(problem, compile_problem(problem), outcome.best.pool, outcome.best.offset)
        assert oracle.check(problem, list(placements)) == []
        if problem.objective != "fit":
            assert score_in_bytes(problem, outcome.best.score) == pytest.approx(least, rel=1e-12)
    if problem.objective != "fit":
        assert outcome.stop_reason == "proved"


def test_cp_sat_plans_overlapping_views_if_one_of_them_may_share_bytes() -> None:
    """If one of two overlapping views may share bytes, the model needs more than one interval for them."""
    cases: list[tuple[int, list[list[str]], int]] = [
        (3, [["part", "small"]], 11),
        (3, [["part", "small"], ["whole", "other"]], 8),
        (0, [["part", "small"], ["whole", "small"]], 9),
    ]
    problems = [views_with_partners(offset, shared) for offset, shared, _ in cases]
    for problem, outcome, (_, _, least) in zip(problems, outcomes(problems), cases, strict=True):
        assert oracle.best_score(problem) == (least,)
        assert_agrees(problem, outcome)


def views_with_partners(offset: int, shared: list[list[str]]) -> Problem:
    """Return a problem with a buffer, a view of a part of it at `offset`, and two other buffers."""
    rows = [
        {"id": "whole", "size": 6, "start": 0, "end": 4},
        {"id": "part", "size": 3, "start": 0, "end": 4, "relative": {"to": "whole", "offset": offset}},
        {"id": "small", "size": 2, "start": 1, "end": 3},
        {"id": "other", "size": 3, "start": 2, "end": 4},
    ]
    return Problem(buffers=rows, may_share=shared)


def test_cp_sat_packs_hard_public_problems_at_their_lower_bound() -> None:
    for outcome in outcomes([public_problems.problem(f"minimalloc/{name}.1048576.csv") for name in "CHK"], limit_s=60):
        assert outcome.stop_reason == "proved"


def test_cp_sat_refuses_too_large_numbers_and_claims_nothing() -> None:
    (outcome,) = outcomes([Problem(buffers=[{"id": k, "size": 2**61 + k, "start": k, "end": k + 2} for k in range(3)])])
    assert outcome.best is None
    assert outcome.stop_reason is None
    assert outcome.lines == ("cp-sat: the sizes add up to more than its numbers hold",)


def test_cp_sat_returns_a_plan_and_a_valid_bound_for_costs_of_many_digits() -> None:
    pools = [{"name": "fast", "size": 5, "cost": 0.123456789}, {"name": "slow", "cost": 0.987654321}]
    rows = [{"id": k, "size": 2, "start": 0, "end": 2, "traffic": 2**61 + k} for k in range(4)]
    problem = Problem(buffers=rows, pools=pools, objective="cost")
    least = oracle.best_score(problem)
    (outcome,) = outcomes([problem])
    assert least is not None
    assert require_value(outcome.best).score[0] == pytest.approx(least[0], rel=1e-9)
    assert outcome.bound[0] <= least[0] * (1 + 1e-12)
    assert outcome.bound[0] == pytest.approx(least[0], rel=1e-9)


def test_costs_of_cp_sat_rounded_to_coarser_steps_never_exceed_the_exact_costs() -> None:
    pools = [{"name": "fast", "cost": 0.123456789}, {"name": "slow", "cost": 0.987654321}]
    rows = [{"id": k, "size": 2, "traffic": 2**61 + k} for k in range(4)]
    instance = compile_problem(Problem(buffers=rows, pools=pools, objective="cost"))
    exact, coarse = Costs.from_instance(instance), goals.whole_costs(instance)
    assert coarse.max_steps < 2**60 < exact.max_steps
    for fine, rough in zip(exact.extra, coarse.extra, strict=True):
        for q, steps in fine.items():
            assert rough[q] * coarse.step <= steps * exact.step < (rough[q] + 1) * coarse.step
