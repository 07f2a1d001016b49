"""Packings of a set of buffers in one pool below an end, or proofs that there is none: orders, then exact search."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from memplan.planner.instance.instance import Bool, CompiledPool, Instance
from memplan.planner.model.buffer_table import I64, column
from memplan.solvers.exact import branch_and_bound
from memplan.solvers.formulation.subinstance import part_of
from memplan.solvers.heuristics import greedy, local_search
from memplan.solvers.search.incumbent import Search
from memplan.solvers.search.result import Progress

_PROVED_PART = 20
"""A set that is packed or proved takes about this part of the work allowed."""
_MAX_EXACT = 4_000
"""Sets of more buffers are packed by local search."""


@dataclass(eq=False)
class SubsetPacking:
    """The best packing of a set in a pool: offsets and their end, the end it needs at least, and the work put in."""

    offset: I64 | None = None
    end: int = 2**63
    need: int = 0
    work: int = 0


class SubsetPackings:
    """Answers about sets of buffers of one instance in its single pools; nothing is searched twice.

    `spent` estimates the work that all answers took, in units of Search.work_limit.
    """

    def __init__(self, instance: Instance, search: Search) -> None:
        self.instance, self.search = instance, search
        self.spent = 0
        self._packings: dict[tuple[int, bytes], SubsetPacking] = {}

    def pack(self, q: int, kept: Bool, end: int, at_most: int, work: int) -> SubsetPacking:
        """Try to pack the buffers that are `kept` into pool `q` below `end`, else as low as can be up to `at_most`.

        Spends about so much work, unless more was spent before.
        """
        if not kept.any():
            return SubsetPacking(np.zeros(0, dtype=np.int64), 0)
        packing = self._packings.setdefault((q, np.packbits(kept).tobytes()), SubsetPacking())
        self._look(q, kept, packing)
        # Searched before with as much work, the answer would be the same.
        if packing.end > end >= packing.need and work > packing.work:
            self._search(q, kept, end, at_most, work, packing)
        return packing

    def _look(self, q: int, kept: Bool, packing: SubsetPacking) -> None:
        """Take over the offsets of the best plan, where it has the same set in this pool."""
        best = self.search.best
        if best is not None and np.array_equal(best.pool == q, kept):
            self._take(packing, best.offset[kept], self.instance.size[kept])

    def _take(self, packing: SubsetPacking, offset: I64, size: I64) -> None:
        end = int((offset + size).max())
        if end < packing.end:
            packing.offset, packing.end = offset, end

    def _search(self, q: int, kept: Bool, end: int, at_most: int, work: int, packing: SubsetPacking) -> None:
        part = part_of(self.instance, kept, q)
        part = replace(part, pools=(_cut(part.pools[0], at_most),), objective="peak")
        inner = self.search.child(part, work_limit=work)

        def look(_: Progress) -> None:
            if inner.best is not None and inner.best.score[0] <= end:
                inner.stop("accepted")

        inner.on_progress = look
        greedy.solve(part, inner)
        if not inner.is_over and len(part) > _MAX_EXACT:
            local_search.solve(part, inner)
        elif not inner.is_over:
            branch_and_bound.solve(part, inner)
        packing.work = max(packing.work, work)
        if inner.best is not None:
            self._take(packing, inner.best.offset, part.size)
        is_open = inner.best is None and inner.infeasible is None
        # An open set took all that was allowed, a packed or proved one a small part.
        self.spent += work if is_open else work // _PROVED_PART
        packing.need = max(packing.need, at_most + 1 if inner.infeasible is not None else int(inner.bound[-1]))


def _cut(pool: CompiledPool, end: int) -> CompiledPool:
    """Return a pool that ends there; what is reserved never lies beyond the end of a pool."""
    reserved = pool.reserved[pool.reserved[:, 0] < end]
    return replace(pool, capacity=end, is_limited=True, reserved=column(np.minimum(reserved, end)))
