"""USMP's two greedy planners: by size, and by the number of conflicts.

Source: apache/tvm v0.16.0, src/tir/usmp/algo/greedy.cc (GreedySize, GreedyConflicts, GreedyBase::PostSortAllocation).
A buffer goes above all its conflicts that are placed already, into the first of its pools where that fits; gaps
between these are not looked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from memplan.solvers.reference.tensors import StopCheck
from memplan.systems.tvm.usmp.workspace import UsmpWorkspace

Placements = dict[int, tuple[int, int]]
"""(pool, offset) by position of a buffer."""


def order_by_size(task: UsmpWorkspace) -> list[int]:
    """Return the buffers, largest first, then most conflicts first, then by name from the end of the alphabet."""
    infos = task.buffers
    return sorted(_by_name(task), key=lambda i: (-infos[i].size, -len(infos[i].conflicts)))


def order_by_conflicts(task: UsmpWorkspace) -> list[int]:
    """Return the buffers, most conflicts first, then largest first, then by name from the end of the alphabet."""
    infos = task.buffers
    return sorted(_by_name(task), key=lambda i: (-len(infos[i].conflicts), -infos[i].size))


def _by_name(task: UsmpWorkspace) -> list[int]:
    return sorted(range(len(task.buffers)), key=lambda i: task.buffers[i].name.encode(), reverse=True)


def place_above_conflicts(
    task: UsmpWorkspace, order: Sequence[int], stop_check: StopCheck
) -> tuple[Placements, int | None]:
    """Place the buffers in this order; return the placements, and the first that fits nowhere, if any."""
    placements: Placements = {}
    for i in order:
        stop_check()
        offsets = _offsets(task, placements, i)
        pool = next((pool for pool in task.buffers[i].pools if pool in offsets), None)
        if pool is None:
            return placements, i
        placements[i] = pool, offsets[pool]
    return placements, None


def _offsets(task: UsmpWorkspace, placements: Placements, i: int) -> dict[int, int]:
    """Return the offset above all conflicts for each pool that is thought to be large enough.

    A pool is crossed out when the buffer does not fit above one conflict, but comes back when it fits above a later,
    lower one: then it lies on top of the first. This is USMP's rule; the verifier finds it out.
    """
    offsets = {pool: 0 for pool in task.buffers[i].pools if task.fits(i, pool, 0)}
    for other in task.buffers[i].conflicts:
        if other not in placements:
            continue
        pool, offset = placements[other]
        above = task.above(i, other, pool, offset)
        if task.fits(i, pool, above):
            offsets[pool] = max(offsets.get(pool, 0), above)
        else:
            offsets.pop(pool, None)
    return offsets
