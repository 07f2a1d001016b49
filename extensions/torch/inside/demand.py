"""The memory that a step needs on a device: the live peak, the problem of its storages, the allocator's segments."""

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace

from memplan.extensions.torch.inside.device import FitsOptions
from memplan.planner.model.intervals import merge_spans
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import Pool
from memplan.planner.model.rows import Buffer
from memplan.planner.model.sizes import size_text
from memplan.runtimes.torch.allocator_settings import AllocatorSettings
from memplan.runtimes.torch.caching_allocator import Block, CachingAllocator, OutOfMemoryError
from memplan.runtimes.torch.snapshot import lifetime, pools_of
from memplan.runtimes.torch.storages import StepMemory, Storage
from memplan.solvers.portfolio.solve import solve

_PRODUCTS = ("aten.mm", "aten.addmm", "aten.bmm", "aten.baddbmm")
_TRY_S = 2.0
"""The time limit in seconds for the plan of a step that is tried as a remedy."""


def add_workspace(step: StepMemory, device: FitsOptions) -> StepMemory:
    """Return a traced step with cuBLAS's workspace as a storage, allocated before the first matrix product."""
    products = (k for k, event in enumerate(step.events) if event >= 0 and _is_product(step.tensors[event]))
    at, size = next(products, None), device.cublas_workspace
    if at is None or not size or device.allocator == "cpu" or step.most_reserved is not None:
        return step
    whole = copy(step)
    whole.tensors = [
        replace(
            row,
            start=row.start + (row.phase != "given" and row.start >= at),
            end=None if row.end is None else row.end + (row.end >= at),
        )
        for row in step.tensors
    ]
    workspace = Storage(size, at, "forward", "cuBLAS's workspace", role="workspaces")
    whole.tensors.append(workspace)
    whole.events = [*step.events[:at], len(step.tensors), *step.events[at:]]
    return whole


def _is_product(tensor: Storage) -> bool:
    return tensor.operation.startswith(_PRODUCTS)


def live_peak_of(step: StepMemory, device: FitsOptions) -> tuple[int, int]:
    """Return (peak, events): the peak of live storage bytes, and the number of events up to that moment."""
    counted = [tensor.size if device.is_counted(tensor) else 0 for tensor in step.tensors]
    live = sum(size for size, tensor in zip(counted, step.tensors, strict=True) if tensor.phase == "given")
    peak, at = live, 0
    for k, event in enumerate(step.events):
        live += counted[event] if event >= 0 else -counted[~event]
        if live > peak:
            peak, at = live, k + 1
    return peak, at


def problem_of(step: StepMemory, device: FitsOptions) -> Problem:
    """Return a problem of a step's storages, with lifetimes in events and one pool per stream or CUDA graph."""
    last, names = len(step.events), pools_of(step, "device")
    buffers = []
    for k, (tensor, pool) in enumerate(zip(step.tensors, names, strict=True)):
        if device.is_counted(tensor):
            name = f"{k} {tensor.module or tensor.role}: {tensor.operation or tensor.line}"
            start, end = lifetime(tensor, last)
            row = Buffer(id=name, size=tensor.size, start=start, end=end, alignment=device.alignment, pools=(pool,))
            buffers.append(row)
    pools = dict.fromkeys(row.pools[0] for row in buffers if row.pools) or {"device": None}
    return Problem(buffers=buffers, pools=[Pool(name=pool) for pool in pools])


def unsure_operators(step: StepMemory, device: FitsOptions) -> tuple[str, ...]:
    """Return the operators that may allocate uncounted bytes on a device; none if `kernel_workspace` is given."""
    if device.kernel_workspace is not None:
        return ()
    own = (row for row in step.tensors if row.is_on_host and row.role != "optimizer" and device.is_simulated)
    return tuple(dict.fromkeys((*step.unmeasured, *(row.operation for row in own))))


def is_sure_to_fit(step: StepMemory, device: FitsOptions) -> bool:
    """Return True if a step certainly fits the usable bytes of a device."""
    step, usable = add_workspace(step, device), device.usable_bytes or 0
    live_peak = live_peak_of(step, device)[0]
    if unsure_operators(step, device):
        return False
    if live_peak > usable or device.allocator == "cpu":
        return live_peak <= usable
    if device.is_simulated:
        return simulate(step, device, usable, has_scratch=True).stopped is None
    peak = solve(problem_of(step, device), time_limit_s=_TRY_S).peak
    return peak is not None and peak <= usable


