"""Brute force, the exact search and CP-SAT on many small random problems: `python -m tests.agreement 200000 [SEED]`.

Too long for the test run; `test_agreement.py` runs a few. Prints a line for each disagreement, and counts at the end.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from planner.compiling import compile_problem, lift
from planner.instance import Instance
from planner.problem import Problem
from solvers.registry import BY_NAME
from solvers.search import Shared
from tests import oracle
from tests.solvers.small_problems import small_problems
from tests.solvers.tight_problems import FEATURES, tight_problem

LIMIT_S = 30.0


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
    search = Shared(instance, deadline=time.monotonic() + LIMIT_S, trusted=frozenset({solver}))
    if not search.is_over and len(instance):
        BY_NAME[solver].load()(instance, search)
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
    p = len(instance.memories)
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


def main() -> int:
    """Compare so many problems, from a first seed on; the exit status tells whether all agreed."""
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
