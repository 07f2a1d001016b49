"""Lower bounds on the use of several pools, from buffers that are alive together; part of the verifier.

The module shares no code with the solvers and their bounds.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import inf

from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

Interval = tuple[int, int]


def live_bounds(problem: Problem, plan: Plan) -> tuple[list[int], int]:
    """Return a lower bound on the use of each pool in bytes, and a lower bound on the sum of all uses.

    Each pool's bound assumes that later pools are used as in the plan. A pool must hold the live bytes that may not be
    in another pool, and all live bytes that it may hold minus the capacity of the other pools. Buffers that may share
    bytes, such as members of a rigid group, are not counted.
    """
    shared = {problem.root_of(name) for pair in problem.may_share for name in pair}
    shared |= {each for i in problem.buffers.rules["relative"] for each in (i, problem.target(i)[0])}
    table, lives = problem.buffers, dict[int, list[Interval]]()
    size, first, spans = (
        table.size.tolist(),
        table.first.tolist(),
        [*zip(table.start.tolist(), table.end.tolist(), strict=True)],
    )
    for i, (low, high) in enumerate(pairwise(first)):
        root = problem.roots.get(i, (i, 0))[0]
        if root not in shared and size[root] > 0:
            lives.setdefault(root, []).extend(spans[low:high])
    pools, rooms = range(len(problem.pools)), _used_or_capacity(problem, plan)
    may = {i: problem.allowed_pools(i) for i in lives}
    least = []
    for q in pools:
        here = _peak_live_bytes(size, lives, [i for i in lives if may[i] == (q,)])
        others = sum(rooms[p] if p > q else _capacity(problem, p) for p in pools if p != q)
        if others < inf:
            able = _peak_live_bytes(size, lives, [i for i in lives if q in may[i]])
            here = max(here, able - int(others))
        least.append(here)
    if problem.equal_use:
        return [max(least)] * len(least), max(least) * len(least)
    return least, _peak_live_bytes(size, lives, [*lives])


def _used_or_capacity(problem: Problem, plan: Plan) -> list[float]:
    used = {use.name: use.used for use in plan.pools if use.used is not None}
    return [used.get(pool.name, _capacity(problem, q)) for q, pool in enumerate(problem.pools)]


def _capacity(problem: Problem, q: int) -> float:
    size = problem.pools[q].size
    return inf if size is None else size


def _peak_live_bytes(size: Sequence[int], lives: dict[int, list[Interval]], chosen: Sequence[int]) -> int:
    """Return the peak live bytes of the chosen buffers."""
    change: dict[int, int] = {}
    for i in chosen:
        end = None
        for start, until in sorted(lives[i]):
            begin = start if end is None else max(start, end)  # Lifetimes may overlap, so count a time once.
            if begin < until:
                change[begin] = change.get(begin, 0) + size[i]
                change[until] = change.get(until, 0) - size[i]
                end = until
    return max(accumulate(change[when] for when in sorted(change)), default=0)
