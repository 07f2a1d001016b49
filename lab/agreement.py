"""Brute force, the exact search and CP-SAT on many small random problems: `python -m lab.agreement 200000 [SEED]`.

`python -m lab.agreement --constraints 20000 [SEED [SOLVER ...]]` asks all solvers, or those that are named, each in a
process of its own, for what mixes all constraints. Too long for the test run; `test_agreement.py` runs a few. Prints a
line for each disagreement, and counts at the end.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.instance.instance import Instance
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.registry import BY_NAME
from memplan.solvers.search.incumbent import SearchState
from tests.support import oracle
from tests.support.engine_batch import Job, ask
from tests.support.small_problems import small_problems
from tests.support.tied_problems import tied_problem
from tests.support.tight_problems import FEATURES, tight_problem

LIMIT_S = 30.0
BLOCK = 200
"""How many problems a solver's process is asked at a time."""


def draw(seed: int) -> Problem:
    """Draw a problem of two to six buffers: two in three are tight, and half of those have a capacity just missed."""
    if seed % 3 == 0:
        return small_problems(seed, 1)[0]
    feature = FEATURES[seed % len(FEATURES)]
    if seed % 2:
        return tight_problem(seed, feature)
    best = oracle.best_score(tight_problem(seed, feature))
    return tight_problem(seed, feature, capacity=max(0, int(best[0]) - seed // 2 % 2) if best else None)


def found(problem: Problem, instance: Instance, solver: str) -> tuple[float, ...] | str | None:
    """Return the score that a solver alone proves (bytes), None where it proves that nothing fits, or what is wrong."""
    search = SearchState(instance, deadline=time.monotonic() + LIMIT_S, trusted=frozenset({solver}))
    if not search.is_over and len(instance):
        BY_NAME[solver].function(instance, search)
    if search.infeasible is not None:
        return None
    if len(instance) == 0:
        search.offer(instance.pin, instance.pin, "empty")
    best = search.best
    if best is None or best.score > search.bound:
        return "unsettled"
    wrong = oracle.check(problem, lift(problem, instance, best.pool, best.offset))
    if wrong:
        return wrong[0]
    p = len(instance.pools)
    return (*best.score[:-p], *(peak * instance.unit for peak in best.score[-p:]))


def disagreements(seed: int, solvers: tuple[str, ...]) -> list[str]:
    """Return a line for each solver that does not say what brute force says."""
    problem = draw(seed)
    instance = compile_problem(problem)
    expected = oracle.best_score(problem)
    lines = []
    for solver in solvers:
        if instance.features <= BY_NAME[solver].can:
            said = found(problem, instance, solver)
            if said != (None if expected is None else tuple(expected)):
                lines.append(f"seed {seed}: {solver} says {said}, brute force {expected}")
    return lines


def faults(solver: str, cases: list[tuple[Problem, tuple[float, ...] | None]], tally: Counter[str]) -> list[str]:
    """Return a line for each answer of a solver, in a process of its own, that brute force contradicts.

    What is no proof must be a plan without a fault, or nothing; the tally counts what the solver did.
    """
    mine = [case for case in cases if compile_problem(case[0]).features <= BY_NAME[solver].can]
    lines = []
    for (problem, best), answer in zip(mine, ask(solver, [Job(problem) for problem, _ in mine]), strict=True):
        wrong = []
        if answer.says_infeasible:  # perhaps before the solver was asked
            wrong += [] if best is None else [f"says that nothing fits, brute force {best}"]
        elif answer.placements is not None:
            wrong += oracle.check(problem, answer.placements)
            if best is None or answer.score is None or answer.score < best:
                wrong.append(f"says {answer.score}, brute force {best}")
        if answer.claim is not None and best is not None and answer.claim > best:
            wrong.append(f"claims {answer.claim}, brute force {best}")
        outcome = "proved" if answer.is_proved else "found the best" if answer.score == best else "left open"
        tally[f"{solver} {outcome}"] += 1
        lines += [f"{problem.name}: {solver}: {line}" for line in wrong]
    return lines


def compare_constraints(count: int, first: int, solvers: list[str]) -> int:
    """Compare solvers with brute force on problems that mix all constraints; return how many answers are at fault."""
    tally: Counter[str] = Counter()
    for low in range(first, first + count, BLOCK):
        problems = [tied_problem(seed) for seed in range(low, min(low + BLOCK, first + count))]
        cases = [(problem, oracle.best_score(problem)) for problem in problems]
        tally["problems"] += len(problems)
        for solver in solvers:
            lines = faults(solver, cases, tally)
            tally["at fault"] += len(lines)
            print(*lines, sep="\n", end="\n" * bool(lines), flush=True)
        print(dict(sorted(tally.items())), f"{time.process_time():.0f} s of CPU", flush=True)
    return tally["at fault"]


def main() -> int:
    """Compare so many problems, from a first seed on; the exit status tells whether all agreed."""
    if sys.argv[1] == "--constraints":
        count, first = int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
        return 1 if compare_constraints(count, first, sys.argv[4:] or list(BY_NAME)) else 0
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    tally: Counter[str] = Counter()
    for seed in range(first, first + count):
        lines = disagreements(seed, ("exact", "cp-sat"))
        tally["disagreements"] += len(lines)
        tally["problems"] += 1
        for line in lines:
            print(line, flush=True)
        if seed % 1000 == 999:
            print(dict(tally), f"{time.process_time():.0f} s of CPU", flush=True)
    print(dict(tally))
    return 1 if tally["disagreements"] else 0


if __name__ == "__main__":
    sys.exit(main())
