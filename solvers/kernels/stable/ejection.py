"""Give every buffer a place below fixed ends and leave most of them where they were, by ejection.

Those without a place wait in a queue. Each in turn takes the spot where those that it pushes out weigh least; a buffer
weighs more each time it has had to go, and twice as much at home. What is pushed out joins the queue. Spots are the
home, the lowest and the highest offset of each pool, and those just above and below what conflicts and has a place.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.groups import STABLE
from memplan.solvers.kernels.kernel import Kernel
from memplan.solvers.kernels.tables import ABSENT, F64, ONE, ZERO, Flags, Rows, draw, step

PLACED, GIVEN_UP, STOPPED = 1, 0, -1
"""Outcomes: all have a place; some have none after all rounds; flag[0] was set."""


class Homes(NamedTuple):
    """The facts: `n` buffers, `p` pools, `r` reserved ranges; all offsets in units.

    Buffer i may lie in pool q where may_use[q, i] is not 0, at lowest[q, i] + k * alignment[q, i] up to highest[q, i],
    at which it ends inside the pool. Its home is offset home[i] of pool home_pool[i]; ABSENT is none, or none that is
    still legal. One that `is_fixed` may lie at home only. Conflicts are symmetric. `reserved` rows are (pool, low,
    high).
    """

    size: I64  # (n,)
    may_use: Rows  # (p, n)
    alignment: Rows  # (p, n)
    lowest: Rows  # (p, n)
    highest: Rows  # (p, n)
    home: I64  # (n,)
    home_pool: I64  # (n,)
    is_fixed: Flags  # (n,)
    near_first: I64  # (n + 1,)
    near: I64
    reserved: Rows  # (r, 3)


class Ejection(NamedTuple):
    """The placement, which is changed in place, and what has no place in it yet.

    `queue` holds the `waiting[0]` buffers that wait; room is for all. `heat` is the weight of each buffer. `random[0]`
    is the state of a random sequence, not 0.
    """

    pool: I64  # (n,)
    offset: I64  # (n,), ABSENT where it has no place
    heat: F64  # (n,)
    queue: I64  # (n,)
    waiting: I64  # (1,)
    random: I64  # (1,)
    rounds: int
    flag: I64  # (1,)


@step
def taken(homes: Homes, run: Ejection) -> int:
    """Take a buffer out of the queue: the largest, or every third time any."""
    n = run.waiting[0]
    best = draw(run.random) % n
    if draw(run.random) % 3 != 0:
        for k in range(n):
            i, j = run.queue[k], run.queue[best]
            if homes.size[i] > homes.size[j] or (homes.size[i] == homes.size[j] and run.heat[i] > run.heat[j]):
                best = k
    found: int = run.queue[best]
    run.queue[best] = run.queue[n - 1]
    run.waiting[0] = n - 1
    return found


@step
def price(homes: Homes, run: Ejection, buffer: int, pool: int, offset: int, most: float) -> float:
    """Return what it weighs to push out all that a buffer would lie on; `most` or more where it is not below that.

    It is below 0 where the buffer must not lie there.
    """
    end = offset + homes.size[buffer]
    for r in range(len(homes.reserved)):
        if homes.reserved[r, 0] == pool and homes.reserved[r, 1] < end and offset < homes.reserved[r, 2]:
            return -1.0
    total: float = 0.0
    for k in range(homes.near_first[buffer], homes.near_first[buffer + 1]):
        j = homes.near[k]
        low = run.offset[j]
        if low >= 0 and run.pool[j] == pool and low < end and offset < low + homes.size[j]:
            if homes.is_fixed[j]:
                return -1.0
            is_home = low == homes.home[j] and pool == homes.home_pool[j]
            total += 2.0 * run.heat[j] if is_home else run.heat[j]
            if total >= most:
                return total
    return total


@step
def push_out(homes: Homes, run: Ejection, buffer: int) -> None:
    """Push out all that a buffer, just placed, lies on."""
    low, pool = run.offset[buffer], run.pool[buffer]
    high = low + homes.size[buffer]
    for k in range(homes.near_first[buffer], homes.near_first[buffer + 1]):
        j = homes.near[k]
        if run.offset[j] >= 0 and run.pool[j] == pool and run.offset[j] < high and low < run.offset[j] + homes.size[j]:
            run.offset[j] = ABSENT
            run.queue[run.waiting[0]] = j
            run.waiting[0] += 1


@step
def settle(homes: Homes, run: Ejection, buffer: int) -> bool:
    """Place a buffer at the spot where least is pushed out; return False where there is none."""
    least, best_pool, best_offset = 1e300, ABSENT, ABSENT
    if homes.home[buffer] >= 0:
        found = price(homes, run, buffer, homes.home_pool[buffer], homes.home[buffer], least)
        if found >= 0.0:
            least, best_pool, best_offset = found, homes.home_pool[buffer], homes.home[buffer]
    if not homes.is_fixed[buffer]:
        size = homes.size[buffer]
        for pool in range(len(homes.may_use)):
            if homes.may_use[pool, buffer] == 0:
                continue
            lowest, alignment = homes.lowest[pool, buffer], homes.alignment[pool, buffer]
            highest = homes.highest[pool, buffer]
            first, last = homes.near_first[buffer], homes.near_first[buffer + 1]
            for k in range(first - 1, last):
                j = homes.near[k] if k >= first else ABSENT
                if j >= 0 and (run.offset[j] < 0 or run.pool[j] != pool):
                    continue
                for side in range(2):
                    if side == 0:
                        raw = run.offset[j] + homes.size[j] if j >= 0 else ZERO
                        spot = lowest + max(ZERO, -((lowest - raw) // alignment)) * alignment
                    else:
                        raw = run.offset[j] - size if j >= 0 else highest
                        spot = lowest + ((raw - lowest) // alignment) * alignment
                    if spot < lowest or spot > highest:
                        continue
                    noise = 0.5 + 0.01 * (draw(run.random) / 2147483648.0)
                    found = price(homes, run, buffer, pool, spot, least)
                    if found >= 0.0 and found + noise < least:
                        least, best_pool, best_offset = found + noise, pool, spot
    if best_offset < 0:
        return False
    run.pool[buffer], run.offset[buffer] = best_pool, best_offset
    if least >= 0.9:
        push_out(homes, run, buffer)
    return True


@step
def go_home(homes: Homes, run: Ejection) -> int:
    """Put each buffer that is away back home where nothing lies there; return how many went."""
    went = ZERO
    for i in range(len(homes.size)):
        at, pool = homes.home[i], homes.home_pool[i]
        is_away = at >= 0 and run.offset[i] >= 0 and (run.offset[i] != at or run.pool[i] != pool)
        if is_away:
            if price(homes, run, i, pool, at, 1e300) == 0.0:
                run.offset[i], run.pool[i] = at, pool
                went += ONE
    return went


@partial(Kernel, group=STABLE)
def eject(homes: Homes, run: Ejection) -> int:
    """Place all that waits, in so many rounds; return PLACED, GIVEN_UP or STOPPED."""
    for _ in range(run.rounds):
        if run.waiting[0] == 0:
            break
        if run.flag[0] != 0:
            return STOPPED
        buffer = taken(homes, run)
        run.heat[buffer] += 1.0
        if not settle(homes, run, buffer):
            run.queue[run.waiting[0]] = buffer
            run.waiting[0] += 1
            return GIVEN_UP
    if run.waiting[0] > 0:
        return GIVEN_UP
    while go_home(homes, run) > 0:
        if run.flag[0] != 0:
            return STOPPED
    return PLACED
