"""Advice on a step's memory: the bytes that the allocator reserves, the cause, and one-line changes that reduce them.

For each row of advice, the whole step is simulated on an empty device with one change. If a snapshot begins in the
middle of a run, its initial storages are treated as if they were allocated in address order. torch is not imported.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace

from memplan.extensions.torch.inside.captures import Captures, best_captures, captures_of, step_in_order
from memplan.extensions.torch.inside.demand import simulate
from memplan.extensions.torch.inside.device import FitsOptions
from memplan.planner.errors import OptionError
from memplan.questions.question import Answer
from memplan.runtimes.torch.allocator_settings import AllocatorSettings
from memplan.runtimes.torch.caching_allocator import MIB, OWN_ROUNDING, OWN_SEGMENT, SMALL, Block, CachingAllocator
from memplan.runtimes.torch.storages import StepMemory, Storage

_VARIABLE = "PYTORCH_CUDA_ALLOC_CONF="
_MOST_SPLITS, _MOST_ROWS = 16, 8
_THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9)
_GRID = 12
"""The number of evenly spaced block sizes tried first, so that a good one ends most later simulations early."""


class Stranded(Answer):
    """Free bytes in segments at the peak of reserved bytes, and the source line whose blocks keep them reserved."""

    line: str
    bytes: int
    segments: int
    held: int


class AdviceRow(Answer):
    """A change, the code line that applies it, the peak of reserved bytes with it, and the number of simulated values.

    `is_least` is True if no other value of the change reserves fewer bytes, and False if not all values were tried.
    """

    change: str
    reserved: int
    line: str
    tried: int = 1
    is_least: bool = True
    note: str = ""


class Advice(Answer):
    """The bytes that a step reserves now, the stranded bytes (free but kept reserved), and the changes, best first.

    `blocks` is the peak sum of allocated blocks, a lower bound for every change of settings. `unsure` contains
    sentences on the assumptions of the numbers; `captures` is the order of a snapshot's CUDA graphs.
    """

    reserved: int
    blocks: int
    stranded: tuple[Stranded, ...]
    rows: tuple[AdviceRow, ...]
    unsure: tuple[str, ...]
    captures: Captures | None = None


class _AboveError(Exception):
    """Raised to end a simulation that already reserves at least as many bytes as the best simulation so far."""


def advice_of(step: StepMemory, device: FitsOptions) -> Advice:
    """Return advice for a step; raises OptionError if its allocator is not simulated."""
    if not device.is_simulated:
        raise OptionError(f"advise: must be used with a simulated allocator, got {device.allocator}")
    whole, settings = _steady_step(step), device.settings(step)
    reserved = _reserved_bytes(whole, device, settings)
    # `now` needs the snapshot's initial state, but `reserved` and every advised row start from an empty device.
    now = simulate(step, device, None).allocator.peak
    captures = captures_of(whole)
    found = None
    if not isinstance(captures, str) and len(captures) > 1:
        found = best_captures(whole, captures, device, settings)
    settings_rows = [
        *_settings_rows(whole, device, settings),
        *_threshold_rows(whole, device, settings),
        *_priming_rows(whole, device, settings, reserved),
    ]
    most = now if reserved is None else reserved  # What costs more is no advice.
    rows = [row for row in settings_rows if row.reserved <= most]
    rows += _graph_rows(whole, device, settings, found)
    return Advice(
        reserved=now,
        blocks=_allocated_peak(whole, device, settings),
        stranded=tuple(_stranded_bytes(step, device, now)),
        rows=tuple(sorted(rows, key=lambda row: row.reserved)),
        unsure=(*step.notes, *_assumptions(step, now, reserved), *([captures] if isinstance(captures, str) else [])),
        captures=found,
    )


def _steady_step(step: StepMemory) -> StepMemory:
    whole = copy(step)
    whole.segments, whole.requested = (), []
    return whole


def _reserved_bytes(
    step: StepMemory,
    device: FitsOptions,
    settings: AllocatorSettings,
    *,
    usable: int | None = None,
    primed: tuple[int, int] | None = None,
    below: int | None = None,
) -> int | None:
    """Return the peak of reserved bytes; None if the step runs out of memory or the peak reaches `below` bytes.

    `usable` limits the reserved bytes. `primed` is (bytes, stream) of a block that is allocated and freed first.
    """

    def watch(allocator: CachingAllocator, _: dict[int, Block]) -> None:
        if below is not None and allocator.peak >= below:
            raise _AboveError

    try:
        found = simulate(step, device, usable, settings=settings, primed=primed, watch=watch)
    except _AboveError:
        return None
    return None if found.stopped else found.allocator.peak


def _settings_rows(step: StepMemory, device: FitsOptions, settings: AllocatorSettings) -> Iterator[AdviceRow]:
    """Yield rows for expandable segments, and for the best value of max_split_size_mb."""
    if not settings.expandable:
        found = _reserved_bytes(step, device, replace(settings, expandable=True, max_split_size=None))
        line = f"{_VARIABLE}expandable_segments:True"
        if found is not None:
            yield AdviceRow(change="expandable segments", reserved=found, line=line)
    # All split sizes between two block sizes have equal effects, so try only block sizes.
    # Torch refuses split sizes up to the size of a shared segment, so try only larger block sizes.
    sizes = Counter(
        -(-row.size // MIB) for row in step.tensors if device.is_counted(row) and row.size > settings.large_segment
    )
    values = sorted({*sizes, *(size + 1 for size in sizes)})
    tried = values if len(values) <= _MOST_SPLITS else values[:: -(-len(values) // _MOST_SPLITS)]
    found_by = [
        (found, value)
        for value in tried
        if (found := _reserved_bytes(step, device, replace(settings, expandable=False, max_split_size=value * MIB)))
        is not None
    ]
    if found_by:
        least, value = min(found_by)
        yield AdviceRow(
            change="max_split_size_mb",
            reserved=least,
            line=f"{_VARIABLE}max_split_size_mb:{value}",
            tried=len(tried),
            is_least=len(tried) == len(values),
        )


def _threshold_rows(step: StepMemory, device: FitsOptions, settings: AllocatorSettings) -> Iterator[AdviceRow]:
    """Yield the row of the best garbage_collection_threshold; yield nothing without a capacity."""
    if device.usable_bytes is None or settings.expandable:
        return
    found_by = [
        (found, value)
        for value in _THRESHOLDS
        if (found := _reserved_bytes(step, device, replace(settings, threshold=value), usable=device.usable_bytes))
        is not None
    ]
    if found_by:
        least, value = min(found_by)
        line = f"{_VARIABLE}garbage_collection_threshold:{value}"
        yield AdviceRow(
            change="garbage_collection_threshold", reserved=least, line=line, tried=len(_THRESHOLDS), is_least=False
        )


def _priming_rows(
    step: StepMemory, device: FitsOptions, settings: AllocatorSettings, reserved: int | None
) -> Iterator[AdviceRow]:
    """Yield the row of the best priming block, which is allocated and freed before the step to leave a large segment.

    A block gets a separate segment, in multiples of 2 MiB; smaller differences change no segment, so the candidates are
    all multiples up to the best total. A simulation ends as soon as it reserves more than the best one. Among blocks
    with equal totals, the smallest is chosen.
    """
    of_stream = Counter[int]()
    for row in step.tensors:
        if device.is_counted(row) and row.size > SMALL and row.private is None:
            of_stream[row.stream] += row.size
    if not of_stream or settings.expandable or reserved is None:
        return
    stream, until = of_stream.most_common(1)[0][0], time.monotonic() + 2 * device.time_limit_s
    best, size, tried, is_least = reserved, 0, set[int](), True
    last = reserved // OWN_ROUNDING
    grid = [last * k // _GRID for k in range(_GRID, _GRID // 2, -1)]
    for units in (*grid, *range(last, OWN_SEGMENT // OWN_ROUNDING - 1, -1)):
        block = units * OWN_ROUNDING
        if block in tried or not OWN_SEGMENT <= block <= best:
            continue
        if time.monotonic() > until:
            is_least = False
            break
        tried.add(block)
        found = _reserved_bytes(step, device, settings, primed=(block, stream), below=best + 1)
        if found is not None and (found < best or (found == best and size and block < size)):
            best, size = found, block
    if size:
        where = "" if not stream else ", on the stream of the step"
        yield AdviceRow(
            change="priming block",
            reserved=best,
            line=f'torch.empty({size}, dtype=torch.uint8, device="cuda")',
            tried=len(tried),
            is_least=is_least,
            note=f"before anything else is allocated{where}",
        )


def _graph_rows(
    step: StepMemory, device: FitsOptions, settings: AllocatorSettings, found: Captures | None
) -> Iterator[AdviceRow]:
    """Yield rows for CUDA graphs: shared pools in the recorded and the best order, and one buffer for all outputs."""
    names = {row.private for row in step.tensors if row.private}
    handle = "pool = torch.cuda.graph_pool_handle(); with torch.cuda.graph(graph, pool=pool): ..."
    if len(names) > 1 and not device.together:
        shared = copy(step)
        shared.tensors = [replace(row, private=(0, 1)) if row.private else row for row in step.tensors]
        reserved = _reserved_bytes(shared, device, settings)
        if reserved is not None:
            note = "the graphs may run in any order, one at a time; read the outputs of each before another runs"
            yield AdviceRow(change="one pool for all graphs", reserved=reserved, line=handle, note=note)
    captures = captures_of(step)
    if found is None or isinstance(captures, str):
        return
    reserved = _reserved_bytes(step_in_order(step, captures, found), device, settings)
    if reserved is not None:
        orders = "; ".join(", ".join(pool.graphs) for pool in found.pools)
        yield AdviceRow(
            change="order of captures",
            reserved=reserved,
            line=f"capture in this order{', a pool for each list' if len(found.pools) > 1 else ''}: {orders}",
            tried=found.tried,
            is_least=found.is_least,
            note="read the outputs of a graph before another graph of its pool runs",
        )
    if found.outputs_peak:
        freed = step_in_order(step, captures, found, outputs_freed=True)
        buffer = Storage(found.outputs_peak, 0, "forward", operation="outputs of all graphs")
        freed.tensors = [*freed.tensors, buffer]
        freed.events = [len(step.tensors), *freed.events]
        freed.released = {k + 1 for k in freed.released}
        reserved = _reserved_bytes(freed, device, settings)
        if reserved is not None:
            yield AdviceRow(
                change="one buffer for the outputs of all graphs",
                reserved=reserved,
                line=f'outputs = torch.empty({found.outputs_peak}, dtype=torch.uint8, device="cuda")',
                note="copy the outputs into it at the end of each capture, and read them before another graph runs",
            )


def _allocated_peak(step: StepMemory, device: FitsOptions, settings: AllocatorSettings) -> int:
    sizes = [settings.round_size(row.size) if device.is_counted(row) else 0 for row in step.tensors]
    live = most = sum(size for size, row in zip(sizes, step.tensors, strict=True) if row.phase == "given")
    for event in step.events:
        live += sizes[event] if event >= 0 else -sizes[~event]
        most = max(most, live)
    return most


def _stranded_bytes(step: StepMemory, device: FitsOptions, peak: int) -> Iterator[Stranded]:
    """Yield stranded bytes (free, but kept reserved) at the peak, grouped by source line.

    The line of a segment is that of its largest block.
    """
    free, count, held = Counter[str](), Counter[str](), Counter[str]()
    is_found = False

    def watch(allocator: CachingAllocator, blocks: dict[int, Block]) -> None:
        """Count free and used bytes per source line when the reserved bytes first reach the peak."""
        nonlocal is_found
        if is_found or allocator.reserved < peak:
            return
        is_found = True
        taken, largest = Counter[int](), dict[int, tuple[int, int]]()
        for k, block in blocks.items():
            taken[block.base] += block.size
            largest[block.base] = max(largest.get(block.base, (0, 0)), (block.size, k))
        for base, size in allocator.segments.items():
            if size > taken[base]:
                row = step.tensors[largest[base][1]] if base in largest else None
                name = "no block: free as a whole"
                if row is not None:
                    name = row.line or row.operation or row.module or row.role
                free[name] += size - taken[base]
                held[name] += taken[base]
                count[name] += 1

    run: Callable[..., object] = simulate
    run(step, device, None, watch=watch)
    for name, size in free.most_common(_MOST_ROWS):
        yield Stranded(line=name, bytes=size, segments=count[name], held=held[name])


def _assumptions(step: StepMemory, now: int, reserved: int | None) -> Iterator[str]:
    if step.most_reserved is None:
        return
    if now != step.most_reserved:
        yield f"the snapshot reserved {step.most_reserved:,} bytes, and the simulation {now:,}: other rules or events"
    if reserved is not None and reserved != now:
        yield f"from an empty device the step reserves {reserved:,} bytes; the changes are counted beside that"
