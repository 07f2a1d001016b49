"""From a region that the search found to the ranges and buffers of its steps, in plain numpy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from memplan.capabilities.cascade.access.access_graph import AXES, AccessGraph, Read, driven
from memplan.capabilities.cascade.access.window import SAME, Window
from memplan.capabilities.cascade.kernels.access import FARTHEST, NEVER
from memplan.capabilities.cascade.kernels.found import (
    KIND_AGAIN,
    KIND_CHANNELS,
    KIND_PANELS,
    KIND_PIECES,
    KIND_ROWS,
    KIND_THIN,
    KIND_TILES,
    KIND_WHOLE,
)
from memplan.capabilities.cascade.regions.regions import (
    CascadeRegion,
    Hold,
    Mode,
    RegionKind,
    Slide,
    Span,
    Stripes,
)
from memplan.capabilities.cascade.search.channels import by_channels
from memplan.capabilities.cascade.search.options import CascadeOptions
from memplan.capabilities.cascade.search.search import WARM_UP
from memplan.capabilities.cascade.search.tables import last_uses, rounded_up, streamed_tensors
from memplan.planner.model.buffer_table import I64

_KINDS: dict[int, RegionKind] = {
    KIND_WHOLE: "whole",
    KIND_ROWS: "rows",
    KIND_AGAIN: "rows",
    KIND_TILES: "tiles",
    KIND_PANELS: "panels",
    KIND_THIN: "panels",
    KIND_PIECES: "rows",
    KIND_CHANNELS: "channels",
}


class Made(NamedTuple):
    """The ranges made in each step along one axis, how far they would reach without borders, and what that takes.

    Reaches count in parts of a row, where steps are finer than one row.
    """

    first: I64
    end: I64
    reach: I64
    capacity: int = 0
    kept: bool = False

    @property
    def spans(self) -> tuple[Span, ...]:
        """The ranges as pairs, (0, 0) where nothing is made."""
        pairs = zip(self.first.tolist(), self.end.tolist(), strict=True)
        return tuple((a, b) if a < b else (0, 0) for a, b in pairs)


def region_of(graph: AccessGraph, options: CascadeOptions, row: Sequence[int]) -> CascadeRegion:
    """Return the ranges and buffers of a region found."""
    first, end, kind = int(row[0]), int(row[1]), _KINDS[int(row[6])]
    if kind == "whole":
        return CascadeRegion(first, end, kind)
    if kind == "channels":
        return by_channels(graph, options, (first, end), int(row[7]))
    scheduling = _Scheduling(graph, options, (first, end), kind, (int(row[7]), int(row[8])))
    scheduling.is_thin, scheduling.in_pieces = int(row[6]) == KIND_THIN, int(row[6]) == KIND_PIECES
    scheduling.is_again = int(row[6]) == KIND_AGAIN
    return scheduling.region()


class _Scheduling:
    """Follows a region backwards from its last operation, along each axis."""

    def __init__(
        self, graph: AccessGraph, options: CascadeOptions, ends: Span, kind: RegionKind, numbers: Span
    ) -> None:
        self.graph, self.options, self.kind, self.numbers = graph, options, kind, numbers
        self.first, self.end = ends
        self.is_thin = self.in_pieces = self.is_again = False
        self.parts = [max(1, -number) if kind in ("rows", "panels") else 1 for number in numbers]
        self.last = last_uses(graph, options)
        self.streamed = streamed_tensors(graph, options)
        self.pieces = [
            t
            for t in sorted(self.streamed)
            if graph.maker[t] is None
            and graph.readers[t]
            and self.first <= graph.readers[t][0]
            and self.last[t] < self.end
        ]

    def region(self) -> CascadeRegion:
        graph = self.graph
        along = [self._along(axis) for axis in AXES]
        made = {v: Stripes(*(along[axis][v].spans for axis in AXES)) for v in range(self.first, self.end)}
        pieces = {t: Stripes(*(along[axis][-1 - t].spans for axis in AXES)) for t in self.pieces}
        holds: dict[int, Hold] = {}
        for v in range(self.first, self.end):
            tensor = graph.operations[v].outputs[0]
            is_sink, is_sum = v == self.end - 1, graph.operations[v].role == "sum"
            if is_sum:
                continue
            if self.last[tensor] >= self.end or (is_sink and tensor not in self.streamed):
                row = graph.tensors[tensor]
                bytes_ = rounded_up(row.bytes, self.options.alignment)
                holds[tensor] = Hold("whole", row.rows, row.columns, True, bytes_)
            else:
                holds[tensor] = self._hold(tensor, along[0][v], along[1][v], self._mode(v))
        for tensor in self.pieces:
            mode: Mode = "roll" if self.kind == "rows" else "recompute"
            holds[tensor] = self._hold(tensor, along[0][-1 - tensor], along[1][-1 - tensor], mode)
        return CascadeRegion(self.first, self.end, self.kind, self.numbers, made, pieces, holds, self._slide(along[0]))

    def _has_whole_rows(self) -> bool:
        return self.kind == "rows" and not self.in_pieces

    def _mode(self, v: int) -> Mode:
        if self._has_whole_rows():
            is_read = any(reader < self.end for reader in self.graph.readers[self.graph.operations[v].outputs[0]])
            return "recompute" if is_read and self.is_again else "roll"
        return "recompute" if self.kind == "tiles" or (self.is_thin and self._widens(v)) else "roll"

    def _widens(self, v: int) -> bool:
        """Return True for an operation that makes each pixel of the same ones, which have fewer bytes together."""
        row, tensors = self.graph.operations[v], self.graph.tensors
        is_same = all(read.windows == (SAME, SAME) for read in row.reads)
        return is_same and tensors[row.outputs[0]].pixel > sum(tensors[read.tensor].pixel for read in row.reads)

    def _hold(self, tensor: int, rows: Made, columns: Made, mode: Mode) -> Hold:
        pixel = self.graph.tensors[tensor].pixel
        # What is kept from one row to the next has all columns.
        width = self.graph.tensors[tensor].columns if rows.kept else columns.capacity
        bytes_ = rounded_up(rows.capacity * width * pixel, self.options.alignment)
        return Hold(mode, rows.capacity, width, rows.kept or columns.kept, bytes_)

    def _along(self, axis: int) -> dict[int, Made]:
        """Return the ranges of each operation, and of the pieces of input t at -1 - t, along an axis."""
        graph, last = self.graph, self.end - 1
        size = driven(graph, last).sizes[axis]
        is_whole_rows = self._has_whole_rows() and axis == 1
        stride = size if is_whole_rows else self.numbers[axis]
        warms_up = self._rolls_along(axis)
        made = {last: _cut(size, stride, WARM_UP if warms_up and stride < size else 0)}
        for v in range(last - 1, self.first - 1, -1):
            tensor = graph.operations[v].outputs[0]
            is_beside = not any(reader < self.end for reader in graph.readers[tensor]) and not is_whole_rows
            if is_beside:
                made[v] = self._beside(v, made)
            else:
                made[v] = self._made(tensor, made, axis, is_whole_rows, self._mode(v))
        for tensor in self.pieces:
            mode: Mode = "roll" if self.kind == "rows" else "recompute"
            made[-1 - tensor] = self._made(tensor, made, axis, is_whole_rows, mode)
        return made

    def _rolls_along(self, axis: int) -> bool:
        return (self.kind == "rows" and (axis == 0 or self.in_pieces)) or (self.kind == "panels" and axis == 1)

    def _made(self, tensor: int, made: dict[int, Made], axis: int, is_whole_rows: bool, mode: Mode) -> Made:
        size = self.graph.tensors[tensor].sizes[axis]
        if is_whole_rows:
            zero, full = np.zeros(1, np.int64), np.full(1, size, np.int64)
            return Made(zero, full, full, size)
        low, high, reach = self.need(tensor, made, axis)
        rolls, up = mode == "roll" and self._rolls_along(axis), reach // self.parts[axis]
        if self.last[tensor] < self.end:
            found = _rolled(low, high, up, None) if rolls else _recomputed(low, high)
        elif self._rolls_along(axis):
            found = _rolled(low, high, up, size)
        else:
            found = _again(low, high, size)
        return found._replace(reach=reach)

    def _beside(self, v: int, made: dict[int, Made]) -> Made:
        """Return the rows of what nothing in the region reads: all that others have read the rows for.

        Where nothing else reads them, as much of them is made as of the last operation.
        """
        graph, ends = self.graph, list[I64]()
        size = graph.tensors[graph.operations[v].outputs[0]].rows
        for read in graph.operations[v].reads:
            if any(reader in made for reader in graph.readers[read.tensor]):
                _, high, reach = self.need(read.tensor, made, 0)
                ahead = _furthest(high, reach // self.parts[0])
                ends.append(
                    np.array([_end_made(read.rows, top, graph.tensors[read.tensor].rows, size) for top in ahead])
                )
        driver = made[self.end - 1].end
        end: I64 = np.minimum.reduce(ends) if ends else size * driver // driver[-1]
        end[-1] = size
        first = np.concatenate([[0], end[:-1]])
        return Made(first, end, end * self.parts[0], int((end - first).max()))

    def need(self, tensor: int, made: dict[int, Made], axis: int) -> tuple[I64, I64, I64]:
        """Return the hull of what the region reads of a tensor in each step, and how far it goes without borders."""
        graph, size = self.graph, self.graph.tensors[tensor].sizes[axis]
        steps = len(made[self.end - 1].first)
        low, high, up = (np.full(steps, value, np.int64) for value in (NEVER, -1, -NEVER))
        for reader in graph.readers[tensor]:
            if reader not in made:
                continue
            for read in graph.operations[reader].reads:
                if read.tensor != tensor:
                    continue
                a, b, c = self._read_of(graph.operations[reader].role == "sum", read, axis, made[reader], size)
                some = b > a
                low = np.where(some, np.minimum(low, a), low)
                high = np.where(some, np.maximum(high, b), high)
                up = np.maximum(up, _within(c, -FARTHEST, FARTHEST))
        return low, high, up

    def _read_of(self, is_sum: bool, read: Read, axis: int, made: Made, size: int) -> tuple[I64, I64, I64]:
        first, end, reach = made[:3]
        if is_sum:
            return first, end, reach
        window, parts = read.windows[axis], self.parts[axis]
        used = window.used(size)
        first, end = np.maximum(first, used[0]), np.minimum(end, used[1])
        a = _within((first * window.scale + window.low) // window.divisor, 0, size)
        b = _within(((end - 1) * window.scale + window.high) // window.divisor + 1, 0, size)
        c = ((reach - parts) * window.scale + window.high * parts) // window.divisor + parts
        return np.where(end > first, a, 0), np.where(end > first, b, 0), c

    def _slide(self, along: dict[int, Made]) -> Slide | None:
        """Return the input whose dying rows save the most bytes if the output grows into them, if that is requested."""
        graph, alignment = self.graph, self.options.alignment
        sink = graph.operations[self.end - 1].outputs[0]
        if not self.options.sliding or not self._has_whole_rows() or graph.operations[self.end - 1].role == "sum":
            return None
        if sink in self.streamed:
            return None
        best, found = 0, None
        out = graph.tensors[sink]
        for tensor in _read_by(graph, range(self.first, self.end)):
            maker = graph.maker[tensor]
            if (maker is not None and maker >= self.first) or self.last[tensor] >= self.end or tensor in self.pieces:
                continue
            row = graph.tensors[tensor]
            # Rows of the input below the lowest one still to be read are dead, and the output may lie there.
            low = np.minimum.accumulate(self.need(tensor, along, 0)[0][::-1])[::-1]
            ahead = along[self.end - 1].end * out.columns * out.pixel
            ahead = ahead - np.minimum(low, row.rows) * row.columns * row.pixel
            down = rounded_up(max(0, int(ahead.max())), alignment)
            whole, made = rounded_up(row.bytes, alignment), rounded_up(out.bytes, alignment)
            saved = whole + made - max(down + whole, made)
            if saved > best:
                best, found = saved, Slide(tensor, sink, down)
        return found


def _read_by(graph: AccessGraph, operations: Iterable[int]) -> dict[int, None]:
    return dict.fromkeys(read.tensor for v in operations for read in graph.operations[v].reads)


def _within(values: I64, low: int, high: int) -> I64:
    # Short arrays take np.clip several times as long.
    return np.minimum(np.maximum(values, low), high)


def _cut(size: int, stride: int, warm_up: int) -> Made:
    each, parts = max(1, stride), max(1, -stride)
    up = (np.arange(-(warm_up * parts // each), -(-size * parts // each), dtype=np.int64) + 1) * each
    first, end = (_within(reach // parts, 0, size) for reach in (up - each, up))
    return Made(first, end, np.minimum(up, size * parts), min(each, size))


def _recomputed(low: I64, high: I64) -> Made:
    some = high > low
    capacity = int((high - low)[some].max(initial=0))
    return Made(np.where(some, low, 0), np.where(some, high, 0), high, capacity)


def _furthest(high: I64, up: I64) -> I64:
    """Return up to where rows were needed by the end of each step."""
    return np.maximum.accumulate(np.maximum(high, _within(up, 0, max(0, int(high.max())))))


def _end_made(window: Window, read: int, size: int, made: int) -> int:
    """Return the most rows, of those that are made, that read no more than the first `read` of `size` rows."""
    if window.scale == 0 or read >= size:
        return made
    return min(max((read * window.divisor - 1 - window.high) // window.scale + 1, 0), made)


def _rolled(low: I64, high: I64, up: I64, size: int | None) -> Made:
    # What rolls is made up to the furthest row that was ever needed, as no row is made twice.
    top = _furthest(high, up)
    before = np.concatenate([[0], top[:-1]])
    if size is not None:
        # Outside all of it is wanted, so the last step makes what no reader inside needed.
        top[-1] = size
        return Made(before, top, up, size, True)
    # The lowest row that is still to be read, seen from the end: rows below it may be forgotten.
    needed = np.minimum.accumulate(low[::-1])[::-1]
    start = np.minimum(np.maximum(before, needed), top)
    live = needed < NEVER
    capacity = int((top - needed)[live].max(initial=0))
    return Made(start, top, up, capacity, bool(((top[:-1] > needed[1:]) & live[1:]).any()))


def _again(low: I64, high: I64, size: int) -> Made:
    """Return the ranges of a tensor that is recomputed, and that somebody outside wants: all of it is made."""
    first, end, top = np.zeros(len(low), np.int64), np.zeros(len(low), np.int64), 0
    for y in range(len(low)):
        a, b = (int(low[y]), int(high[y])) if high[y] > low[y] else (top, top)
        b = size if y + 1 == len(low) else b
        first[y], end[y] = (min(a, top) if b > top else a), b
        top = max(top, b)
    return Made(first, end, end, size)
