"""The best known result of a problem in canonical form: stored, compared, and translated back for each caller.

Buffers are numbered in the canonical order, pools by their position, and offsets count in the instance's units. So a
plan that was found for one problem is one of every problem with the same hash. Nothing is believed because it is kept:
plans are verified for each caller, and bounds are made anew from the caller's own bytes. What only a search has proved
is told to those who ask for the same bytes of the process that searched, and is a start for all others.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np

from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.planner.bounds.lower_bound import Witness, lower_bound
from memplan.planner.instance.contents import traffic_unit
from memplan.planner.instance.objective import Score, score
from memplan.planner.model.buffer_table import I64, column
from memplan.planner.model.plan import Plan, ProofKind, Status
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.one_search import planned
from memplan.solvers.portfolio.warm_start import assignment_of
from memplan.solvers.search import to_plan
from memplan.solvers.search.result import Assignment, SolveResult

_LOG = logging.getLogger("memplan")
_SMALL = 1_000
_ROUNDING = 1e-12
"""The part of a cost's bound that is given up where it is told in another unit of traffic."""


@dataclass(frozen=True, eq=False)
class CachedPlan:
    """The best known plan of a problem, the best bound, and how long was searched; without a `pool` there is no plan.

    `bound` is a score, in the units of an instance whose traffic counts in `traffic_unit`s; `total` the least sum of
    what is used of the pools, in units. `kind` and `by` tell how the bound was proved, or that nothing fits; `unit` is
    that of the problem for which this process proved it, in bytes, None where it did not.
    """

    status: Status
    pool: I64 | None = None  # (n,), in canonical order
    offset: I64 | None = None  # (n,)
    used: tuple[int, ...] = ()  # of each pool
    bound: Score = ()
    total: int = 0
    traffic_unit: int = 1
    kind: ProofKind | None = None
    by: str | None = None
    solver: str | None = None
    searched_s: float = 0.0
    unit: int | None = None

    @classmethod
    def of(cls, compiled: CompiledProblem, result: SolveResult, searched_s: float) -> CachedPlan | None:
        """Put a valid result of this process in canonical form.

        None where offsets lie between units and do not sink to whole ones.
        """
        plan, instance = result.plan, compiled.instance
        if plan.status in ("infeasible", "unknown"):
            return cls(plan.status, by="an earlier search", searched_s=searched_s, unit=instance.unit)
        found = result.assignment or _assignment(compiled, plan)
        if found is None:
            return None
        bound = _bound(compiled, plan) if result.bound is None else result.bound.score
        return cls(
            status=plan.status,
            pool=column(found.pool[compiled.order]),
            offset=column(found.offset[compiled.order]),
            used=tuple(int(end) for end in reversed(found.score[-len(instance.pools) :])),
            bound=bound if plan.status == "feasible" else found.score,
            total=(plan.lower_bound or 0) // instance.unit,
            traffic_unit=traffic_unit(instance) if instance.objective == "cost" else 1,
            kind=None if plan.proof is None else plan.proof.kind,
            by=None if plan.proof is None else plan.proof.by,
            solver=plan.solver,
            searched_s=searched_s,
            unit=instance.unit,
        )

    @property
    def without_claims(self) -> CachedPlan:
        """The plan alone: of one that was called final, it is not known how long was searched."""
        status: Status = "unknown" if self.pool is None else "feasible"
        searched_s = 0.0 if self.is_final else self.searched_s
        return CachedPlan(
            status, self.pool, self.offset, self.used, solver=self.solver, searched_s=searched_s, traffic_unit=1
        )

    @property
    def is_final(self) -> bool:
        """True where a search has proved, as it says, that nothing can be better."""
        return self.status in ("optimal", "infeasible")

    @property
    def is_small(self) -> bool:
        """True where writing it takes no time worth a thread."""
        return self.pool is None or len(self.pool) <= _SMALL

    def score(self, compiled: CompiledProblem) -> Score:
        """Return the plan's score in the numbers of a problem; worse than any where there is no plan."""
        found = self.assignment(compiled)
        return (float("inf"),) if found is None else found.score

    def assignment(self, compiled: CompiledProblem) -> Assignment | None:
        """Return the assignment of the buffers of a problem's instance; None where there is no plan of so many."""
        n, n_pools = len(compiled.instance), len(compiled.instance.pools)
        if self.pool is None or self.offset is None or not n == len(self.pool) == len(self.offset):
            return None
        if n and (self.pool.min() < 0 or self.pool.max() >= n_pools or self.offset.min() < 0):
            return None
        pool, offset = np.empty_like(self.pool), np.empty_like(self.offset)
        pool[compiled.order], offset[compiled.order] = self.pool, self.offset
        value = score(compiled.instance, pool, offset)
        return Assignment(column(pool), column(offset), value, self.solver or "")

    def least(self, compiled: CompiledProblem) -> Score:
        """Return the bound in the numbers of a problem."""
        if compiled.instance.objective != "cost" or not self.bound:
            return self.bound
        mine = traffic_unit(compiled.instance)
        return (
            self.bound
            if mine == self.traffic_unit
            else (self.bound[0] * (mine / self.traffic_unit) * (1 - _ROUNDING), *self.bound[1:])
        )


