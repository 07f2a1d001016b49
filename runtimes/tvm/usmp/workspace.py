"""A problem in the form that USMP uses: buffers with lists of conflicts, and the live peak.

Source: apache/tvm v0.16.0, include/tvm/tir/usmp/utils.h (BufferInfo) and src/tir/usmp/analysis/extract_buffer_info.cc
(BufferInfoExtractor::operator()), which finds conflicts by a sweep over time. A pair that is alive together again after
a hole in a lifetime is listed again, and counts twice when buffers are ordered by their conflicts.

In the original, the order of a buffer's conflicts depends on addresses of objects, which matters only if pools have
sizes. Here, conflicts are in the order of the sweep, followed by the explicit conflicts of the problem.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memplan.planner.model.problem import Problem
from memplan.solvers.reference.tensors import StopCheck, Tensor, tensor_alignment, tensors

MOST_CONFLICTS = 20_000_000
"""The maximum number of entries in all conflict lists together, because longer lists would take gigabytes."""


class TooManyConflictsError(Exception):
    """The problem has more conflicts than MOST_CONFLICTS."""


@dataclass(frozen=True)
class BufferInfo:
    """A buffer: its pools in order of preference, its alignment in each, and the positions of conflicting buffers.

    Conflicts need not be symmetric, and may be repeated.
    """

    name: str
    size: int
    pools: tuple[int, ...]
    alignments: tuple[int, ...]
    conflicts: Sequence[int]


@dataclass(frozen=True)
class UsmpWorkspace:
    """The input of USMP: buffers, the size of each pool (None if unlimited), and the live peak in bytes.

    With `rounds_to_own`, an offset above a neighbour is rounded up to the buffer's alignment; otherwise, as in USMP, to
    the neighbour's alignment.
    """

    buffers: Sequence[BufferInfo]
    pool_sizes: tuple[int | None, ...]
    memory_pressure: int = 0
    rounds_to_own: bool = False

    def lowest_offset_above(self, buffer: int, neighbour: int, pool: int, offset: int) -> int:
        """Return a buffer's lowest offset above a neighbour, which is at `offset` in the pool, with USMP's rounding."""
        below = self.buffers[neighbour]
        alignment = (self.buffers[buffer] if self.rounds_to_own else below).alignments[pool]
        return -(-(offset + below.size) // alignment) * alignment

    def fits(self, buffer: int, pool: int, offset: int) -> bool:
        """Return True if a buffer at `offset` ends within the pool."""
        capacity = self.pool_sizes[pool]
        return capacity is None or offset + self.buffers[buffer].size <= capacity


def usmp_workspace(
    problem: Problem, stop_check: StopCheck, rounds_to_own: bool = False
) -> tuple[UsmpWorkspace, list[Tensor]]:
    """Return USMP's input for a problem, and its buffers' tensors. TooManyConflictsError: above MOST_CONFLICTS."""
    rows = tensors(problem)
    conflicts, pressure = _conflicts_in_time(problem, rows, stop_check)
    _add_listed_conflicts(problem, rows, conflicts)
    infos = [
        BufferInfo(
            str(problem.buffers.ids[tensor.position]),
            tensor.size,
            tensor.pools,
            tuple(tensor_alignment(problem, tensor, pool) for pool in range(len(problem.pools))),
            listed,
        )
        for tensor, listed in zip(rows, conflicts, strict=True)
    ]
    return UsmpWorkspace(infos, tuple(pool.size for pool in problem.pools), pressure, rounds_to_own), rows


def _conflicts_in_time(problem: Problem, found: Sequence[Tensor], stop_check: StopCheck) -> tuple[list[list[int]], int]:
    """Return the conflicts of each tensor due to lifetimes, and the live peak in bytes, in O(conflicts) time."""
    conflicts: list[list[int]] = [[] for _ in found]
    alive: dict[int, None] = {}  # The order of conflicts matters, so use an ordered set.
    load = pressure = listed = 0
    for _, is_start, i in sorted(_lifetime_events(problem, found)):
        stop_check()
        if not is_start:
            del alive[i]
            load -= found[i].size
            continue
        for other in alive:
            conflicts[other].append(i)
        conflicts[i].extend(alive)
        listed += 2 * len(alive)
        if listed > MOST_CONFLICTS:
            raise TooManyConflictsError
        alive[i] = None
        load += found[i].size
        pressure = max(pressure, load)
    return conflicts, pressure


def _lifetime_events(problem: Problem, found: Sequence[Tensor]) -> Iterator[tuple[int, bool, int]]:
    """Yield (time, True for a start, tensor) for both ends of each interval in which a tensor or an alias is alive."""
    table = problem.buffers
    index = {tensor.position: i for i, tensor in enumerate(found)}
    stretches: list[list[tuple[int, int]]] = [[] for _ in found]
    for position in range(len(table)):
        root = problem.roots.get(position, (position, 0))[0]
        low, high = table.first[position], table.first[position + 1]
        stretches[index[root]].extend(zip(table.start[low:high].tolist(), table.end[low:high].tolist(), strict=True))
    for i, mine in enumerate(stretches):
        last: int | None = None
        for start, end in sorted(mine):
            if last is None or start > last:
                if last is not None:
                    yield last, False, i
                yield start, True, i
                last = end
            else:
                last = max(last, end)
        if last is not None:
            yield last, False, i


def _add_listed_conflicts(problem: Problem, found: Sequence[Tensor], conflicts: list[list[int]]) -> None:
    """Add the explicit conflicts of the problem to the lists, in both directions, unless they are listed already."""
    if not problem.conflicts:
        return
    index = {tensor.position: i for i, tensor in enumerate(found)}
    sets = [set(listed) for listed in conflicts]
    for names in problem.conflicts:
        a, b = (index[problem.roots.get(i := problem.index[name], (i, 0))[0]] for name in names)
        for one, other in ((a, b), (b, a)):
            if one != other and other not in sets[one]:
                sets[one].add(other)
                conflicts[one].append(other)


Placements = dict[int, tuple[int, int]]
"""Maps the position of each placed buffer to its pool and offset."""


def order_by_size(task: UsmpWorkspace) -> list[int]:
    """Return the buffers by decreasing size, then decreasing number of conflicts, then descending name."""
    infos = task.buffers
    return sorted(_name_order(task), key=lambda i: (-infos[i].size, -len(infos[i].conflicts)))


def order_by_conflicts(task: UsmpWorkspace) -> list[int]:
    """Return the buffers by decreasing number of conflicts, then decreasing size, then descending name."""
    infos = task.buffers
    return sorted(_name_order(task), key=lambda i: (-len(infos[i].conflicts), -infos[i].size))


def _name_order(task: UsmpWorkspace) -> list[int]:
    return sorted(range(len(task.buffers)), key=lambda i: task.buffers[i].name.encode(), reverse=True)


def place_above_conflicts(
    task: UsmpWorkspace, order: Sequence[int], stop_check: StopCheck
) -> tuple[Placements, int | None]:
    """Place buffers in order, and return the placements and the first buffer that fits into no pool, or None."""
    placements: Placements = {}
    for i in order:
        stop_check()
        offsets = _offsets_above_conflicts(task, placements, i)
        pool = next((pool for pool in task.buffers[i].pools if pool in offsets), None)
        if pool is None:
            return placements, i
        placements[i] = pool, offsets[pool]
    return placements, None


def _offsets_above_conflicts(task: UsmpWorkspace, placements: Placements, i: int) -> dict[int, int]:
    """Map each pool that USMP considers large enough to the offset of a buffer above all its conflicts there.

    A pool is excluded if the buffer does not fit above a conflict, but included again if the buffer fits above a later,
    lower conflict. The buffer then overlaps the first conflict. This is USMP's rule; the verifier detects the overlap.
    """
    offsets = {pool: 0 for pool in task.buffers[i].pools if task.fits(i, pool, 0)}
    for other in task.buffers[i].conflicts:
        if other not in placements:
            continue
        pool, offset = placements[other]
        above = task.lowest_offset_above(i, other, pool, offset)
        if task.fits(i, pool, above):
            offsets[pool] = max(offsets.get(pool, 0), above)
        else:
            offsets.pop(pool, None)
    return offsets
