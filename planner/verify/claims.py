"""The part of the verifier that compares a plan's claims with its placements.

The cost of shared bytes is computed independently of the solvers, by a sweep over each pool's offsets.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain
from math import fsum, isclose

import numpy as np

from memplan.planner.errors import excerpt
from memplan.planner.model.columns import repeated_positions
from memplan.planner.model.plan import Plan, WeightedUse
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import PEAK_THEN_COST, counts_cost
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.proofs import claims_of_explanation, claims_of_proof
from memplan.planner.verify.tie_rules import pairs_that_clash, pairs_that_share, weighted_clashes
from memplan.planner.verify.violation import Violation, false_claim


def claims_without_placements(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """Yield a violation for each claim about placements that a plan makes although it has no placements."""
    made: dict[str, object] = {"peak": plan.peak, "gap": plan.gap, "cost": plan.cost, "proof": plan.proof}
    made |= {f"pools[{k}].used": pool.used for k, pool in enumerate(plan.pools)}
    for name, claim in made.items():
        if claim is not None:
            yield false_claim(name, "null if nothing is placed", claim)
    for name, pairs in (("shared", plan.shared), ("bank_clashes", plan.bank_clashes), ("reused", plan.reused)):
        if pairs:
            yield false_claim(name, "empty if nothing is placed", pairs)
    yield from _claims_of_pool_names(problem, plan)
    yield from claims_of_explanation(problem, plan)


def claims(problem: Problem, plan: Plan, placed: PlacedBuffers) -> Iterator[Violation]:
    """Yield a violation for each claim of the plan, including its status, that contradicts the placements."""
    used = placed.pool_uses()
    peak = sum(used.values())
    if plan.status in ("infeasible", "unknown"):
        yield false_claim("status", "optimal or feasible if buffers are placed", plan.status)
    if plan.peak is not None and plan.peak != peak:
        yield false_claim("peak", f"{peak}, the sum of the bytes used in all pools", plan.peak)
    if plan.lower_bound is not None:
        if plan.lower_bound > peak:
            yield false_claim("lower_bound", f"at most the peak ({peak})", plan.lower_bound)
        elif (
            plan.lower_bound < peak
            and plan.status == "optimal"
            and len(used) == 1
            and not (plan.profile == "speed" or (problem.objective == "cost" and plan.profile is None))
        ):
            yield false_claim("lower_bound", f"the peak ({peak}) if the status is optimal", plan.lower_bound)
    if plan.gap is not None:
        yield from _claims_of_gap(problem, plan, used, plan.gap)
    yield from _claims_of_pools(problem, plan, used)
    if (plan.cost, plan.cost_lower_bound, plan.cost_limit) != (None, None, None):
        yield from claims_of_cost(plan, _total_cost(problem, placed))
    if plan.weighted is not None:
        yield from _claims_of_weights(plan, plan.weighted, used)
    yield from claims_of_proof(problem, plan, placed)
    if (problem.reuse or plan.reused) and "reused" in plan.model_fields_set:
        yield from claims_of_reuse(problem, plan, placed)
    if problem.may_share or problem.bank or plan.shared or plan.bank_clashes:
        yield from _claims_of_pairs(problem, plan, placed)


def claims_of_cost(plan: Plan, cost: float) -> Iterator[Violation]:
    """Yield a violation for each false claim about the cost, its lower bound and its limit."""
    if plan.cost is not None and not isclose(plan.cost, cost, rel_tol=1e-9):
        yield false_claim("cost", f"{cost}, the sum of traffic x cost and of prices of pairs", plan.cost)
    least, most = plan.cost_lower_bound, plan.cost_limit
    if least is not None and not isclose(least, cost, rel_tol=1e-9):
        if least > cost:
            yield false_claim("cost_lower_bound", f"at most the cost ({cost})", least)
        elif plan.status == "optimal":
            yield false_claim("cost_lower_bound", f"the cost ({cost}) if the status is optimal", least)
    if most is not None and most < cost and not isclose(most, cost, rel_tol=1e-9):
        yield false_claim("cost_limit", f"at least the cost ({cost})", most)


def _claims_of_weights(plan: Plan, weighted: WeightedUse, used: dict[str, int]) -> Iterator[Violation]:
    """Yield a violation for each false claim about the weighted sum of the pools' used bytes."""
    if unknown := weighted.weights.keys() - used.keys():
        yield false_claim("weighted.weights", "pools of the problem", min(unknown))
    truth = fsum(weight * used.get(name, 0) for name, weight in weighted.weights.items())
    if not isclose(weighted.sum, truth, rel_tol=1e-9):
        yield false_claim("weighted.sum", f"{truth}, the sum of weight x used", weighted.sum)
    least = weighted.lower_bound
    is_equal = least is not None and isclose(least, truth, rel_tol=1e-9)
    if least is not None and not is_equal and (least > truth or plan.status == "optimal"):
        rule = "the" if plan.status == "optimal" else "at most the"
        yield false_claim("weighted.lower_bound", f"{rule} sum ({truth})", least)


