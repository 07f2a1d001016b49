"""The planners of ExecuTorch's Cadence backend: several pools, the fastest first.

Of a pool they know size and alignment; alignments of buffers count for nothing. Offsets are multiples of the pool's
alignment, and so must be the end of a buffer, rounded up, within the pool's size. Views, placed relative to another
buffer, are not placed themselves ("skipped"): that one lives as long as any of them. Buffers pinned to an offset are
placed first, then buffers that may use one pool only, pool by pool, then all others.

Source: pytorch/executorch v1.5.1, backends/cadence/aot: memory_planning_algo.py (MemoryPlanningState,
MemoryPlanningAlgo.plan_with_constraints, is_valid_placement), memory_constraints.py (MemConstraints) and
memory_planning.py (PositionBasedGreedyWithHierarchy, GreedyWithHeuristic).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from memplan.planner.errors import excerpt
from memplan.planner.model.problem import Problem
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck, Tensor, align, tensors


class _PlacedTensor(NamedTuple):
    """A tensor in its pool, on the bytes from `offset` to `end`."""

    tensor: Tensor
    offset: int
    end: int


@dataclass
class _PoolState:
    """A pool and what lies in it, in the order in which a planner looks at it."""

    position: int
    size: int | None
    alignment: int
    contents: list[_PlacedTensor]

    def takes(self, tensor: Tensor, offset: int) -> bool:
        """Return True if the tensor may live here, and ends below the size when its end is rounded up."""
        fits = self.size is None or align(offset + tensor.size, self.alignment) <= self.size
        return fits and self.position in tensor.pools

    def first_obstacle(self, tensor: Tensor, offset: int) -> _PlacedTensor | None:
        """Return the first tensor alive with this one that uses one of its bytes; None if there is none."""
        end = offset + tensor.size
        for held in self.contents:
            if max(offset, held.offset) < min(end, held.end) and held.tensor.meets(tensor):
                return held
        return None


class _CollisionError(Exception):
    """A tensor was put on bytes that are in use, which the original reports as an internal bug."""


_FindOffset = Callable[[_PoolState, Tensor, StopCheck], int]
"""A rule: where in a pool a tensor would go; the pool need not take it there."""


def position_based_greedy(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place the largest first, in the first pool that takes it, at 0 or after the obstacles."""
    return _plan(problem, _offset_after_obstacles, stop_check, is_sorted=False)


def greedy_by_size(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place the largest first, in the first pool that takes it, in the smallest gap between live tensors."""
    return _plan(problem, _smallest_gap, stop_check, is_sorted=True)


def greedy_by_size_paper_literal(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place as greedy_by_size does, but count gaps from the end of all that lies below, alive with it or not.

    That is how arXiv 2001.03288 prints its algorithm 3; a comment in the source predicts that nothing is shared then.
    """
    return _plan(problem, lambda pool, tensor, _: _gap_above(pool, tensor, pool.contents), stop_check, is_sorted=True)


def _offset_after_obstacles(pool: _PoolState, tensor: Tensor, stop_check: StopCheck) -> int:
    offset = 0
    while pool.takes(tensor, offset) and (other := pool.first_obstacle(tensor, offset)) is not None:
        stop_check()
        offset = align(other.end, pool.alignment)
    return offset


def _smallest_gap(pool: _PoolState, tensor: Tensor, stop_check: StopCheck) -> int:
    return _gap_above(pool, tensor, [held for held in pool.contents if held.tensor.meets(tensor)])


def _gap_above(pool: _PoolState, tensor: Tensor, below: Iterable[_PlacedTensor]) -> int:
    """Return where the smallest gap begins that ends at a tensor alive at the same time; else the end of all `below`.

    What a pool before this one offered is forgotten here: an offset found in one must not be tried in the next.
    """
    lowest_gap: int | None = None
    smallest: int | None = None
    previous = 0
    for held in below:
        gap = held.offset - previous
        if held.tensor.meets(tensor) and gap >= tensor.size and (smallest is None or gap < smallest):
            lowest_gap, smallest = previous, gap
        previous = max(align(held.end, pool.alignment), previous)
    return previous if lowest_gap is None else lowest_gap


def _plan(problem: Problem, rule: _FindOffset, stop_check: StopCheck, *, is_sorted: bool) -> PlannerAnswer:
    pools = [_PoolState(q, pool.size, pool.alignment, []) for q, pool in enumerate(problem.pools)]
    all_tensors = tensors(problem, stop_check)
    pinned = [tensor for tensor in all_tensors if tensor.offset is not None]
    others = [tensor for tensor in all_tensors if tensor.offset is None]
    confined = [_confinement(problem, tensor) for tensor in others]
    try:
        for tensor in pinned:
            _put(pools[tensor.pools[0]], tensor, tensor.offset or 0, problem)
        for only in (*range(len(pools)), None):
            turn = [tensor for tensor, only_pool in zip(others, confined, strict=True) if only_pool == only]
            for tensor in sorted(turn, key=attrgetter("size"), reverse=True):
                stop_check()
                if not _place(pools, tensor, rule, problem, stop_check, is_sorted=is_sorted):
                    return PlannerAnswer(_placements(pools), (tensor.position,))
    except _CollisionError as collision:
        return PlannerAnswer(_placements(pools), because=str(collision))
    return PlannerAnswer(_placements(pools))


def _confinement(problem: Problem, tensor: Tensor) -> int | None:
    """Return the one pool, of several, that a tensor names; to forbid all others does not count as naming it."""
    table = problem.buffers
    names = set(table.pool_choices[int(table.pool_choice[tensor.position])])
    return tensor.pools[0] if len(names) == 1 < len(problem.pools) else None


def _place(
    pools: list[_PoolState],
    tensor: Tensor,
    rule: _FindOffset,
    problem: Problem,
    stop_check: StopCheck,
    *,
    is_sorted: bool,
) -> bool:
    for pool in pools:
        if pool.position not in tensor.pools:
            continue
        offset = rule(pool, tensor, stop_check)
        if pool.takes(tensor, offset):
            _put(pool, tensor, offset, problem)
            if is_sorted:
                pool.contents.sort(key=attrgetter("offset"))
            return True
    return False


def _put(pool: _PoolState, tensor: Tensor, offset: int, problem: Problem) -> None:
    other = pool.first_obstacle(tensor, offset)
    if other is not None:
        mine, theirs = (excerpt(problem.buffers.ids[one.position]) for one in (tensor, other.tensor))
        raise _CollisionError(f"it put buffer {mine} at offset {offset}, on bytes of {theirs}, and gave up")
    pool.contents.append(_PlacedTensor(tensor, offset, offset + tensor.size))


def _placements(pools: list[_PoolState]) -> dict[int, tuple[int, int]]:
    return {held.tensor.position: (pool.position, held.offset) for pool in pools for held in pool.contents}
