"""nntrainer's planners: basic (no sharing), v1 (reuse of equal sizes), v2 (separate gradients) and v3 (lowest gaps).

Source: nnstreamer/nntrainer 65dccdec, nntrainer/tensor: basic_planner.cpp, optimized_v1_planner.cpp to
optimized_v3_planner.cpp, `planLayout`.
"""

from memplan.planner.model.problem import Problem
from memplan.runtimes.by_size import aligned_tensors
from memplan.runtimes.std_sort import std_sorted
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck, Tensor

Row = tuple[int, Tensor]
"""(rounded size in bytes, tensor)."""
_GRADIENT = ":grad"
"""The suffix of a name that marks a gradient of a weight, for which nntrainer itself uses a flag."""


def basic(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place buffers one after another in memory, so that none share bytes."""
    offsets: dict[int, int] = {}
    top = 0
    for size, tensor in aligned_tensors(problem):
        offsets[tensor.position] = top
        top += size
    return _planner_answer(offsets)


def v1(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place buffers in time order, each at the offset of a dead buffer of equal size, or else above all others."""
    offsets: dict[int, int] = {}
    _reuse_equal_sizes(aligned_tensors(problem), offsets, stop_check)
    return _planner_answer(offsets)


def v2(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place buffers as `v1` does, and then the gradients of weights above them, largest first.

    A gradient reuses the bytes of an earlier gradient that is smaller, or that the original's test of lifetimes does
    not separate from it. So the plan is wrong, as in the original, if both gradients are alive at the same time.
    """
    ids = problem.buffers.ids
    rows = aligned_tensors(problem)
    gradients = [row for row in rows if str(ids[row[1].position]).endswith(_GRADIENT)]
    offsets: dict[int, int] = {}
    top = _reuse_equal_sizes([row for row in rows if row not in gradients], offsets, stop_check)
    slots: list[tuple[int, int, list[Tensor]]] = []
    for size, tensor in std_sorted(gradients, lambda a, b: a[0] > b[0]):
        stop_check()
        slot = next(
            (slot for slot in slots if slot[1] < size or not any(_separates_gradients(tensor, it) for it in slot[2])),
            None,
        )
        if slot is None:
            slot = (slots[-1][0] + slots[-1][1] if slots else top, size, [])
            slots.append(slot)
        slot[2].append(tensor)
        offsets[tensor.position] = slot[0]
    return _planner_answer(offsets)


def v3(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place buffers in time order, each in the lowest gap between live buffers, or else above them."""
    offsets: dict[int, int] = {}
    alive: list[Row] = []
    for size, tensor in _time_order(aligned_tensors(problem)):
        stop_check()
        alive = sorted((row for row in alive if row[1].end > tensor.start), key=lambda row: offsets[row[1].position])
        end, top, gap = 0, 0, None
        for length, other in alive:
            low = offsets[other.position]
            if gap is None and low > end and low - end >= size:
                gap = end
            end = low + length
            top = max(top, end)
        offsets[tensor.position] = top if gap is None else gap
        alive.append((size, tensor))
    return _planner_answer(offsets)


def _time_order(rows: list[Row]) -> list[Row]:
    return std_sorted(rows, lambda a, b: (a[1].start, a[1].end) < (b[1].start, b[1].end))


def _reuse_equal_sizes(rows: list[Row], offsets: dict[int, int], stop_check: StopCheck) -> int:
    """Write `v1`'s offset of each buffer into `offsets`, keyed by the buffer's position; return the total bytes."""
    stack: list[Row] = []
    needed = 0
    for size, tensor in _time_order(rows):
        stop_check()
        while stack and stack[-1][1].end <= tensor.start:
            stack.pop()
        over = (k for k, row in enumerate(stack) if row[1].end <= tensor.start and row[0] == size)
        k = max(over, default=None)
        if k is not None:
            offsets[tensor.position] = offsets[stack[k][1].position]
            stack[k] = (size, tensor)
            continue
        offset = offsets[stack[-1][1].position] + stack[-1][0] if stack else 0
        offsets[tensor.position] = offset
        needed = max(needed, offset + size)
        stack.append((size, tensor))
    return needed


def _separates_gradients(one: Tensor, other: Tensor) -> bool:
    return (
        (other.start < one.start and other.start < one.end < other.end)
        or (other.start < one.start < other.end < one.end)
        or (other.start == one.start and other.end == one.end)
    )


def _planner_answer(offsets: dict[int, int]) -> PlannerAnswer:
    return PlannerAnswer({position: (0, offset) for position, offset in offsets.items()})
