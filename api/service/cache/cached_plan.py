"""The best known plan of a problem in canonical form: how it is stored, compared and translated to a caller's problem.

Buffers are numbered in canonical order, pools by position, and offsets count units, so a plan is valid for every
problem with the same hash. The cache is not trusted: each caller's plan is verified, and bounds are recomputed from the
caller's own sizes. A proved bound is used only by the process that proved it, for callers with the same units. It
stays valid if another process finds a better plan. Other processes use the plan only as a start.
"""

from __future__ import annotations

import json
import logging
import zlib
from dataclasses import dataclass, replace

import numpy as np
from pydantic_core import to_json

from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.store.stored_plan import StoredPlan
from memplan.planner.bounds.lower_bound import Witness
from memplan.planner.instance.contents import traffic_unit
from memplan.planner.instance.objective import Score, score
from memplan.planner.model.buffer_table import I64, column
from memplan.planner.model.plan import ProofKind, Status, StopReason
from memplan.planner.verify.verifier import verify
from memplan.solvers.search import to_plan
from memplan.solvers.search.result import Assignment, SolveResult
from memplan.solvers.search.to_plan import plan_of_assignment

_LOG = logging.getLogger("memplan")
_SMALL = 1_000
_LEVEL = 1
"""A low compression level: it saves nearly as many bytes as a high one, in less time."""


@dataclass(frozen=True, eq=False)
class CachedPlan:
    """The plan that one search found, in canonical form, and the bounds that the search proved.

    status: `optimal` or `feasible`, as the search claims.
    pool, offset: the placement of each buffer in canonical order, as arrays of shape (n,).
    used: the number of used units of each pool.
    bound: a lower bound on the score; empty without one.
    total: a lower bound on the sum of used units over all pools.
    kind, by: the kind of the bound's proof, and the solver or method that found it.
    solver: the solver that found the plan.
    searched_s: the seconds of the search.
    units: the bytes and the traffic per unit in the problem of the bound; None if another process proved the bound.
    """

    status: Status
    pool: I64
    offset: I64
    used: tuple[int, ...] = ()
    bound: Score = ()
    total: int = 0
    kind: ProofKind | None = None
    by: str | None = None
    solver: str | None = None
    searched_s: float = 0.0
    units: tuple[int, int] | None = None

    @classmethod
    def from_result(cls, compiled: CompiledProblem, result: SolveResult, searched_s: float) -> CachedPlan | None:
        """Convert a valid result that this process computed to canonical form.

        Returns None for a result without a plan, or with an offset that cannot be lowered to a multiple of the unit.
        """
        plan, instance = result.plan, compiled.instance
        assignment, bound = result.assignment, result.bound
        if plan.status in ("infeasible", "unknown") or assignment is None or bound is None:
            return None
        return cls(
            status=plan.status,
            pool=column(assignment.pool[compiled.order]),
            offset=column(assignment.offset[compiled.order]),
            used=tuple(int(end) for end in reversed(assignment.score[-len(instance.pools) :])),
            bound=bound.score if plan.status == "feasible" else assignment.score,
            total=(plan.lower_bound or 0) // instance.unit,
            kind=None if plan.proof is None else plan.proof.kind,
            by=None if plan.proof is None else plan.proof.by,
            solver=plan.solver,
            searched_s=searched_s,
            units=units_of(compiled),
        )

    @property
    def unclaimed_plan(self) -> CachedPlan:
        """The same placements without the claims (status, bounds) and, for a final plan, without its search time."""
        searched_s = 0.0 if self.is_final else self.searched_s
        return CachedPlan("feasible", self.pool, self.offset, self.used, solver=self.solver, searched_s=searched_s)

    @property
    def is_final(self) -> bool:
        """True if a search claims to have proved the plan optimal."""
        return self.status == "optimal"

    @property
    def is_small(self) -> bool:
        """True if writing the plan is fast enough to be done outside a thread."""
        return len(self.pool) <= _SMALL

    def score(self, compiled: CompiledProblem) -> Score:
        """Return the plan's score for a problem, in the problem's units; infinite if the plan does not match it."""
        assignment = self.assignment(compiled)
        return (float("inf"),) if assignment is None else assignment.score

    def assignment(self, compiled: CompiledProblem) -> Assignment | None:
        """Return the plan as an assignment, in the buffer order of a problem's instance; None if they do not match."""
        n, n_pools = len(compiled.instance), len(compiled.instance.pools)
        if not n == len(self.pool) == len(self.offset):
            return None
        if n and (self.pool.min() < 0 or self.pool.max() >= n_pools or self.offset.min() < 0):
            return None
        pool, offset = np.empty_like(self.pool), np.empty_like(self.offset)
        pool[compiled.order], offset[compiled.order] = self.pool, self.offset
        value = score(compiled.instance, pool, offset)
        return Assignment(column(pool), column(offset), value, self.solver or "")

    def compress(self, problem_hash: str) -> StoredPlan:
        """Return the plan as compressed JSON, ready for the store."""
        content = {
            "pool": self.pool.tolist() if self.pool.any() else None,
            "offset": self.offset.tolist(),
            "used": self.used,
            "total": self.total,
            "solver": self.solver,
        }
        data = zlib.compress(to_json(content), _LEVEL)
        return StoredPlan(problem_hash, data, self.status, self.searched_s, len(data))

    @classmethod
    def read(cls, stored: StoredPlan | None, *, with_claims: bool = False) -> CachedPlan | None:
        """Return the plan of a store's entry, optionally with its writer's claims; None if the entry is unreadable."""
        if stored is None:
            return None
        try:
            content = json.loads(zlib.decompress(stored.plan))
            # Older versions stored infeasible problems without offsets, so ignore such entries.
            if (offset := content["offset"]) is None:
                return None
            cached = cls(
                status=stored.status,  # type: ignore[arg-type]  # the writer of the row stored a Status
                pool=column(content["pool"] or [0] * len(offset)),
                offset=column(offset),
                used=tuple(content["used"]),
                total=content["total"],
                solver=content["solver"],
                searched_s=stored.searched_s,
            )
        except (zlib.error, ValueError, KeyError, TypeError, OverflowError) as error:
            _LOG.error("a cached plan cannot be read: %s", type(error).__name__)
            return None
        return cached if with_claims else cached.unclaimed_plan