def _claims_of_pairs(problem: Problem, plan: Plan, placed: PlacedBuffers) -> Iterator[Violation]:
    """Yield a violation for each wrong list of pairs that share an offset or touch a common bank.

    The order of a list does not matter, and an absent list claims nothing.
    """
    truths = {"shared": (plan.shared, pairs_that_share), "bank_clashes": (plan.bank_clashes, pairs_that_clash)}
    for name, (claim, truth) in truths.items():
        if name in plan.model_fields_set:
            claims = truth(problem, placed)
            if Counter(map(frozenset, claim)) != Counter(map(frozenset, claims)):
                yield false_claim(name, f"{excerpt(claims)} by the placements", claim)


def _claims_of_gap(problem: Problem, plan: Plan, used: dict[str, int], gap: float) -> Iterator[Violation]:
    """Yield a violation unless the gap is value / bound - 1, for the first goal whose value exceeds its bound.

    Older versions wrote the gap between the peak and the sum of the pools' bounds, so this number is also accepted.
    """
    peak, bound = sum(used.values()), plan.lower_bound
    is_peak_alone = len(problem.pools) == 1 and plan.cost_lower_bound is None
    goals = [(peak, bound)] if is_peak_alone else _goals_with_bounds(problem, plan, used)
    value, least = next(((value, least) for value, least in goals if least is None or value > least), (1, 1))
    gaps = [value / least - 1] if least else []
    gaps += [peak / bound - 1] if bound else [0.0] if bound is not None and peak == 0 else []
    if plan.status == "optimal" and bound is None:
        if gap:
            yield false_claim("gap", "0 if the status is optimal", gap)
        return
    gaps = [0.0] if plan.status == "optimal" else gaps
    if not any(isclose(gap, right, rel_tol=1e-9, abs_tol=1e-9) for right in gaps):
        rule = f"{gaps[0]}, by which the peak is above the bound" if gaps else "null if no bound above 0 is known"
        yield false_claim("gap", rule, gap)


def _is_cost_alone(problem: Problem, plan: Plan) -> bool:
    return problem.objective == "cost" and bool(problem.reuse) and plan.profile is None


def _goals_with_bounds(problem: Problem, plan: Plan, used: dict[str, int]) -> list[tuple[float, float | None]]:
    """Return each goal's value and claimed bound (or None), in order of the goals' precedence."""
    bounds = {pool.name: pool.lower_bound for pool in plan.pools}
    ends = [(used[pool.name], bounds.get(pool.name)) for pool in reversed(problem.pools)]
    if plan.weighted is not None:
        return [(plan.weighted.sum, plan.weighted.lower_bound)]
    if plan.cost_lower_bound is None or plan.cost is None:
        return [*ends]
    cost = [(plan.cost, plan.cost_lower_bound)]
    if problem.objective == PEAK_THEN_COST:
        return [*ends, *cost]
    return [*ends[:1], *cost, *ends[1:]] if plan.profile == "balanced" else [*cost, *ends]


def _claims_of_pools(problem: Problem, plan: Plan, used: dict[str, int]) -> Iterator[Violation]:
    """Yield a violation for each false claim about pools: names, sizes, used bytes and bounds."""
    yield from _claims_of_pool_names(problem, plan)
    for k, pool in enumerate(plan.pools):
        mine = used.get(pool.name)
        if mine is None:
            continue
        if pool.used is not None and pool.used != mine:
            yield false_claim(f"pools[{k}].used", f"{mine}, the largest end offset", pool.used)
        if pool.lower_bound is None or pool.lower_bound == mine:
            continue
        if pool.lower_bound > mine:
            yield false_claim(f"pools[{k}].lower_bound", f"at most the used bytes ({mine})", pool.lower_bound)
        elif plan.status == "optimal" and plan.weighted is None and not _is_cost_alone(problem, plan):
            yield false_claim(f"pools[{k}].lower_bound", f"{mine} if the status is optimal", pool.lower_bound)


def _claims_of_pool_names(problem: Problem, plan: Plan) -> Iterator[Violation]:
    sizes = {pool.name: pool.size for pool in problem.pools}
    for first, k in repeated_positions([pool.name for pool in plan.pools]):
        yield false_claim(f"pools[{k}].name", f"unique (first at pools[{first}])", plan.pools[k].name)
    for k, pool in enumerate(plan.pools):
        if pool.name not in sizes:
            yield false_claim(f"pools[{k}].name", "a pool of the problem", pool.name)
        elif pool.size is not None and pool.size != sizes[pool.name]:
            yield false_claim(f"pools[{k}].size", f"{excerpt(sizes[pool.name])} as in the problem", pool.size)


