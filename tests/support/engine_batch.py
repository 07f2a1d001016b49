"""Run an engine on many problems in one child process, since each child takes half a second to start.

highspy, pulp and OR-Tools must not be loaded into the process of the tests.
"""

import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from memplan.planner.bounds.lower_bound import Bound, Witness
from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.instance.instance import Instance
from memplan.planner.instance.objective import Score
from memplan.planner.model.buffer_table import I64, column
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Placement
from memplan.solvers.packing.place import drop_buffers
from memplan.solvers.portfolio import registry
from memplan.solvers.search.incumbent import Search
from tests.support.oracle import best_score, check

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 20.0


@dataclass(frozen=True)
class Job:
    """A problem for an engine; `is_untold` withholds its lower bound, `has_start` provides a poor warm start."""

    problem: Problem
    is_untold: bool = False
    has_start: bool = False

    def __reduce__(self) -> "tuple[Callable[..., Job], tuple[object, ...]]":
        return _job_of_text, (self.problem.model_dump_json(), self.is_untold, self.has_start)


def _job_of_text(text: str, *rest: object) -> Job:
    return Job(Problem.model_validate_json(text), *rest)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Answer:
    """The result of an engine: its best score, whether it `found` the plan itself, its claimed bound, and its log."""

    placements: tuple[Placement, ...] | None
    score: Score | None
    claim: Score | None
    says_infeasible: bool
    log: str
    found: bool

    @property
    def is_proved(self) -> bool:
        return self.says_infeasible or (self.score is not None and self.claim is not None and self.score <= self.claim)


def run_jobs(engine: str, jobs: list[Job]) -> list[Answer]:
    command = [sys.executable, "-W", "ignore", "-c", f"from {__name__} import main; main()", engine]
    child = subprocess.run(command, input=pickle.dumps(jobs), stdout=subprocess.PIPE, cwd=ROOT, check=True)
    return list(pickle.loads(child.stdout))


def check_against_brute_force(engine: str, problems: list[Problem]) -> None:
    """Run an engine with and without the bound and a start, and compare its answers with brute force."""
    problems = [p for p in problems if not compile_problem(p).unplaceable]  # these do not reach a solver
    ways = [Job(p, is_untold=k % 2 == 0, has_start=k % 3 == 0) for k, p in enumerate(problems)]
    for problem, answer in zip(problems, run_jobs(engine, ways), strict=True):
        wanted = best_score(problem)
        named = problem.model_dump_json(exclude_defaults=True)
        assert answer.score == wanted, named
        assert answer.is_proved, named
        assert wanted is None or answer.claim == wanted, named
        if answer.placements is not None:
            assert check(problem, answer.placements) == [], named


def poor_plan(instance: Instance) -> tuple[I64, I64] | None:
    pool = column(len(instance.pools) - 1 - instance.allowed[::-1].argmax(axis=0))
    offset = drop_buffers(instance, pool, np.arange(len(instance)))
    return None if offset is None else (pool, offset)


def _solve(engine: str, job: Job) -> Answer:
    instance = compile_problem(job.problem)
    search = Search(instance, deadline=time.monotonic() + LIMIT_S)
    if job.is_untold:
        search.proof, search.stop_reason = Bound((0,) * len(search.bound), Witness("empty"), 0), None
    start = poor_plan(instance) if job.has_start else None
    if start is not None:
        search.offer(*start, "start")
    registry.find(engine).function(instance, search)
    best, claim = search.best, search.claims.get(engine, search.bound)
    if search.bound > (claim or search.bound):
        claim = search.bound
    return Answer(
        placements=None if best is None else tuple(lift(job.problem, instance, best.pool, best.offset)),
        score=None if best is None else _score_in_bytes(instance, best.score),
        claim=None if claim is None else _score_in_bytes(instance, claim),
        says_infeasible=search.infeasibility_witness is not None or claim is None,
        log="\n".join(search.lines),
        found=best is not None and best.by == engine,
    )


def _score_in_bytes(instance: Instance, score: Score) -> Score:
    is_cost = [instance.objective == "cost" and k == 0 for k in range(len(score))]
    return tuple(entry if cost else entry * instance.unit for entry, cost in zip(score, is_cost, strict=True))


def main() -> None:
    """Read jobs and write answers, as the child process."""
    sys.stdout.buffer.write(pickle.dumps([_solve(sys.argv[1], job) for job in pickle.load(sys.stdin.buffer)]))
