"""The price of sharing bytes, counted anew: by a sweep over the offsets in each pool; part of the verifier."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain

import numpy as np

from memplan.planner.errors import shown
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import counts_cost
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.violation import Violation, false_claim

Id = int | str
Times = list[tuple[int, int]]


def paid_pairs(problem: Problem, placed: PlacedBuffers) -> list[tuple[tuple[Id, Id], int]]:
    """Return each pair of `reuse` that shares bytes and is never alive together, with its cost; one named twice twice.

    A pair in explicit conflict costs nothing: if it shares bytes, that is a violation of its own.
    """
    together = _that_share_bytes(problem, placed)
    times = _times_alive(problem, placed, {i for pair in together for i in pair})
    apart = {frozenset(placed.root_of(name) for name in pair) for pair in problem.conflicts} if together else set()

    def is_paid(a: Id, b: Id) -> bool:
        pair = frozenset((placed.root_of(a), placed.root_of(b)))
        if pair not in together or pair in apart:
            return False
        mine, others = (times[i] for i in pair)
        return not any(start < until and since < end for start, end in mine for since, until in others)

    return [(pair, row.cost) for row in problem.reuse for pair in row.pairs if is_paid(*pair)]


def _that_share_bytes(problem: Problem, placed: PlacedBuffers) -> set[frozenset[int]]:
    """Return the pairs of `reuse`, as positions of what they live in, that have bytes of one pool in common."""
    partners: dict[int, set[int]] = defaultdict(set)
    for a, b in chain.from_iterable(row.pairs for row in problem.reuse):
        i, j = placed.root_of(a), placed.root_of(b)
        partners[i].add(j)
        partners[j].add(i)
    found: set[frozenset[int]] = set()
    for q in range(len(problem.pools)):
        mine = [i for i in partners if placed.pool[i] == q and problem.buffers.size[i] > 0]
        # At one offset, what ends there goes before what begins there.
        events = [(int(placed.offset[i]), 1, i) for i in mine] + [(int(placed.end[i]), 0, i) for i in mine]
        here: set[int] = set()
        for _, begins, i in sorted(events):
            if begins:
                found.update(frozenset((i, j)) for j in partners[i] & here)
                here.add(i)
            else:
                here.remove(i)
    return found


def _times_alive(problem: Problem, placed: PlacedBuffers, buffers: set[int]) -> dict[int, Times]:
    """Return when some buffers are alive, each with what lies in it."""
    found: dict[int, Times] = {i: [] for i in buffers}
    if buffers:
        table, home = problem.buffers, placed.lifetime_root
        for k in np.flatnonzero(np.isin(home, list(buffers))).tolist():
            found[int(home[k])].append((int(table.start[k]), int(table.end[k])))
    return found


def claims_of_reuse(problem: Problem, plan: Plan, placed: PlacedBuffers) -> Iterator[Violation]:
    """Yield what a plan that lists reused pairs says wrongly of them: which, at what cost, in what order.

    Where costs are not minimised, none is listed.
    """
    found = paid_pairs(problem, placed) if counts_cost(problem.objective) else []
    paid = sorted((*sorted(map(str, pair)), cost) for pair, cost in found)
    if sorted((*sorted(map(str, row.buffers)), row.cost) for row in plan.reused) != paid:
        listed = [pair for *pair, _ in paid]
        yield false_claim("reused", f"{shown(listed)} by the placements", [row.buffers for row in plan.reused])
        return
    times = _times_alive(problem, placed, {placed.root_of(name) for row in plan.reused for name in row.buffers})
    for k, row in enumerate(plan.reused):
        for a, b in (row.buffers, row.buffers[::-1]):
            ends, starts = ([time[side] for time in times[placed.root_of(x)]] for side, x in ((1, a), (0, b)))
            is_before = max(ends, default=0) <= min(starts, default=0) or not ends or not starts
            if (row.first, row.then) == (a, b) and not is_before:
                yield false_claim(f"reused[{k}].first", f"the one that is dead before {shown(b)} is born", row.first)
        if {row.first, row.then} not in (set(row.buffers), {None}):
            yield false_claim(f"reused[{k}]", "an order of its two buffers", (row.first, row.then))
