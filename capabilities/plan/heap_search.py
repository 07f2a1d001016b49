"""Heaps of at most so many bytes each: the fewest, then few bytes in all.

One pool with a wall at each multiple of the heap's size, which no buffer crosses, is planned first; the bound is that
of bin packing for each live set. Where it takes more heaps than that, pools of one size are planned, one more each time
that fewer are proved not to be enough. At last each heap is planned by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import lcm
from typing import Any

import numpy as np

from memplan.planner.bounds.lower_bound import live_bytes
from memplan.planner.errors import InvalidPlanError, ProblemError, shown
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.plan import Plan, PoolUse
from memplan.planner.model.planned import with_problem
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify

Solve = Callable[[Problem, float, Mapping[str, Any]], Plan]
"""Plans a problem in a part of the time that is left, with options of its own."""
_MOST_LIVE_SETS = 200
"""The heaviest live sets whose bin packing bounds the heaps; lighter ones need no more on any file."""
_WALLS, _POOLS = 0.3, 0.5
"""The parts of the time that is left for the pool with walls, and for each number of pools."""
_ABOVE = 8
"""The numbers of heaps that are tried from the bound on, before the walls' plan is good enough."""


@dataclass(frozen=True)
class FoundHeaps:
    """A plan in heaps, as a problem of one pool for each; no plan has fewer than `least_heaps`, or `least_bytes`."""

    problem: Problem
    plan: Plan
    least_heaps: int
    least_bytes: int

    @property
    def used(self) -> list[int]:
        """The bytes of each heap."""
        return [pool.used or 0 for pool in self.plan.pools]


