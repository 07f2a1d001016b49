"""Exact Pareto fronts of chains (sequences of regions) in peak, multiplications, and optionally traffic."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from memplan.extensions.cascade.core.kernels import (
    FOUND_FROM,
    FOUND_MACS,
    FOUND_PEAK,
    FOUND_TO,
    FOUND_TRAFFIC,
    Chains,
    Staircase,
    best_chain,
    undominated_of_three,
)
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Reference, Rows

MOST_WAYS = 3_000
"""The maximum number of undominated chains to one cut (a position between two operations) that are extended."""
_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class Chain:
    """A sequence of regions that covers all operations: its rows in the table of regions, its peak and total costs."""

    rows: tuple[int, ...]
    peak: int
    macs: int
    traffic: int


def pareto_front(found: Rows, n_operations: int) -> list[Chain]:
    """Return the Pareto-optimal chains (sequences of regions), by falling peak.

    The objectives are peak and multiplications. The rows of `found` are regions, which must be sorted by their ends.
    """
    chains: list[Chain] = []
    limit, found = 2**62, np.ascontiguousarray(found)
    columns = [np.zeros(n_operations + 1, np.int64) for _ in range(4)]
    # Each round finds the fewest multiplications below the last peak, so the front of the given regions is exact.
    while (peak := best_chain(Reference(Chains(limit, found, *columns)))) >= 0:
        macs, _, traffic, by = columns
        rows, at = [], n_operations
        while at > 0:
            rows.append(int(by[at]))
            at = int(found[rows[-1], FOUND_FROM])
        chains.append(Chain(tuple(rows[::-1]), peak, int(macs[n_operations]), int(traffic[n_operations])))
        limit = peak - 1
    return chains


def undominated_positions(costs: Rows, group: I64) -> I64:
    """Return the positions of the undominated costs.

    Costs (rows of `costs`) are compared only within a group. The positions are sorted by group, then by ascending
    costs. Of equal costs, the first one is kept.
    """
    order = np.lexsort((costs[:, 2], costs[:, 1], costs[:, 0], group))
    front = np.zeros(len(order), np.int64)
    table = Staircase(np.ascontiguousarray(costs[order]), group[order], front)
    return order[front[: undominated_of_three(Reference(table))]]


def front_of_three(
    found: Rows, n_operations: int, most: int, is_over: Callable[[], bool] = lambda: False
) -> tuple[list[Chain], int]:
    """Return the Pareto-optimal chains (sequences of regions), and the number of omitted chains.

    The objectives are peak, multiplications and traffic. Chains of more than `most` multiplications are excluded. If
    more than MOST_WAYS chains reach a cut (a place between operations), or the time is over, only a selection evenly
    spread by peak is extended. The regions in `found` must be sorted by their ends.
    """
    # Each table in `ways` has undominated chains to a cut: peak, multiplications, traffic, last region, previous row.
    ways = [np.zeros((1, 5), np.int64)]
    costs_of = found[:, [FOUND_PEAK, FOUND_MACS, FOUND_TRAFFIC]].tolist()
    behind = _min_macs_to_end(found, n_operations)
    ends = np.searchsorted(found[:, FOUND_TO], np.arange(n_operations + 2))
    cut_off = 0
    for cut in range(1, n_operations + 1):
        parts, count = [np.zeros((0, 5), np.int64)], 0
        for row in range(int(ends[cut]), int(ends[cut + 1])):
            peak, macs, traffic = costs_of[row]
            before = ways[int(found[row, FOUND_FROM])]
            within = np.flatnonzero(before[:, 1] + macs + behind[cut] <= most)
            reached = before[within] + (0, macs, traffic, 0, 0)
            reached[:, 0], reached[:, 3], reached[:, 4] = np.maximum(reached[:, 0], peak), row, within
            parts.append(reached)
            count += len(within)
            # Millions of chains would not fit in memory, so remove dominated chains before all chains are known.
            if count > _AT_ONCE:
                parts = [_undominated_ways(parts)]
                count = len(parts[0])
        reached = _undominated_ways(parts)
        # The front must not be empty when the time is over, so still extend a few chains to the end of the graph.
        room = 16 if is_over() else MOST_WAYS
        if len(reached) > room:
            cut_off += len(reached) - room
            # Select chains evenly by peak, including the lowest and the highest, so that the front keeps its range.
            reached = reached[np.linspace(0, len(reached) - 1, room).astype(np.int64)]
        ways.append(reached)
    return [_chain_from_tables(found, ways, n_operations, k) for k in range(len(ways[-1]))][::-1], cut_off


def _undominated_ways(parts: Sequence[Rows]) -> Rows:
    joined: Rows = np.concatenate(parts)
    return joined[undominated_positions(joined[:, :3], np.zeros(len(joined), np.int64))]


def _min_macs_to_end(found: Rows, n_operations: int) -> I64:
    least = np.full(n_operations + 1, 2**62, np.int64)
    least[n_operations] = 0
    for row in range(len(found) - 1, -1, -1):
        source, end = found[row, FOUND_FROM], found[row, FOUND_TO]
        least[source] = min(least[source], least[end] + found[row, FOUND_MACS])
    return least


def _chain_from_tables(found: Rows, ways: list[Rows], n_operations: int, k: int) -> Chain:
    peak, macs, traffic = ways[n_operations][k, :3].tolist()
    rows, at = [], n_operations
    while at > 0:
        row, k = ways[at][k, 3:].tolist()
        rows.append(row)
        at = int(found[row, FOUND_FROM])
    return Chain(tuple(reversed(rows)), peak, macs, traffic)
