"""The planners of ExecuTorch's Cadence backend, which place tensors into several pools, the fastest first.

The planners know the size and the alignment of each pool; they ignore alignments of buffers. Offsets are multiples of
the pool's alignment, and the end of a buffer, rounded up to that alignment, must be within the pool's size. A view,
which is placed relative to another buffer, gets no separate placement ("skipped"): the other buffer lives as long as
any of its views. Buffers pinned to an offset are placed first, then buffers that may use one pool only, pool by pool,
then all others.

Source: pytorch/executorch v1.5.1, backends/cadence/aot: memory_planning_algo.py (MemoryPlanningState,
MemoryPlanningAlgo.plan_with_constraints, is_valid_placement), memory_constraints.py (MemConstraints) and
memory_planning.py (PositionBasedGreedyWithHierarchy, GreedyWithHeuristic).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from memplan.planner.errors import excerpt
from memplan.planner.model.problem import Problem
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck, Tensor, align, tensors


class _PlacedTensor(NamedTuple):
    """A tensor in a pool, which occupies the bytes from `offset` up to but excluding `end`."""

    tensor: Tensor
    offset: int
    end: int


@dataclass
class _PoolState:
    """A pool and the tensors placed in it so far, in the order in which a planner searches them."""

    position: int
    size: int | None
    alignment: int
    contents: list[_PlacedTensor]

    def can_hold(self, tensor: Tensor, offset: int) -> bool:
        """Return True if a tensor may use this pool and its end, rounded up to the alignment, is within the pool."""
        fits = self.size is None or align(offset + tensor.size, self.alignment) <= self.size
        return fits and self.position in tensor.pools

    def first_obstacle(self, tensor: Tensor, offset: int) -> _PlacedTensor | None:
        """Return the first placed tensor that is alive with `tensor` and would overlap it at `offset`, or None."""
        end = offset + tensor.size
        for held in self.contents:
            if max(offset, held.offset) < min(end, held.end) and held.tensor.meets(tensor):
                return held
        return None


class _CollisionError(Exception):
    """A tensor was placed on bytes that are in use; the original planner reports this as an internal error."""


_FindOffset = Callable[[_PoolState, Tensor, StopCheck], int]
"""A rule that returns the offset to try for a tensor in a pool; the pool may still refuse the tensor there."""


def position_based_greedy(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place tensors, largest first, in the first pool with room, at offset 0 or directly after conflicting tensors."""
    return _plan_by_rule(problem, _offset_after_obstacles, stop_check, is_sorted=False)


def greedy_by_size(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place tensors, largest first, in the first pool with room, in the smallest gap between conflicting tensors."""
    return _plan_by_rule(problem, _smallest_gap, stop_check, is_sorted=True)


def greedy_by_size_paper_literal(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place tensors as `greedy_by_size` does, but let gaps begin after any tensor, even one that is not in conflict.

    This is algorithm 3 of arXiv 2001.03288 as printed. A comment in ExecuTorch's source predicts that tensors then
    hardly share bytes.
    """
    return _plan_by_rule(
        problem, lambda pool, tensor, _: _gap_above(pool, tensor, pool.contents), stop_check, is_sorted=True
    )


def _offset_after_obstacles(pool: _PoolState, tensor: Tensor, stop_check: StopCheck) -> int:
    offset = 0
    while pool.can_hold(tensor, offset) and (other := pool.first_obstacle(tensor, offset)) is not None:
        stop_check()
        offset = align(other.end, pool.alignment)
    return offset


def _smallest_gap(pool: _PoolState, tensor: Tensor, stop_check: StopCheck) -> int:
    return _gap_above(pool, tensor, [held for held in pool.contents if held.tensor.meets(tensor)])


def _gap_above(pool: _PoolState, tensor: Tensor, below: Iterable[_PlacedTensor]) -> int:
    """Return the start of the smallest sufficient gap below a conflicting tensor, or else the end of all tensors.

    Only the tensors in `below` bound gaps. The search starts at offset 0, because an offset found in another pool means
    nothing in this one.
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


def _plan_by_rule(problem: Problem, rule: _FindOffset, stop_check: StopCheck, *, is_sorted: bool) -> PlannerAnswer:
    """Place pinned tensors, then tensors that may use one pool only, then the rest; `rule` finds each offset."""
    pools = [_PoolState(q, pool.size, pool.alignment, []) for q, pool in enumerate(problem.pools)]
    all_tensors = tensors(problem, stop_check)
    pinned = [tensor for tensor in all_tensors if tensor.offset is not None]
    others = [tensor for tensor in all_tensors if tensor.offset is None]
    confined = [_only_pool(problem, tensor) for tensor in others]
    try:
        for tensor in pinned:
            _add_to_pool(pools[tensor.pools[0]], tensor, tensor.offset or 0, problem)
        for only in (*range(len(pools)), None):
            turn = [tensor for tensor, only_pool in zip(others, confined, strict=True) if only_pool == only]
            for tensor in sorted(turn, key=attrgetter("size"), reverse=True):
                stop_check()
                if not _place_in_first(pools, tensor, rule, problem, stop_check, is_sorted=is_sorted):
                    return PlannerAnswer(_placements_in(pools), (tensor.position,))
    except _CollisionError as collision:
        return PlannerAnswer(_placements_in(pools), because=str(collision))
    return PlannerAnswer(_placements_in(pools))


def _only_pool(problem: Problem, tensor: Tensor) -> int | None:
    """Return the position of the only pool that a tensor's list of pools names.

    Return None if the list names several pools, or if the problem has only one pool. The list of excluded pools has no
    influence.
    """
    table = problem.buffers
    names = set(table.pool_choices[int(table.pool_choice[tensor.position])])
    return tensor.pools[0] if len(names) == 1 < len(problem.pools) else None


def _place_in_first(
    pools: list[_PoolState],
    tensor: Tensor,
    rule: _FindOffset,
    problem: Problem,
    stop_check: StopCheck,
    *,
    is_sorted: bool,
) -> bool:
    """Place a tensor in the first allowed pool with room, at the offset found by `rule`; return False if none has."""
    for pool in pools:
        if pool.position not in tensor.pools:
            continue
        offset = rule(pool, tensor, stop_check)
        if pool.can_hold(tensor, offset):
            _add_to_pool(pool, tensor, offset, problem)
            if is_sorted:
                pool.contents.sort(key=attrgetter("offset"))
            return True
    return False


def _add_to_pool(pool: _PoolState, tensor: Tensor, offset: int, problem: Problem) -> None:
    """Add a tensor to a pool at an offset. Raises _CollisionError if the bytes are in use."""
    other = pool.first_obstacle(tensor, offset)
    if other is not None:
        mine, theirs = (excerpt(problem.buffers.ids[one.position]) for one in (tensor, other.tensor))
        raise _CollisionError(
            f"it placed buffer {mine} at offset {offset}, where it overlaps buffer {theirs}, and stopped"
        )
    pool.contents.append(_PlacedTensor(tensor, offset, offset + tensor.size))


def _placements_in(pools: list[_PoolState]) -> dict[int, tuple[int, int]]:
    return {held.tensor.position: (pool.position, held.offset) for pool in pools for held in pool.contents}