@dataclass
class Simulation:
    """The result of simulating a step with the caching allocator, up to the first failing allocation.

    `stopped` describes that allocation, or is None. `blocks` are the address ranges of all blocks ever allocated;
    `misplaced` counts blocks whose address differs from the one in the snapshot.
    """

    allocator: CachingAllocator
    stopped: str | None = None
    blocks: set[tuple[int, int]] = field(default_factory=set)
    misplaced: int = 0

    @property
    def idle_bytes(self) -> tuple[int, int]:
        """The bytes of segments that no block ever uses: in total, and the largest contiguous range."""
        if self.allocator.expandable:
            return 0, 0
        taken = merge_spans([*self.blocks])
        blocks = []
        for base, size in self.allocator.segments.items():
            inside = [
                (max(low, base), min(high, base + size)) for low, high in taken if low < base + size and high > base
            ]
            ends = [base, *(high for _, high in inside)]
            blocks += [low - end for end, low in zip(ends, [*(low for low, _ in inside), base + size], strict=True)]
        return sum(blocks), max(blocks, default=0)


def simulate(
    step: StepMemory,
    device: FitsOptions,
    usable: int | None,
    *,
    settings: AllocatorSettings | None = None,
    primed: tuple[int, int] | None = None,
    watch: Callable[[CachingAllocator, dict[int, Block]], None] = lambda _, __: None,
    has_scratch: bool = False,
) -> Simulation:
    """Simulate a step with the caching allocator, within the usable bytes if these are given.

    A snapshot's initial segments are adopted if they fit, and new segments get their recorded addresses. `settings`
    replace the settings of the device. A `primed` block (bytes and stream) is allocated and freed first. After each
    allocation, `watch` is called with the allocator and the live blocks. With `has_scratch`, kernels allocate and free
    their scratch memory, unless the option `kernel_workspace` states its bytes.
    """
    requested = iter(step.requested)

    def driver(size: int) -> int | None:
        """Return the recorded address of the next requested segment, or None if its size differs."""
        address, length = next(requested, (0, -1))
        return address if length == size else None

    allocator = CachingAllocator(usable, settings or device.settings(step), driver)
    simulation, blocks = Simulation(allocator), dict[int, Block]()
    if primed is not None:
        allocator.free_block(allocator.malloc(*primed))
    inputs = {k: tensor for k, tensor in enumerate(step.tensors) if tensor.phase == "given"}
    if usable is None or sum(segment.size for segment in step.segments) <= usable:
        blocks |= _adopted_blocks(step, allocator, inputs)
        simulation.blocks |= {(block.address, block.address + block.size) for block in blocks.values()}
    for position, event in [*((-1, k) for k in inputs if k not in blocks), *enumerate(step.events)]:
        if position in step.released:
            allocator.release_free()
        tensor = step.tensors[event if event >= 0 else ~event]
        if not device.is_counted(tensor):
            continue
        if event < 0:
            allocator.free_block(blocks.pop(~event))
            continue
        try:
            block = blocks[event] = allocator.malloc(tensor.size, tensor.stream, tensor.private)
            if has_scratch and tensor.scratch and device.kernel_workspace is None:
                allocator.free_block(allocator.malloc(tensor.scratch, tensor.stream, tensor.private))
        except OutOfMemoryError:
            where = f"{tensor.module or 'the step'} ({tensor.operation or tensor.line or tensor.role})"
            simulation.stopped = f"{size_text(tensor.size)} of {where}"
            return simulation
        watch(allocator, blocks)
        simulation.misplaced += block.address != tensor.address
        simulation.blocks.add((block.address, block.address + block.size))
    if len(step.events) in step.released:
        allocator.release_free()
    return simulation


def _adopted_blocks(step: StepMemory, allocator: CachingAllocator, inputs: Mapping[int, Storage]) -> dict[int, Block]:
    at, round_up = {row.address: k for k, row in inputs.items()}, allocator.settings.round_size
    sizes = {row.address: max(round_up(row.size), row.block) for row in inputs.values()}
    blocks: dict[int, Block] = {}
    for segment in step.segments:
        pool = allocator.pool(segment.stream, segment.is_small, segment.private)
        inside = [(address, size) for address, size in sizes.items() if address in segment]
        blocks |= {at[row.address]: row for row in allocator.adopt(segment.address, segment.size, pool, inside)}
    return blocks
