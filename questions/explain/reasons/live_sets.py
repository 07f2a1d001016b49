"""Live sets that exceed a pool by themselves, and the least size of a pool that is enough."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memplan.planner.errors import ProblemError
from memplan.planner.instance.instance import Instance
from memplan.planner.instance.legal_offsets import last_end
from memplan.planner.model.plan import Enough
from memplan.planner.model.problem import Problem, replace_fields
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control


@dataclass(frozen=True)
class OverfullSet:
    """The fullest live set of a problem with one pool: the bytes alive at `time`, above the `capacity`.

    `buffers`, positions in the problem, the largest first, are the fewest that do not fit side by side. `stretches`
    counts the runs of live sets that are overfull.
    """

    time: int
    needed: int
    capacity: int
    buffers: tuple[int, ...]
    stretches: int


def overfull_set(problem: Problem, instance: Instance) -> OverfullSet | None:
    """Return the fullest live set if it exceeds the capacity of the only pool, else None.

    Every buffer named is needed: the others named, one upon the other, end within the capacity. None as well where
    buffers may lie on the bytes of others, so that sizes do not add up.
    """
    # Only where sizes add up is arithmetic a proof; members of rigid groups and partners may share bytes.
    if len(problem.pools) > 1 or instance.n_live_sets == 0 or instance.features & {"relative", "sharing"}:
        return None
    capacity = last_end(problem.pools[0])
    load = instance.load()
    fullest = int(load.argmax())
    needed = int(load[fullest]) * instance.unit
    if needed <= capacity:
        return None
    members = instance.members(fullest)
    # The largest first: the shortest such prefix is irreducible, as each member is no smaller than the one left out.
    order = members[np.argsort(-instance.size[members], kind="stable")]
    total, chosen = 0, []
    for i in order.tolist():
        chosen.append(int(instance.source[i]))
        total += int(instance.size[i]) * instance.unit
        if total > capacity:
            break
    time = int(instance.live_set_time[fullest])
    return OverfullSet(time, needed, capacity, tuple(chosen), overfull_stretches(problem, instance))


def overfull_stretches(problem: Problem, instance: Instance) -> int:
    """Return the number of runs of adjacent live sets that exceed the total size of all pools."""
    if instance.n_live_sets == 0:
        return 0
    capacity = sum(map(last_end, problem.pools))
    is_over = np.greater(instance.load(), capacity // instance.unit).astype(np.int8)
    return int((np.diff(is_over, prepend=0) > 0).sum())


_LEAST_S = 0.05


def sufficient_size(
    problem: Problem, pool: str | None, least: int, control: Control, is_quick: bool = False
) -> Enough | None:
    """Return a sufficient size of the pool, the others unchanged; None if none was found.

    No size below `least` would, as the caller knows.
    The pool is put last and its size taken away: of the pools, the last one's end is what a plan makes least first.
    """
    if pool is None:
        return None
    mine = problem.pools[problem.pool_index[pool]]
    # The objective `peak` makes the last pool small, so this one goes last.
    others = tuple(row for row in problem.pools if row.name != pool)
    open_ended = mine.model_copy(update={"size": None})
    try:
        larger = replace_fields(problem, pools=(*others, open_ended), objective="peak")
    except ProblemError:  # the next pool begins where this one ends
        return None
    limit_s, cancelled = max(_LEAST_S, control.remaining_s), Control(cancelled=control.cancelled)
    options = SolveOptions(time_limit_s=limit_s, deterministic=control.counts_work)
    plan = solve(larger, options, is_quick=is_quick, control=cancelled)
    if plan.status not in ("optimal", "feasible"):
        return None
    use = plan.pools[-1]
    # Buffers without bytes use nothing, but must lie within their pool.
    ends = (row.offset + problem.buffers.size[problem.index[row.id]] for row in plan.placements if row.pool == pool)
    size = int(max(ends, default=0))
    return Enough(pool=pool, size=size, proved=size <= max(least, use.lower_bound or 0))
