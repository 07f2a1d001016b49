"""A verified plan as exporters need it: pools and buffers with their places, and a name in C for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm

from memplan.planner.errors import MAX_SHOWN, FormatError, PlanError, shown
from memplan.planner.exporters.c_names import identifiers
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Pool, Problem
from memplan.planner.verify.verifier import verify


@dataclass(frozen=True)
class PlacedBuffer:
    """A buffer: `pool` is a position in the layout; `name` is what follows a prefix in C."""

    id: int | str
    name: str
    pool: int
    offset: int
    size: int
    alignment: int


@dataclass(frozen=True)
class PlacedPool:
    """A pool, its name in C, and how much of it is in use: `extent` bytes from its start, buffers of no bytes included.

    Where `alignment` divides its first byte's address, all that depends on addresses (alignments, pages, banks) is as
    it would be at address 0.
    """

    pool: Pool
    name: str
    extent: int
    alignment: int

    @property
    def may_lie_anywhere(self) -> bool:
        """True if every address that `alignment` divides is as good as the pool's base address."""
        return self.pool.base_address % self.alignment == 0

    @property
    def asks_for_what_c_cannot_say(self) -> bool:
        """True if no power of two, the only alignments of C, is enough."""
        return not self.may_lie_anywhere or self.alignment.bit_count() != 1


@dataclass(frozen=True)
class VerifiedLayout:
    """A problem and where its buffers lie, in the order of the problem; `model` is the file that the problem was in."""

    problem: Problem
    pools: tuple[PlacedPool, ...]
    buffers: tuple[PlacedBuffer, ...]
    model: bytes | None = None

    @property
    def used_pools(self) -> tuple[PlacedPool, ...]:
        """The pools in which there is a buffer."""
        used = {buffer.pool for buffer in self.buffers}
        return tuple(pool for q, pool in enumerate(self.pools) if q in used)

    def only_pool(self, target: str) -> PlacedPool:
        """Return the pool in which all buffers lie; raises FormatError where there are several."""
        used = self.used_pools
        if len(used) > 1:
            names = ", ".join(shown(pool.pool.name) for pool in used)
            raise FormatError(f"plan: must have all buffers in one pool for {target}, got {names}")
        return used[0] if used else self.pools[0]


def lay_out(problem: Problem, plan: Plan, model: bytes | None = None) -> VerifiedLayout:
    """Return the layout that a plan asks for; raises PlanError unless it is a valid plan of the problem."""
    if plan.status in ("infeasible", "unknown"):
        raise PlanError(f"plan.status: must be optimal or feasible, got {plan.status}")
    violations = verify(problem, plan)
    if violations:
        raise PlanError(*(f"{entry.rule}: {entry.message}" for entry in violations[:MAX_SHOWN]))
    buffers = _buffers(problem, plan)
    names = identifiers([pool.name for pool in problem.pools])
    pools = tuple(
        PlacedPool(pool, name, _extent(buffers, q), _alignment(problem, buffers, q))
        for q, (pool, name) in enumerate(zip(problem.pools, names, strict=True))
    )
    return VerifiedLayout(problem, pools, buffers, model)


def _buffers(problem: Problem, plan: Plan) -> tuple[PlacedBuffer, ...]:
    table = problem.buffers
    places = {row.id: (problem.pool_index[row.pool], row.offset) for row in plan.placements}
    sizes, alignments = table.size.tolist(), table.alignment.tolist()
    return tuple(
        PlacedBuffer(id_, name, *places[id_], size, alignment)
        for id_, name, size, alignment in zip(table.ids, identifiers(table.ids), sizes, alignments, strict=True)
    )


def _extent(buffers: Sequence[PlacedBuffer], q: int) -> int:
    return max((buffer.offset + buffer.size for buffer in buffers if buffer.pool == q), default=0)


def _alignment(problem: Problem, buffers: Sequence[PlacedBuffer], q: int) -> int:
    pool = problem.pools[q]
    steps = {buffer.alignment for buffer in buffers if buffer.pool == q}
    steps |= {page for i, page in problem.buffers.pages.items() if buffers[i].pool == q}
    if pool.bank_size is not None and problem.bank:
        steps.add(pool.bank_size)
    return lcm(pool.alignment, *steps)
