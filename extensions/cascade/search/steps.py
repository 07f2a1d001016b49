"""The ranges and buffers of a region's steps, which a kernel computes from a row of the table of regions."""

from collections.abc import Sequence
from math import prod

import numpy as np

from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.extensions.cascade.core.kernels import (
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
    N_FOUND,
    RegionTrace,
    TileSearch,
    follow_region,
)
from memplan.extensions.cascade.regions.regions import (
    CascadeRegion,
    Mode,
    RegionBuffer,
    RegionKind,
    Slide,
    Span,
    Stripes,
    is_accumulated,
)
from memplan.extensions.cascade.search.options import WORST, CascadeOptions
from memplan.extensions.cascade.search.tables import WARM_UP, access_tables, round_up, streamed_tensors
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Reference

_KINDS: dict[int, RegionKind] = {
    KIND_ROWS: "rows",
    KIND_AGAIN: "rows",
    KIND_PIECES: "rows",
    KIND_TILES: "tiles",
    KIND_PANELS: "panels",
    KIND_THIN: "panels",
}


class RegionSteps:
    """The converter of rows in the table of regions to regions of a graph, with their ranges and buffers."""

    def __init__(self, graph: AccessGraph, options: CascadeOptions) -> None:
        """Prepare the kernel's tables of a graph."""
        self.graph, self.options = graph, options
        self.tables = access_tables(graph, options)
        self.last: list[int] = self.tables.last.tolist()
        self.streamed = streamed_tensors(graph, options)
        self._access = Reference(self.tables)

    def region(self, row: Sequence[int], number: int = 0) -> CascadeRegion:
        """Return the region that a row of the search's table describes, with `number` as its name."""
        first, end, kind = row[FOUND_FROM], row[FOUND_TO], row[FOUND_KIND]
        if kind == KIND_WHOLE:
            return CascadeRegion.whole_region(number, first, row[FOUND_HEIGHT])
        if kind == KIND_CHANNELS:
            return self._channel_region(number, (first, end), row[FOUND_HEIGHT])
        followed = self._trace_region(first, end, kind, (row[FOUND_HEIGHT], row[FOUND_WIDTH]))
        axes = (followed.row_first, followed.row_end), (followed.column_first, followed.column_end)
        along = list(zip(axes, followed.answer.tolist(), strict=True))

        def slot_stripes(slot: int) -> Stripes:
            rows, columns = (_range_pairs(a[slot], b[slot], steps) for (a, b), steps in along)
            return Stripes(rows=rows, columns=columns)

        ranges = {v: slot_stripes(end - 1 - v) for v in range(first, end)}
        made = [v for v in range(first, end) if not self._is_sum(v)]
        buffers = [self._output_buffer(followed, kind, end, v) for v in made]
        pieces = dict[int, Stripes]()
        mode: Mode = "roll" if _KINDS[kind] == "rows" else "recompute"
        for tensor, slot, at in sorted(self._input_pieces(first, end)):
            pieces[tensor] = slot_stripes(slot)
            buffers.append(self._stored_buffer(tensor, mode, *followed.piece[:, at].tolist()))
        stride = row[FOUND_HEIGHT], row[FOUND_WIDTH]
        slide = self._output_slide(followed, end)
        return CascadeRegion.striped_region(number, _KINDS[kind], stride, ranges, buffers, pieces, slide)

    def _trace_region(self, first: int, end: int, kind: int, stride: Span) -> RegionTrace:
        """Run the kernel on a region; return its table, in which operations and pieces are in reverse order."""
        n, tables = end - first, self.tables
        edges = int(tables.edge_first[end] - tables.edge_first[first])
        driven = tables.source[tables.edge_first[end - 1]] if self._is_sum(end - 1) else tables.out[end - 1]
        sizes = tables.size[driven].tolist()
        strides = stride[0], sizes[1] if kind in (KIND_ROWS, KIND_AGAIN) else stride[1]
        search = TileSearch(
            j=end,
            longest=n,
            kind=kind,
            slides=self.options.is_sliding,
            warm_up=WARM_UP,
            worst=WORST,
            heights=np.array(strides[:1], np.int64),
            widths=np.array(strides[1:], np.int64),
            found=np.zeros((0, N_FOUND), np.int64),
            answer=np.zeros(3, np.int64),
        )
        slots = n + len(self._input_pieces(first, end))
        rows, columns = (
            -(-(size + WARM_UP) * max(1, -each) // max(1, each)) + 1 for size, each in zip(sizes, strides, strict=True)
        )
        made = RegionTrace(
            row_first=np.zeros((slots, rows), np.int64),
            row_end=np.zeros((slots, rows), np.int64),
            column_first=np.zeros((slots, columns), np.int64),
            column_end=np.zeros((slots, columns), np.int64),
            capacity=np.zeros((2, n), np.int64),
            piece=np.zeros((2, edges), np.int64),
            widens=np.zeros(n, np.int64),
            slide=np.zeros(3, np.int64),
            answer=np.zeros(2, np.int64),
        )
        length = follow_region(self._access, Reference(search), Reference(made))
        assert length == n, "a region that was found can be followed"
        return made

    def _is_sum(self, v: int) -> bool:
        return self.graph.operations[v].role == "sum"

    def _input_pieces(self, first: int, end: int) -> list[tuple[int, int, int]]:
        """Return a list of (tensor, slot, edge) for the inputs that a region receives in pieces.

        Slots are positions in the kernel's table; edges are counted from the end.
        """
        tables, pieces = self.tables, list[tuple[int, int, int]]()
        for v in range(end - 1, first - 1, -1):
            for edge in range(int(tables.edge_first[v]), int(tables.edge_first[v + 1])):
                tensor = int(tables.source[edge])
                is_first = tables.reading[tables.reader_first[tensor]] == edge
                if tensor in self.streamed and tables.maker[tensor] < 0 and is_first and self.last[tensor] < end:
                    pieces.append((tensor, -1 - len(pieces), int(tables.edge_first[end]) - 1 - edge))
        return pieces

    def _output_buffer(self, followed: RegionTrace, kind: int, end: int, v: int) -> RegionBuffer:
        """Return the buffer of the output of operation v, in a region that ends before operation `end`."""
        graph, tensor, k = self.graph, self.graph.operations[v].outputs[0], end - 1 - v
        if self.last[tensor] >= end or (k == 0 and tensor not in self.streamed):
            return self._whole_buffer(tensor)
        mode: Mode = "roll"
        if kind in (KIND_TILES, KIND_AGAIN):
            is_read = any(reader < end for reader in graph.readers[tensor])
            mode = "recompute" if is_read or kind == KIND_TILES else "roll"
        elif kind == KIND_THIN and followed.widens[k]:
            mode = "recompute"
        return self._stored_buffer(tensor, mode, *followed.capacity[:, k].tolist())

    def _stored_buffer(self, tensor: int, mode: Mode, rows: int, columns: int) -> RegionBuffer:
        made = self.graph.tensors[tensor]
        # A buffer that keeps rows between steps needs all columns of these rows.
        width = made.columns if rows < 0 else abs(columns)
        bytes_ = round_up(abs(rows) * width * made.pixel, self.options.alignment)
        capacity = abs(rows), width, made.pixel
        return RegionBuffer(tensor=tensor, mode=mode, capacity=capacity, kept=min(rows, columns) < 0, bytes=bytes_)

    def _whole_buffer(self, tensor: int) -> RegionBuffer:
        row = self.graph.tensors[tensor]
        bytes_ = round_up(row.bytes, self.options.alignment)
        return RegionBuffer(
            tensor=tensor, mode="whole", capacity=(row.rows, row.columns, row.pixel), kept=True, bytes=bytes_
        )

    def _channel_region(self, number: int, ends: Span, tile: int) -> CascadeRegion:
        """Return the region of operations [ends[0], ends[1]) that computes `tile` channels in each step."""
        graph, (first, end) = self.graph, ends
        inner = graph.tensors[graph.operations[first].outputs[0]]
        spans = tuple((a, min(a + tile, inner.channels)) for a in range(0, inner.channels, tile))
        ranges, buffers = dict[int, Stripes](), list[RegionBuffer]()
        for v in range(first, end):
            tensor = graph.operations[v].outputs[0]
            row = graph.tensors[tensor]
            ranges[v] = Stripes(rows=((0, row.rows),), columns=((0, row.columns),), channels=spans)
            if self.last[tensor] >= end or v == end - 1:
                buffers.append(self._whole_buffer(tensor))
                continue
            capacity = row.rows, row.columns, row.pixel // row.channels * tile
            bytes_ = round_up(prod(capacity), self.options.alignment)
            buffers.append(RegionBuffer(tensor=tensor, mode="recompute", capacity=capacity, kept=False, bytes=bytes_))
        region = CascadeRegion.striped_region(number, "channels", (tile, 0), ranges, buffers)
        # An accumulated output is written only after the region, from the sums, so the region needs no buffer for it.
        return region.model_copy(update={"buffers": tuple(buffers[:-1])}) if is_accumulated(graph, region) else region

    def _output_slide(self, followed: RegionTrace, end: int) -> Slide | None:
        """Return the slide of a region (its output grows into a dying input); None if the slide saves no bytes."""
        saved, tensor, down = followed.slide.tolist()
        return Slide(tensor=tensor, output=self.graph.operations[end - 1].outputs[0], down=down) if saved else None


def _range_pairs(first: I64, end: I64, steps: int) -> tuple[Span, ...]:
    ends = zip(first[:steps].tolist(), end[:steps].tolist(), strict=True)
    return tuple((a, b) if a < b else (0, 0) for a, b in ends)
