"""One solver by itself, from greedy's plan, in seconds of processor time: python -m lab.support.engine_alone ...

Its arguments are SOLVER PROBLEM SECONDS SEED; it prints a line of JSON, an `EngineRun`. The processor time is that of
the process and of CBC below it, so that other work on the machine hardly changes what comes. PROBLEM is a file, or a
name of `lab.families`.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path

from lab.families import pose
from lab.support.plain_programs import PLAIN
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.instance.objective import Score
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.registry import BY_NAME
from memplan.solvers.search.incumbent import Search

ROOT = Path(__file__).parents[2]
MODULES = {"cp-sat": "ortools.sat.python.cp_model", "highs": "highspy", "cbc": "pulp"}
"""What an engine imports."""
_TICKS_PER_S = 100


@dataclass(frozen=True)
class EngineRun:
    """What a solver made of a problem by itself, in units: scores of the start and of its best plan, and the bounds.

    best_s, proved_s: the processor seconds until the best plan, and until it was proved, by the bound or the solver's
    own claim; None where it was not. `import_s` of them went to the import of the engine. `is_refused`: the solver says
    that nothing fits. `by` is who made the best plan.
    """

    solver: str
    problem: str
    seed: int
    n: int
    start: list[float]
    best: list[float]
    bound: list[float]
    claim: list[float]
    best_s: float
    proved_s: float | None
    cpu_s: float
    is_refused: bool = False
    by: str = ""
    import_s: float = 0.0


def cpu_s() -> float:
    """Return the processor seconds of this process and of those that it started."""
    spent = time.process_time()
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent += ended.ru_utime + ended.ru_stime
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            for pid in (task / "children").read_text().split():
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                spent += (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
    return spent


@dataclass(eq=False)
class CpuSearch(Search):
    """A search whose time is processor time; it keeps when its best plan came, and when a claim met that."""

    best_s: float = 0.0
    proved_s: float | None = None

    began_s: float = field(default_factory=cpu_s)

    @property
    def spent_s(self) -> float:
        """The processor seconds since the search began."""
        return self.clock() - self.began_s

    def offer(self, pool: I64, offset: I64, by: str) -> bool:
        """Take an assignment, and its time."""
        is_better = super().offer(pool, offset, by)
        if is_better:
            self.best_s = self.spent_s
        self._mark()
        return is_better

    def offer_bound(self, bound: Score, by: str) -> None:
        """Take a bound, and its time."""
        super().offer_bound(bound, by)
        self._mark()

    def claim_infeasible(self, by: str) -> None:
        """Take a claim, and its time."""
        super().claim_infeasible(by)
        self.proved_s = self.spent_s

    def _mark(self) -> None:
        if self.proved_s is None and self.best is not None:
            claims = [claim for claim in self.claims.values() if claim is not None]
            if self.best.score <= max([self.bound, *claims]):
                self.proved_s = self.spent_s


Solver = Callable[[Instance, Search], None]


def problem_called(problem: str) -> Problem:
    """Return the problem of a file of the repository, or one of `lab.families` by its name."""
    return pose(str(ROOT / problem) if (ROOT / problem).is_file() else problem)


def alone(solver: str, problem: str, seconds: float, seed: int) -> EngineRun:
    """Run greedy and then the solver by itself, in this process."""
    instance = compile_problem(problem_called(problem))
    first = Search(instance, inf, seed=seed)
    BY_NAME["greedy"].function(instance, first)
    began, module = cpu_s(), MODULES.get(solver.removeprefix("plain-"))
    if module is not None:
        importlib.import_module(module)
    import_s = cpu_s() - began
    search = CpuSearch(instance, began + seconds, seed=seed, clock=cpu_s, began_s=began)
    if first.best is not None:
        search.offer(first.best.pool, first.best.offset, first.best.by)
        search.best_s = 0.0
    run: Solver = PLAIN[solver] if solver in PLAIN else BY_NAME[solver].function
    if not search.is_over:
        run(instance, search)
    claim = max((value for value in search.claims.values() if value is not None), default=())
    return EngineRun(
        solver,
        problem,
        seed,
        len(instance),
        start=_score(first),
        best=_score(search),
        bound=[*search.bound],
        claim=[*claim],
        best_s=round(search.best_s, 2),
        proved_s=None if search.proved_s is None else round(search.proved_s, 2),
        cpu_s=round(search.spent_s, 2),
        is_refused=None in search.claims.values(),
        by="" if search.best is None else search.best.by,
        import_s=round(import_s, 2),
    )


def _score(search: Search) -> list[float]:
    return [] if search.best is None else [*search.best.score]


def measured(solver: str, problem: str, seconds: float, seed: int) -> EngineRun | None:
    """Run a solver in a process of its own, which is killed a good while after its time; None where it failed."""
    command = [sys.executable, "-m", "lab.support.engine_alone", solver, problem, str(seconds), str(seed)]
    # Bytecode is written, as where packages are installed: without it the import of OR-Tools takes three times as long.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir(), "memplan-bytecode"))}
    try:
        ended = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=60 + 20 * seconds, env=environment
        )
        return EngineRun(**json.loads(ended.stdout))
    except (subprocess.TimeoutExpired, ValueError):
        return None


if __name__ == "__main__":
    hard_s = int(float(sys.argv[3])) + 30
    resource.setrlimit(resource.RLIMIT_CPU, (hard_s, hard_s + 2))
    print(json.dumps(asdict(alone(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])))))
