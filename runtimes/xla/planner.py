"""XLA's planner: best fit by decreasing size and best fit by decreasing lifetime; the smaller heap is used.

Source: openxla/xla 16569562fc04, xla/service/heap_simulator.cc (GlobalDecreasingSizeBestFitHeap: Alloc, Free,
GetSpatialBufferIntervalCompare, GetTemporalBufferIntervalCompare, FindChunkCandidate; ChooseBestHeapAlgorithm) and
xla/service/buffer_assignment.cc (AssignBuffersWithSequentialOrdering), which runs both on the CPU and the GPU.
"""

from bisect import insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from memplan.planner.model.problem import Problem
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck, Tensor, align, common_alignment, tensors


@dataclass(frozen=True)
class Interval:
    """A buffer with the ticks (event numbers) of its allocation and its release; no two events have the same tick."""

    tensor: Tensor
    start: int
    end: int

    @property
    def life(self) -> int:
        """The length of the lifetime in ticks."""
        return self.end - self.start


Order = Callable[[Interval], tuple[int, int, int]]


def _size_key(interval: Interval) -> tuple[int, int, int]:
    return -interval.tensor.size, -interval.life, interval.tensor.position


def _life_key(interval: Interval) -> tuple[int, int, int]:
    return -interval.life, -interval.tensor.size, interval.tensor.position


def best_fit_by_size(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place buffers by decreasing size; buffers of equal size are placed by decreasing lifetime (XLA's kSpatial)."""
    return _best_fit(problem, stop_check, _size_key)


def best_fit_by_life(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place buffers by decreasing lifetime; those of equal lifetime, by decreasing size (XLA's kTemporal)."""
    return _best_fit(problem, stop_check, _life_key)


def best_fit(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Return the smaller plan of two: by decreasing size and by decreasing lifetime. If equal, return the former."""
    heaps = [_best_fit(problem, stop_check, order) for order in (_size_key, _life_key)]
    return min(heaps, key=lambda heap: _heap_size(problem, heap))


def _heap_size(problem: Problem, heap: PlannerAnswer) -> int:
    size = problem.buffers.size
    return max((offset + int(size[i]) for i, (_, offset) in heap.placements.items()), default=0)


def _best_fit(problem: Problem, stop_check: StopCheck, order: Order) -> PlannerAnswer:
    """Place each buffer in the smallest sufficient gap; buffers that are empty or never alive get offset 0."""
    rows = tensors(problem)
    step = common_alignment(problem, rows)
    placements = {tensor.position: (0, 0) for tensor in rows}
    by_offset: list[tuple[int, Interval]] = []
    for interval in sorted(_intervals(rows), key=order):
        stop_check()
        used = (
            (offset, offset + other.tensor.size)
            for offset, other in by_offset
            if other.start <= interval.end and interval.start <= other.end
        )
        offset = _smallest_gap(used, interval.tensor.size, step)
        placements[interval.tensor.position] = (0, offset)
        insort(by_offset, (offset, interval), key=lambda entry: entry[0])
    return PlannerAnswer(placements)


def _intervals(found: Iterable[Tensor]) -> Iterator[Interval]:
    """Yield each buffer with its events numbered in the order of XLA's heap simulator.

    At each time step, releases precede allocations; both are sorted by the other end of the lifetime, then by position.
    """
    alive = [tensor for tensor in found if tensor.size > 0 and tensor.start < tensor.end]
    releases = [(tensor.end, False, tensor.start, tensor.position) for tensor in alive]
    allocations = [(tensor.start, True, tensor.end, tensor.position) for tensor in alive]
    ticks: dict[int, list[int]] = {tensor.position: [] for tensor in alive}
    for tick, (_, _, _, position) in enumerate(sorted(releases + allocations)):
        ticks[position].append(tick)
    return (Interval(tensor, *ticks[tensor.position]) for tensor in alive)


def _smallest_gap(used: Iterable[tuple[int, int]], size: int, step: int) -> int:
    """Return the start of the smallest gap of at least `size` bytes; of equal gaps, the lowest one counts.

    `used` contains ranges (start, end) in ascending order of start. Gaps begin at multiples of `step`; the unlimited
    space above all ranges is used only if no gap suffices.
    """
    best: tuple[int, int] | None = None
    end = 0
    for low, high in used:
        gap = low - end
        if gap >= size and (best is None or gap < best[0]):
            best = gap, end
        end = max(end, align(high, step))
    return end if best is None else best[1]
