"""What is known of a problem, in nobody's spelling: what is kept, compared, and told to each asker in his own.

Buffers go by their place in the canonical order, memories by number, and offsets count in the instance's units. So what
one asker's search found is right for everybody whose problem has the same hash.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np

from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.planner.bounds.lower_bound import Bound, Witness
from memplan.planner.instance.compile import lift
from memplan.planner.instance.contents import traffic_unit
from memplan.planner.instance.objective import Score, score, used
from memplan.planner.model.buffer_table import I64, column
from memplan.planner.model.plan import Plan, ProofKind, Status, StopReason
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.warm_start import assignment_of
from memplan.solvers.search import to_plan
from memplan.solvers.search.explanation import explain
from memplan.solvers.search.incumbent import Assignment, SearchState

_LOG = logging.getLogger("memplan")
_SMALL = 1_000
_ROUNDING = 1e-12
"""How much of a cost's bound is given up where it is told in another unit of traffic."""


@dataclass(frozen=True, eq=False)
class CachedPlan:
    """The best plan known of a problem, the best bound, and how long was searched; no `pool`: no plan.

    `bound` is a score, in the units of an instance whose traffic counts in `traffic_unit`s; `total` the least sum of
    what is used of the memories, in units. `kind` and `by` tell how the bound was proved, or that nothing fits.
    """

    status: Status
    pool: I64 | None = None  # (n,), in canonical order
    offset: I64 | None = None  # (n,)
    used: tuple[int, ...] = ()  # of each memory
    bound: Score = ()
    total: int = 0
    traffic_unit: int = 1
    kind: ProofKind | None = None
    by: str | None = None
    solver: str | None = None
    searched_s: float = 0.0

    @classmethod
    def of(cls, posed: CompiledProblem, plan: Plan, searched_s: float) -> CachedPlan | None:
        """Put a valid plan in nobody's spelling; None where its offsets lie between units and do not sink to whole."""
        if plan.status in ("infeasible", "unknown"):
            return cls(plan.status, by="an earlier search", searched_s=searched_s)
        found = assignment_of(posed.problem, posed.instance, plan.placements)
        if found is None:
            return None
        pool, offset = found
        return cls(
            status=plan.status,
            pool=column(pool[posed.order]),
            offset=column(offset[posed.order]),
            used=tuple(used(posed.instance, pool, offset)),
            bound=_bound(posed, plan) if plan.status == "feasible" else score(posed.instance, pool, offset),
            total=(plan.lower_bound or 0) // posed.instance.unit,
            traffic_unit=traffic_unit(posed.instance),
            kind=None if plan.proof is None else plan.proof.kind,
            by=None if plan.proof is None else plan.proof.by,
            solver=plan.solver,
            searched_s=searched_s,
        )

    @property
    def is_final(self) -> bool:
        """Whether nothing can be better."""
        return self.status in ("optimal", "infeasible")

    @property
    def is_small(self) -> bool:
        """Whether it is written in no time."""
        return self.pool is None or len(self.pool) <= _SMALL

    def score(self, posed: CompiledProblem) -> Score:
        """Return the plan's score in the asker's numbers; worse than any where there is no plan."""
        found = self.assignment(posed)
        return (float("inf"),) if found is None else score(posed.instance, *found)

    def assignment(self, posed: CompiledProblem) -> tuple[I64, I64] | None:
        """Return (memory, offset) of each buffer of the asker's instance."""
        if self.pool is None or self.offset is None:
            return None
        pool, offset = np.empty_like(self.pool), np.empty_like(self.offset)
        pool[posed.order], offset[posed.order] = self.pool, self.offset
        return column(pool), column(offset)

    def least(self, posed: CompiledProblem) -> Score:
        """Return the bound in the asker's numbers."""
        mine = traffic_unit(posed.instance)
        if posed.instance.objective != "cost" or not self.bound or mine == self.traffic_unit:
            return self.bound
        return (self.bound[0] * (mine / self.traffic_unit) * (1 - _ROUNDING), *self.bound[1:])


def plan_of(known: CachedPlan, posed: CompiledProblem, stop_reason: StopReason | None) -> Plan | None:
    """Return what is known as a plan of the asker's problem, verified; None where it does not pass."""
    instance, problem = posed.instance, posed.problem
    search = SearchState(instance, deadline=float("inf"))
    assignment = known.assignment(posed)
    if assignment is None:
        if known.status == "infeasible" and search.infeasible is None:
            search.infeasible = Witness(known.kind or "search", by=known.by)
        return _nothing(posed, search, stop_reason)
    value = score(instance, *assignment)
    least = value if known.status == "optimal" else known.least(posed)
    if least > search.proof.score:
        search.proof = Bound(least, Witness(known.kind or "search", by=known.by), known.total)
    elif known.total > search.proof.total:
        search.proof = replace(search.proof, total=known.total)
    search.best = Assignment(*assignment, value, known.solver or "")
    search.stop_reason = stop_reason
    cost = value[0] if problem.objective == "cost" else None
    plan = to_plan.found(problem, instance, search, lift(problem, instance, *assignment), known.solver or "", cost)
    if violations := verify(problem, plan):
        _LOG.error("a known plan of %s did not pass the verifier: %s", posed.hash, violations[0].rule)
        return None
    return plan


def nothing_known(posed: CompiledProblem, stop_reason: StopReason) -> Plan:
    """Return what is told of a problem that nobody searched long enough for."""
    return _nothing(posed, SearchState(posed.instance, deadline=float("inf")), stop_reason)


def _nothing(posed: CompiledProblem, search: SearchState, stop_reason: StopReason | None) -> Plan:
    search.stop_reason = stop_reason
    return to_plan.nothing(posed.problem, posed.instance, search, explain(posed.problem, posed.instance, search))


def better_of(posed: CompiledProblem, known: CachedPlan | None, found: CachedPlan) -> CachedPlan:
    """Join what is known with what was found: the better plan, the better bound, the longer search.

    Where nothing of `found` is better, it is `known` itself.
    """
    if known is None or (known.status == "unknown" and found.status != "unknown"):
        return found if known is None else replace(found, searched_s=max(known.searched_s, found.searched_s))
    if known.is_final or (found.status == "unknown" and found.searched_s <= known.searched_s):
        return known
    if found.is_final:
        return found
    searched_s = max(known.searched_s, found.searched_s)
    if found.status == "unknown":
        return replace(known, searched_s=searched_s)
    best = found if found.score(posed) < known.score(posed) else known
    bound = found if found.least(posed) > known.least(posed) else known
    joined = replace(
        best,
        bound=bound.bound,
        traffic_unit=bound.traffic_unit,
        kind=bound.kind,
        by=bound.by,
        total=max(known.total, found.total),
        searched_s=searched_s,
    )
    if joined.least(posed) >= joined.score(posed):
        joined = replace(joined, status="optimal")
    is_same = best is known and bound is known and joined.total == known.total and searched_s == known.searched_s
    return known if is_same and joined.status == known.status else joined


def _bound(posed: CompiledProblem, plan: Plan) -> Score:
    """Return the bound that a plan tells: what is not told of a memory is 0."""
    unit = posed.instance.unit
    least = tuple(-(-(pool.lower_bound or 0) // unit) for pool in reversed(plan.pools))
    return least if posed.problem.objective != "cost" else (plan.cost_lower_bound or 0.0, *least)
