"""The front of regions by peak, multiplications and traffic; and the best chain of regions below a peak; front.cpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.capabilities.cascade.core import LIBRARY
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Rows


class Chains(NamedTuple):
    """Regions by their ends, and a limit of the peak; for each cut the best chain that reaches it."""

    limit: int
    found: Rows  # (f, 10)
    macs: I64  # (ops + 1,): -1 where no chain reaches the cut
    slides: I64  # (ops + 1,): regions that stay within the limit by sliding only
    traffic: I64  # (ops + 1,)
    by: I64  # (ops + 1,): the last region of the chain


class Staircase(NamedTuple):
    """Costs in their order, by all three, group by group."""

    costs: Rows  # (f, 3), sorted within each group
    group: I64  # (f,): equal for those that are compared, which stand together
    kept: I64  # (f,): filled with the positions of those that are kept


undominated_of_three = LIBRARY.kernel("undominated_of_three", tables=1)
"""`undominated_of_three(staircase)`: write the costs of which no other of the group is as good in all three.

Returns their number. Of equal ones it is the first.
"""
best_chain = LIBRARY.kernel("best_chain", tables=1)
"""`best_chain(chains)`: find the chain with the fewest multiplications within the limit, then the lowest peak.

Of several it is that with the fewest slides at that peak, then the least traffic. Returns the peak, -1 if none.
"""
