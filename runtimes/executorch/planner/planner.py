"""ExecuTorch's own planners, for one pool or for buffers whose pools are given.

The planners round all sizes up to one alignment, so that sums of sizes are aligned. Here, this is the least common
multiple of all alignments in the problem. They ignore pool sizes and bytes reserved at the start of pools.
"""

from dataclasses import dataclass, field
from math import lcm

from memplan.planner.model.problem import Problem
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck, Tensor, align, tensors


@dataclass
class _SharedObject:
    """A range of bytes that tensors share, each at a fixed offset; the first tensor placed in it sets its size."""

    size: int
    held: list[tuple[Tensor, int, int]] = field(default_factory=list)
    """The tensors in the object, each with its offset there and its end offset."""

    def add_tensor(self, tensor: Tensor, offset: int, size: int) -> None:
        self.held.append((tensor, offset, offset + size))

    def last_conflicting_end(self, tensor: Tensor) -> int:
        """Return the largest end offset of the tensors that conflict with `tensor`, or 0 without conflicts."""
        return max((end for other, _, end in self.held if other.meets(tensor)), default=0)


def plan_greedily(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place tensors, largest first, into shared objects laid out one after another; equal sizes are in reverse order.

    Source: pytorch/executorch v1.5.1, exir/memory_planning.py: greedy (sorted by bisect.insort, then reversed),
    pick_shared_obj, _compute_total_sizes. The running time is quadratic.
    """
    objects: list[list[_SharedObject]] = [[] for _ in problem.pools]
    for tensor, size in _sized_tensors(problem, stop_check):
        stop_check()
        _place_in_objects(objects[tensor.pools[0]], tensor, size)
    return PlannerAnswer(_concatenate_objects(objects))


def _concatenate_objects(objects: list[list[_SharedObject]]) -> dict[int, tuple[int, int]]:
    placements: dict[int, tuple[int, int]] = {}
    for pool, row in enumerate(objects):
        start = 0
        for shared in row:
            placements |= {tensor.position: (pool, start + offset) for tensor, offset, _ in shared.held}
            start += shared.size
    return placements


def _place_in_objects(objects: list[_SharedObject], tensor: Tensor, size: int) -> None:
    """Place a tensor in the first object without conflicts, else above an object's conflicts, else in a new object."""
    for shared in objects:
        if not any(other.meets(tensor) for other, _, _ in shared.held):
            shared.add_tensor(tensor, 0, size)
            return
    for shared in objects:
        end = shared.last_conflicting_end(tensor)
        if 0 < end <= shared.size - size:
            shared.add_tensor(tensor, end, size)
            return
    objects.append(_SharedObject(size))
    objects[-1].add_tensor(tensor, 0, size)


def banked_greedy(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place tensors as `plan_greedily` does, each in the first of its allowed pools that has room.

    Tensors that may use one pool only are placed before all others. A pool has room if one of its objects can take the
    tensor, or if a new object ends within the pool's size.

    Source: pytorch/executorch, pull request 21821 (banked_greedy).
    """
    banks: list[list[_SharedObject]] = [[] for _ in problem.pools]
    for tensor, size in sorted(_sized_tensors(problem, stop_check), key=lambda row: len(row[0].pools) > 1):
        stop_check()
        for pool in tensor.pools:
            capacity, before = problem.pools[pool].size, len(banks[pool])
            _place_in_objects(banks[pool], tensor, size)
            if capacity is None or len(banks[pool]) == before or sum(each.size for each in banks[pool]) <= capacity:
                break
            banks[pool].pop()
        else:
            return PlannerAnswer(_concatenate_objects(banks), (tensor.position,))
    return PlannerAnswer(_concatenate_objects(banks))


def plan_naively(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place tensors one after another in the problem's order, without sharing bytes.

    Source: naive in pytorch/executorch v1.5.1, exir/memory_planning.py. The original refuses views; here, a view lies
    inside the buffer that it views.
    """
    all_tensors = tensors(problem, stop_check)
    step = _common_alignment(problem, all_tensors)
    end = [0] * len(problem.pools)
    placements: dict[int, tuple[int, int]] = {}
    for tensor in all_tensors:
        stop_check()
        pool = tensor.pools[0]
        placements[tensor.position] = pool, end[pool]
        end[pool] += align(tensor.size, step)
    return PlannerAnswer(placements)


def _sized_tensors(problem: Problem, stop_check: StopCheck) -> list[tuple[Tensor, int]]:
    all_tensors = tensors(problem, stop_check)
    step = _common_alignment(problem, all_tensors)
    rows = sorted(((tensor, align(tensor.size, step)) for tensor in all_tensors), key=lambda row: row[1])
    return rows[::-1]  # Unlike a descending sort, reversing also reverses the order of equal sizes.


def _common_alignment(problem: Problem, all_tensors: list[Tensor]) -> int:
    return lcm(*{pool.alignment for pool in problem.pools}, *{tensor.alignment for tensor in all_tensors})
