"""Live sets that exceed a pool, and the smallest sufficient size of a pool."""

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
    """The largest live set of a problem with one pool: `needed` bytes are alive at `time`, more than `capacity`.

    `buffers` has positions of its largest buffers, just enough of them to exceed the capacity. `stretches` is the
    number of runs of consecutive overfull live sets.
    """

    time: int
    needed: int
    capacity: int
    buffers: tuple[int, ...]
    stretches: int


def overfull_set(problem: Problem, instance: Instance) -> OverfullSet | None:
    """Return the largest live set if it exceeds the capacity of the only pool; else None.

    The set is irreducible: without any one of its buffers, the others fit on top of each other. The result is also None
    for several pools, and if buffers may share bytes, because the sum of sizes then proves nothing.
    """
    # Members of rigid groups and `may_share` pairs may share bytes, so the sum of their sizes proves nothing.
    if len(problem.pools) > 1 or instance.n_live_sets == 0 or instance.features & {"relative", "sharing"}:
        return None
    capacity = last_end(problem.pools[0])
    load = instance.loads()
    fullest = int(load.argmax())
    needed = int(load[fullest]) * instance.unit
    if needed <= capacity:
        return None
    members = instance.live_set_members(fullest)
    # Take the largest buffers until they exceed the capacity: without any one of them, the rest then fits.
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
    """Return the number of overfull stretches: maximal runs of live sets that exceed the bytes of all pools."""
    if instance.n_live_sets == 0:
        return 0
    capacity = sum(map(last_end, problem.pools))
    is_over = np.greater(instance.loads(), capacity // instance.unit).astype(np.int8)
    return int((np.diff(is_over, prepend=0) > 0).sum())


_LEAST_S = 0.05


def sufficient_size(
    problem: Problem, pool: str | None, least: int, control: Control, is_quick: bool = False
) -> Enough | None:
    """Return a sufficient size of the named pool in bytes, with the other pools unchanged; None if none is found.

    The caller has proved that no size below `least` is sufficient. The search removes the size of the pool and puts it
    last, because the objective `peak` first minimises the end of the last pool.
    """
    if pool is None:
        return None
    mine = problem.pools[problem.pool_index[pool]]
    others = tuple(row for row in problem.pools if row.name != pool)
    open_ended = mine.model_copy(update={"size": None})
    try:
        larger = replace_fields(problem, pools=(*others, open_ended), objective="peak")
    except ProblemError:  # The next pool's address depends on this pool's size, so no size can be tried.
        return None
    limit_s, cancelled = max(_LEAST_S, control.remaining_s), Control(cancelled=control.cancelled)
    options = SolveOptions(time_limit_s=limit_s, deterministic=control.counts_work)
    plan = solve(larger, options, is_quick=is_quick, control=cancelled)
    if plan.status not in ("optimal", "feasible"):
        return None
    use = plan.pools[-1]
    # `use.used` ignores zero-size buffers, but these must be inside the pool too, so compute the size from all ends.
    ends = (row.offset + problem.buffers.size[problem.index[row.id]] for row in plan.placements if row.pool == pool)
    size = int(max(ends, default=0))
    return Enough(pool=pool, size=size, proved=size <= max(least, use.lower_bound or 0))
