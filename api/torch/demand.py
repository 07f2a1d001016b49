"""The memory that a step which was recorded demands of a device: live bytes, buffers of a plan, segments."""

from __future__ import annotations

from memplan.api.torch.device import FitsOptions
from memplan.api.torch.recording import Recording
from memplan.capabilities.plan.solving import solve
from memplan.capabilities.sizes import size_text
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import Pool
from memplan.planner.model.rows import Buffer
from memplan.systems.torch.caching_allocator import Block, CachingAllocator, OutOfMemoryError

_PRODUCTS = ("aten.mm", "aten.addmm", "aten.bmm", "aten.baddbmm")
_TRY_S = 2.0
"""The time for a plan of a step that is tried as a way out."""


def live_peak_of(recording: Recording, device: FitsOptions) -> tuple[int, int]:
    """Return the most bytes that storages take at once, and the number of events by then."""
    counted = [tensor.size if device.counts(tensor) else 0 for tensor in recording.tensors]
    live = sum(size for size, tensor in zip(counted, recording.tensors, strict=True) if tensor.phase == "given")
    peak, at = live, 0
    for k, event in enumerate(recording.events):
        live += counted[event] if event >= 0 else -counted[~event]
        if live > peak:
            peak, at = live, k + 1
    return peak, at


def problem_of(recording: Recording, device: FitsOptions) -> Problem:
    """Return the storages of a step as buffers in one arena, their lifetimes by events."""
    last = len(recording.events)
    buffers = [
        Buffer(
            id=f"{k} {tensor.module or tensor.role}: {tensor.operation}",
            size=tensor.size,
            start=0 if tensor.phase == "given" else tensor.start,
            end=last + 1 if tensor.end is None else tensor.end,
            alignment=device.alignment,
        )
        for k, tensor in enumerate(recording.tensors)
        if device.counts(tensor)
    ]
    return Problem(buffers=buffers, pools=[Pool(name="device")])


def is_within(recording: Recording, device: FitsOptions) -> bool:
    """Return True if a step surely fits into the bytes that are left on a device."""
    live_peak, usable = live_peak_of(recording, device)[0], device.usable or 0
    if live_peak > usable or device.allocator == "cpu":
        return live_peak <= usable
    if device.is_simulated:
        return reserved(recording, device, usable)[1] is None
    peak = solve(problem_of(recording, device), time_limit_s=_TRY_S, explain_s=0).peak
    return peak is not None and peak <= usable


def reserved(recording: Recording, device: FitsOptions, usable: int | None) -> tuple[int, str | None]:
    """Return the most bytes that the caching allocator reserves, and what it cannot allocate within the usable ones."""
    allocator = CachingAllocator(usable, expandable=device.allocator == "expandable_segments")
    blocks: dict[int, Block] = {}
    given = [k for k, tensor in enumerate(recording.tensors) if tensor.phase == "given"]
    needs_workspace = device.cublas_workspace
    for event in (*given, *recording.events):
        position = event if event >= 0 else ~event
        tensor = recording.tensors[position]
        if not device.counts(tensor):
            continue
        if event < 0:
            allocator.free(blocks.pop(position))
            continue
        try:
            if needs_workspace and tensor.operation.startswith(_PRODUCTS):
                allocator.malloc(needs_workspace)
                needs_workspace = 0
            blocks[position] = allocator.malloc(tensor.size)
        except OutOfMemoryError:
            where = f"{tensor.module or 'the step'} ({tensor.operation or tensor.role})"
            return allocator.peak, f"{size_text(tensor.size)} of {where}"
    return allocator.peak, None


def has_products(recording: Recording) -> bool:
    """Return True if a step multiplies matrices."""
    return any(tensor.operation.startswith(_PRODUCTS) for tensor in recording.tensors)
