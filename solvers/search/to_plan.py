"""Plans of what a search found: what the placements use, how far the bound is, and the proof, or the explanation."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from memplan.planner import __version__
from memplan.planner.bounds.lower_bound import Bound
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.instance.instance import Instance
from memplan.planner.instance.pair_report import bank_clashes, shared_pairs
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Explanation, Plan, PoolUse, Proof
from memplan.planner.model.problem import Problem
from memplan.solvers.search.explanation import explain
from memplan.solvers.search.incumbent import least_sum

_UNTOLD = Plan.model_construct(version=__version__)


def found(
    problem: Problem, instance: Instance, bound: Bound, placements: PlacementTable, by: str, cost: float | None
) -> Plan:
    """Make the plan of placements in the problem's order, in its pools; `cost` is that of objective `cost`.

    It is optimal where the bound says so.
    """
    ends = np.where(problem.buffers.size > 0, placements.offset + problem.buffers.size, 0)
    used = [int(ends[placements.pool == q].max(initial=0)) for q in range(len(problem.pools))]
    peaks, least = tuple(reversed(used)), bound.score[-len(used) :]
    least_peaks = tuple(int(end) * instance.unit for end in least)
    costs, least_costs = (() if cost is None else (cost,)), bound.score[: -len(used)]
    is_best = (*costs, *peaks) <= (*least_costs, *least_peaks)
    total = sum(used) if is_best else least_sum(instance, bound) * instance.unit
    least_cost = None if cost is None else float(min(cost, *least_costs))
    goals: list[tuple[float, float | None]] = [] if cost is None else [(cost, least_cost)]
    goals += [(sum(used), total)] if len(used) == 1 and cost is None else zip(peaks, least_peaks, strict=True)
    # A pool's bound holds only where all later ones, which come first here, are at theirs.
    n_bounded = 1 + next((k for k, mine in enumerate(peaks) if mine != least_peaks[k]), len(peaks))
    bounds = (None,) * (len(peaks) - n_bounded) + least_peaks[:n_bounded][::-1]
    witness = bound.witness
    proved_by = tuple(problem.buffers.ids[int(instance.source[i])] for i in witness.buffers) if is_best else ()
    proof = Proof.model_construct(kind=witness.kind, time=witness.time, buffers=proved_by, by=witness.by)
    facts: dict[str, object] = {
        "status": "optimal" if is_best else "feasible",
        "peak": sum(used),
        "lower_bound": total,
        "gap": 0.0 if is_best else gap_of(goals),
        "cost": cost,
        "cost_lower_bound": least_cost,
        "pools": tuple(
            PoolUse.model_construct(name=pool.name, used=u, lower_bound=b, size=pool.size)
            for pool, u, b in zip(problem.pools, used, bounds, strict=True)
        ),
        "placements": placements,
        "shared": shared_pairs(problem, instance, placements) if problem.may_share else (),
        "bank_clashes": bank_clashes(problem, placements) if problem.bank else (),
        "solver": by,
        "proof": proof if is_best else None,
        "problem_hash": problem_hash(problem, instance),
    }
    return _UNTOLD.model_copy(update=facts)  # which the verifier checks


def gap_of(goals: Iterable[tuple[float, float | None]]) -> float | None:
    """Return how far the first of some goals, (value, bound), that is above its bound is above it, as a part of it.

    It is 0 where all are at their bounds, and None where that bound is 0 or not known.
    """
    for value, least in goals:
        if least is None or value > least:
            return value / least - 1 if least else None
    return 0.0


def nothing(problem: Problem, instance: Instance, bound: Bound, because: Explanation | None = None) -> Plan:
    """Make the answer where nothing fits, or nothing that fits was found; explained by the bound if by nothing else."""
    return Plan(
        status="unknown" if bound.nothing_fits is None else "infeasible",
        pools=tuple(PoolUse(name=pool.name, size=pool.size) for pool in problem.pools),
        explanation=because or explain(problem, instance, bound),
        problem_hash=problem_hash(problem, instance),
        version=__version__,
    )
