"""Graphs in which some operations run again, for late readers of what they make."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from memplan.planner.operations.access.access_graph import AccessGraph


def repeated(graph: AccessGraph, operations: Collection[int], late: int) -> AccessGraph:
    """Return the graph with operations run again just before operation `late`; it and those behind read the new copies.

    The operations must be striped and run before `late`. `origins` and `tensor_origins` of the graph say which
    operation and which tensor of the one that was given at first each of them is.
    """
    tensors, copies, again = list(graph.tensors), [], dict[int, int]()
    origins = list(map(graph.origin, range(len(graph.operations))))
    tensor_origins = list(map(graph.tensor_origin, range(len(tensors))))
    for v in sorted(operations):
        row = graph.operations[v]
        (made,) = row.outputs
        reads = tuple(replace(read, tensor=again.get(read.tensor, read.tensor)) for read in row.reads)
        again[made] = len(tensors)
        tensors.append(replace(graph.tensors[made], name=f"{graph.tensors[made].name}, again"))
        tensor_origins.append(tensor_origins[made])
        copies.append(replace(row, reads=reads, outputs=(again[made],)))
    behind = [
        replace(row, reads=tuple(replace(read, tensor=again.get(read.tensor, read.tensor)) for read in row.reads))
        for row in graph.operations[late:]
    ]
    ran = [origins[v] for v in sorted(operations)]
    return replace(
        graph,
        tensors=tuple(tensors),
        operations=(*graph.operations[:late], *copies, *behind),
        origins=(*origins[:late], *ran, *origins[late:]),
        tensor_origins=tuple(tensor_origins),
    )
