"""The front of chains of regions: the least multiplications under each peak, exact for the regions found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memplan.solvers.kernels.abi import Reference
from memplan.solvers.kernels.cascade.front import Chains, best_chain
from memplan.solvers.kernels.cascade.rows import FOUND_FROM, FOUND_PEAK
from memplan.solvers.kernels.tables import Rows


@dataclass(frozen=True)
class Chain:
    """Regions, one behind the other: the rows of those found, their peak, and the sums of the other costs."""

    rows: tuple[int, ...]
    peak: int
    macs: int
    traffic: int


def front(found: Rows, n_operations: int) -> list[Chain]:
    """Return the chains of which no other has a lower peak without more multiplications; by falling peaks.

    `found` must be sorted by where the regions end.
    """
    chains: list[Chain] = []
    limit = 2**62
    found = np.ascontiguousarray(found)
    columns = [np.zeros(n_operations + 1, np.int64) for _ in range(4)]
    while best_chain(Reference(Chains(limit, found, *columns))) == 1:
        macs, _, traffic, by = columns
        rows, at = [], n_operations
        while at > 0:
            rows.append(int(by[at]))
            at = int(found[rows[-1], FOUND_FROM])
        peak = int(found[rows, FOUND_PEAK].max(initial=0))
        while chains and chains[-1].macs >= macs[n_operations]:
            chains.pop()
        chains.append(Chain(tuple(reversed(rows)), peak, int(macs[n_operations]), int(traffic[n_operations])))
        limit = peak - 1
    return chains
