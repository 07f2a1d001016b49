"""From a region that the search found to the ranges and the buffers of its steps, as the kernel follows them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from memplan.capabilities.cascade.access.access_graph import AccessGraph
from memplan.capabilities.cascade.kernels.access import (
    FOUND_FROM,
    FOUND_HEIGHT,
    FOUND_KIND,
    FOUND_TO,
    FOUND_WIDTH,
    KIND_AGAIN,
    KIND_CHANNELS,
    KIND_PANELS,
    KIND_PIECES,
    KIND_ROWS,
    KIND_THIN,
    KIND_TILES,
    KIND_WHOLE,
    Ranges,
)
from memplan.capabilities.cascade.kernels.tiles import TileSearch, follow_region
from memplan.capabilities.cascade.regions.regions import (
    CascadeRegion,
    Mode,
    RegionBuffer,
    RegionKind,
    Slide,
    Span,
    Stripes,
    is_accumulated,
)
from memplan.capabilities.cascade.search.options import CascadeOptions
from memplan.capabilities.cascade.search.tables import (
    WARM_UP,
    access_tables,
    ranges_of,
    rounded_up,
    streamed_tensors,
    tile_search,
)
from memplan.solvers.kernels.abi import Reference

_KINDS: dict[int, RegionKind] = {
    KIND_ROWS: "rows",
    KIND_AGAIN: "rows",
    KIND_PIECES: "rows",
    KIND_TILES: "tiles",
    KIND_PANELS: "panels",
    KIND_THIN: "panels",
}


class RegionSteps:
    """The steps of regions of a graph."""

    def __init__(self, graph: AccessGraph, options: CascadeOptions) -> None:
        self.graph, self.options = graph, options
        self.tables = access_tables(graph, options)
        self.last: list[int] = self.tables.last.tolist()
        self.streamed = streamed_tensors(graph, options)
        self._access = Reference(self.tables)

    def region(self, row: Sequence[int], number: int = 0) -> CascadeRegion:
        """Return the region of a row of the search, which has a number among others."""
        first, end, kind = row[FOUND_FROM], row[FOUND_TO], row[FOUND_KIND]
        if kind == KIND_WHOLE:
            return CascadeRegion.whole(number, first)
        if kind == KIND_CHANNELS:
            return self._along_channels(number, (first, end), row[FOUND_HEIGHT])
        search, axes = self._followed(first, end, kind, (row[FOUND_HEIGHT], row[FOUND_WIDTH]))
        along = list(zip(axes, search.answer.tolist(), strict=False))
        ranges = {
            v: Stripes.of_axes(_spans(axis, end - 1 - v, steps) for axis, steps in along) for v in range(first, end)
        }
        buffers = [self._buffer(search, v) for v in range(first, end) if self.graph.operations[v].role != "sum"]
        pieces = dict[int, Stripes]()
        mode: Mode = "roll" if _KINDS[kind] == "rows" else "recompute"
        for tensor, slot, at in sorted(self._pieces(first, end)):
            pieces[tensor] = Stripes.of_axes(_spans(axis, slot, steps) for axis, steps in along)
            buffers.append(self._held(tensor, mode, int(search.piece[0, at]), int(search.piece[1, at])))
        stride = row[FOUND_HEIGHT], row[FOUND_WIDTH]
        return CascadeRegion.striped(
            number, _KINDS[kind], stride, ranges, buffers, pieces, self._slide(search, end - first)
        )

    def _followed(self, first: int, end: int, kind: int, stride: Span) -> tuple[TileSearch, tuple[Ranges, Ranges]]:
        """Return what the kernel writes of a region: along both axes the ranges of operations, the last one first."""
        n, tables = end - first, self.tables
        edges = int(tables.edge_first[end] - tables.edge_first[first])
        search = tile_search(n, edges, 1, slides=self.options.is_sliding)._replace(j=end, kind=kind)
        driven = tables.source[tables.edge_first[end - 1]] if self._is_sum(end - 1) else tables.out[end - 1]
        sizes = tables.size[driven].tolist()
        is_whole_rows = kind in (KIND_ROWS, KIND_AGAIN)
        search.stride[:, 0] = stride[0], sizes[1] if is_whole_rows else stride[1]
        rows, columns = (
            ranges_of(n + len(self.streamed), -(-(size + WARM_UP) * max(1, -each) // max(1, each)) + 1)
            for size, each in zip(sizes, search.stride[:, 0].tolist(), strict=True)
        )
        followed = follow_region(self._access, Reference(rows), Reference(columns), Reference(search))
        assert followed == n, "a region that was found can be followed"
        return search, (rows, columns)

    def _is_sum(self, v: int) -> bool:
        return self.graph.operations[v].role == "sum"

    def _pieces(self, first: int, end: int) -> list[tuple[int, int, int]]:
        """Return the inputs that come in pieces, each with the slot of its ranges, and its first edge from the end."""
        tables, found = self.tables, list[tuple[int, int, int]]()
        for v in range(end - 1, first - 1, -1):
            for edge in range(int(tables.edge_first[v]), int(tables.edge_first[v + 1])):
                tensor = int(tables.source[edge])
                is_first = tables.reading[tables.reader_first[tensor]] == edge
                if tensor in self.streamed and tables.maker[tensor] < 0 and is_first and self.last[tensor] < end:
                    found.append((tensor, -1 - len(found), int(tables.edge_first[end]) - 1 - edge))
        return found

    def _buffer(self, search: TileSearch, v: int) -> RegionBuffer:
        """Return the buffer of what an operation of a region makes."""
        graph, tensor, k = self.graph, self.graph.operations[v].outputs[0], search.j - 1 - v
        if self.last[tensor] >= search.j or (k == 0 and tensor not in self.streamed):
            return self._whole(tensor)
        mode: Mode = "roll"
        if search.kind in (KIND_TILES, KIND_AGAIN):
            is_read = any(reader < search.j for reader in graph.readers[tensor])
            mode = "recompute" if is_read or search.kind == KIND_TILES else "roll"
        elif search.kind == KIND_THIN and search.widens[k]:
            mode = "recompute"
        return self._held(tensor, mode, int(search.capacity[0, k]), int(search.capacity[1, k]))

    def _held(self, tensor: int, mode: Mode, rows: int, columns: int) -> RegionBuffer:
        """Return a buffer of so many rows and columns, negative for what is kept from step to step."""
        made = self.graph.tensors[tensor]
        # What is kept from one row to the next has all columns.
        width = made.columns if rows < 0 else abs(columns)
        bytes_ = rounded_up(abs(rows) * width * made.pixel, self.options.alignment)
        capacity = abs(rows), width, made.pixel
        return RegionBuffer(tensor=tensor, mode=mode, capacity=capacity, kept=min(rows, columns) < 0, bytes=bytes_)

    def _whole(self, tensor: int) -> RegionBuffer:
        """Return the buffer of a tensor that a region makes whole."""
        row = self.graph.tensors[tensor]
        bytes_ = rounded_up(row.bytes, self.options.alignment)
        return RegionBuffer(
            tensor=tensor, mode="whole", capacity=(row.rows, row.columns, row.pixel), kept=True, bytes=bytes_
        )

    def _along_channels(self, number: int, ends: Span, tile: int) -> CascadeRegion:
        """Return the region of operations [first, end) that makes `tile` channels in each step."""
        graph, (first, end) = self.graph, ends
        inner = graph.tensors[graph.operations[first].outputs[0]]
        spans = tuple((a, min(a + tile, inner.channels)) for a in range(0, inner.channels, tile))
        ranges, buffers = dict[int, Stripes](), list[RegionBuffer]()
        for v in range(first, end):
            tensor = graph.operations[v].outputs[0]
            row = graph.tensors[tensor]
            ranges[v] = Stripes(rows=((0, row.rows),), columns=((0, row.columns),), channels=spans)
            if self.last[tensor] >= end or v == end - 1:
                buffers.append(self._whole(tensor))
                continue
            capacity = row.rows, row.columns, row.pixel // row.channels * tile
            bytes_ = rounded_up(prod(capacity), self.options.alignment)
            buffers.append(RegionBuffer(tensor=tensor, mode="recompute", capacity=capacity, kept=False, bytes=bytes_))
        region = CascadeRegion.striped(number, "channels", (tile, 0), ranges, buffers)
        # The sums are a buffer of their own, which the output takes over at the end.
        return region.model_copy(update={"buffers": tuple(buffers[:-1])}) if is_accumulated(graph, region) else region

    def _slide(self, search: TileSearch, n: int) -> Slide | None:
        """Return the input into whose dying rows the output grows, if that saves anything."""
        if not search.saved[0, n - 1]:
            return None
        tensor, down = search.slide.tolist()
        return Slide(tensor=tensor, output=self.graph.operations[search.j - 1].outputs[0], down=down)


def _spans(ranges: Ranges, slot: int, steps: int) -> tuple[Span, ...]:
    """Return the ranges of a slot as pairs, (0, 0) where nothing is made."""
    ends = zip(ranges.first[slot, :steps].tolist(), ranges.end[slot, :steps].tolist(), strict=True)
    return tuple((a, b) if a < b else (0, 0) for a, b in ends)
