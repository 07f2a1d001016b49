"""Graphs in which some operations run again, for late readers of what they make."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from memplan.capabilities.cascade.access.access_graph import AccessGraph, AccessOperation


def repeated(graph: AccessGraph, passes: Mapping[int, Collection[int]]) -> AccessGraph:
    """Return the graph with operations run again just before each late one of `passes`.

    The late operation and those behind it read the new copies. The operations must be striped and run before it.
    `origins` and `tensor_origins` of the graph say which operation and which tensor of the one that was given at first
    each of them is.
    """
    tensors, operations = list(graph.tensors), list[AccessOperation]()
    tensor_origins, origins = list(map(graph.tensor_origin, range(len(tensors)))), list[int]()
    newest = dict[int, int]()
    for late, given in enumerate(graph.operations):
        for v in sorted(passes.get(late, ())):
            row = _reading(graph.operations[v], newest)
            (made,) = row.outputs
            newest[made] = len(tensors)
            tensors.append(replace(graph.tensors[made], name=f"{graph.tensors[made].name}, again"))
            tensor_origins.append(graph.tensor_origin(made))
            operations.append(replace(row, outputs=(newest[made],)))
            origins.append(graph.origin(v))
        operations.append(_reading(given, newest))
        origins.append(graph.origin(late))
    return replace(
        graph,
        tensors=tuple(tensors),
        operations=tuple(operations),
        origins=tuple(origins),
        tensor_origins=tuple(tensor_origins),
    )


def _reading(row: AccessOperation, newest: Mapping[int, int]) -> AccessOperation:
    """Return an operation that reads the newest copies of tensors."""
    if all(read.tensor not in newest for read in row.reads):
        return row
    reads = (replace(read, tensor=newest[read.tensor]) if read.tensor in newest else read for read in row.reads)
    return replace(row, reads=tuple(reads))
