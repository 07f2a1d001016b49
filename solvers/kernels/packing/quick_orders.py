"""Quick orders of a plain problem in one call: traits, order after order, packed, until one meets a bound.

Plain are buffers of one pool, with one lifetime each and no rule but capacity and alignment. It comes to the same as
`packing.orders.Rule.order` and what `packing.packer.Packer` makes of it, number for number.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.kernel import Kernel
from memplan.solvers.kernels.tables import ABSENT, F64, I64_MAX, ONE, ZERO, Rows, step

NO_TRAIT, SIZE, LIFE, AREA, CONFLICTS, PRESSURE = range(6)
"""The traits whose products are compared, as rows of `traits` (and no trait)."""
BY_START, BY_END, BY_LIFE, BY_SIZE = range(4)
"""The orders within a band, as rows of `within`."""
RULE_FIELDS = 9
"""(trait, power, root) twice; order within; peak first; best fit."""
BEST_RULE, BEST_PEAK, TRIED, AT_LEAST = range(4)
"""The fields of `found`: the row of the best order (ABSENT for none), its peak, how many orders were tried."""
N, N_LIVE_SETS, CAPACITY, TARGET, FIRST = range(5)
"""The fields of `counts`: how many buffers there are and how many live sets; the rest as `OrderTask` says."""


class OrderTask(NamedTuple):
    """The `n` buffers, sizes in units, times in live sets; and `r` rules, tried in turn.

    The search ends with a peak of at most TARGET, and after FIRST orders where the best is more than near[0] times
    the target, or nothing fits. Columns of buffers may be longer than `n`, so that one task does for many problems.
    """

    counts: I64  # (5,)
    near: F64  # (1,)
    size: I64  # (n,)
    start: I64
    end: I64
    stride: I64  # (n,): offsets are multiples of it
    rules: Rows  # (r, RULE_FIELDS)
    bases: F64  # (r,): of the bands, 0 for none
    offset: I64  # (n,): those of the best order, where there is one
    found: I64  # (4,)


class OrderStop(NamedTuple):
    """The sign of another thread to stop."""

    flag: I64  # (1,)


class OrderWorkspace(NamedTuple):
    """The arrays that a call works in, for as many buffers and live sets, or more."""

    load: I64  # (live sets + 1,)
    begun: I64  # (live sets + 1,)
    over: I64  # (live sets + 1,)
    traits: F64  # (6 n,), trait by trait
    within: I64  # (4 n,), order by order
    key: F64  # (n,)
    order: I64  # (n,)
    spare: I64  # (n,)
    edges: F64
    at: I64  # (n,)
    placed: I64  # (n,): what is placed, by offset


@Kernel
def pack_in_orders(task: OrderTask, workspace: OrderWorkspace, stop: OrderStop) -> int:
    """Pack in one order after the other; fill `offset` and `found`, and return the row of the best rule, or ABSENT.

    Once flag[0] is not 0, no further order is tried. Sums of sizes and waste must stay below 2^62.
    """
    # 1. What is read over and over.
    size, start, end, stride, found = task.size, task.start, task.end, task.stride, task.found
    n, target, first = task.counts[N], task.counts[TARGET], task.counts[FIRST]
    order, spare, key, at = workspace.order, workspace.spare, workspace.key, workspace.at
    found[BEST_RULE], found[BEST_PEAK], found[TRIED] = ABSENT, I64_MAX, ZERO
    peak_set = _traits(task, workspace)

    for r in range(len(task.bases)):
        if stop.flag[0] != 0:
            break
        # 2. The order.
        within = task.rules[r, 6]
        if r == 0 or workspace.within[within * n] == ABSENT:
            _order_within(task, workspace, within)
        for k in range(n):
            order[k] = workspace.within[within * n + k]
        if task.rules[r, 0] != NO_TRAIT:
            _keys(task, workspace, r)
            _sort(order, key, spare, n)
        if task.rules[r, 7] != 0:
            for i in range(n):
                key[i] = 0.0 if start[i] <= peak_set and peak_set < end[i] else 1.0
            _sort(order, key, spare, n)

        # 3. The packing, given up where it becomes no better than the best.
        limit = min(task.counts[CAPACITY], found[BEST_PEAK] - ONE)
        peak = _pack(size, start, end, stride, order, n, limit, task.rules[r, 8] != 0, at, workspace.placed)
        if peak != ABSENT:
            found[BEST_RULE], found[BEST_PEAK] = r, peak
            for i in range(n):
                task.offset[i] = at[i]

        # 4. Whether that is enough.
        found[TRIED] = r + 1
        if found[BEST_PEAK] <= target:
            break
        if r + 1 >= first and found[BEST_RULE] != ABSENT and found[BEST_PEAK] > task.near[0] * target:
            break
    best: int = found[BEST_RULE]
    return best


@step
def _traits(task: OrderTask, workspace: OrderWorkspace) -> int:
    """Fill in loads and traits; forget the orders within bands. Returns the first live set with the largest load."""
    size, start, end, n, m = task.size, task.start, task.end, task.counts[N], task.counts[N_LIVE_SETS]
    load, begun, over, traits = workspace.load, workspace.begun, workspace.over, workspace.traits
    for t in range(m + 1):
        load[t] = begun[t] = over[t] = 0
    for i in range(n):
        load[start[i]] += size[i]
        load[end[i]] -= size[i]
        if start[i] < m:
            begun[start[i] + 1] += 1
        over[end[i]] += 1
    peak_set = ZERO
    for t in range(1, m + 1):
        load[t] += load[t - 1]
        begun[t] += begun[t - 1]
        over[t] += over[t - 1]
        if t < m and load[t] > load[peak_set]:
            peak_set = ZERO + t
    largest = max(1.0, float(load[peak_set]))
    for i in range(n):
        life, height = float(end[i] - start[i]), load[start[i]]
        for t in range(start[i] + 1, end[i]):
            height = max(height, load[t])
        traits[SIZE * n + i], traits[LIFE * n + i], traits[AREA * n + i] = float(size[i]), life, float(size[i]) * life
        traits[CONFLICTS * n + i] = float(begun[end[i]] - over[start[i]] - 1)
        traits[PRESSURE * n + i] = float(height) / largest
    for within in range(4):
        workspace.within[within * n] = ABSENT
    return peak_set


@step
def _order_within(task: OrderTask, workspace: OrderWorkspace, within: int) -> None:
    """Fill in one of the orders within bands: by start, else by end, life or size, the largest first.

    Of those that start or end together the shortest lives come first, else the first ones.
    """
    n, key, order, traits = task.counts[N], workspace.key, workspace.order, workspace.traits
    for i in range(n):
        order[i] = i
    if within == BY_START or within == BY_END:
        for i in range(n):
            key[i] = traits[LIFE * n + i]
        _sort(order, key, workspace.spare, n)
    for i in range(n):
        if within == BY_START:
            key[i] = float(task.start[i])
        elif within == BY_END:
            key[i] = -float(task.end[i])
        elif within == BY_LIFE:
            key[i] = -traits[LIFE * n + i]
        else:
            key[i] = -traits[SIZE * n + i]
    _sort(order, key, workspace.spare, n)
    for k in range(n):
        workspace.within[within * n + k] = order[k]


@step
def _keys(task: OrderTask, workspace: OrderWorkspace, r: int) -> None:
    """Fill in what a rule sorts by: the product of its traits, the largest first, or the number of its band."""
    n, key, traits, edges = task.counts[N], workspace.key, workspace.traits, workspace.edges
    largest, lowest = 0.0, -1.0
    for i in range(n):
        value = 1.0
        for k in range(0, 6, 3):
            if task.rules[r, k] != NO_TRAIT:
                factor = traits[task.rules[r, k] * n + i]
                if task.rules[r, k + 2] != 0:
                    factor = sqrt(factor)
                for _ in range(task.rules[r, k + 1]):
                    value = value * factor
        key[i] = -value
        largest = max(largest, value)
        if value > 0 and (lowest < 0 or value < lowest):
            lowest = value
    base = task.bases[r]
    if base == 0:
        return
    count = 1
    edges[0] = largest
    while lowest > 0 and edges[count - 1] > lowest and count < len(edges):
        edges[count] = edges[count - 1] / base
        count += 1
    for i in range(n):
        value, low, high = -key[i], 0, count  # how many edges are not below the value
        while low < high:
            middle = (low + high) >> 1
            if edges[middle] >= value:
                low = middle + 1
            else:
                high = middle
        key[i] = float(low)


@step
def _sort(order: I64, key: F64, spare: I64, n: int) -> None:
    """Sort buffers by their keys, the least first, those with equal keys as they were: short runs, then merged."""
    run = 8
    for low in range(0, n, run):
        for k in range(low + 1, min(low + run, n)):
            i, j = order[k], k
            while j > low and key[order[j - 1]] > key[i]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = i
    while run < n:
        for low in range(0, n, 2 * run):
            middle, high = min(low + run, n), min(low + 2 * run, n)
            a, b = low, middle
            for k in range(low, high):
                if b >= high or (a < middle and key[order[a]] <= key[order[b]]):
                    spare[k] = order[a]
                    a += 1
                else:
                    spare[k] = order[b]
                    b += 1
        for k in range(n):
            order[k] = spare[k]
        run *= 2


@step
def _pack(
    size: I64,
    start: I64,
    end: I64,
    stride: I64,
    order: I64,
    n: int,
    limit: int,
    is_best_fit: bool,
    at: I64,
    placed: I64,
) -> int:
    """Place the buffers of an order, first fit or best fit; fill in their offsets `at`.

    Returns the largest end, ABSENT where one would pass the limit.
    """
    peak = ZERO
    for count in range(n):
        i = order[count]
        mine, since, until = size[i], start[i], end[i]
        here, best, tightest, space = ZERO, ABSENT, I64_MAX, ABSENT
        for k in range(count):
            j = placed[k]
            if end[j] <= since or start[j] >= until or at[j] + size[j] <= here:
                continue
            if at[j] >= here + mine and at[j] - here < tightest:
                best, tightest = here, at[j] - here
                if not is_best_fit:
                    break
            here = at[j] + size[j]
            if stride[i] > 1:
                here += -here % stride[i]
        if best == ABSENT:
            best = here
        if best > limit - mine:
            return ABSENT
        at[i] = best
        peak = max(peak, best + mine)
        space = ZERO + count
        while space > 0 and at[placed[space - 1]] > best:
            placed[space] = placed[space - 1]
            space -= 1
        placed[space] = i
    return peak
