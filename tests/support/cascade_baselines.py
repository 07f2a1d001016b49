"""What other ways of cutting networks need, written plainly: fusion blocks, and one stage of patches at the front.

Fusion blocks are those of msf-CNN without recomputation: intervals of the order in which rows roll, one by one, the
best of which follow each other. Patches are those of MCUNetV2: the first operations run patch by patch, with what
overlaps made again, and all others layer by layer.
"""

from __future__ import annotations

from memplan.capabilities.cascade.access.access_graph import AccessGraph
from memplan.capabilities.cascade.kernels.access import FOUND_PEAK, KIND_ROWS, KIND_TILES
from memplan.capabilities.cascade.search.options import CascadeOptions
from memplan.capabilities.cascade.search.search import RegionSearch
from tests.support.cascade_twin import peak_of_region

LONGEST = 14
PATCHES = (2, 3, 4, 5, 6, 8)


def fusion_blocks(graph: AccessGraph, options: CascadeOptions) -> int:
    """Return the least peak of blocks of up to 14 operations in which rows roll, at no more multiplications."""
    layers = _layers(graph, options)
    least = [0] + [2**62] * len(layers)
    for end in range(1, len(layers) + 1):
        least[end] = max(least[end - 1], layers[end - 1])
        for first in range(end - 2, max(-1, end - 1 - LONGEST), -1):
            if not _may_fuse(graph, first, end):
                break
            row = [first, end, 0, 0, 0, 0, KIND_ROWS, 1, 0, 0]
            least[end] = min(least[end], max(least[first], peak_of_region(graph, options, row)[0]))
    return least[-1]


def patches(graph: AccessGraph, options: CascadeOptions, most: float = 1.1) -> int:
    """Return the least peak of one stage of patches at the front, within so many times the multiplications."""
    layers = _layers(graph, options)
    least, behind = max(layers), [0]
    for peak in reversed(layers):
        behind.append(max(behind[-1], peak))
    behind.reverse()
    for end in range(2, len(layers) + 1):
        if not all(_may_fuse(graph, first, end) for first in range(end - 1)):
            break
        made, once = graph.tensors[graph.operations[end - 1].outputs[0]], sum(map(graph.macs_of, range(end)))
        for count in PATCHES:
            size = [-(-length // count) for length in made.sizes]
            if graph.operations[end - 1].role != "striped" or behind[end] >= least or min(made.sizes) < count:
                continue
            peak, (macs, _, _) = peak_of_region(graph, options, [0, end, 0, 0, 0, 0, KIND_TILES, *size, 0])
            if graph.macs - once + macs <= most * graph.macs:
                least = min(least, max(peak, behind[end]))
    return least


def _layers(graph: AccessGraph, options: CascadeOptions) -> list[int]:
    return [int(peak) for peak in RegionSearch(graph, options).layers()[:, FOUND_PEAK]]


def _may_fuse(graph: AccessGraph, first: int, end: int) -> bool:
    """Return True if an operation may be in front of the last one of a block: it runs in parts, for one inside."""
    row, last = graph.operations[first], graph.operations[end - 1]
    readers = graph.readers[row.outputs[0]]
    return last.role != "barrier" and row.role == "striped" and bool(readers) and readers[0] < end
