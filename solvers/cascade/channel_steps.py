"""From a region along channels that the search found to the ranges and buffers of its steps."""

from __future__ import annotations

from memplan.planner.operations.access.access_graph import AccessGraph
from memplan.planner.operations.cascade.regions import CascadeRegion, Hold, Span, Stripes, is_accumulated
from memplan.solvers.cascade.options import CascadeOptions
from memplan.solvers.cascade.tables import last_uses, rounded_up


def by_channels(graph: AccessGraph, options: CascadeOptions, ends: Span, tile: int) -> CascadeRegion:
    """Return the region of operations [first, end) that makes `tile` channels in each step."""
    first, end = ends
    last = last_uses(graph, options)
    inner = graph.tensors[graph.operations[first].outputs[0]]
    spans = tuple((a, min(a + tile, inner.channels)) for a in range(0, inner.channels, tile))
    made, holds = {}, dict[int, Hold]()
    for v in range(first, end):
        tensor = graph.operations[v].outputs[0]
        row = graph.tensors[tensor]
        made[v] = Stripes(((0, row.rows),), ((0, row.columns),), spans)
        if last[tensor] >= end or v == end - 1:
            holds[tensor] = Hold("whole", row.rows, row.columns, True, rounded_up(row.bytes, options.alignment))
        else:
            pixel = row.pixel // row.channels * tile
            bytes_ = rounded_up(row.rows * row.columns * pixel, options.alignment)
            holds[tensor] = Hold("recompute", row.rows, row.columns, False, bytes_, pixel)
    region = CascadeRegion(first, end, "channels", (tile, 0), made, {}, holds)
    if is_accumulated(graph, region):
        del holds[graph.operations[end - 1].outputs[0]]
    return region
