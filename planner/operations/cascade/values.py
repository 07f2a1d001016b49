"""The value of each operation: bytes modulo 256 of all elements that its access maps name.

Each element is multiplied by an odd number of its place, so that one that is missing, or is another one, makes a
difference. A channel that depends on the `same` one depends on no other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from memplan.planner.operations.access.access_graph import AccessGraph, AccessOperation, PixelTensor, Read
from memplan.planner.operations.cascade.regions import Span, hull

Bytes8: TypeAlias = npt.NDArray[np.uint8]
Sums: TypeAlias = npt.NDArray[np.int64]
Fetch: TypeAlias = Callable[[int, Span, Span], Bytes8]
"""The elements of a tensor in a range of rows and a range of columns."""


def values_by_layers(graph: AccessGraph, seed: int = 0, pause: Callable[[], None] = lambda: None) -> list[Bytes8]:
    """Return the value of each tensor when the operations run whole, one after the other.

    `pause` is called at each read of a tensor; what it raises ends the run.
    """
    random = np.random.default_rng(seed)
    values = [random.integers(0, 256, (*row.sizes, row.pixel), np.uint8) for row in graph.tensors]

    def fetch(tensor: int, rows: Span, columns: Span) -> Bytes8:
        pause()
        return values[tensor][slice(*rows), slice(*columns)]

    for v in range(len(graph.operations)):
        for tensor, value in run_whole(graph, v, fetch):
            values[tensor] = value
    return values


def _odd(first: int, end: int, salt: int) -> Sums:
    """Return an odd number for each place of an axis."""
    # Odd weights: each byte that is read makes a difference modulo 256.
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


def run_part(graph: AccessGraph, v: int, rows: Span, columns: Span, fetch: Fetch) -> Bytes8:
    """Return what an operation makes in a range of rows and of columns."""
    total = pattern_of(graph, v, rows, columns) + read_part(graph, v, rows, columns, fetch)
    return (total & 255).astype(np.uint8)


def pattern_of(graph: AccessGraph, v: int, rows: Span, columns: Span) -> Sums:
    """Return what an operation makes in a range of rows and of columns of nothing but padding."""
    return _pattern(graph.origin(v), rows, columns, graph.tensors[graph.operations[v].outputs[0]].pixel)


def read_part(graph: AccessGraph, v: int, rows: Span, columns: Span, fetch: Fetch) -> Sums:
    """Return what all that an operation reads adds to a range of rows and of columns."""
    operation = graph.operations[v]
    out = graph.tensors[operation.outputs[0]]
    total = np.zeros((rows[1] - rows[0], columns[1] - columns[0], out.pixel), np.int64)
    for salt, read in enumerate(operation.reads):
        source = graph.tensors[read.tensor]
        if source.pixel:
            total = total + _folded(_window_sums(read, source, rows, columns, salt, fetch), out.pixel)
    return total


def _window_sums(read: Read, source: PixelTensor, rows: Span, columns: Span, salt: int, fetch: Fetch) -> Sums:
    """Return, for each pixel of the output, the weighted sum of all that it reads of one tensor."""
    windows = [
        [window.source(at, at + 1, size) for at in range(*span)]
        for window, span, size in zip(read.windows, (rows, columns), source.sizes, strict=True)
    ]
    across, along = hull(windows[0]), hull(windows[1])
    value = _weighted(fetch(read.tensor, across, along), across, along, salt)
    sums = np.zeros((value.shape[0] + 1, value.shape[1] + 1, value.shape[2]), np.int64)
    sums[1:, 1:] = value.cumsum(axis=0).cumsum(axis=1)
    low, high = (np.array([max(0, span[k] - across[0]) for span in windows[0]]) for k in (0, 1))
    left, right = (np.array([max(0, span[k] - along[0]) for span in windows[1]]) for k in (0, 1))
    by_rows = sums[high] - sums[low]
    found: Sums = by_rows[:, right] - by_rows[:, left]
    return found


def summed(operation: AccessOperation, rows: Span, columns: Span, fetch: Fetch) -> Bytes8:
    """Return the part of a sum that a range of rows and of columns adds, for each channel of the input."""
    value = _weighted(fetch(operation.reads[0].tensor, rows, columns), rows, columns, 0)
    added: Bytes8 = (value.sum(axis=(0, 1)) & 255).astype(np.uint8)
    return added


def finished(graph: AccessGraph, v: int, sums: Sums) -> Bytes8:
    """Return what an operation makes of its sums."""
    out = graph.tensors[graph.operations[v].outputs[0]]
    total = _folded(sums.reshape(1, 1, -1), out.pixel) + _pattern(graph.origin(v), (0, 1), (0, 1), out.pixel)
    return (total & 255).astype(np.uint8)


def run_whole(graph: AccessGraph, v: int, fetch: Fetch) -> list[tuple[int, Bytes8]]:
    """Return each tensor that an operation makes, and its value."""
    operation = graph.operations[v]
    if operation.role == "sum":
        source = graph.tensors[operation.reads[0].tensor]
        sums = summed(operation, (0, source.rows), (0, source.columns), fetch)
        return [(operation.outputs[0], finished(graph, v, sums.astype(np.int64)))]
    if operation.role == "striped":
        out = graph.tensors[operation.outputs[0]]
        return [(operation.outputs[0], run_part(graph, v, (0, out.rows), (0, out.columns), fetch))]
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
