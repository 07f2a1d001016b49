"""Small random problems for comparing certificates with brute force, and that comparison."""

from collections import Counter
from collections.abc import Collection, Iterator

from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem, Profile
from memplan.solvers.certificates.certify import Certificate
from tests.checkers.best_claims import best_goals, is_claim_of
from tests.support import oracle
from tests.support.random_problems import random_problem
from tests.support.reasons import tied_buffers
from tests.support.tied_problems import tied_problem
from tests.support.tight_problems import FEATURES, tight_problem

PROFILES: tuple[Profile | None, ...] = (None, "balanced", "speed", "size")
_SEVERAL = ("alignment", "conflicts", "cost", "holes", "reserved", "")


def draw(seed: int) -> Problem:
    """Return a random problem of two to seven buffers.

    In some problems, the best peak exceeds the capacity by one byte.
    """
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


def problem_of_buffers(problem: Problem, names: Collection[int | str]) -> Problem:
    """Return the problem of the named buffers only, with aliases, rigid groups and all constraints on these."""
    kept = tied_buffers(problem, names)
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


def wrong_claims(problem: Problem, plan: Plan, certificate: Certificate, tally: Counter[str]) -> Iterator[str]:
    """Yield the claims of a certificate that brute force contradicts, or the reason if a certificate is missing."""
    tally[f"{plan.status}, {certificate.kind}{', in part' * (certificate.left_open is not None)}"] += 1
    if certificate.kind == "none":
        reason = certificate.reason or ""
        if "refuses the proof" in reason or "in time" in reason:
            yield reason
        return
    claim, best = certificate.text.splitlines()[2], best_goals(problem, plan.profile)
    if problem.objective != "fit" and not is_claim_of(claim, best):
        yield f"certifies {claim}, but brute force finds {best}"
    if best is None and oracle.best_score(problem_of_buffers(problem, certificate.buffers)) is not None:
        yield f"claims that {certificate.buffers} cannot fit, but they do"
