"""Test values of operations: each output is a sum modulo 256 of all elements that the access map reads.

Each element is multiplied by an odd number that depends on its position, so a missing or wrong element changes the sum.
If an output channel depends on the `same` input channel, no other channel enters its sum.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from memplan.extensions.cascade.access.access_graph import AccessGraph, AccessOperation, PixelTensor, Read
from memplan.extensions.cascade.regions.regions import Span, hull

Bytes8: TypeAlias = npt.NDArray[np.uint8]
Sums: TypeAlias = npt.NDArray[np.int64]
Fetch: TypeAlias = Callable[[int, Span, Span], Bytes8]
"""The type of a function that returns a tensor's elements in a range of rows and a range of columns."""
_AT_ONCE = 2**20
"""The number of elements summed without a pause, which takes about 30 ms, so that a caller can stop in between."""


def values_by_layers(graph: AccessGraph, seed: int = 0, pause: Callable[[], None] = lambda: None) -> list[Bytes8]:
    """Return the value of each tensor for random inputs, if all operations run as a whole, one after another.

    `pause` is called before each random input and at each read of a tensor; an exception from it ends the run.
    """
    random, values = np.random.default_rng(seed), dict[int, Bytes8]()
    for tensor, (row, maker) in enumerate(zip(graph.tensors, graph.maker, strict=True)):
        if maker is None:
            pause()
            values[tensor] = random.integers(0, 256, (*row.sizes, row.pixel), np.uint8)

    def fetch(tensor: int, rows: Span, columns: Span) -> Bytes8:
        pause()
        return values[tensor][slice(*rows), slice(*columns)]

    for v in range(len(graph.operations)):
        for tensor, value in run_whole(graph, v, fetch):
            values[tensor] = value
    return [values[tensor] for tensor in range(len(graph.tensors))]


def _odd_factors(first: int, end: int, salt: int) -> Sums:
    # A nonzero change of a byte times an odd factor is never 0 modulo 256, so factors are odd.
    return ((np.arange(first, end, dtype=np.int64) * 40503 + salt * 97) >> 3) & 127 | 1


def _weight_pixels(value: Bytes8, rows: Span, columns: Span, salt: int) -> Sums:
    weights = _odd_factors(*rows, salt)[:, None] * _odd_factors(*columns, salt + 1)
    return value.astype(np.int64) * (weights & 255)[:, :, None]


