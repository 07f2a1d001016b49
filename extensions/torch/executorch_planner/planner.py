"""ExecuTorch's own planners, for one pool or for buffers that are given theirs.

They have one alignment for everything, to which sizes are rounded up, so that sums of sizes are aligned: here the least
common multiple of all that the problem requires. They know neither sizes of pools nor what lies where they begin.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import lcm

from memplan.planner.model.problem import Problem
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck, Tensor, align, tensors


@dataclass
class _SharedObject:
    """A range of bytes that tensors share, each at its offset inside; as large as the tensor that opened it."""

    size: int
    held: list[tuple[Tensor, int, int]] = field(default_factory=list)
    """Tensor, its offset in the object, and where it ends there."""

    def take(self, tensor: Tensor, offset: int, size: int) -> None:
        self.held.append((tensor, offset, offset + size))

    def is_free_for(self, tensor: Tensor) -> bool:
        """Return True if nothing here is alive with the tensor."""
        return not any(other.meets(tensor) for other, _, _ in self.held)

    def end_of_those_that_meet(self, tensor: Tensor) -> int:
        """Return where the last of those ends that are alive with the tensor."""
        return max((end for other, _, end in self.held if other.meets(tensor)), default=0)


def plan_greedily(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place the largest first, into objects that lie side by side; among equal sizes, the last comes first.

    Source: pytorch/executorch v1.5.1, exir/memory_planning.py: greedy (sorted by bisect.insort, then reversed),
    pick_shared_obj, _compute_total_sizes. The time is quadratic.
    """
    all_tensors = tensors(problem, stop_check)
    step = _alignment(problem, all_tensors)
    rounded = {tensor.position: align(tensor.size, step) for tensor in all_tensors}
    objects: list[list[_SharedObject]] = [[] for _ in problem.pools]
    largest_first = sorted(all_tensors, key=lambda tensor: rounded[tensor.position])
    largest_first.reverse()  # not a descending sort, which would keep equal sizes in the problem's order
    for tensor in largest_first:
        stop_check()
        _share(objects[tensor.pools[0]], tensor, rounded[tensor.position])
    return PlannerAnswer(_side_by_side(objects))


def _side_by_side(objects: list[list[_SharedObject]]) -> dict[int, tuple[int, int]]:
    """Return the place of each tensor, with the objects of a pool one after another."""
    placements: dict[int, tuple[int, int]] = {}
    for pool, row in enumerate(objects):
        start = 0
        for shared in row:
            placements |= {tensor.position: (pool, start + offset) for tensor, offset, _ in shared.held}
            start += shared.size
    return placements


def _share(objects: list[_SharedObject], tensor: Tensor, size: int) -> None:
    """Put a tensor into the first object free in its lifetime, else above its conflicts in one, else into a new one."""
    for shared in objects:
        if shared.is_free_for(tensor):
            shared.take(tensor, 0, size)
            return
    for shared in objects:
        end = shared.end_of_those_that_meet(tensor)
        if 0 < end <= shared.size - size:
            shared.take(tensor, end, size)
            return
    objects.append(_SharedObject(size))
    objects[-1].take(tensor, 0, size)


def banked_greedy(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place as `greedy` does, each tensor in the first pool of those it may be in that has room for it.

    Tensors that may be in one pool only are placed before all others. A pool has room where an object takes the tensor,
    or where one more object ends within its size. Source: pytorch/executorch, pull request 21821 (banked_greedy).
    """
    all_tensors = tensors(problem, stop_check)
    step = _alignment(problem, all_tensors)
    rounded = {tensor.position: align(tensor.size, step) for tensor in all_tensors}
    banks: list[list[_SharedObject]] = [[] for _ in problem.pools]
    largest_first = sorted(all_tensors, key=lambda tensor: rounded[tensor.position])
    largest_first.reverse()
    for tensor in sorted(largest_first, key=lambda tensor: len(tensor.pools) > 1):
        stop_check()
        size = rounded[tensor.position]
        for pool in tensor.pools:
            capacity, before = problem.pools[pool].size, len(banks[pool])
            _share(banks[pool], tensor, size)
            if capacity is None or len(banks[pool]) == before or sum(each.size for each in banks[pool]) <= capacity:
                break
            banks[pool].pop()
        else:
            return PlannerAnswer(_side_by_side(banks), (tensor.position,))
    return PlannerAnswer(_side_by_side(banks))


def plan_naively(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place one tensor after the other, in the problem's order; no byte is used twice.

    Source: naive in pytorch/executorch v1.5.1, exir/memory_planning.py, which refuses views; here they lie in their
    buffers.
    """
    all_tensors = tensors(problem, stop_check)
    step = _alignment(problem, all_tensors)
    end = [0] * len(problem.pools)
    placements: dict[int, tuple[int, int]] = {}
    for tensor in all_tensors:
        stop_check()
        pool = tensor.pools[0]
        placements[tensor.position] = pool, end[pool]
        end[pool] += align(tensor.size, step)
    return PlannerAnswer(placements)


def _alignment(problem: Problem, all_tensors: list[Tensor]) -> int:
    return lcm(*{pool.alignment for pool in problem.pools}, *{tensor.alignment for tensor in all_tensors})
