"""Regions along channels: each step computes some channels of the tensors inside the region, from the whole input.

The first operation of such a region may mix channels; it computes some of its output channels in each step. The last
operation may also mix channels; it adds the products of each step's channels to sums of the whole output. In between,
each output channel depends only on the same input channel. So no operation computes more than layer by layer does.
Source: FDT (arXiv 2303.17878).
"""

from typing import NamedTuple

import numpy as np

from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.extensions.cascade.core.kernels import KIND_CHANNELS, N_FOUND, Access
from memplan.extensions.cascade.regions.regions import Span
from memplan.extensions.cascade.search.options import CascadeOptions
from memplan.extensions.cascade.search.tables import round_up
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Rows


class _ChannelCut(NamedTuple):
    """Cuts of operations [first, j) along channels, one for each entry of `tile` (channels per step) and `steps`.

    `adds_up` is True if the last operation accumulates its output over the channels of its input.
    """

    first: int
    j: int
    channels: int
    tile: I64
    steps: I64
    adds_up: bool


def channel_regions(graph: AccessGraph, options: CascadeOptions, tables: Access, ends: Span, tiles: list[int]) -> Rows:
    """Return regions along channels that end before operation j, for step sizes `tiles`; `ends` is (first, j)."""
    first, j = ends
    row = graph.operations[j - 1]
    parts, cut = list[Rows](), [(row.outputs[0], False)]
    # Cut a region along the output channels or, if the last operation can accumulate, along its input channels.
    if row.partial:
        cut.append((row.reads[0].tensor, True))
    for tensor, adds_up in cut:
        channels = graph.tensors[tensor].channels
        tile = np.array([size for size in tiles if size < channels], np.int64)
        if len(tile):
            parts.append(
                _grow_regions(
                    graph, options, tables, _ChannelCut(first, j, channels, tile, -(-channels // tile), adds_up)
                )
            )
    return np.concatenate(parts) if parts else np.zeros((0, N_FOUND), np.int64)


def _grow_regions(graph: AccessGraph, options: CascadeOptions, tables: Access, cut: _ChannelCut) -> Rows:
    """Return the regions of several operations that end before operation `cut.j`, grown backwards.

    A region grows as long as its operations can read the added output in slices of channels.
    """
    j, last = cut.j, graph.operations[cut.j - 1]
    sink = last.outputs[0]
    sums = last.partial if cut.adds_up and last.partial > graph.tensors[sink].bytes else 0
    rounded = round_up(sums, options.alignment)
    inside = rounded or int(tables.whole[sink])
    after = rounded + int(tables.live[j]) + (int(tables.whole[sink]) if tables.last[sink] < j else 0) if sums else 0
    macs, fixed = graph.macs_of(j - 1), last.weights + graph.tensors[sink].bytes
    added = 2 * last.partial if cut.adds_up else 0
    profile = np.zeros((j - cut.first, len(cut.tile)), np.int64)
    regions = []
    for v in range(j - 2, cut.first - 1, -1):
        row = graph.operations[v]
        if not _can_grow(graph, cut, v):
            break
        tensor, k = row.outputs[0], j - 1 - v
        macs, fixed = macs + graph.macs_of(v), fixed + row.weights + graph.tensors[tensor].bytes
        # A later region reads whole tensors, so count all channels of a tensor that a later region reads.
        if tables.last[tensor] >= j:
            inside += int(tables.whole[tensor])
        else:
            made = graph.tensors[tensor]
            held = made.rows * made.columns * (made.pixel // made.channels) * cut.tile
            # A slice of channels is alive from the operation that writes it to its last reader in the region.
            latest = max(reader for reader in graph.readers[tensor] if reader < j)
            profile[j - 1 - latest : k + 1] += -(-held // options.alignment) * options.alignment
        peak = np.maximum(int(tables.live[v]) + inside + profile.max(axis=0), after)
        once, again = _read_bytes(graph, v, j)
        traffic = fixed + once + (again + added) * cut.steps
        rows = np.zeros((len(cut.tile), N_FOUND), np.int64)
        rows[:, :4] = np.stack([np.full_like(peak, v), np.full_like(peak, j), peak, np.full_like(peak, macs)], axis=1)
        rows[:, 4], rows[:, 5], rows[:, 6], rows[:, 7] = traffic, (k + 1) * cut.steps, KIND_CHANNELS, cut.tile
        regions.append(rows)
    return np.concatenate(regions) if regions else np.zeros((0, N_FOUND), np.int64)


def _can_grow(graph: AccessGraph, cut: _ChannelCut, v: int) -> bool:
    """Return True if the region's operations after operation v can read the output of v in slices of channels."""
    (tensor,) = graph.operations[v].outputs
    if graph.tensors[tensor].channels != cut.channels:
        return False
    reads = [
        (reader, read)
        for reader in graph.readers[tensor]
        if reader < cut.j
        for read in graph.operations[reader].reads
        if read.tensor == tensor
    ]
    return bool(reads) and all(
        read.channels == "same" or (cut.adds_up and reader == cut.j - 1) for reader, read in reads
    )


def _read_bytes(graph: AccessGraph, first: int, end: int) -> tuple[int, int]:
    """Return the bytes that a region reads once in total, and the bytes that it reads again in every step."""
    once, again = 0, 0
    for v in range(first, end):
        for read in graph.operations[v].reads:
            maker = graph.maker[read.tensor]
            if read.channels == "same" or (maker is not None and maker >= first):
                once += graph.tensors[read.tensor].bytes
            else:
                again += graph.tensors[read.tensor].bytes
    return once, again
