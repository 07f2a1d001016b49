"""Counts of a cascade's multiplications, traffic and runs, and the check of its slides (outputs over dying inputs)."""

from collections.abc import Iterator
from functools import lru_cache

from memplan.extensions.cascade.access.access_graph import AccessGraph, Window
from memplan.extensions.cascade.regions.regions import Cascade, CascadeRegion, Slide, Span, is_accumulated
from memplan.planner.errors import InvalidPlanError

_MOST_COUNTED = 4096


def macs_of(cascade: Cascade) -> int:
    """Return the multiplications of a cascade, counted from the ranges that the steps of its regions compute."""
    graph, total = cascade.graph, 0
    for region in cascade.regions:
        for v in range(region.first_operation, region.end):
            row = graph.operations[v]
            if region.kind in ("whole", "channels") or row.role != "striped":
                total += graph.cost_of_alternative(v, region.alternative)[0]
            else:
                total += row.macs * _total_length(region.ranges[v].rows) * _total_length(region.ranges[v].columns)
    return total


def traffic_of(cascade: Cascade) -> int:
    """Return the bytes that all operations read and write; constants count once for each run that reads them."""
    graph, total = cascade.graph, 0
    for region in cascade.regions:
        for v in range(region.first_operation, region.end):
            row = graph.operations[v]
            if region.kind in ("whole", "channels"):
                total += row.weights
            else:
                made = region.ranges[v]
                total += row.weights * _run_count(made.rows) * _run_count(made.columns)
            total += sum(bytes_ for _, bytes_ in _moved_bytes(graph, region, v))
            if region.kind == "channels" and v == region.end - 1 and is_accumulated(graph, region):
                total += 2 * region.n_steps * row.partial
    return total


def bytes_by_tensor(cascade: Cascade) -> dict[int, int]:
    """Return the bytes read and written, keyed by tensor; a region that keeps only a part of a tensor adds none."""
    graph, moved = cascade.graph, dict[int, int]()
    for region in cascade.regions:
        held = {tensor for tensor, hold in region.buffer_by_tensor.items() if hold.mode != "whole"}
        for v in range(region.first_operation, region.end):
            for tensor, bytes_ in _moved_bytes(graph, region, v):
                if tensor not in held:
                    moved[tensor] = moved.get(tensor, 0) + bytes_
    return moved


def _moved_bytes(graph: AccessGraph, region: CascadeRegion, v: int) -> Iterator[tuple[int, int]]:
    """Yield (tensor, bytes) pairs of operation v in a region; bytes are read or written in all its runs together."""
    row = graph.operations[v]
    if region.kind in ("whole", "channels"):
        yield from ((tensor, graph.tensors[tensor].bytes) for tensor in row.outputs)
        for read in row.reads:
            maker = graph.maker[read.tensor]
            is_outside = read.channels == "all" and (maker is None or maker < region.first_operation)
            times = region.n_steps if region.kind == "channels" and is_outside else 1
            yield read.tensor, graph.tensors[read.tensor].bytes * times
        return
    made, out = region.ranges[v], graph.tensors[row.outputs[0]]
    area = _total_length(made.rows) * _total_length(made.columns)
    yield row.outputs[0], out.bytes if row.role == "sum" else area * out.pixel
    for read in row.reads:
        source = graph.tensors[read.tensor]
        if row.role != "sum":
            rows, columns = (
                _read_length(*axis) for axis in zip((made.rows, made.columns), read.windows, source.sizes, strict=True)
            )
            area = rows * columns
        yield read.tensor, area * source.pixel


def runs_of(cascade: Cascade) -> int:
    """Return the number of operation runs in a cascade, where an operation runs once in each step that computes it."""
    total = 0
    for region in cascade.regions:
        if region.kind == "whole":
            total += 1
        for made in region.ranges.values():
            total += _run_count(made.rows) * _run_count(made.columns) * max(1, len(made.channels))
    return total


def check_slides(cascade: Cascade, slides: tuple[Slide, ...]) -> int:
    """Check that no slide of a cascade overwrites input that is still needed; return the number of steps checked.

    A slide lets an output grow into a dying input. Tensors are stored row by row, so the check compares the bytes
    of rows. Raises InvalidPlanError for the first step whose output reaches rows that this or a later step reads.
    """
    looked = 0
    for number, region in enumerate(cascade.regions):
        if region.slide is not None and region.slide in slides:
            looked += _check_slide(cascade, number, region, region.slide)
    return looked


def _check_slide(cascade: Cascade, number: int, region: CascadeRegion, slide: Slide) -> int:
    """Check one slide (output that grows into a dying input); return its steps. Raises InvalidPlanError if wrong."""
    graph = cascade.graph
    inside, out = graph.tensors[slide.tensor], graph.tensors[slide.output]
    written = region.ranges[region.end - 1].rows
    reads: list[list[Span]] = []
    for v in range(region.first_operation, region.end):
        for read in graph.operations[v].reads:
            if read.tensor == slide.tensor:
                spans = region.ranges[v].rows
                reads.append([read.rows.input_range(a, b, inside.rows) if a < b else (0, 0) for a, b in spans])
    needed = inside.rows
    for step in reversed(range(len(written))):
        needed = min([needed, *(spans[step][0] for spans in reads if spans[step][1] > spans[step][0])])
        most = max((b for a, b in written[: step + 1] if b > a), default=0)
        reached, free = most * out.columns * out.pixel, slide.down + needed * inside.columns * inside.pixel
        if reached > free:
            raise InvalidPlanError(
                f"region {number}, step {step}: {out.name} must end below byte {free} while {inside.name} is read, "
                f"got {reached}"
            )
    return len(written)


# Equal blocks of a network have equal ranges, and so do many points of a front, so cache the counted lengths.
@lru_cache(maxsize=_MOST_COUNTED)
def _total_length(spans: tuple[Span, ...]) -> int:
    return sum(b - a for a, b in spans)


@lru_cache(maxsize=_MOST_COUNTED)
def _read_length(spans: tuple[Span, ...], window: Window, size: int) -> int:
    return _total_length(tuple(window.input_range(a, b, size) for a, b in spans if b > a))


@lru_cache(maxsize=_MOST_COUNTED)
def _run_count(spans: tuple[Span, ...]) -> int:
    return sum(b > a for a, b in spans)
