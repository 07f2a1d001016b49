"""The multiplications and bytes that no schedule of a network does without."""

from __future__ import annotations

import numpy as np

from memplan.capabilities.cascade.access.access_graph import AccessGraph


def least_needs(graph: AccessGraph) -> tuple[int, int]:
    """Return multiplications and bytes over the link that no schedule does without: what is read or kept, once."""
    needed = [[np.zeros(size, np.bool_) for size in tensor.sizes] for tensor in graph.tensors]
    for tensor in graph.kept:
        for axis in needed[tensor]:
            axis[:] = True
    work = 0
    for v in reversed(range(len(graph.operations))):
        row = graph.operations[v]
        rows, columns = needed[row.outputs[0]] if row.outputs else (np.zeros(0), np.zeros(0))
        is_striped = row.role == "striped"
        work += row.macs * int(rows.sum()) * int(columns.sum()) if is_striped else row.macs
        for read in row.reads:
            for made, window, axis in zip((rows, columns), read.windows, needed[read.tensor], strict=True):
                spans = [window.source(k, k + 1, len(axis)) for k in np.flatnonzero(made).tolist()]
                for first, end in spans if is_striped else [(0, len(axis))]:
                    axis[first:end] = True
    moved = sum(row.weights for row in graph.operations)
    moved += sum(graph.tensors[t].bytes for t in graph.kept if graph.maker[t] is not None)
    for t in graph.inputs:
        if graph.readers[t]:
            moved += int(needed[t][0].sum()) * int(needed[t][1].sum()) * graph.tensors[t].pixel
    return work, moved