def units_of(compiled: CompiledProblem) -> tuple[int, int]:
    """Return the bytes and the traffic that one unit of the problem's instance stands for."""
    instance = compiled.instance
    return instance.unit, traffic_unit(instance) if instance.objective == "cost" else 1


def result_of(known: CachedPlan, compiled: CompiledProblem) -> SolveResult | None:
    """Return a cached plan as a verified result for a problem; None if it is not valid for that problem.

    The bound comes from the problem's own live sets, or from a search of this process for the same units.
    """
    bound = compiled.bound
    known = known if known.units == units_of(compiled) else known.unclaimed_plan
    assignment = known.assignment(compiled)
    if assignment is None:
        _LOG.error("a cached plan does not match the buffers or pools of its problem")
        return None
    least = assignment.score if known.status == "optimal" else known.bound
    if least > bound.score:
        # The search that stored the witness may have numbered the buffers differently, so leave the buffers out.
        kind: ProofKind = "engines" if known.kind == "engines" else "search"
        witness = Witness(kind, by=known.by or "an earlier search")
        bound = bound._replace(score=least, witness=witness, total=known.total)
    elif known.total > bound.total:
        bound = bound._replace(total=known.total)
    plan = plan_of_assignment(compiled.problem, compiled.instance, assignment, bound)
    if violations := verify(compiled.problem, plan):
        _LOG.error("a cached plan did not pass the verifier: %s", violations[0].rule)
        return None
    return SolveResult(plan, assignment, bound)


def empty_result(compiled: CompiledProblem, reason: StopReason = "cancelled") -> SolveResult:
    """Return the result of a search that ended before it found a plan."""
    plan = to_plan.plan_without_placements(compiled.problem, compiled.instance, compiled.bound)
    return SolveResult(plan, None, compiled.bound, reason)


def better_of(compiled: CompiledProblem, known: CachedPlan | None, found: CachedPlan) -> CachedPlan:
    """Return the better of two plans: the proved one, else the one of lower score, else of the longer search.

    If this process proved the bound of `found` for other units, the claims of `known` are ignored. If both bounds are
    for the same units, the returned plan gets the better one.
    """
    if known is None:
        return found
    if found.units is not None and known.units != found.units:
        known = known.unclaimed_plan

    def rank(one: CachedPlan) -> tuple[bool, Score, float]:
        return not one.is_final, one.score(compiled), -one.searched_s

    best, other = sorted((known, found), key=rank)
    if best.is_final or other.units is None or best.units not in (None, other.units) or other.bound <= best.bound:
        return best
    total = max(best.total, other.total)
    return replace(best, bound=other.bound, total=total, kind=other.kind, by=other.by, units=other.units)
