"""Cached plans in the canonical form of `GET /v1/plans/{problem_hash}`, and the translation back to a problem."""

import numpy as np

from memplan.api.service.cache.cached_plan import CachedPlan, result_of
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.planner import __version__
from memplan.planner.model.buffer_table import column
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan, PoolUse


def canonical_plan(problem_hash: str, known: CachedPlan) -> Plan:
    """Return a cached plan in canonical form: buffers and pools are numbers, and sizes count the problem's units.

    Buffer k is the k-th in `memplan.planner.instance.canonical.canonical_order`, and pool "0" is the first pool.
    """
    names = tuple(map(str, range(len(known.used))))
    peak = sum(known.used)
    lower_bound = peak if known.is_final else known.total
    return Plan(
        status=known.status,
        peak=peak,
        lower_bound=lower_bound,
        gap=None if lower_bound == 0 < peak else peak / lower_bound - 1 if lower_bound else 0.0,
        pools=tuple(PoolUse(name=name, used=used) for name, used in zip(names, known.used, strict=True)),
        placements=PlacementTable(tuple(range(len(known.pool))), names, known.pool, known.offset),
        solver=known.solver,
        wall_time_s=round(known.searched_s, 6),
        problem_hash=problem_hash,
        version=__version__,
    )


def translate_plan(compiled: CompiledProblem, plan: Plan) -> Plan | None:
    """Return a canonical plan, verified, in the terms of a problem; None if it belongs to another problem."""
    places, count = plan.placements, len(compiled.instance)
    if compiled.hash != plan.problem_hash or places.ids != tuple(range(count)):
        return None
    names = column([int(name) if name.isdecimal() else -1 for name in places.pool_names] or [0])
    pool = names[places.pool]
    if not np.isin(pool, np.arange(len(compiled.instance.pools))).all():
        return None
    # Another process proved the plan optimal, and this process cannot check the proof, so return the plan as feasible.
    result = result_of(CachedPlan("feasible", column(pool), places.offset, solver=plan.solver), compiled)
    return None if result is None else result.plan
