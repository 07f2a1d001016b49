"""A cascade: a graph with access maps, and the regions that it runs in, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from math import prod
from typing import Literal, NamedTuple

from memplan.capabilities.cascade.access.access_graph import AccessGraph
from memplan.capabilities.cascade.access.window import Window

RegionKind = Literal["whole", "rows", "tiles", "panels", "channels"]
Mode = Literal["roll", "recompute", "whole"]
Span = tuple[int, int]
_MOST_COUNTED = 4096


@dataclass(frozen=True)
class Hold:
    """The buffer of a tensor inside a region: so many rows and columns of pixels; element r lies at r mod capacity.

    `mode`: each row is made once (`roll`), or all that a step needs are made in it (`recompute`), or the tensor is
    there as a whole. A `kept` buffer holds something from one step to the next. `pixel` are the bytes of a pixel, where
    it has not all channels.
    """

    mode: Mode
    rows: int
    columns: int
    kept: bool
    bytes: int
    pixel: int | None = None


class Slide(NamedTuple):
    """A region's output that begins `down` bytes below an input that dies, and grows into it."""

    tensor: int
    output: int
    down: int


@dataclass(frozen=True)
class Stripes:
    """The ranges of rows, and those of columns, that are made in each step of either axis; and those of channels."""

    rows: tuple[Span, ...]
    columns: tuple[Span, ...]
    channels: tuple[Span, ...] = ()


@dataclass(frozen=True)
class CascadeRegion:
    """Operations [first, end) that run together: in every step each of them, in order, makes its ranges.

    A region of kind `whole` is one operation that runs whole. In one of kind `channels` every step makes all rows and
    columns of some channels; where it ends with an operation that is accumulated over them, its ranges are those that
    are read. A `stride` of -n is a part of n of one row or column. `made` has the ranges of each operation; of a sum,
    those of its input. `pieces` has those of the inputs that come in pieces, before the operations of a step. `holds`
    has the buffers of tensors that live in the region only, and of those that are made there whole.
    """

    first: int
    end: int
    kind: RegionKind
    stride: Span = (0, 0)
    made: Mapping[int, Stripes] = field(default_factory=dict)
    pieces: Mapping[int, Stripes] = field(default_factory=dict)
    holds: Mapping[int, Hold] = field(default_factory=dict)
    slide: Slide | None = None

    @property
    def steps(self) -> Span:
        """The number of steps along rows and columns; (1, 1) for a whole operation, and for steps along channels."""
        if self.kind in ("whole", "channels"):
            return 1, 1
        last = self.made[self.end - 1]
        return len(last.rows), len(last.columns)

    @property
    def ragged(self) -> tuple[int, float]:
        """The steps that make less of the last operation than the largest one, and what is wasted if all are padded.

        Waste is the share of the output that lies beyond its border where all of these steps make as much.
        """
        last = self.made.get(self.end - 1, Stripes((), ()))
        axes = [[b - a for a, b in spans if a < b] for spans in (last.rows, last.columns, last.channels) if spans]
        seen = prod(map(len, axes))
        ragged = seen - prod(sizes.count(max(sizes)) for sizes in axes)
        return ragged, seen * prod(map(max, axes)) / prod(map(sum, axes)) - 1

    @property
    def trips(self) -> int:
        """The number of steps in all."""
        rows, columns = self.steps
        return rows * columns if self.kind != "channels" else len(self.made[self.end - 1].channels)


@dataclass(frozen=True)
class Cascade:
    """A graph and its regions, which cover the operations in their order."""

    graph: AccessGraph
    regions: tuple[CascadeRegion, ...]
    streamed: frozenset[int] = frozenset()


def hull(spans: Iterable[Span]) -> Span:
    """Return the range from the first to the last of some ranges; (0, 0) where all are empty."""
    some = [(first, end) for first, end in spans if first < end]
    return (min(first for first, _ in some), max(end for _, end in some)) if some else (0, 0)


def macs_of(cascade: Cascade) -> int:
    """Return the multiplications of a cascade, counted from its ranges."""
    graph, total = cascade.graph, 0
    for region in cascade.regions:
        for v in range(region.first, region.end):
            row = graph.operations[v]
            if region.kind in ("whole", "channels") or row.role != "striped":
                total += graph.macs_of(v)
            else:
                total += row.macs * _length(region.made[v].rows) * _length(region.made[v].columns)
    return total


