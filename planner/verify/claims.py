"""The claims of a plan, compared with its placements; part of the verifier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import fsum, isclose

import numpy as np

from memplan.planner.errors import shown
from memplan.planner.model.duplicates import repeated
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.proofs import claims_of_explanation, claims_of_proof
from memplan.planner.verify.tie_rules import pairs_that_clash, pairs_that_share, weighted_clashes
from memplan.planner.verify.violation import Violation, false_claim


def claims_of_nothing(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """Yield what a plan without placements claims of them."""
    made: dict[str, object] = {"peak": plan.peak, "gap": plan.gap, "cost": plan.cost, "proof": plan.proof}
    made |= {f"pools[{k}].used": pool.used for k, pool in enumerate(plan.pools)}
    for name, claim in made.items():
        if claim is not None:
            yield false_claim(name, "null where nothing is placed", claim)
    for name, pairs in (("shared", plan.shared), ("bank_clashes", plan.bank_clashes)):
        if pairs:
            yield false_claim(name, "empty where nothing is placed", pairs)
    yield from _names_of_pools(problem, plan)
    yield from claims_of_explanation(problem, plan)


def claims(problem: Problem, plan: Plan, placed: PlacedBuffers) -> Iterator[Violation]:
    """Yield what a plan claims, status included, that its placements contradict; None claims nothing."""
    ends = np.where(problem.buffers.size > 0, placed.end, np.uint64(0))
    used = {pool.name: int(ends[placed.pool == q].max(initial=0)) for q, pool in enumerate(problem.pools)}
    peak = sum(used.values())
    if plan.status in ("infeasible", "unknown"):
        yield false_claim("status", "optimal or feasible where buffers are placed", plan.status)
    if plan.peak is not None and plan.peak != peak:
        yield false_claim("peak", f"{peak}, the sum of what the placements use", plan.peak)
    if plan.lower_bound is not None:
        yield from _claims_of_bound(plan, peak, plan.lower_bound)
    elif plan.status == "optimal" and plan.gap:
        yield false_claim("gap", "0 where the status is optimal", plan.gap)
    yield from _claims_of_pools(problem, plan, used)
    if plan.cost is not None and not isclose(plan.cost, cost := _cost(problem, placed), rel_tol=1e-9):
        yield false_claim("cost", f"{cost}, the sum of traffic x cost and of weights", plan.cost)
    if (least := plan.cost_lower_bound) is not None:
        cost = _cost(problem, placed)
        if least > cost and not isclose(least, cost, rel_tol=1e-9):
            yield false_claim("cost_lower_bound", f"at most the cost ({cost})", least)
    yield from claims_of_proof(problem, plan, placed)
    if problem.may_share or problem.bank or plan.shared or plan.bank_clashes:
        yield from _claims_of_pairs(problem, plan, placed)


def _claims_of_pairs(problem: Problem, plan: Plan, placed: PlacedBuffers) -> Iterator[Violation]:
    """Yield a wrong list of pairs, in whatever order; a plan from elsewhere that has no such list claims nothing."""
    truths = {"shared": (plan.shared, pairs_that_share), "bank_clashes": (plan.bank_clashes, pairs_that_clash)}
    for name, (claim, truth) in truths.items():
        if name in plan.model_fields_set:
            found = truth(problem, placed)
            if Counter(map(frozenset, claim)) != Counter(map(frozenset, found)):
                yield false_claim(name, f"{shown(found)} by the placements", claim)


def _claims_of_bound(plan: Plan, peak: int, bound: int) -> Iterator[Violation]:
    if bound > peak:
        yield false_claim("lower_bound", f"at most the peak ({peak})", bound)
    elif bound < peak and plan.status == "optimal":
        yield false_claim("lower_bound", f"the peak ({peak}) where the status is optimal", bound)
    if plan.gap is None or (bound > 0 and isclose(plan.gap, peak / bound - 1, rel_tol=1e-9, abs_tol=1e-9)):
        return
    if bound > 0:
        yield false_claim("gap", f"{peak / bound - 1}, by which the peak is above the bound", plan.gap)
    elif peak > 0 or plan.gap != 0:
        yield false_claim("gap", "null where no bound above 0 is known" if peak else "0 where the peak is 0", plan.gap)


def _claims_of_pools(problem: Problem, plan: Plan, used: dict[str, int]) -> Iterator[Violation]:
    yield from _names_of_pools(problem, plan)
    for k, pool in enumerate(plan.pools):
        mine = used.get(pool.name)
        if mine is None:
            continue
        if pool.used is not None and pool.used != mine:
            yield false_claim(f"pools[{k}].used", f"{mine}, the largest end offset", pool.used)
        if pool.lower_bound is not None and pool.lower_bound > mine:
            yield false_claim(f"pools[{k}].lower_bound", f"at most what is used ({mine})", pool.lower_bound)


def _names_of_pools(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """Yield pools of a plan that are not the problem's, by their names or their sizes."""
    sizes = {pool.name: pool.size for pool in problem.pools}
    for first, k in repeated([pool.name for pool in plan.pools]):
        yield false_claim(f"pools[{k}].name", f"unique (first at pools[{first}])", plan.pools[k].name)
    for k, pool in enumerate(plan.pools):
        if pool.name not in sizes:
            yield false_claim(f"pools[{k}].name", "a pool of the problem", pool.name)
        elif pool.size is not None and pool.size != sizes[pool.name]:
            yield false_claim(f"pools[{k}].size", f"{shown(sizes[pool.name])} as in the problem", pool.size)


def _cost(problem: Problem, placed: PlacedBuffers) -> float:
    """Return the sum over the placed buffers of some bytes of traffic x cost of the pool, and of weights of pairs."""
    table = problem.buffers
    prices = np.array([pool.cost for pool in problem.pools])
    moved = np.where(table.traffic >= 0, table.traffic, table.size)
    counted = (placed.pool >= 0) & (table.size > 0)
    weights = [weight for _, weight in weighted_clashes(problem, placed)]
    return fsum((*(moved[counted] * prices[placed.pool[counted]]).tolist(), *weights))
