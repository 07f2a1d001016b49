"""A cascade run on the bytes of one arena: each value equal to that layer by layer, or something was overwritten.

Every operation computes bytes modulo 256 from all elements that its access maps name, each multiplied by an odd number
of its place; so that one element that is missing, or is another one, makes a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from memplan.planner.errors import InvalidPlanError
from memplan.planner.operations.access.access_graph import AccessGraph, AccessOperation, PixelTensor, Read
from memplan.planner.operations.cascade.regions import (
    Cascade,
    CascadeRegion,
    Span,
    held_name,
    steps_of,
    sums_name,
    whole_name,
)

Bytes8: TypeAlias = npt.NDArray[np.uint8]
Sums: TypeAlias = npt.NDArray[np.int64]
Fetch: TypeAlias = Callable[[int, Span, Span], Bytes8]
"""The elements of a tensor in a range of rows and a range of columns."""


def values_by_layers(graph: AccessGraph, seed: int = 0) -> list[Bytes8]:
    """Return the value of each tensor when the operations run whole, one after the other."""
    random = np.random.default_rng(seed)
    values = [random.integers(0, 256, (*row.sizes, row.pixel), np.uint8) for row in graph.tensors]

    def fetch(tensor: int, rows: Span, columns: Span) -> Bytes8:
        return values[tensor][slice(*rows), slice(*columns)]

    for v in range(len(graph.operations)):
        for tensor, value in _run_whole(graph, v, fetch):
            values[tensor] = value
    return values


def check_by_value(cascade: Cascade, offsets: Mapping[str, int], peak: int, seed: int = 0) -> int:
    """Run a cascade in an arena of `peak` bytes, with each buffer at its offset; return how many values were compared.

    Raises InvalidPlanError, which names the region, the step and the operation, for the first value that differs.
    """
    return _Run(cascade, offsets, peak, seed).run()


class _Run:
    """Runs a cascade, and compares all that it makes."""

    def __init__(self, cascade: Cascade, offsets: Mapping[str, int], peak: int, seed: int) -> None:
        self.cascade, self.graph, self.offsets = cascade, cascade.graph, offsets
        self.arena = np.full(peak, 0xAA, np.uint8)
        self.expected = values_by_layers(self.graph, seed)
        self.compared = 0

    def run(self) -> int:
        graph, tensors = self.graph, self.graph.tensors
        held = {tensor for region in self.cascade.regions for tensor in region.pieces}
        for tensor in graph.inputs:
            if tensor not in held:
                self._whole(tensor)[:] = self.expected[tensor]
        for tensor, origin in enumerate(graph.tensor_origins):
            if tensor != origin:
                self._compare(f"{tensors[tensor].name}", self.expected[tensor], self.expected[origin])
        for number, region in enumerate(self.cascade.regions):
            if region.kind == "whole":
                self._run_whole(number, region.first)
            else:
                self._run_steps(number, region)
        for tensor in graph.kept:
            if tensor not in self.cascade.streamed:
                self._compare(f"output {tensors[tensor].name}", self._whole(tensor), self.expected[tensor])
        return self.compared

    def _place(self, name: str, row: PixelTensor, rows: int, columns: int) -> Bytes8:
        start = self.offsets[name]
        size = rows * columns * row.pixel
        if start + size > len(self.arena):
            raise InvalidPlanError(f"{name}: must end inside the arena ({len(self.arena)} bytes), got {start + size}")
        return self.arena[start : start + size].reshape(rows, columns, row.pixel)

    def _whole(self, tensor: int) -> Bytes8:
        row = self.graph.tensors[tensor]
        return self._place(whole_name(tensor), row, *row.sizes)

    def _compare(self, what: str, got: Bytes8, expected: Bytes8) -> None:
        self.compared += got.size
        if not np.array_equal(got, expected):
            raise InvalidPlanError(f"{what}: must be equal to the value layer by layer, and is not")

    def _run_whole(self, number: int, v: int) -> None:
        def fetch(tensor: int, rows: Span, columns: Span) -> Bytes8:
            return self._whole(tensor)[slice(*rows), slice(*columns)]

        for tensor, value in _run_whole(self.graph, v, fetch):
            self._compare(f"region {number}, operation {v}", value, self.expected[tensor])
            self._whole(tensor)[:] = value

    def _run_steps(self, number: int, region: CascadeRegion) -> None:
        graph, last = self.graph, graph_last(self.graph, region)
        rings = {
            tensor: self._place(held_name(number, tensor), graph.tensors[tensor], hold.rows, hold.columns)
            for tensor, hold in region.holds.items()
            if hold.mode != "whole"
        }
        sums = None
        if last.role == "sum":
            start = self.offsets[sums_name(number, last.outputs[0])]
            sums = self.arena[start : start + last.sums]
            sums[:] = 0

        def fetch(tensor: int, rows: Span, columns: Span) -> Bytes8:
            if tensor not in rings:
                return self._whole(tensor)[slice(*rows), slice(*columns)]
            found: Bytes8 = rings[tensor][_places(rings[tensor], rows, columns)]
            return found

        def store(tensor: int, rows: Span, columns: Span, value: Bytes8) -> None:
            if tensor in rings:
                rings[tensor][_places(rings[tensor], rows, columns)] = value
            else:
                self._whole(tensor)[slice(*rows), slice(*columns)] = value

        for step in steps_of(region):
            for tensor, piece in region.pieces.items():
                rows, columns = piece.rows[step[0]], piece.columns[step[1]]
                if rows[1] > rows[0] and columns[1] > columns[0]:
                    store(tensor, rows, columns, self.expected[tensor][slice(*rows), slice(*columns)])
            for v in range(region.first, region.end):
                rows, columns = region.made[v].rows[step[0]], region.made[v].columns[step[1]]
                if rows[1] <= rows[0] or columns[1] <= columns[0]:
                    continue
                operation = graph.operations[v]
                if sums is not None and v == region.end - 1:
                    add = _summed(operation, rows, columns, fetch)
                    sums[:] = np.resize((sums[: len(add)] + add) & 255, len(sums))
                    continue
                value = _run_part(graph, v, rows, columns, fetch)
                expected = self.expected[operation.outputs[0]][slice(*rows), slice(*columns)]
                self._compare(f"region {number}, step {step}, operation {v}", value, expected)
                store(operation.outputs[0], rows, columns, value)
                if operation.outputs[0] in self.cascade.streamed:
                    taken = fetch(operation.outputs[0], rows, columns)
                    self._compare(f"region {number}, step {step}, a piece of the output", taken, expected)
        if sums is not None:
            tensor = last.outputs[0]
            if not np.array_equal(sums, np.resize(sums[: self._read_pixel(last)], len(sums))):
                raise InvalidPlanError(f"region {number}: sums were overwritten")
            value = _finished(graph, region.end - 1, sums[: self._read_pixel(last)].astype(np.int64))
            self._compare(f"region {number}, the end of a sum", value, self.expected[tensor])
            self._whole(tensor)[:] = value

    def _read_pixel(self, operation: AccessOperation) -> int:
        return self.graph.tensors[operation.reads[0].tensor].pixel


def graph_last(graph: AccessGraph, region: CascadeRegion) -> AccessOperation:
    """Return the last operation of a region."""
    return graph.operations[region.end - 1]


def _places(ring: Bytes8, rows: Span, columns: Span) -> Any:
    return np.ix_(np.arange(*rows) % ring.shape[0], np.arange(*columns) % ring.shape[1])


def _odd(first: int, end: int, salt: int) -> Sums:
    """Return an odd number for each place of an axis."""
    return ((np.arange(first, end, dtype=np.int64) * 40503 + salt * 97) >> 3) & 127 | 1


def _weighted(value: Bytes8, rows: Span, columns: Span, salt: int) -> Sums:
    weights = _odd(*rows, salt)[:, None] * _odd(*columns, salt + 1)
    return value.astype(np.int64) * (weights & 255)[:, :, None]


def _folded(value: Sums, pixel: int) -> Sums:
    """Return values with another number of channels, each of which depends on channels of the old ones."""
    channels = value.shape[2]
    if channels >= pixel:
        padded = np.zeros((*value.shape[:2], -(-channels // pixel) * pixel), np.int64)
        padded[:, :, :channels] = value * (2 * np.arange(channels) + 1)
        folded: Sums = padded.reshape(*value.shape[:2], -1, pixel).sum(axis=2)
        return folded
    return value[:, :, np.arange(pixel) % channels] * (2 * np.arange(pixel) + 1)


def _pattern(v: int, rows: Span, columns: Span, pixel: int) -> Sums:
    """Return what an operation makes of nothing but padding."""
    row, column = np.arange(*rows)[:, None, None] * 31, np.arange(*columns)[None, :, None] * 17
    place = row + column + np.arange(pixel) * 5 + 7 * v
    pattern: Sums = place * (place + 7) // 2
    return pattern


def _run_part(graph: AccessGraph, v: int, rows: Span, columns: Span, fetch: Fetch) -> Bytes8:
    """Return what an operation makes in a range of rows and of columns."""
    operation = graph.operations[v]
    out = graph.tensors[operation.outputs[0]]
    total = _pattern(graph.origin(v), rows, columns, out.pixel)
    for salt, read in enumerate(operation.reads):
        source = graph.tensors[read.tensor]
        if source.pixel:
            total = total + _folded(_window_sums(read, source, rows, columns, salt, fetch), out.pixel)
    return (total & 255).astype(np.uint8)


def _window_sums(read: Read, source: PixelTensor, rows: Span, columns: Span, salt: int, fetch: Fetch) -> Sums:
    """Return, for each pixel of the output, the weighted sum of all that it reads of one tensor."""
    windows = [
        [window.source(at, at + 1, size) for at in range(*span)]
        for window, span, size in zip(read.windows, (rows, columns), source.sizes, strict=True)
    ]
    across, along = _hull(windows[0]), _hull(windows[1])
    value = _weighted(fetch(read.tensor, across, along), across, along, salt)
    sums = np.zeros((value.shape[0] + 1, value.shape[1] + 1, value.shape[2]), np.int64)
    sums[1:, 1:] = value.cumsum(axis=0).cumsum(axis=1)
    low, high = (np.array([max(0, span[k] - across[0]) for span in windows[0]]) for k in (0, 1))
    left, right = (np.array([max(0, span[k] - along[0]) for span in windows[1]]) for k in (0, 1))
    by_rows = sums[high] - sums[low]
    found: Sums = by_rows[:, right] - by_rows[:, left]
    return found


def _hull(spans: list[Span]) -> Span:
    some = [span for span in spans if span[1] > span[0]]
    return (min(a for a, _ in some), max(b for _, b in some)) if some else (0, 0)


def _summed(operation: AccessOperation, rows: Span, columns: Span, fetch: Fetch) -> Bytes8:
    """Return the part of a sum that a range of rows and of columns adds, for each channel of the input."""
    value = _weighted(fetch(operation.reads[0].tensor, rows, columns), rows, columns, 0)
    summed: Bytes8 = (value.sum(axis=(0, 1)) & 255).astype(np.uint8)
    return summed


def _finished(graph: AccessGraph, v: int, sums: Sums) -> Bytes8:
    out = graph.tensors[graph.operations[v].outputs[0]]
    total = _folded(sums.reshape(1, 1, -1), out.pixel) + _pattern(graph.origin(v), (0, 1), (0, 1), out.pixel)
    return (total & 255).astype(np.uint8)


def _run_whole(graph: AccessGraph, v: int, fetch: Fetch) -> list[tuple[int, Bytes8]]:
    """Return each tensor that an operation makes, and its value."""
    operation = graph.operations[v]
    if operation.role == "sum":
        source = graph.tensors[operation.reads[0].tensor]
        sums = _summed(operation, (0, source.rows), (0, source.columns), fetch)
        return [(operation.outputs[0], _finished(graph, v, sums.astype(np.int64)))]
    if operation.role == "striped":
        out = graph.tensors[operation.outputs[0]]
        return [(operation.outputs[0], _run_part(graph, v, (0, out.rows), (0, out.columns), fetch))]
    made = []
    for k, tensor in enumerate(operation.outputs):
        out = graph.tensors[tensor]
        total = _pattern(graph.origin(v) + k, (0, out.rows), (0, out.columns), out.pixel)
        for salt, read in enumerate(operation.reads):
            source = graph.tensors[read.tensor]
            rows, columns = (0, source.rows), (0, source.columns)
            value = _weighted(fetch(read.tensor, rows, columns), rows, columns, salt).sum(axis=(0, 1), keepdims=True)
            if source.pixel and out.pixel:
                total = total + _folded(value, out.pixel)
        made.append((tensor, (total & 255).astype(np.uint8)))
    return made
