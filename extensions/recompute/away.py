"""Lower bounds on the cost of recomputation within any limit, each from the bytes during a single operation.

Consider the tensors that every order needs both before and after an operation: bytes above the limit leave memory while
it runs and are recomputed later. The cheapest choice of these tensors costs no more than any program.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate
from math import ceil
from typing import NamedTuple

import numpy as np

from memplan.extensions.recompute.again import may_run_again
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.order_check import bytes_after
from memplan.solvers.core.tables import Flags

_ROUNDING = 1e-12
_NODES = 4_000
"""The maximum number of choices of tensors examined for one limit, which takes about 0.1 s."""


class _OperationMemory(NamedTuple):
    """The bytes needed during an operation, and the other tensors that may leave memory meanwhile.

    `freed` and `cost` are the running sums of the bytes and costs of these tensors, cheapest per byte first, from 0.
    """

    needed: int
    freed: list[int]
    cost: list[int]


def _ancestor_matrix(graph: OperationGraph) -> Flags:
    earlier: Flags = np.zeros((len(graph.ops), len(graph.ops)), dtype=np.bool_)
    for v, predecessors in enumerate(graph.predecessors):
        for u in predecessors:
            earlier[v] |= earlier[u]
            earlier[v, u] = True
    return earlier


def extra_bytes_by_operation(graph: OperationGraph) -> list[int]:
    """Return each operation's workspace in bytes, minus the bytes of those outputs that may overwrite an input."""
    over = ({row.outputs[k] for k, _ in row.may_overwrite} for row in graph.ops)
    return [row.work - sum(graph.working_bytes[t] for t in spared) for row, spared in zip(graph.ops, over, strict=True)]


def peak_lower_bound(graph: OperationGraph) -> int:
    """Return a lower bound, in bytes, on the peak of every program in which operations may run again.

    It assumes that outputs overwrite inputs wherever this is allowed, because even a kept input can be recomputed
    later.
    """
    needs = (
        work + sum(graph.working_bytes[tensor] for tensor in {*row.inputs, *row.outputs})
        for row, work in zip(graph.ops, extra_bytes_by_operation(graph), strict=True)
    )
    return max(bytes_after(graph, ()), *needs, 0)


def _fractional_cost(row: _OperationMemory, first: int, above: int) -> int:
    freed, cost = row.freed, row.cost
    k = bisect_left(freed, freed[first] + above, first)
    if k == len(freed):
        return cost[-1] + 1
    part = (cost[k] - cost[k - 1]) * (above - freed[k - 1] + freed[first]) / (freed[k] - freed[k - 1])
    # The sum of rounded costs must still be a lower bound, so round each cost down.
    return cost[k - 1] - cost[first] + ceil(part * (1 - _ROUNDING))


def _whole_tensor_cost(row: _OperationMemory, above: int, nodes: int) -> tuple[int, int]:
    """Return (minimum cost to remove `above` bytes by whole tensors, unused nodes); (0, 0) without enough nodes."""
    best, stack = row.cost[-1] + 1, [(0, above, 0)]
    while stack:
        nodes -= 1
        if nodes < 0:
            return 0, 0
        k, rest, cost = stack.pop()
        if rest <= 0:
            best = min(best, cost)
        elif cost + _fractional_cost(row, k, rest) < best:
            stack.append((k + 1, rest, cost))
            stack.append((k + 1, rest - row.freed[k + 1] + row.freed[k], cost + row.cost[k + 1] - row.cost[k]))
    return best, nodes


class RemovalBounds:
    """Lower bounds on the cost of recomputation within any peak limit: each operation of the graph gives one."""

    def __init__(self, graph: OperationGraph, costs: Sequence[int]) -> None:
        """Find, for each operation, the bytes that it needs and the tensors that can be absent while it runs."""
        self.graph, self.costs = graph, costs
        self.earlier = earlier = _ancestor_matrix(graph)
        self._beside = [_OperationMemory(0, [0], [0])] * len(graph.ops)
        # For each operation, `others` lists tensors that the operation does not use, but that are needed around it.
        self.others: list[list[int]] = [[] for _ in graph.ops]
        behind = may_run_again(graph)
        work = extra_bytes_by_operation(graph)
        across = self._needed_across(graph, earlier)
        for v, row in enumerate(graph.ops):
            own = {*row.inputs, *row.outputs}
            needed, of_maker = work[v] + sum(graph.working_bytes[t] for t in own), defaultdict[int, int](int)
            for t in np.flatnonzero(across[:, v]).tolist():
                if t in own or not graph.working_bytes[t]:
                    continue
                self.others[v].append(t)
                needed += graph.working_bytes[t]
                maker = graph.maker[t]
                others = None if maker is None else behind[maker]
                if maker is not None and others is not None and not any(w == v or earlier[v, w] for w in others):
                    of_maker[maker] += graph.working_bytes[t]
            cheapest = sorted(of_maker, key=lambda u: (costs[u] / of_maker[u], u))
            self._beside[v] = _OperationMemory(
                needed, [0, *accumulate(of_maker[u] for u in cheapest)], [0, *accumulate(costs[u] for u in cheapest)]
            )

    def memory_during(self, v: int) -> tuple[int, list[int], list[int]]:
        """Return the bytes needed during operation `v`, and running sums of bytes and costs of removable tensors."""
        return self._beside[v]

    def excess(self, limit: int) -> list[int]:
        """Return each operation's bytes above `limit`, if every tensor that is needed later stays in memory."""
        return [row.needed - limit for row in self._beside]

    def cost_bound(self, limit: int) -> int | None:
        """Return a lower bound on the extra cost of programs within `limit` bytes; None if no program is within it."""
        return self.bound_and_operation(limit)[0]

    def bound_and_operation(self, limit: int) -> tuple[int | None, int | None]:
        """Return the bound of `cost_bound`, and the operation that proves it; a bound of 0 needs no operation."""
        rows = [(v, row, row.needed - limit) for v, row in enumerate(self._beside) if row.needed > limit]
        for v, row, above in rows:
            if above > row.freed[-1]:
                return None, v
        parts = sorted(((_fractional_cost(row, 0, above), k) for k, (_, row, above) in enumerate(rows)), reverse=True)
        most, by, left = 0, None, _NODES
        for part, k in parts:
            if part <= most:
                break
            v, row, above = rows[k]
            whole, left = _whole_tensor_cost(row, above, left)
            if max(part, whole) > most:
                most, by = max(part, whole), v
        return most, by

    @staticmethod
    def _needed_across(graph: OperationGraph, earlier: Flags) -> Flags:
        """Return a matrix: row t marks the operations before and after which every order needs tensor t."""
        kept = set(graph.kept)
        across: Flags = np.zeros((len(graph.size), len(graph.ops)), dtype=np.bool_)
        for t, maker in enumerate(graph.maker):
            if t in kept:
                across[t] = True
            for reader in graph.readers[t]:
                across[t] |= earlier[reader]
            if maker is not None:
                across[t] &= earlier[:, maker]
        return across
