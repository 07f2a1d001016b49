"""CP-SAT runs in child processes only: OR-Tools and highspy cannot be loaded into one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import pytest

from planner.instance import Instance, compile_problem, lift
from planner.objective import Score
from planner.plan import StopReason
from planner.problem import Problem
from solvers import cp_sat
from solvers.search import Assignment, Shared
from tests import oracle

INSTANCES = Path(__file__).parents[3] / "shared" / "instances"


@dataclass(frozen=True)
class Outcome:
    """What CP-SAT alone, believed, makes of an instance."""

    best: Assignment | None
    bound: Score
    stop_reason: StopReason | None
    lines: tuple[str, ...]


def outcomes(problems: Sequence[Problem], limit_s: float = 10.0, deterministic: bool = False) -> list[Outcome]:
    """Solve problems one after the other in one child process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as child:
        tasks = [child.submit(_outcome, compile_problem(problem), limit_s, deterministic) for problem in problems]
        return [task.result() for task in tasks]


def _outcome(instance: Instance, limit_s: float, deterministic: bool) -> Outcome:
    search = Shared(
        instance,
        deadline=time.monotonic() + limit_s,
        trusted=frozenset({"cp-sat"}),
        deterministic=deterministic,
        work_limit=int(limit_s * 200_000) if deterministic else 2**62,
    )
    if not search.is_over:
        cp_sat.solve(instance, search)
    return Outcome(search.best, search.bound, search.stop_reason, tuple(search.lines))


def score_in_bytes(problem: Problem, score: Score) -> Score:
    """Return a score of an instance as the oracle counts it."""
    unit = compile_problem(problem).unit
    is_cost = problem.objective == "cost"
    return (*score[:is_cost], *(end * unit for end in score[is_cost:]))


def assert_agrees(problem: Problem, outcome: Outcome) -> None:
    """Hold an outcome against brute force."""
    least = oracle.best_score(problem)
    if least is None:
        assert outcome.best is None
    else:
        assert outcome.best is not None
        instance = compile_problem(problem)
        placements = lift(problem, instance, outcome.best.pool, outcome.best.offset)
        assert oracle.check(problem, list(placements)) == []
        if problem.objective != "fit":
            assert score_in_bytes(problem, outcome.best.score) == pytest.approx(least, rel=1e-12)
    if problem.objective != "fit":
        assert outcome.stop_reason == "proved"
