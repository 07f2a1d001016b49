"""Graphs of operations in the bodies of requests."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from memplan.api.service.kinds.kind import Subject
from memplan.planner.errors import OperationsError, shown
from memplan.planner.operations.graph import OperationGraph, graph_from, write_graph


def graph_of(content: Mapping[str, Any]) -> OperationGraph:
    """Return the graph of a body; raises InputError."""
    graph = content["graph"]
    if not isinstance(graph, dict):
        raise OperationsError(f"graph: must be an object, got {shown(graph)}")
    return graph_from(graph)


def graph_subject(graph: OperationGraph) -> Subject:
    """Return the facts of a graph that jobs are listed by."""
    return Subject(f"sha256:{sha256(write_graph(graph)).hexdigest()}", graph.name, len(graph.size))
