"""The verifier together with the hash of the problem, which it cannot make by itself: all that a plan can claim."""

from __future__ import annotations

from memplan.planner.instance.canonical import problem_hash
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify import verifier
from memplan.planner.verify.violation import Violation, false_claim


def verify(problem: Problem, plan: Plan) -> tuple[Violation, ...]:
    """Return every violation of a plan; none for a valid one.

    Placements must keep the problem's rules, and what the plan claims must be so: the hash of the problem, peak, used
    bytes, gap, cost, shared offsets and bank clashes, the status, and the lower bound as far as the buffers that its
    proof names give it. A proof by search or by engines is not repeated. Of each kind, 1,000 violations are listed.
    """
    found = verifier.verify(problem, plan)
    if plan.problem_hash is None or plan.problem_hash == (truth := problem_hash(problem)):
        return found
    return *found, false_claim("problem_hash", f"{truth}, that of the problem", plan.problem_hash)
