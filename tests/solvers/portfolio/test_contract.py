"""Contract of every registered solver: valid plans and true claims on tiny problems at any time limit."""

import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context

import pytest

from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.instance.instance import CONSTRAINTS, Instance
from memplan.planner.instance.objective import Score
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio import registry
from memplan.solvers.portfolio.registry import SolverRow
from memplan.solvers.search.incumbent import Search
from memplan.solvers.search.result import Assignment
from tests.support import oracle
from tests.support.depth import DEPTH, GRACE_S
from tests.support.tiny import CONSTRAINED, FEATURES, random_tiny

PROBLEMS = FEATURES | CONSTRAINED | {f"random {seed}": random_tiny(seed) for seed in range(12)}
LIMITS_S = {"time enough": 10.0, "hardly any time": 0.001, "no time": 0.0, "cancelled": 10.0}
INSTALLED = [row for row in registry.SOLVERS if row.is_installed]
CASES = [
    (name, when)
    for k, name in enumerate(PROBLEMS)
    for j, when in enumerate(LIMITS_S)
    if when == "time enough" or j % 3 == k % 3 or DEPTH > 1
]
"""Each problem with enough time and with some of the other limits; with all of them if `lab.deep` runs it."""

OPEN = {"memory-choice": {"banks", "bank-weights"}}
"""The features of which a solver leaves out the prices or rules, so that its bound may be below the best plan."""


@dataclass(frozen=True)
class Outcome:
    best: Assignment | None
    bounds: tuple[Score, ...]
    says_infeasible: bool
    wall_time_s: float


@pytest.fixture(scope="module", params=INSTALLED, ids=lambda row: row.name)
def row(request: pytest.FixtureRequest) -> SolverRow:
    found: SolverRow = request.param
    return found


@pytest.fixture(scope="module")
def child(row: SolverRow) -> Iterator[ProcessPoolExecutor]:
    """Yield one process for each solver, as engines cannot share a process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        executor.submit(_outcome, row, compile_problem(PROBLEMS["plain"]), "time enough").result()
        yield executor


def _outcome(row: SolverRow, instance: Instance, when: str) -> Outcome:
    started = time.monotonic()
    trusted = frozenset(row.name for row in registry.SOLVERS if row.is_trusted)
    search = Search(instance, deadline=started + LIMITS_S[when], trusted=trusted)
    if when == "cancelled":
        search.stop("cancelled")
    if search.infeasibility_witness is None:  # no solver is run if infeasibility is obvious
        row.function(instance, search)
    claimed = [claim for claim in search.claims.values() if claim is not None]
    says_infeasible = search.infeasibility_witness is not None or None in search.claims.values()
    return Outcome(search.best, (search.bound, *claimed), says_infeasible, time.monotonic() - started)


def test_the_problems_of_the_solver_contract_use_every_constraint() -> None:
    asked = frozenset[str]().union(*(compile_problem(problem).features for problem in CONSTRAINED.values()))
    elsewhere = {"clearances", "intervals", "reuse", "same-offset", "equal-use"}
    assert asked >= CONSTRAINTS.keys() - elsewhere, "the first two are of no kind yet, the others have their own"


@cache
def read_and_solved(name: str) -> tuple[Problem, Instance, Score | None]:
    problem = PROBLEMS[name]
    return problem, compile_problem(problem), oracle.best_score(problem)


def score_in_bytes(problem: Problem, instance: Instance, score: Score) -> Score:
    is_cost = problem.objective == "cost"
    return (*score[:is_cost], *(end * instance.unit for end in score[is_cost:]))


def is_above(score: Score, other: Score) -> bool:
    """Return True if a score is larger by more than the rounding of summed costs."""
    return score > other and score != pytest.approx(other, rel=1e-12)


@pytest.mark.drawn
@pytest.mark.parametrize(("name", "when"), CASES)
def test_every_solver_returns_valid_plans_and_true_claims_within_its_time_limit(
    child: ProcessPoolExecutor, row: SolverRow, name: str, when: str
) -> None:
    problem, instance, least = read_and_solved(name)
    if instance.features - row.can:
        pytest.skip(f"{row.name} cannot do {', '.join(sorted(instance.features - row.can))}")
    outcome = child.submit(_outcome, row, instance, when).result()
    if not row.is_isolated:  # isolated solvers are killed when they overrun
        assert outcome.wall_time_s < LIMITS_S[when] + GRACE_S
    assert not (outcome.says_infeasible and least is not None)
    if outcome.best is not None:
        assert oracle.check(problem, list(lift(problem, instance, outcome.best.pool, outcome.best.offset))) == []
    if least is not None:
        for bound in outcome.bounds:
            assert not is_above(score_in_bytes(problem, instance, bound), least)
    if row.proves and when == "time enough" and not instance.features & OPEN.get(row.name, set()):
        assert outcome.says_infeasible == (least is None)
        if least is not None and problem.objective != "fit":
            assert outcome.best is not None
            assert score_in_bytes(problem, instance, outcome.best.score) == pytest.approx(least, rel=1e-12)
            assert max(outcome.bounds) == outcome.best.score
