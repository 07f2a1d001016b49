"""The planners of ExecuTorch's Cadence backend: several memories, the fastest first.

Of a memory they know size and alignment; alignments of buffers count for nothing. Offsets are multiples of the memory's
alignment, and so must be the end of a buffer, rounded up, within the memory's size. Views, placed relative to another
buffer, are not placed themselves ("skipped"): that one lives as long as any of them. Buffers pinned to an offset are
placed first, then those that may use one memory only, memory by memory, then all others.

Source: pytorch/executorch v1.5.1, backends/cadence/aot: memory_planning_algo.py (MemoryPlanningState,
MemoryPlanningAlgo.plan_with_constraints, is_valid_placement), memory_constraints.py (MemConstraints) and
memory_planning.py (PositionBasedGreedyWithHierarchy, GreedyWithHeuristic).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from memplan.planner.errors import shown
from memplan.planner.model.problem import Problem
from memplan.solvers.reference.tensors import Placed, Tensor, Watch, aligned, tensors


class _Seat(NamedTuple):
    """Where a tensor lies in its memory: the bytes from `offset` to `end`."""

    tensor: Tensor
    offset: int
    end: int


@dataclass
class _Memory:
    """A memory and what lies in it, in the order in which a planner looks at it."""

    position: int
    size: int | None
    alignment: int
    seats: list[_Seat]

    def takes(self, tensor: Tensor, offset: int) -> bool:
        """Whether the tensor may live here, and ends in time when its end is rounded up."""
        fits = self.size is None or aligned(offset + tensor.size, self.alignment) <= self.size
        return fits and self.position in tensor.pools

    def in_the_way(self, tensor: Tensor, offset: int) -> _Seat | None:
        """Return the first that uses a byte which the tensor would use at the same time."""
        end = offset + tensor.size
        for seat in self.seats:
            if max(offset, seat.offset) < min(end, seat.end) and seat.tensor.meets(tensor):
                return seat
        return None


class _CollisionError(Exception):
    """A tensor was put on bytes that are in use, which the original takes for a bug of its own."""


_FindOffset = Callable[[_Memory, Tensor, Watch], int]
"""A rule: where in a memory a tensor would go; the memory need not take it there."""


def position_based_greedy(problem: Problem, seed: int, watch: Watch) -> Placed:
    """Place the largest first, in the first memory that takes it, at 0 or behind what is in the way."""
    return _plan(problem, _behind_what_is_in_the_way, watch, is_sorted=False)


def greedy_by_size(problem: Problem, seed: int, watch: Watch) -> Placed:
    """Place the largest first, in the first memory that takes it, in the smallest gap between what is alive with it."""
    return _plan(problem, _smallest_gap, watch, is_sorted=True)


def greedy_by_size_paper_literal(problem: Problem, seed: int, watch: Watch) -> Placed:
    """Place as greedy_by_size does, but count gaps from the end of all that lies below, alive with it or not.

    That is how arXiv 2001.03288 prints its algorithm 3; a comment in the source predicts that nothing is shared then.
    """
    return _plan(problem, _smallest_gap_above_all, watch, is_sorted=True)


def _behind_what_is_in_the_way(memory: _Memory, tensor: Tensor, watch: Watch) -> int:
    offset = 0
    while memory.takes(tensor, offset) and (other := memory.in_the_way(tensor, offset)) is not None:
        watch()
        offset = aligned(other.end, memory.alignment)
    return offset


def _smallest_gap(memory: _Memory, tensor: Tensor, watch: Watch) -> int:
    return _gap_above(memory, tensor, [seat for seat in memory.seats if seat.tensor.meets(tensor)])


def _smallest_gap_above_all(memory: _Memory, tensor: Tensor, watch: Watch) -> int:
    return _gap_above(memory, tensor, memory.seats)


def _gap_above(memory: _Memory, tensor: Tensor, below: Iterable[_Seat]) -> int:
    """Return where the smallest gap begins that ends at a tensor alive at the same time; else the end of all `below`.

    What a memory before this one offered is forgotten here: an offset found in one must not be tried in the next.
    """
    found: int | None = None
    smallest: int | None = None
    previous = 0
    for seat in below:
        gap = seat.offset - previous
        if seat.tensor.meets(tensor) and gap >= tensor.size and (smallest is None or gap < smallest):
            found, smallest = previous, gap
        previous = max(aligned(seat.end, memory.alignment), previous)
    return previous if found is None else found


def _plan(problem: Problem, rule: _FindOffset, watch: Watch, *, is_sorted: bool) -> Placed:
    memories = [_Memory(q, pool.size, pool.alignment, []) for q, pool in enumerate(problem.pools)]
    asked = tensors(problem, watch)
    pinned = [tensor for tensor in asked if tensor.offset is not None]
    others = [tensor for tensor in asked if tensor.offset is None]
    confined = [_confinement(problem, tensor) for tensor in others]
    try:
        for tensor in pinned:
            _seat(memories[tensor.pools[0]], tensor, tensor.offset or 0, problem)
        for only in (*range(len(memories)), None):
            turn = [tensor for tensor, home in zip(others, confined, strict=True) if home == only]
            for tensor in sorted(turn, key=attrgetter("size"), reverse=True):
                watch()
                if not _place(memories, tensor, rule, problem, watch, is_sorted=is_sorted):
                    return Placed(_places(memories), (tensor.position,))
    except _CollisionError as collision:
        return Placed(_places(memories), because=str(collision))
    return Placed(_places(memories))


def _confinement(problem: Problem, tensor: Tensor) -> int | None:
    """Return the one memory, of several, that a tensor names; to forbid all others is not the same."""
    table = problem.buffers
    names = set(table.pool_choices[int(table.pool_choice[tensor.position])])
    return tensor.pools[0] if len(names) == 1 < len(problem.pools) else None


def _place(
    memories: list[_Memory], tensor: Tensor, rule: _FindOffset, problem: Problem, watch: Watch, *, is_sorted: bool
) -> bool:
    for memory in memories:
        if memory.position not in tensor.pools:
            continue
        offset = rule(memory, tensor, watch)
        if memory.takes(tensor, offset):
            _seat(memory, tensor, offset, problem)
            if is_sorted:
                memory.seats.sort(key=attrgetter("offset"))
            return True
    return False


def _seat(memory: _Memory, tensor: Tensor, offset: int, problem: Problem) -> None:
    other = memory.in_the_way(tensor, offset)
    if other is not None:
        mine, theirs = (shown(problem.buffers.ids[one.position]) for one in (tensor, other.tensor))
        raise _CollisionError(f"it put buffer {mine} at offset {offset}, on bytes of {theirs}, and gave up")
    memory.seats.append(_Seat(tensor, offset, offset + tensor.size))


def _places(memories: list[_Memory]) -> dict[int, tuple[int, int]]:
    return {seat.tensor.position: (memory.position, seat.offset) for memory in memories for seat in memory.seats}
