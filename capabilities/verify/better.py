"""The audit of one plan: its violations, its distance from the best peak, the tower under it, and the fewest moves."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from memplan.capabilities.plan.replanning.replan import replan
from memplan.planner import audit as planner_audit
from memplan.planner.model.buffer_table import ABSENT, I64, column
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.overlaps import no_two_share_bytes
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.tie_rules import pairs_are_apart
from memplan.planner.verify.violation import Violation
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S, SolveControl

Id = int | str


@dataclass(frozen=True)
class TowerBuffer:
    """A buffer of a tower: where it lies, and the bytes between it and what it stands on, which nothing uses then."""

    id: Id
    offset: int
    bytes: int
    idle_below: int


@dataclass(frozen=True)
class PoolAudit:
    """One pool: what the plan uses of it and what the best plan known does, the buffers that end above the latter, the
    highest first, and the tower under the highest buffer, from the top down.
    """

    name: str
    used: int
    best: int | None
    above_line: tuple[Id, ...]
    tower: tuple[TowerBuffer, ...]

    @property
    def idle_in_tower(self) -> int:
        """The bytes that the tower leaves unused."""
        return sum(row.idle_below for row in self.tower)


@dataclass(frozen=True)
class MovesToBest:
    """The buffers that leave their places in a plan with the best peak; none has fewer if that is `proved`.

    `not_tried` is the reason why nothing looked for the fewest.
    """

    moved: tuple[Id, ...]
    at_least: int
    proved: bool
    not_tried: str | None = None


@dataclass(frozen=True)
class PlanAudit:
    """The audit of a plan. `best` is the least peak found, `lower_bound` what no plan's is below; bytes.

    `gap` is the distance of the plan's peak above the bound, as a part of it. What is not known is None: `peak` and
    what follows from it where buffers are not placed, `best` and moves where no plan was found. `better` is the plan
    with the best peak that keeps most places.
    """

    violations: tuple[Violation, ...]
    peak: int | None
    best: int | None
    lower_bound: int | None
    status: str
    pools: tuple[PoolAudit, ...] = ()
    moves: MovesToBest | None = None
    better: Plan | None = None

    @property
    def valid(self) -> bool:
        """True where nothing is wrong with the plan."""
        return not self.violations

    @property
    def gap(self) -> float | None:
        """The distance of the peak above the bound, as a part of the bound."""
        return None if self.peak is None or not self.lower_bound else self.peak / self.lower_bound - 1

    @property
    def too_much_bytes(self) -> int | None:
        """The bytes of the peak beyond the best one."""
        return None if self.peak is None or self.best is None else self.peak - self.best


def audit(
    problem: Problem, plan: Plan, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S, control: SolveControl | None = None
) -> PlanAudit:
    """Audit a plan of a problem: nothing that it claims is believed. Takes the time limit at the most.

    The peak is counted from its placements; where some buffers have none, it is not known.
    """
    violations = planner_audit.verify(problem, plan)
    placed = PlacedBuffers.by(problem, plan.placements)
    has_bytes = problem.buffers.size > 0
    is_whole = bool((placed.pool[has_bytes] >= 0).all()) and bool((placed.offset >= 0).all())
    # Buffers of no bytes may lie anywhere, and use nothing.
    ends = np.where(has_bytes, placed.end, np.uint64(0))
    used = [int(ends[placed.pool == q].max(initial=0)) for q in range(len(problem.pools))]
    # At the very best peak: an audit counts the moves that reach it, not those that come near.
    better = replan(problem, plan, eps=0, time_limit_s=time_limit_s, control=control)
    best = {use.name: use.used for use in better.pools} if len(better.placements) else {}
    pools = tuple(_pool(problem, placed, ends, q, used[q], best.get(pool.name)) for q, pool in enumerate(problem.pools))
    return PlanAudit(
        violations=violations,
        peak=sum(used) if is_whole else None,
        best=better.peak if better.kept is None else better.kept.peak_without_keeping,
        lower_bound=better.lower_bound,
        status=better.status,
        pools=pools,
        moves=_moves(problem, plan, better),
        better=better if len(better.placements) else None,
    )


def _moves(problem: Problem, plan: Plan, better: Plan) -> MovesToBest | None:
    kept = better.kept
    if kept is None:
        return None
    table, old = problem.buffers, plan.placements
    moved = []
    for row in better.placements:
        i = problem.index[row.id]
        k = old.row_of.get(row.id)
        if k is not None and i not in table.aliases and table.size[i] > 0 and old[k] != row:
            moved.append(row.id)
    return MovesToBest(tuple(moved), kept.least_moves, kept.proved, kept.not_tried)


def _pool(
    problem: Problem, placed: PlacedBuffers, ends: npt.NDArray[np.uint64], q: int, used: int, best: int | None
) -> PoolAudit:
    root = placed.root == np.arange(len(placed.root))
    here = np.flatnonzero((placed.pool == q) & root & (problem.buffers.size > 0))
    order = here[np.argsort(-ends[here].astype(np.int64), kind="stable")]
    above = () if best is None else tuple(problem.buffers.ids[i] for i in order.tolist() if int(ends[i]) > best)
    tower = _tower(problem, placed, column(order)) if len(order) and (best is None or used > best) else ()
    return PoolAudit(problem.pools[q].name, used, best, above, tower)


def _tower(problem: Problem, placed: PlacedBuffers, order: I64) -> tuple[TowerBuffer, ...]:
    """Return the buffers that the highest one stands on: of each, the highest that it must keep apart from."""
    found: list[TowerBuffer] = []
    top: int | None = int(order[0])
    end = {i: int(placed.end[i]) for i in order.tolist()}
    while top is not None and len(found) < len(order):
        low = int(placed.offset[top])
        under = [i for i in order.tolist() if end[i] <= low and i != top]
        below = next((i for i in under if _conflict(problem, placed, top, i)), None)
        idle = low - (end[below] if below is not None else 0)
        found.append(TowerBuffer(problem.buffers.ids[top], low, int(problem.buffers.size[top]), idle))
        top = below
    return tuple(found)


def _conflict(problem: Problem, placed: PlacedBuffers, i: int, j: int) -> bool:
    """Return True if two buffers must keep apart: required of the verifier, with both in one place."""
    pool = np.full(len(placed.pool), ABSENT)
    pool[[i, j]] = placed.pool[i]
    offset = np.zeros(len(pool), dtype=np.int64)
    if problem.buffers.size[i] > 1 and problem.buffers.size[j] > 1:
        offset[j] = 1  # so that no two start together, which some may
    placed = PlacedBuffers(problem, pool, offset)
    broken = chain(no_two_share_bytes(problem, placed), *pairs_are_apart(problem, placed))
    return next(broken, None) is not None
