"""The merge of zero pads into the convolutions that read them, which pad each tile, so the pads need no step.

The remaining operations are renumbered; `origins` has their numbers in the given network.
"""

from collections.abc import Callable
from dataclasses import replace

from memplan.extensions.cascade.access.access_graph import AccessGraph, AccessOperation, PixelTensor, Read
from memplan.extensions.cascade.regions.regions import CascadeRegion
from memplan.programs.operations.graph import OperationGraph

_PADDING = frozenset({"conv2d", "depthwise_conv2d", "conv1d", "depthwise_conv1d"})
"""The kinds of operations that can pad their own input with zeros."""


def merge_pads(graph: AccessGraph, given: OperationGraph) -> AccessGraph:
    """Return the graph in which convolutions include the pads before them; the same graph if there are no such pads."""
    pads = {v: row for v, row in enumerate(graph.operations) if _can_merge(graph, given, v)}
    if not pads:
        return graph
    padded = {row.outputs[0]: row.reads[0] for row in pads.values()}
    rest = [v for v in range(len(graph.operations)) if v not in pads]
    tensors = (PixelTensor(1, 1, 0, row.name) if t in padded else row for t, row in enumerate(graph.tensors))
    operations = (_read_unpadded(graph.operations[v], padded) for v in rest)
    return replace(graph, tensors=tuple(tensors), operations=tuple(operations), origins=tuple(rest))


def renumber(region: CascadeRegion, number: Callable[[int], int]) -> CascadeRegion:
    """Return a copy of a region in which operation v has the number `number(v)`."""
    ranges = {number(v): made for v, made in region.ranges.items()}
    return region.model_copy(update={"ops": tuple(map(number, region.ops)), "ranges": ranges})


def _can_merge(graph: AccessGraph, given: OperationGraph, v: int) -> bool:
    """Return True if operation v is a zero pad that only convolutions read, which can pad their input themselves."""
    row, value = graph.operations[v], given.ops[v].attributes.get("value", 0)
    if row.kind != "pad" or row.role != "striped" or value not in (0, (0,)):
        return False
    source, made = graph.tensors[row.reads[0].tensor], row.outputs[0]
    behind = (
        size - length + window.low
        for window, size, length in zip(row.reads[0].windows, graph.tensors[made].sizes, source.sizes, strict=True)
    )
    is_grown = max(window.low for window in row.reads[0].windows) <= 0 <= min(behind)
    is_alike = (source.pixel, source.channels) == (graph.tensors[made].pixel, graph.tensors[made].channels)
    readers = [graph.operations[k] for k in graph.readers[made]]
    return (
        is_grown
        and is_alike
        and made not in graph.kept
        and bool(readers)
        and all(one.kind in _PADDING and one.role == "striped" for one in readers)
    )


def _read_unpadded(row: AccessOperation, padded: dict[int, Read]) -> AccessOperation:
    return replace(
        row,
        reads=tuple(_read_through(read, padded[read.tensor]) if read.tensor in padded else read for read in row.reads),
    )


def _read_through(read: Read, pad: Read) -> Read:
    rows, columns = (
        window._replace(low=window.low + moved.low, high=window.high + moved.low)
        for window, moved in zip(read.windows, pad.windows, strict=True)
    )
    return replace(read, tensor=pad.tensor, rows=rows, columns=columns)
