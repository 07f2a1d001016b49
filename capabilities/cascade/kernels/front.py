"""The front of regions by peak, multiplications and traffic; and the best chain of regions below a peak."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from memplan.capabilities.cascade.kernels import GROUP
from memplan.capabilities.cascade.kernels.access import (
    FOUND_FROM,
    FOUND_MACS,
    FOUND_PEAK,
    FOUND_SAVED,
    FOUND_TO,
    FOUND_TRAFFIC,
)
from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.kernel import Kernel
from memplan.solvers.kernels.tables import Rows


class Chains(NamedTuple):
    """Regions by their ends, and a limit of the peak; for each cut the best chain that reaches it."""

    limit: int
    found: Rows  # (f, 10)
    macs: I64  # (ops + 1,): -1 where no chain reaches the cut
    slides: I64  # (ops + 1,): regions that stay within the limit by sliding only
    traffic: I64  # (ops + 1,)
    by: I64  # (ops + 1,): the last region of the chain


class Staircase(NamedTuple):
    """Costs in their order, by all three, group by group; no other one of the group is below a step in the last two."""

    costs: Rows  # (f, 3), sorted within each group
    group: I64  # (f,): equal for those that are compared, which stand together
    kept: I64  # (f,): filled with the positions of those that are kept
    second: I64  # (f,): scratch: the second costs of the steps, rising
    third: I64  # (f,): the third costs of the steps, falling


@partial(Kernel, group=GROUP)
def undominated_of_three(table: Staircase) -> int:
    """Write the costs of which no other of the group is as good in all three; return their number.

    Of equal ones it is the first.
    """
    costs, second, third = table.costs, table.second, table.third
    count, steps = 0, 0
    for row in range(len(costs)):
        b, c = costs[row, 1], costs[row, 2]
        if row > 0 and table.group[row] != table.group[row - 1]:
            steps = 0
        # 1. The last step of at most that much in the second.
        low, high = 0, steps
        while low < high:
            middle = (low + high) // 2
            if second[middle] <= b:
                low = middle + 1
            else:
                high = middle
        if low > 0 and third[low - 1] <= c:
            continue
        table.kept[count] = row
        count += 1
        # 2. It takes the place of the steps that it is below.
        first = low - 1 if low > 0 and second[low - 1] == b else low
        end = low
        while end < steps and third[end] >= c:
            end += 1
        shift = 1 - (end - first)
        if shift > 0:
            for k in range(steps - 1, end - 1, -1):
                second[k + 1], third[k + 1] = second[k], third[k]
        elif shift < 0:
            for k in range(end, steps):
                second[k + shift], third[k + shift] = second[k], third[k]
        second[first], third[first] = b, c
        steps += shift
    return count


@partial(Kernel, group=GROUP)
def best_chain(table: Chains) -> int:
    """Find the chain with the fewest multiplications within the limit, then the lowest peak.

    Of several it is that with the fewest slides at that peak, then the least traffic. Returns the peak, -1 if none.
    """
    found, macs, slides, traffic = table.found, table.macs, table.slides, table.traffic
    n, limit = len(macs) - 1, table.limit
    # The first turn counts peaks in the place of slides; the second one has the lowest of them as its limit.
    for turn in range(2):
        for cut in range(n + 1):
            macs[cut] = -1
        macs[0], slides[0], traffic[0] = 0, 0, 0
        for row in range(len(found)):
            source, cut, peak = found[row, FOUND_FROM], found[row, FOUND_TO], found[row, FOUND_PEAK]
            if peak > limit or macs[source] < 0:
                continue
            a, c = macs[source] + found[row, FOUND_MACS], traffic[source] + found[row, FOUND_TRAFFIC]
            b = slides[source]
            if turn == 0:
                b = max(b, peak)
            elif peak + found[row, FOUND_SAVED] > limit:
                b += 1
            is_less = macs[cut] < 0 or a < macs[cut]
            if is_less or (a == macs[cut] and (b < slides[cut] or (b == slides[cut] and c < traffic[cut]))):
                macs[cut], slides[cut], traffic[cut], table.by[cut] = a, b, c, row
        if macs[n] < 0:
            return -1
        if turn == 0:
            limit = slides[n]
    return int(limit)