def _total_cost(problem: Problem, placed: PlacedBuffers) -> float:
    table = problem.buffers
    prices = np.array([pool.cost for pool in problem.pools])
    moved = np.where(table.traffic >= 0, table.traffic, table.size)
    counted = (placed.pool >= 0) & (table.size > 0)
    weights = [weight for _, weight in weighted_clashes(problem, placed)]
    weights += [cost for _, cost in costly_pairs(problem, placed)]
    return fsum((*(moved[counted] * prices[placed.pool[counted]]).tolist(), *weights))


Id = int | str
Times = list[tuple[int, int]]


def costly_pairs(problem: Problem, placed: PlacedBuffers) -> list[tuple[tuple[Id, Id], int]]:
    """Return (pair, cost) for each `reuse` pair that costs: the buffers share bytes and are never alive together.

    A pair in several entries is listed once for each. A pair in explicit conflict incurs no cost: if it shares bytes,
    the verifier reports a violation of the conflict.
    """
    together = _sharing_pairs(problem, placed)
    times = _times_alive(problem, placed, {i for pair in together for i in pair})
    apart = {frozenset(placed.root_of(name) for name in pair) for pair in problem.conflicts} if together else set()

    def is_paid(a: Id, b: Id) -> bool:
        pair = frozenset((placed.root_of(a), placed.root_of(b)))
        if pair not in together or pair in apart:
            return False
        mine, others = (times[i] for i in pair)
        return not any(start < until and since < end for start, end in mine for since, until in others)

    return [(pair, row.cost) for row in problem.reuse for pair in row.pairs if is_paid(*pair)]


def _sharing_pairs(problem: Problem, placed: PlacedBuffers) -> set[frozenset[int]]:
    """Return the `reuse` pairs that share bytes of one pool, each as the set of its root buffers' positions."""
    partners: dict[int, set[int]] = defaultdict(set)
    for a, b in chain.from_iterable(row.pairs for row in problem.reuse):
        i, j = placed.root_of(a), placed.root_of(b)
        partners[i].add(j)
        partners[j].add(i)
    groups: set[frozenset[int]] = set()
    for q in range(len(problem.pools)):
        mine = [i for i in partners if placed.pool[i] == q and problem.buffers.size[i] > 0]
        # At equal offsets, process ends before starts, so that buffers that merely touch do not overlap.
        events = [(int(placed.offset[i]), 1, i) for i in mine] + [(int(placed.end[i]), 0, i) for i in mine]
        here: set[int] = set()
        for _, begins, i in sorted(events):
            if begins:
                groups.update(frozenset((i, j)) for j in partners[i] & here)
                here.add(i)
            else:
                here.remove(i)
    return groups


def _times_alive(problem: Problem, placed: PlacedBuffers, buffers: set[int]) -> dict[int, Times]:
    times: dict[int, Times] = {i: [] for i in buffers}
    if buffers:
        table, home = problem.buffers, placed.lifetime_root
        for k in np.flatnonzero(np.isin(home, list(buffers))).tolist():
            times[int(home[k])].append((int(table.start[k]), int(table.end[k])))
    return times


def claims_of_reuse(problem: Problem, plan: Plan, placed: PlacedBuffers) -> Iterator[Violation]:
    """Yield a violation for each false claim about `reuse` pairs: a wrong pair, cost or order of use.

    If costs are not minimised, no pair may be listed; a plan without a cost need not list any.
    """
    if plan.cost is None and not plan.reused:
        return
    paid_now = costly_pairs(problem, placed) if counts_cost(problem.objective) else []
    paid = sorted((*sorted(map(str, pair)), cost) for pair, cost in paid_now)
    if sorted((*sorted(map(str, row.buffers)), row.cost) for row in plan.reused) != paid:
        listed = [pair for *pair, _ in paid]
        yield false_claim("reused", f"{excerpt(listed)} by the placements", [row.buffers for row in plan.reused])
        return
    times = _times_alive(problem, placed, {placed.root_of(name) for row in plan.reused for name in row.buffers})
    for k, row in enumerate(plan.reused):
        for a, b in (row.buffers, row.buffers[::-1]):
            ends, starts = ([time[side] for time in times[placed.root_of(x)]] for side, x in ((1, a), (0, b)))
            is_before = max(ends, default=0) <= min(starts, default=0) or not ends or not starts
            if (row.first, row.then) == (a, b) and not is_before:
                yield false_claim(f"reused[{k}].first", f"the one that is dead before {excerpt(b)} is born", row.first)
        if {row.first, row.then} not in (set(row.buffers), {None}):
            yield false_claim(f"reused[{k}]", "an order of its two buffers", (row.first, row.then))
