"""Certificates against brute force: `python -m lab.certificate_agreement PROBLEMS [SEED [MUTANTS]]`.

Each random problem is solved and certified; what is certified must be what brute force says, and no mutant of the
certificate may be accepted for a capacity that is feasible. Of a hundred problems 90 are tight in one pool, nine have
several pools, and one mixes all rules, which takes fifty times as long. Too long for the test run, which tries a few.
Prints a line for each fault, and counts.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Collection
from typing import Any

from memplan.checkers import check as untyped
from memplan.planner.formats import FORMATS
from memplan.planner.model.problem import Problem, Profile
from memplan.solvers.certificates.certify import certify
from memplan.solvers.portfolio.solve import solve
from tests.support import oracle
from tests.support.best_claims import best_goals, false_claims, is_claim_of, with_right_capacities
from tests.support.certificate_mutants import mutant
from tests.support.random_problems import random_problem
from tests.support.reasons import grown
from tests.support.tied_problems import tied_problem
from tests.support.tight_problems import FEATURES, tight_problem

CHECKER: Any = untyped
WRONG_INPUT = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
PROFILES: tuple[Profile | None, ...] = (None, "balanced", "speed", "size")
_SEVERAL = ("alignment", "conflicts", "cost", "holes", "reserved", "")


def draw(seed: int) -> Problem:
    """Draw a problem of two to seven buffers; the capacities of some are just missed."""
    kind = seed % 100
    if kind < 90:
        feature = FEATURES[seed // 2 % len(FEATURES)]
        problem = tight_problem(seed, feature)
        if kind % 2:
            best = oracle.best_score(problem)
            problem = tight_problem(seed, feature, max(0, int(best[0]) - 1) if best else None)
        return problem
    if kind < 99:
        feature = _SEVERAL[seed // 100 % len(_SEVERAL)]
        return random_problem(seed, 3 + seed % 3, frozenset({"pools", feature} - {""}))
    return tied_problem(seed, 5)


def is_accepted(text: str, lines: list[str]) -> bool:
    """Say whether the checker takes a certificate."""
    try:
        CHECKER.check(text, lines)
    except (CHECKER.Refused, *WRONG_INPUT):
        return False
    return True


def of_buffers(problem: Problem, names: Collection[int | str]) -> Problem:
    """Return the problem of some buffers, with their aliases and rigid groups, and all rules about them."""
    kept = grown(problem, names)
    fields = problem.model_dump(exclude_defaults=True)
    fields["buffers"] = [row.model_dump(exclude_defaults=True) for row in problem.buffers if row.id in kept]
    for field in ("conflicts", "may_share"):
        fields[field] = [pair for pair in getattr(problem, field) if kept.issuperset(pair)]
    fields["together"] = [some for ids in problem.together if (some := [name for name in ids if name in kept])]
    fields["bank"] = [
        {"buffers": some, "weight": use.weight}
        for use in problem.bank
        if len(some := [name for name in use.buffers if name in kept]) > 1
    ]
    return Problem.model_validate(fields)


def faults(seed: int, mutants: int, tally: Counter[str]) -> list[str]:
    """Return a line for each thing that is wrong with the certificate of a problem."""
    problem = draw(seed)
    profile = PROFILES[seed // 7 % len(PROFILES)] if len(problem.pools) > 1 else None
    plan = solve(problem, time_limit_s=10, profile=profile)
    certificate = certify(problem, plan, time_limit_s=10)
    best = best_goals(problem, plan.profile)
    tally["problems"] += 1
    tally[f"{plan.status}, {certificate.kind}{', in part' * (certificate.left_open is not None)}"] += 1
    if certificate.kind == "none":
        reason = certificate.reason or ""
        tally[f"none: {reason.split(':')[0]}"] += 1
        return [f"seed {seed}: {reason}"] if "does not accept" in reason or "in time" in reason else []
    lines, text = certificate.text.splitlines(), FORMATS["json"].write_problem(problem).decode()
    found = []
    if problem.objective != "fit" and not is_claim_of(lines[2], best):
        found.append(f"seed {seed}: certifies {lines[2]}, brute force {best}")
    if not is_accepted(text, lines):
        found.append(f"seed {seed}: is refused when it is read again")
    if best is None and oracle.best_score(of_buffers(problem, certificate.buffers)) is not None:
        found.append(f"seed {seed}: names {certificate.buffers}, which fit")
    rng, sizes = random.Random(seed), [pool.size for pool in problem.pools]
    for false in false_claims(lines) if mutants and "-" not in lines[2] else []:
        right = with_right_capacities(false, sizes)
        for k in range(mutants):
            tally["mutants"] += 1
            if is_accepted(text, mutant(right, rng) if k else right):
                found.append(f"seed {seed}: mutant {k} of {right[2]} is accepted")
    return found


def main() -> int:
    """Certify so many problems, from a first seed on; the exit status tells whether all was right."""
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    mutants = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    tally: Counter[str] = Counter()
    for seed in range(first, first + count):
        lines = faults(seed, mutants, tally)
        tally["faults"] += len(lines)
        print(*lines, sep="\n", end="\n" * bool(lines), flush=True)
        if (seed - first) % 5000 == 4999:
            print(dict(sorted(tally.items())), f"{time.process_time():.0f} s of CPU", flush=True)
    print(dict(sorted(tally.items())), f"{time.process_time():.0f} s of CPU")
    return 1 if tally["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