def in_heaps(problem: Problem, size: int, solve: Solve) -> FoundHeaps:
    """Plan a problem of one pool in heaps of at most `size` bytes; raises ProblemError."""
    instance = compile_problem(problem)
    extra = instance.features - {"holes", "conflicts", "alignment", "capacity"}
    if extra := extra | ({"together"} if problem.together else set()):
        raise ProblemError(f"heaps: must be of a problem without {', '.join(sorted(extra))}")
    table = problem.buffers
    if (largest := int(table.size.max(initial=0))) > size:
        i = int(table.size.argmax())
        raise ProblemError(
            f"heap_limit: must be at least the largest buffer ({shown(table.ids[i])}: {largest}), got {size}"
        )
    least_bytes = max((load for _, load in live_bytes(instance)), default=0)
    least = max([1, -(-least_bytes // size), *_bins(instance, size)])
    steps = lcm(problem.pools[0].alignment, *set(table.alignment.tolist()))
    pitch = size // steps * steps
    gap = least * pitch / max(1, least_bytes) - 1
    best = _behind_walls(problem, pitch, f"{max(0.0, 100 * gap):.4f}%", solve) if largest <= pitch else None
    tried = range(least, least + _ABOVE if best is None else 1 + max(best.values()))
    for count in tried:
        found = solve(_with_pools(problem, size, count, instance), _POOLS, {"accept": "fit", "profile": "size"})
        if found.placements:
            number = {f"heap {k + 1}": k for k in range(count)}
            best = {each.id: number[each.pool] for each in found.placements}
            break
        if found.status != "infeasible":
            break
        least = count + 1
    if best is None:
        raise ProblemError(f"heaps: none were found in the time, up to {tried[-1]} of them")
    return _planned(problem, best, size, solve, (least, least_bytes))


def _behind_walls(problem: Problem, size: int, accept: str, solve: Solve) -> dict[int | str, int] | None:
    """Return the heap of each buffer in a plan of one pool with walls."""
    rows = [row if "alias_of" in row else row | {"no_cross": size} for row in _rows(problem)]
    pool = {"name": "heaps", "alignment": problem.pools[0].alignment}
    plan = solve(_changed(problem, buffers=rows, pools=[pool]), _WALLS, {"accept": accept})
    return {each.id: each.offset // size for each in plan.placements} if plan.placements else None


def _with_pools(problem: Problem, size: int, count: int, instance: Instance) -> Problem:
    """Return the problem with so many pools of one size; heaps are alike, so the k-th buffer lies in the first k."""
    heaviest = max(range(instance.n_live_sets), key=lambda t: sum(instance.size[_alive(instance, t)]), default=None)
    first = [] if heaviest is None else sorted(_alive(instance, heaviest), key=lambda i: -int(instance.size[i]))
    rank = {int(instance.source[i]): k + 1 for k, i in enumerate(first[: count - 1])}
    rows = [
        row | ({"pools": [f"heap {k + 1}" for k in range(rank[i])]} if i in rank else {})
        for i, row in enumerate(_rows(problem))
    ]
    pool = {"size": size, "alignment": problem.pools[0].alignment}
    return _changed(problem, buffers=rows, pools=[pool | {"name": f"heap {k + 1}"} for k in range(count)])


def _planned(
    problem: Problem, heap_of: Mapping[int | str, int], size: int, solve: Solve, least: tuple[int, int]
) -> FoundHeaps:
    """Plan each heap by itself, and return all of them, the fullest first; raises InvalidPlanError."""
    plans: list[Plan] = []
    alignment = problem.pools[0].alignment
    for heap in sorted(set(heap_of.values())):
        kept = {name for name, each in heap_of.items() if each == heap}
        rows = [row for row in _rows(problem) if row["id"] in kept]
        pairs = [pair for pair in problem.conflicts if kept.issuperset(pair)]
        own = Problem(buffers=rows, conflicts=pairs, pools=[{"name": "heap", "size": size, "alignment": alignment}])
        plans.append(solve(own, 1 / (1 + len(set(heap_of.values())) - len(plans)), {}))
    plans.sort(key=lambda plan: -(plan.peak or 0))
    whole = _changed(
        problem,
        buffers=_rows(problem),
        pools=[{"name": f"heap {k + 1}", "size": size, "alignment": alignment} for k in range(len(plans))],
    )
    rows = [
        {"id": each.id, "pool": f"heap {k + 1}", "offset": each.offset}
        for k, plan in enumerate(plans)
        for each in plan.placements
    ]
    at = {row["id"]: row for row in rows}
    pools = tuple(PoolUse(name=f"heap {k + 1}", used=plan.peak, size=size) for k, plan in enumerate(plans))
    peak = sum(plan.peak or 0 for plan in plans)
    is_best = len(plans) == least[0] and peak == least[1]
    placed = Plan.model_validate(
        {
            "status": "optimal" if is_best else "feasible",
            "peak": peak,
            "lower_bound": least[1],
            "pools": pools,
            "placements": [at[name] for name in problem.buffers.ids if name in at],
        }
    )
    if violations := verify(whole, placed):
        raise InvalidPlanError(violations[0].message)
    return FoundHeaps(whole, with_problem(placed, whole), *least)


def _rows(problem: Problem) -> list[dict[str, Any]]:
    """Return the buffers without the name of the one pool that they may be in."""
    table = problem.buffers
    return [{k: v for k, v in table.fields(i).items() if k != "pools"} for i in range(len(table))]


def _changed(problem: Problem, **fields: Any) -> Problem:
    return Problem.model_validate({name: getattr(problem, name) for name in problem.model_fields_set} | fields)


def _alive(instance: Instance, t: int) -> list[int]:
    here = instance.lifetime_buffer[(instance.start <= t) & (instance.end > t)]
    return [int(i) for i in here]


def _bins(instance: Instance, size: int) -> Iterator[int]:
    """Yield the bins that the heaviest live sets need at least (Martello and Toth's L2), in units."""
    change = np.zeros(instance.n_live_sets + 1, dtype=np.int64)
    np.add.at(change, instance.start, instance.size[instance.lifetime_buffer])
    np.subtract.at(change, instance.end, instance.size[instance.lifetime_buffer])
    room = size // instance.unit
    for t in np.argsort(-np.cumsum(change)[:-1], kind="stable")[:_MOST_LIVE_SETS].tolist():
        sizes = [int(instance.size[i]) for i in _alive(instance, t)]
        for k in {s for s in sizes if 2 * s <= room} | {0}:
            alone = sum(s > room - k for s in sizes)
            large = [s for s in sizes if room - k >= s and 2 * s > room]
            small = sum(s for s in sizes if k <= s and 2 * s <= room)
            yield alone + len(large) + max(0, -(-(small - (len(large) * room - sum(large))) // room))