def traffic_of(cascade: Cascade) -> int:
    """Return the bytes that all runs of operations read and write, with the constants that each run reads again."""
    graph, total = cascade.graph, 0
    for region in cascade.regions:
        for v in range(region.first, region.end):
            row = graph.operations[v]
            if region.kind in ("whole", "channels"):
                total += row.weights
            else:
                made = region.made[v]
                total += row.weights * _runs(made.rows) * _runs(made.columns)
            total += sum(bytes_ for _, bytes_ in _moved(graph, region, v))
            if region.kind == "channels" and v == region.end - 1 and is_accumulated(graph, region):
                total += 2 * region.trips * row.partial
    return total


def moved_of(cascade: Cascade) -> dict[int, int]:
    """Return for each tensor that is whole somewhere the bytes that regions read of it and write to it as a whole."""
    graph, found = cascade.graph, dict[int, int]()
    for region in cascade.regions:
        held = {tensor for tensor, hold in region.holds.items() if hold.mode != "whole"}
        for v in range(region.first, region.end):
            for tensor, bytes_ in _moved(graph, region, v):
                if tensor not in held:
                    found[tensor] = found.get(tensor, 0) + bytes_
    return found


def _moved(graph: AccessGraph, region: CascadeRegion, v: int) -> Iterator[tuple[int, int]]:
    """Yield each tensor that an operation reads or makes in a region, and the bytes of all its runs."""
    row = graph.operations[v]
    if region.kind in ("whole", "channels"):
        yield from ((tensor, graph.tensors[tensor].bytes) for tensor in row.outputs)
        for read in row.reads:
            maker = graph.maker[read.tensor]
            is_outside = read.channels == "all" and (maker is None or maker < region.first)
            times = region.trips if region.kind == "channels" and is_outside else 1
            yield read.tensor, graph.tensors[read.tensor].bytes * times
        return
    made, out = region.made[v], graph.tensors[row.outputs[0]]
    area = _length(made.rows) * _length(made.columns)
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
    """Return how often an operation runs, in whole or in part."""
    total = 0
    for region in cascade.regions:
        if region.kind == "whole":
            total += 1
        for made in region.made.values():
            total += _runs(made.rows) * _runs(made.columns) * max(1, len(made.channels))
    return total


def is_accumulated(graph: AccessGraph, region: CascadeRegion) -> bool:
    """Return True if a region in steps along channels ends with an operation that adds up what each step reads."""
    last = graph.operations[region.end - 1]
    if region.kind != "channels" or not last.partial:
        return False
    maker = graph.maker[last.reads[0].tensor]
    return maker is not None and maker >= region.first


def sums_of(graph: AccessGraph, region: CascadeRegion) -> int:
    """Return the bytes of sums that a region keeps beside its output, while they are accumulated."""
    last = graph.operations[region.end - 1]
    if region.kind == "whole":
        return 0
    if is_accumulated(graph, region):
        return last.partial if last.partial > graph.tensors[last.outputs[0]].bytes else 0
    return last.sums if last.role == "sum" and region.kind != "channels" else 0


def steps_of(region: CascadeRegion) -> product[tuple[int, int]]:
    """Return the steps of a region, rows first."""
    rows, columns = region.steps
    return product(range(rows), range(columns))


# Blocks that repeat, and the points of a front, have the same ranges over and over.
@lru_cache(maxsize=_MOST_COUNTED)
def _length(spans: tuple[Span, ...]) -> int:
    return sum(b - a for a, b in spans)


@lru_cache(maxsize=_MOST_COUNTED)
def _read_length(spans: tuple[Span, ...], window: Window, size: int) -> int:
    return _length(tuple(window.source(a, b, size) for a, b in spans if b > a))


@lru_cache(maxsize=_MOST_COUNTED)
def _runs(spans: tuple[Span, ...]) -> int:
    return sum(b > a for a, b in spans)


def whole_name(tensor: int) -> str:
    """Return the buffer of a whole tensor, in the operations of a cascade."""
    return f"t{tensor}"


def held_name(region: int, tensor: int) -> str:
    """Return the buffer of a tensor that lives in one region only."""
    return f"t{tensor}.r{region}"


def sums_name(region: int, tensor: int) -> str:
    """Return the buffer of the sums of a region that ends with one."""
    return f"t{tensor}.r{region}.sums"