def result_of(known: CachedPlan, compiled: CompiledProblem, is_of_now: bool = False) -> SolveResult | None:
    """Return what is cached as a result for a problem, verified; None where it does not pass.

    What is claimed of it is told where the problem's own live sets show it, or where this process proved it for the
    same bytes; that nothing fits, by the problem's own live sets alone. The result of a search that is running, or has
    just ended, `is_of_now`, and is told as it is.
    """
    bound = lower_bound(compiled.instance)
    known = known if is_of_now or known.unit == compiled.instance.unit else known.without_claims
    assignment = known.assignment(compiled)
    if assignment is None:
        if known.pool is not None:
            _LOG.error("a cached plan has other buffers or pools")
            return None
        if known.status == "infeasible" and is_of_now and bound.nothing_fits is None:
            bound = replace(bound, nothing_fits=Witness(known.kind or "search", by=known.by))
        return SolveResult(to_plan.nothing(compiled.problem, compiled.instance, bound), None, bound)
    least = assignment.score if known.status == "optimal" else known.least(compiled)
    if least > bound.score:
        # The witness of a bound that is better for another order of buffers is in the words of that problem.
        kind: ProofKind = "engines" if known.kind == "engines" else "search"
        witness = Witness(kind, by=known.by or "an earlier search")
        bound = replace(bound, score=least, witness=witness, total=known.total)
    elif known.total > bound.total:
        bound = replace(bound, total=known.total)
    plan = planned(compiled.problem, compiled.instance, assignment, bound)
    if violations := verify(compiled.problem, plan):
        _LOG.error("a cached plan did not pass the verifier: %s", violations[0].rule)
        return None
    return SolveResult(plan, assignment, bound)


def nothing_known(compiled: CompiledProblem) -> SolveResult:
    """Return the result of a problem whose search was cancelled before it found anything."""
    bound = lower_bound(compiled.instance)
    plan = to_plan.nothing(compiled.problem, compiled.instance, bound)
    return SolveResult(plan, None, bound, "cancelled")


def better_of(compiled: CompiledProblem, known: CachedPlan | None, found: CachedPlan) -> CachedPlan:
    """Join a cached plan with a new one: the better plan, the better bound, the longer search.

    Returns `known` itself where nothing of `found` is better. Claims are joined where this process proved them for the
    same bytes; else those of `known` are dropped.
    """
    if known is not None and known.unit != found.unit and found.unit is not None:
        known = known.without_claims
    elif known is not None and known.unit != found.unit:
        found = found.without_claims
    if known is None:
        return found
    searched_s = max(known.searched_s, found.searched_s)
    if known.pool is None and (found.pool is not None or found.is_final):
        return known if found.pool is None and known.is_final else replace(found, searched_s=searched_s)
    if known.is_final or (found.pool is None and found.searched_s <= known.searched_s):
        return known
    if found.pool is None:
        return replace(known, searched_s=searched_s)
    if found.is_final:
        return found
    best = found if found.score(compiled) < known.score(compiled) else known
    bound = found if found.least(compiled) > known.least(compiled) else known
    joined = replace(
        best,
        bound=bound.bound,
        traffic_unit=bound.traffic_unit,
        kind=bound.kind,
        by=bound.by,
        total=max(known.total, found.total),
        searched_s=searched_s,
        unit=bound.unit,
    )
    if joined.least(compiled) >= joined.score(compiled):
        joined = replace(joined, status="optimal")
    is_same = best is known and bound is known and joined.total == known.total and searched_s == known.searched_s
    return known if is_same and joined.status == known.status else joined


def _assignment(compiled: CompiledProblem, plan: Plan) -> Assignment | None:
    found = assignment_of(compiled.problem, compiled.instance, plan.placements)
    return None if found is None else Assignment(*found, score(compiled.instance, *found), plan.solver or "")


def _bound(compiled: CompiledProblem, plan: Plan) -> Score:
    """Return the bound that a plan tells: 0 for a pool of which it tells nothing."""
    unit = compiled.instance.unit
    least = tuple(-(-(pool.lower_bound or 0) // unit) for pool in reversed(plan.pools))
    return least if compiled.problem.objective != "cost" else (plan.cost_lower_bound or 0.0, *least)