def _fold_channels(value: Sums, pixel: int) -> Sums:
    channels = value.shape[2]
    if channels >= pixel:
        padded = np.zeros((*value.shape[:2], -(-channels // pixel) * pixel), np.int64)
        padded[:, :, :channels] = value * (2 * np.arange(channels) + 1)
        folded: Sums = padded.reshape(*value.shape[:2], -1, pixel).sum(axis=2)
        return folded
    return value[:, :, np.arange(pixel) % channels] * (2 * np.arange(pixel) + 1)


def _bias(v: int, rows: Span, columns: Span, pixel: int) -> Sums:
    row, column = np.arange(*rows)[:, None, None] * 31, np.arange(*columns)[None, :, None] * 17
    place = row + column + np.arange(pixel) * 5 + 7 * v
    pattern: Sums = place * (place + 7) // 2
    return pattern


def _row_bands(rows: Span, elements: int) -> Iterator[Span]:
    height = max(1, _AT_ONCE // max(1, elements))
    for first in range(rows[0], max(rows[1], rows[0] + 1), height):
        yield first, min(first + height, rows[1])


def run_part(graph: AccessGraph, v: int, rows: Span, columns: Span, fetch: Fetch) -> Bytes8:
    """Return an operation's output for a range of rows and a range of columns."""
    operation = graph.operations[v]
    out, sources = graph.tensors[operation.outputs[0]], [graph.tensors[read.tensor] for read in operation.reads]
    elements = max(row.rows * row.columns * row.pixel // max(1, out.rows) for row in (out, *sources))
    bands = list(_row_bands(rows, elements))
    for read, source in zip(operation.reads, sources, strict=True):
        *parts, whole = (b - a for a, b in (read.windows[0].input_range(*span, source.rows) for span in (*bands, rows)))
        if sum(parts) > 2 * whole:
            bands = [rows]  # Several bands would read most input rows repeatedly, so use one band.
    totals = (
        pattern_of(graph, v, band, columns) + input_sums_of_part(graph, v, band, columns, fetch) for band in bands
    )
    return np.concatenate([(total & 255).astype(np.uint8) for total in totals])


def pattern_of(graph: AccessGraph, v: int, rows: Span, columns: Span) -> Sums:
    """Return an operation's output if all its inputs are padding, for a range of rows and a range of columns."""
    return _bias(graph.origin(v), rows, columns, graph.tensors[graph.operations[v].outputs[0]].pixel)


def input_sums_of_part(graph: AccessGraph, v: int, rows: Span, columns: Span, fetch: Fetch) -> Sums:
    """Return the inputs' total contribution to an operation's output, for a range of rows and a range of columns."""
    operation = graph.operations[v]
    out = graph.tensors[operation.outputs[0]]
    total = np.zeros((rows[1] - rows[0], columns[1] - columns[0], out.pixel), np.int64)
    for salt, read in enumerate(operation.reads):
        source = graph.tensors[read.tensor]
        if source.pixel:
            total = total + _fold_channels(_window_sums(read, source, rows, columns, salt, fetch), out.pixel)
    return total


def _window_sums(read: Read, source: PixelTensor, rows: Span, columns: Span, salt: int, fetch: Fetch) -> Sums:
    """Return, for each output pixel, the weighted sum of the input pixels that the output pixel's window reads."""
    windows = [
        [window.input_range(at, at + 1, size) for at in range(*span)]
        for window, span, size in zip(read.windows, (rows, columns), source.sizes, strict=True)
    ]
    across, along = hull(windows[0]), hull(windows[1])
    value = _weight_pixels(fetch(read.tensor, across, along), across, along, salt)
    sums = np.zeros((value.shape[0] + 1, value.shape[1] + 1, value.shape[2]), np.int64)
    sums[1:, 1:] = value.cumsum(axis=0).cumsum(axis=1)
    low, high = (np.array([max(0, span[k] - across[0]) for span in windows[0]]) for k in (0, 1))
    left, right = (np.array([max(0, span[k] - along[0]) for span in windows[1]]) for k in (0, 1))
    by_rows = sums[high] - sums[low]
    window_sums: Sums = by_rows[:, right] - by_rows[:, left]
    return window_sums


def partial_sum(graph: AccessGraph, operation: AccessOperation, rows: Span, columns: Span, fetch: Fetch) -> Bytes8:
    """Return the addition to an operation's sums, per input channel, by a range of input rows and columns."""
    return (_channel_sums(graph, operation.reads[0].tensor, rows, columns, 0, fetch) & 255).astype(np.uint8)


def _channel_sums(graph: AccessGraph, tensor: int, rows: Span, columns: Span, salt: int, fetch: Fetch) -> Sums:
    pixel = graph.tensors[tensor].pixel
    total = np.zeros(pixel, np.int64)
    for band in _row_bands(rows, (columns[1] - columns[0]) * pixel):
        total += _weight_pixels(fetch(tensor, band, columns), band, columns, salt).sum(axis=(0, 1))
    return total


def finish_sums(graph: AccessGraph, v: int, sums: Sums) -> Bytes8:
    """Return the output of an accumulating operation, given its complete sums."""
    out = graph.tensors[graph.operations[v].outputs[0]]
    total = _fold_channels(sums.reshape(1, 1, -1), out.pixel) + _bias(graph.origin(v), (0, 1), (0, 1), out.pixel)
    return (total & 255).astype(np.uint8)


def run_whole(graph: AccessGraph, v: int, fetch: Fetch) -> list[tuple[int, Bytes8]]:
    """Return the number and the value of each tensor that operation v writes when it runs as a whole."""
    operation = graph.operations[v]
    if operation.role == "sum":
        source = graph.tensors[operation.reads[0].tensor]
        sums = partial_sum(graph, operation, (0, source.rows), (0, source.columns), fetch)
        return [(operation.outputs[0], finish_sums(graph, v, sums.astype(np.int64)))]
    if operation.role == "striped":
        out = graph.tensors[operation.outputs[0]]
        return [(operation.outputs[0], run_part(graph, v, (0, out.rows), (0, out.columns), fetch))]
    made = []
    for k, tensor in enumerate(operation.outputs):
        out, columns = graph.tensors[tensor], (0, graph.tensors[tensor].columns)
        added = np.zeros((1, 1, out.pixel), np.int64)
        for salt, read in enumerate(operation.reads):
            source = graph.tensors[read.tensor]
            total = _channel_sums(graph, read.tensor, (0, source.rows), (0, source.columns), salt, fetch)
            if source.pixel and out.pixel:
                added = added + _fold_channels(total.reshape(1, 1, -1), out.pixel)
        bands = _row_bands((0, out.rows), out.columns * out.pixel)
        totals = (_bias(graph.origin(v) + k, band, columns, out.pixel) + added for band in bands)
        made.append((tensor, np.concatenate([(total & 255).astype(np.uint8) for total in totals])))
    return made
