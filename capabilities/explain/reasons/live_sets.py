"""Live sets that alone take more bytes than a pool has, before any rule is looked at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.instance.legal_offsets import last_end
from memplan.planner.model.problem import Problem


@dataclass(frozen=True)
class OverfullSet:
    """The fullest live set of a problem with one pool: the bytes alive at `time`, more than the `capacity`.

    `buffers`, positions in the problem, the largest first, are the fewest that do not fit side by side. `stretches`
    counts the runs of live sets that are overfull.
    """

    time: int
    needed: int
    capacity: int
    buffers: tuple[int, ...]
    stretches: int


def overfull_set(problem: Problem, instance: Instance) -> OverfullSet | None:
    """Return the fullest live set where its bytes alone pass the capacity of the only pool, else None.

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
    """Return the number of runs of neighbouring live sets with more bytes than all pools together have."""
    if instance.n_live_sets == 0:
        return 0
    capacity = sum(map(last_end, problem.pools))
    is_over = np.greater(instance.load(), capacity // instance.unit).astype(np.int8)
    return int((np.diff(is_over, prepend=0) > 0).sum())
