"""Graphs whose operations run in another order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memplan.planner.operations.access.access_graph import AccessGraph


def reordered(graph: AccessGraph, order: Sequence[int]) -> AccessGraph:
    """Return the graph whose k-th operation is `order[k]`; `origins` say which operation of the given graph each is.

    Raises OperationsError for an order in which something is read before it is made.
    """
    return replace(
        graph,
        operations=tuple(graph.operations[v] for v in order),
        origins=tuple(map(graph.origin, order)),
        tensor_origins=tuple(map(graph.tensor_origin, range(len(graph.tensors)))),
    )
