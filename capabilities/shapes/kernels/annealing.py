"""Improve one order of stacking for several values at once: threshold accepting on the critical chains.

A move looks at a value at which the peak is above the bound, follows the chain of buffers that carries its peak, and
turns two neighbours of the chain around, or moves one of its buffers elsewhere. What is minimised is the largest ratio
of peak to bound, plus a fifth of the mean.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from memplan.capabilities.shapes.kernels import GROUP
from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.kernel import Kernel
from memplan.solvers.kernels.tables import ONE, ZERO, Rows, draw, step

MEAN_WEIGHT = 0.2
TURNED, NEAR = 75, 90
"""Of a hundred moves so many turn neighbours of a chain around, and so many more move a buffer to a place near by."""
REACH = 20


class Stack(NamedTuple):
    """The facts: `n` buffers, alive in the live sets from first[b] to before last[b], at `k` values of the symbols."""

    first: I64  # (n,)
    last: I64  # (n,)
    size: Rows  # (n, k)
    bound: I64  # (k,), none is 0


class Annealing(NamedTuple):
    """The order, which is changed in place, and room; `best` is filled with the best that was met.

    `random[0]` is the state of a random sequence, not 0. `heat` is by how much a move may be worse at the beginning.
    """

    order: I64  # (n,)
    best: I64  # (n,)
    trial: I64  # (n,)
    chain: I64  # (n,)
    offset: Rows  # (n, k)
    kept: Rows  # (n, k)
    top: Rows  # (live sets, k)
    peak: I64  # (k,)
    kept_peak: I64  # (k,)
    random: I64  # (1,)
    moves: int
    heat: float
    flag: I64  # (1,)


@step
def stack(facts: Stack, run: Annealing) -> float:
    """Stack the trial order at all values: offsets and peaks; return what is minimised."""
    k = len(facts.bound)
    for t in range(len(run.top)):
        for j in range(k):
            run.top[t, j] = 0
    for j in range(k):
        run.peak[j] = 0
    for i in range(len(run.trial)):
        b = run.trial[i]
        for j in range(k):
            run.offset[b, j] = 0
        for t in range(facts.first[b], facts.last[b]):
            for j in range(k):
                run.offset[b, j] = max(run.offset[b, j], run.top[t, j])
        for t in range(facts.first[b], facts.last[b]):
            for j in range(k):
                run.top[t, j] = run.offset[b, j] + facts.size[b, j]
        for j in range(k):
            run.peak[j] = max(run.peak[j], run.offset[b, j] + facts.size[b, j])
    worst: float = 0.0
    mean: float = 0.0
    for j in range(k):
        ratio = run.peak[j] / facts.bound[j]
        worst = max(worst, ratio)
        mean += ratio
    return worst + MEAN_WEIGHT * mean / k


@step
def chosen_value(facts: Stack, run: Annealing) -> int:
    """Return a value to improve: of four drawn ones that which is worst, or the worst of all where that has nothing."""
    k = len(facts.bound)
    found = draw(run.random) % k
    for _ in range(3):
        j = draw(run.random) % k
        if run.peak[j] / facts.bound[j] > run.peak[found] / facts.bound[found]:
            found = j
    if run.peak[found] <= facts.bound[found]:
        for j in range(k):
            if run.peak[j] / facts.bound[j] > run.peak[found] / facts.bound[found]:
                found = j
    return found


@step
def critical_chain(facts: Stack, run: Annealing, value: int) -> int:
    """Fill `chain` with buffers that carry the peak of a value, from the top; return how many they are."""
    count = ZERO
    height = run.peak[value]
    for i in range(len(run.order) - 1, -1, -1):
        b = run.order[i]
        if facts.size[b, value] == 0 or run.offset[b, value] + facts.size[b, value] != height:
            continue
        if count > 0:
            above = run.chain[count - 1]
            if facts.first[b] >= facts.last[above] or facts.first[above] >= facts.last[b]:
                continue
        run.chain[count] = b
        count += ONE
        height = run.offset[b, value]
        if height == 0:
            break
    return count


@step
def position(run: Annealing, buffer: int) -> int:
    """Return where a buffer stands in the order."""
    for i in range(len(run.order)):
        if run.order[i] == buffer:
            return i
    return ZERO


@step
def move(run: Annealing, source: int, target: int) -> None:
    """Fill `trial` with the order in which the buffer at one position is moved to another."""
    n = len(run.order)
    for i in range(n):
        run.trial[i] = run.order[i]
    moved = run.order[source]
    if source < target:
        for i in range(source, target):
            run.trial[i] = run.order[i + 1]
    else:
        for i in range(source, target, -1):
            run.trial[i] = run.order[i - 1]
    run.trial[target] = moved


@step
def vary(facts: Stack, run: Annealing) -> None:
    """Fill `trial` with a neighbour of the order; offsets and peaks are those of the order."""
    n = len(run.order)
    count = critical_chain(facts, run, chosen_value(facts, run))
    kind = draw(run.random) % 100
    if count >= 2 and kind < TURNED:
        i = draw(run.random) % (count - 1)
        upper, lower = position(run, run.chain[i]), position(run, run.chain[i + 1])
        if draw(run.random) % 2 == 0:
            move(run, upper, lower)
        else:
            move(run, lower, upper)
        return
    source = draw(run.random) % n
    if count > 0:
        source = position(run, run.chain[draw(run.random) % count])
    target = draw(run.random) % n
    if kind < NEAR:
        target = min(n - 1, max(0, source + draw(run.random) % (2 * REACH + 1) - REACH))
    move(run, source, target)


@partial(Kernel, group=GROUP)
def anneal(facts: Stack, run: Annealing) -> int:
    """Improve an order by so many moves, less where flag[0] is set or nothing is left to gain; return how many."""
    n, k = len(run.order), len(facts.bound)
    for i in range(n):
        run.trial[i] = run.order[i]
        run.best[i] = run.order[i]
    current = stack(facts, run)
    least = current
    made = ZERO
    while made < run.moves and run.flag[0] == 0 and least > 1.0 + MEAN_WEIGHT:
        for b in range(n):
            for j in range(k):
                run.kept[b, j] = run.offset[b, j]
        for j in range(k):
            run.kept_peak[j] = run.peak[j]
        vary(facts, run)
        cost = stack(facts, run)
        allowed = run.heat * (1.0 - made / run.moves) * (draw(run.random) / 2147483648.0)
        if cost <= current + allowed:
            current = cost
            for i in range(n):
                run.order[i] = run.trial[i]
            if cost < least:
                least = cost
                for i in range(n):
                    run.best[i] = run.trial[i]
        else:
            for b in range(n):
                for j in range(k):
                    run.offset[b, j] = run.kept[b, j]
            for j in range(k):
                run.peak[j] = run.kept_peak[j]
        made += ONE
    return made
