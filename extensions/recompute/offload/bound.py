"""Lower bounds on the time of programs with a link, each from the bytes that must leave memory during one operation.

When operation v first runs, all its predecessors have run, and none of its successors has. Consider the tensors that
are needed both before and after this run: their bytes above the limit are absent during the run. Either operations
recompute them later, which takes extra time, or the link sends them before the run and fetches them after it.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from memplan.extensions.recompute.away import RemovalBounds
from memplan.extensions.recompute.offload.steps import LinkedGraph
from memplan.programs.operations.order_check import bytes_after


class _OperationMemory(NamedTuple):
    """The bytes that one operation needs, and the tensors that may be absent while it runs.

    `freed` and `cost` are the running sums of bytes and costs of the tensors that can be recomputed, cheapest first.
    `movable` is the number of bytes that may be absent; `sendable` of them can be sent, at most `per_unit` per unit of
    time. `before` and `behind` are the minimum times of the operations before and after the run. `sent` is the time
    before which no tensor can be sent, and `fetched` the time needed after the last fetch.
    """

    needed: int
    freed: list[int]
    cost: list[int]
    movable: int
    sendable: int
    per_unit: float
    own: int
    before: int
    behind: int
    sent: int
    fetched: int


class LinkedBound:
    """Lower bounds on the time of a graph's programs with a link, within any limit on the peak."""

    def __init__(self, program: LinkedGraph, away: RemovalBounds) -> None:
        """Collect, for each operation, the tensors that may be absent while it runs, and their transfer times."""
        self.program, self.once = program, sum(program.costs)
        graph = program.graph
        # Every program holds its inputs at the start and its outputs at the end, so no limit can be below their bytes.
        self.least_bytes = max(bytes_after(graph, ()), bytes_after(graph, range(len(graph.ops))))
        self._rows = list(self._operation_rows(away))

    def time_bound(self, limit: int) -> int | None:
        """Return a lower bound on the time beyond one run per operation, for peaks of at most `limit`; else None."""
        if self.least_bytes > limit:
            return None
        most = 0
        for row in self._rows:
            if row.needed > limit:
                least = self._removal_time(row, row.needed - limit, most)
                if least is None:
                    return None
                most = max(most, least)
        return most

    def _removal_time(self, row: _OperationMemory, over: int, known: int) -> int | None:
        """Return the minimum extra time, at least `known`, to remove `over` bytes; None if it is impossible."""
        if over > row.movable:
            return None
        if self._is_long_enough(row, over, known):
            return known
        low, high = known, max(known, 1)
        # Given enough time, all bytes can be recomputed or transferred, so this doubling of the time ends.
        while not self._is_long_enough(row, over, high):
            low, high = high, 2 * high
        while low + 1 < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._is_long_enough(row, over, middle) else (middle, high)
        return high

    def _is_long_enough(self, row: _OperationMemory, over: int, extra: int) -> bool:
        """Return True if the bytes that are not recomputed in the time `extra` can be sent and fetched in time."""
        k = bisect_left(row.cost, extra + 1) - 1
        freed: float = row.freed[k]
        if k + 1 < len(row.cost):
            freed += (row.freed[k + 1] - row.freed[k]) * (extra - row.cost[k]) / (row.cost[k + 1] - row.cost[k])
        rest = over - freed - 1e-9 * over
        if rest <= 0:
            return True
        if rest > row.sendable:
            return False
        time, transfer = self.once + extra - row.own, rest / row.per_unit
        sides = (row.sent + transfer + row.behind, row.before + transfer + row.fetched)
        return max(*sides, row.sent + 2 * transfer + row.fetched) <= time * (1 + 1e-12)

    def _operation_rows(self, away: RemovalBounds) -> Iterator[_OperationMemory]:
        """Yield, for each operation, the bytes that it needs and the tensors that may be absent while it runs."""
        graph, costs = self.program.graph, np.array(self.program.costs, dtype=object)
        transfer, size = self.program.transfer, graph.working_bytes
        earlier = away.earlier
        before = [int(costs[row].sum()) if row.any() else 0 for row in earlier]
        behind = [int(costs[earlier[:, v]].sum()) if earlier[:, v].any() else 0 for v in range(len(graph.ops))]
        for v, across in enumerate(away.others):
            movable = [(t, duration) for t in across if (duration := transfer[t]) is not None]
            needed, freed, cost = away.memory_during(v)
            ready = [0 if (u := graph.maker[t]) is None else before[u] + costs[u] for t, _ in movable]
            waits = [
                max((behind[w] + costs[w] for w in graph.readers[t] if earlier[w, v]), default=0) for t, _ in movable
            ]
            sendable = sum(size[t] for t, _ in movable)
            yield _OperationMemory(
                needed,
                freed,
                cost,
                min(freed[-1] + sendable, sum(size[t] for t in across)),
                sendable,
                max((size[t] / duration for t, duration in movable), default=1.0),
                costs[v],
                before[v],
                behind[v],
                min(ready, default=0),
                min(waits, default=0),
            )
